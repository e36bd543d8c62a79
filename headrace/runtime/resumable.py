"""A run of a piece that holds no thread while it waits: each answer goes on with it.

In: a DataflowProgram, a step, values; who goes on (`submit`: at once, or on another thread).  Out: `then`
gets the values, or the error.  At most one thread at a time is in a run.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from headrace.core.denormals import flushing
from headrace.runtime.executor import DataflowProgram, Run
from headrace.runtime.frames import Ready
from headrace.runtime.step import Step

Then = Callable[[Any, BaseException | None], None]  # values or error
Submit = Callable[[Callable[[], None]], object]


class _Answers:
    """What a Run sees as its queue: to put an answer goes on with the run."""

    __slots__ = ("put",)

    def __init__(self, put: Callable[[Any], None]) -> None:
        self.put = put


class ResumableRun(Run):
    def __init__(
        self, program: DataflowProgram, step: Step, arguments: Sequence[Any], then: Then, submit: Submit
    ) -> None:
        super().__init__(program, step, arguments)
        self._then, self._submit = then, submit
        self._lock = threading.Lock()
        self._come: deque[tuple[Ready | None, Any]] = deque()
        self._is_running = True  # some thread is in here, or will be
        self._ready: deque[Ready] = deque()
        self._forget: Callable[[], None] | None = None
        self.answers = _Answers(self._put)

    def start(self) -> None:
        self._submit(self._begin)

    def _put(self, answer: tuple[Ready | None, Any]) -> None:
        with self._lock:
            self._come.append(answer)
            if self._is_running:
                return  # who is in here sees it
            self._is_running = True
        self._submit(self._go_on)

    @flushing
    def _begin(self) -> None:
        self._forget = self.step.cancel.on_cancel(lambda: self._put((None, None)))
        self._guarded(lambda: self.enqueue(self.state.start(), self._ready))

    @flushing
    def _go_on(self) -> None:
        self._guarded(lambda: None)

    def _guarded(self, first: Callable[[], None]) -> None:
        """Go on as far as possible; whatever happens is told to whoever waits."""
        try:
            first()
            if not self._advance():
                return
            self.check_results()
            if self.program.border is not None:
                self.program.border.wait()
        except BaseException as error:
            self._end(None, error)
        else:
            self._end(self.results, None)

    def _advance(self) -> bool:
        """Whether all has run; if not, the next answer goes on."""
        ready = self._ready
        while True:
            while ready:
                self.launch(ready.popleft(), ready)
            if not self.waiting:
                return True
            with self._lock:
                if not self._come:
                    self._is_running = False
                    return False
                item, answer = self._come.popleft()
            self.collected(item, answer, ready)

    def _end(self, values: Any, error: BaseException | None) -> None:
        # `_is_running` stays: late answers go nowhere
        if self._forget is not None:
            self._forget()
        self._then(values, error)
