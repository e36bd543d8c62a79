"""Threads that stop together: one of them asks, or fails, and all the others see it."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from headrace.core import log
from headrace.core.errors import OutOfRangeError
from headrace.core.fields import reads


class Coordinator:
    """Stops threads together, and raises in the main one what one of them raised.

    Example:
      >>> coord = tf.train.Coordinator()
      >>> def work():
      ...     while not coord.should_stop():
      ...         coord.request_stop()
      >>> threads = [threading.Thread(target=work) for _ in range(3)]
      >>> for t in threads: t.start()
      >>> coord.join(threads)
    """

    def __init__(self, clean_stop_exception_types: Any = None) -> None:
        """Args:
        clean_stop_exception_types: a tuple of errors that mean "the end"; OutOfRangeError if None.
        """
        if clean_stop_exception_types is None:
            clean_stop_exception_types = (OutOfRangeError,)
        self._clean = tuple(clean_stop_exception_types)
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._error: BaseException | None = None
        self._joined = False
        self._threads: set[threading.Thread] = set()
        self._on_error: list[Callable[[BaseException], None]] = []

    def request_stop(self, ex: Any = None) -> None:
        """Ask all threads to stop.

        Args:
          ex: an error, or what `sys.exc_info()` gives, that `join` shall raise.
        """
        with self._lock:
            error = _as_error(ex)
            if isinstance(error, self._clean):
                error = None
            if self._joined and error is not None:
                raise error
            is_first = not self._stop.is_set()
            if is_first:
                if error is not None and self._error is None:
                    log.info("Error reported to Coordinator: %s, %s", type(error), error)
                    self._error = error
                self._stop.set()
        if is_first and error is not None:
            for callback in self._on_error:
                callback(error)

    def on_error(self, callback: Callable[[BaseException], None]) -> None:
        """Call somebody, on the thread that failed, when the first error is reported.

        Args:
          callback: called with the error.
        """
        self._on_error.append(callback)

    def clear_stop(self) -> None:
        """Begin anew: nobody has asked to stop."""
        with self._lock:
            self._joined, self._error = False, None
            self._stop.clear()

    def should_stop(self) -> bool:
        """Whether somebody has asked to stop."""
        return self._stop.is_set()

    @contextmanager
    def stop_on_exception(self) -> Iterator[None]:
        """What the block raises asks all threads to stop."""
        try:
            yield
        except BaseException:
            self.request_stop(ex=sys.exc_info())

    def wait_for_stop(self, timeout: float | None = None) -> bool:
        """Wait until somebody asks to stop.

        Args:
          timeout: at most so many seconds.

        Returns:
          Whether somebody did.
        """
        return self._stop.wait(timeout)

    def register_thread(self, thread: threading.Thread) -> None:
        """Let `join` wait for a thread.

        Args:
          thread: the thread.
        """
        with self._lock:
            self._threads.add(thread)

    def join(
        self,
        threads: Iterable[threading.Thread] | None = None,
        stop_grace_period_secs: float = 120,
        ignore_live_threads: bool = False,
    ) -> None:
        """Wait until all threads have ended, and raise what one of them reported.

        Args:
          threads: threads to wait for, beside those that are registered.
          stop_grace_period_secs: how long they may go on after somebody asked to stop.
          ignore_live_threads: threads that go on longer are no error.

        Raises:
          RuntimeError: a thread goes on longer.
        """
        with self._lock:
            waited = [*self._threads.union(threads or ())]
        while any(t.is_alive() for t in waited) and not self.wait_for_stop(1.0):
            pass
        end = time.monotonic() + stop_grace_period_secs
        for thread in waited:
            while thread.is_alive() and time.monotonic() < end:
                thread.join(max(0.001, min(1.0, end - time.monotonic())))
        alive = " ".join(t.name for t in waited if t.is_alive())
        with self._lock:
            self._joined, self._threads = True, set()
            if self._error is not None:
                raise self._error
            if alive:
                message = f"Coordinator stopped with threads still running: {alive}"
                if not ignore_live_threads:
                    raise RuntimeError(message)
                log.info(message)

    joined: bool = reads("_joined", "Whether `join` has ended.")

    def raise_requested_exception(self) -> None:
        """Raise what a thread reported, if one did."""
        with self._lock:
            if self._error is not None:
                raise self._error


def _as_error(ex: Any) -> BaseException | None:
    """The error of an argument of `request_stop`."""
    if ex is None or isinstance(ex, BaseException):
        return ex
    if isinstance(ex, tuple) and len(ex) == 3 and isinstance(ex[1], BaseException):
        return ex[1]
    return ValueError(f"ex must be a tuple or sys.exc_info must return the current exception: {ex}")


class LooperThread(threading.Thread):
    """A thread that calls something again and again, until its coordinator stops."""

    def __init__(
        self,
        coord: Coordinator,
        timer_interval_secs: float | None,
        target: Callable[..., Any] | None = None,
        args: Any = None,
        kwargs: Any = None,
    ) -> None:
        """Args:
        coord: the coordinator.
        timer_interval_secs: seconds from one call to the next; None for no pause.
        target: what to call; `run_loop` of a subclass if None.
        args: arguments for it.
        kwargs: more of them, by name.
        """
        if not isinstance(coord, Coordinator):
            raise ValueError(f"'coord' argument must be a Coordinator: {coord}")
        if target is None and (args or kwargs):
            raise ValueError("'args' and 'kwargs' argument require that you also pass 'target'")
        super().__init__(daemon=True)
        self._coord, self._timer_interval_secs = coord, timer_interval_secs
        self._called, self._given, self._named = target, args or (), kwargs or {}
        coord.register_thread(self)

    @staticmethod
    def loop(
        coord: Coordinator,
        timer_interval_secs: float | None,
        target: Callable[..., Any],
        args: Any = None,
        kwargs: Any = None,
    ) -> LooperThread:
        """A thread that is started already; the arguments are those of the class."""
        looper = LooperThread(coord, timer_interval_secs, target, args, kwargs)
        looper.start()
        return looper

    def run(self) -> None:
        with self._coord.stop_on_exception():
            self.start_loop()
            if self._timer_interval_secs is None:
                while not self._coord.should_stop():
                    self.run_loop()
            else:
                moment = time.time()
                while not self._coord.wait_for_stop(moment - time.time()):
                    moment += self._timer_interval_secs
                    self.run_loop()
            self.stop_loop()

    def start_loop(self) -> None:
        """Called once, at the start."""

    def stop_loop(self) -> None:
        """Called once, at the end."""

    def run_loop(self) -> None:
        """Called again and again."""
        if self._called is not None:
            self._called(*self._given, **self._named)
