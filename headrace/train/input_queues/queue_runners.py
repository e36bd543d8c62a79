"""Queue runners: threads that keep queues full."""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Sequence
from typing import Any

from headrace.core import log
from headrace.core.errors import (
    CancelledError,
    OpError,
    OutOfRangeError,
    error_code_from_exception_type,
    exception_type_from_error_code,
)
from headrace.core.fields import reads
from headrace.formats import proto
from headrace.graph.defaults import get_default_graph, get_default_session
from headrace.graph.keys import GraphKeys
from headrace.graph.scope_names import add_scope, strip_scope
from headrace.session.base import BaseSession
from headrace.train.input_queues.coordinator import Coordinator

_LAST_STEP = 1.0  # seconds that a step may still take after the coordinator has stopped


class QueueRunner:
    """What fills a queue: nodes that put elements into it, each run by a thread of its own."""

    def __init__(
        self,
        queue: Any = None,
        enqueue_ops: Sequence[Any] | None = None,
        close_op: Any = None,
        cancel_op: Any = None,
        queue_closed_exception_types: tuple[type[BaseException], ...] | None = None,
        queue_runner_def: Any = None,
        import_scope: str | None = None,
    ) -> None:
        """Args:
        queue: the queue.
        enqueue_ops: a list of nodes to run, again and again.
        close_op: closes the queue when all of them have ended; made if None.
        cancel_op: closes it at once when the coordinator stops; made if None.
        queue_closed_exception_types: a tuple of errors that mean "the end"; OutOfRangeError if None.
        queue_runner_def: a message that says all this.
        import_scope: the scope of its names.
        """
        if queue_runner_def:
            if queue or enqueue_ops:
                raise ValueError("queue_runner_def and queue are mutually exclusive.")
            self._read(queue_runner_def, import_scope)
        else:
            if not queue or not enqueue_ops:
                raise ValueError("Must provide queue and enqueue_ops.")
            self._queue, self._enqueue_ops = queue, enqueue_ops
            self._ends = _checked(queue_closed_exception_types)
            self._close_op = queue.close() if close_op is None else close_op
            if cancel_op is None:
                cancel_op = queue.close(cancel_pending_enqueues=True)
            self._cancel_op = cancel_op
        self._lock = threading.Lock()
        self._running: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self._errors: list[BaseException] = []

    def _read(self, message: Any, scope: str | None) -> None:
        graph = get_default_graph()

        def find(name: str) -> Any:
            return graph.as_graph_element(add_scope(name, scope))

        self._queue = find(message.queue_name)
        self._enqueue_ops = [find(name) for name in message.enqueue_op_name]
        self._close_op, self._cancel_op = find(message.close_op_name), find(message.cancel_op_name)
        self._ends = tuple(
            exception_type_from_error_code(code) for code in message.queue_closed_exception_types
        ) or (OutOfRangeError,)

    queue: Any = reads("_queue", "The queue.")
    enqueue_ops: Any = reads("_enqueue_ops", "The nodes that fill it.")
    close_op: Any = reads("_close_op", "The node that closes it at the end.")
    cancel_op: Any = reads("_cancel_op", "The node that closes it when the coordinator stops.")

    @property
    def queue_closed_exception_types(self) -> tuple[type[OpError], ...]:
        """Errors that mean "the end"."""
        return self._ends

    @property
    def exceptions_raised(self) -> list[BaseException]:
        """What threads without a coordinator have raised."""
        return self._errors

    @property
    def name(self) -> str:
        """The name of the queue."""
        return str(self._queue.name)

    # -- threads -------------------------------------------------------------------------------
    def create_threads(
        self, sess: Any, coord: Coordinator | None = None, daemon: bool = False, start: bool = False
    ) -> list[threading.Thread]:
        """Threads that fill the queue, none if those of an earlier call go on.

        Args:
          sess: the session to run the nodes in.
          coord: stops the threads, and hears of their errors.
          daemon: the program may end before them.
          start: start them.
        """
        with self._lock:
            if self._running.get(sess, 0) > 0:
                return []
            self._running[sess] = len(self._enqueue_ops)
            self._errors = []
        stem = f"QueueRunnerThread-{self.name}"
        threads = [
            threading.Thread(target=self._run, args=(sess, op, coord), name=f"{stem}-{op.name}")
            for op in self._enqueue_ops
        ]
        if coord:
            close = threading.Thread(
                target=self._close_on_stop, args=(sess, coord, tuple(threads)), name=f"{stem}-close_on_stop"
            )
            threads.append(close)
        for thread in threads:
            if coord:
                coord.register_thread(thread)
            if daemon:
                thread.daemon = True
            if start:
                thread.start()
        return threads

    def _run(self, sess: Any, enqueue_op: Any, coord: Coordinator | None = None) -> None:
        """Fill until the end; the last thread closes the queue."""
        try:
            enqueue = sess.make_callable(enqueue_op)
            while not (coord and coord.should_stop()):
                enqueue()
        except self._ends:
            if self._leave(sess) == 0:
                try:
                    sess.run(self._close_op)
                except Exception as error:
                    log.vlog(1, "Ignored exception: %s", error)
        except Exception as error:
            self._leave(sess)
            if coord and coord.should_stop() and isinstance(error, CancelledError):
                return
            if coord:
                coord.request_stop(error)
                return
            log.error("Exception in QueueRunner: %s", error)
            with self._lock:
                self._errors.append(error)
            raise
        else:
            self._leave(sess)

    def _leave(self, sess: Any) -> int:
        """One thread less; how many are left."""
        with self._lock:
            self._running[sess] -= 1
            return self._running[sess]

    def _close_on_stop(
        self, sess: Any, coord: Coordinator, threads: tuple[threading.Thread, ...] = ()
    ) -> None:
        """Close the queue; a thread whose step waits for something else than the queue is ended, too."""
        coord.wait_for_stop()
        try:
            sess.run(self._cancel_op)
        except Exception as error:
            log.vlog(1, "Ignored exception: %s", error)
        end = time.monotonic() + _LAST_STEP
        for thread in threads:
            thread.join(max(0.0, end - time.monotonic()))
        alive = {thread.ident or 0 for thread in threads if thread.is_alive()}
        if alive and isinstance(sess, BaseSession):
            sess.cancel_steps(CancelledError(None, None, "The coordinator has stopped."), alive)

    # -- as a message --------------------------------------------------------------------------
    def to_proto(self, export_scope: str | None = None) -> Any:
        """The QueueRunnerDef; None if the queue is not in the scope."""
        if export_scope is not None and not self.name.startswith(export_scope):
            return None

        def name(item: Any) -> str:
            return strip_scope(item.name, export_scope)

        return proto.QueueRunnerDef(
            queue_name=name(self._queue),
            enqueue_op_name=[name(op) for op in self._enqueue_ops],
            close_op_name=name(self._close_op),
            cancel_op_name=name(self._cancel_op),
            queue_closed_exception_types=[error_code_from_exception_type(e) for e in self._ends],
        )

    @staticmethod
    def from_proto(queue_runner_def: Any, import_scope: str | None = None) -> QueueRunner:
        """A runner from its message."""
        return QueueRunner(queue_runner_def=queue_runner_def, import_scope=import_scope)


def _checked(types: Any) -> tuple[type[OpError], ...]:
    if types is None:
        return (OutOfRangeError,)
    if not isinstance(types, tuple) or not types or not all(issubclass(t, OpError) for t in types):
        raise TypeError(
            "queue_closed_exception_types, when provided, must be a tuple of tf.error types, but "
            f"saw: {types}"
        )
    return types


def add_queue_runner(qr: QueueRunner, collection: str = GraphKeys.QUEUE_RUNNERS) -> None:
    """Add a runner to a collection of the default graph.

    Args:
      qr: the runner.
      collection: the collection.
    """
    get_default_graph().add_to_collection(collection, qr)


def start_queue_runners(
    sess: Any = None,
    coord: Coordinator | None = None,
    daemon: bool = True,
    start: bool = True,
    collection: str = GraphKeys.QUEUE_RUNNERS,
) -> list[threading.Thread]:
    """Start the threads of all runners of the default graph.

    Args:
      sess: the session; the default one if None.
      coord: stops the threads, and hears of their errors.
      daemon: the program may end before them.
      start: start them, not only make them.
      collection: where the runners are.

    Returns:
      The threads.

    Raises:
      ValueError: there is no session.
      TypeError: `sess` is none.
    """
    if sess is None:
        sess = get_default_session()
        if not sess:
            raise ValueError(
                "Cannot start queue runners: No default session is registered, and none was given."
            )
    if not isinstance(sess, BaseSession):
        # These start the runners themselves.
        if type(sess).__name__ in ("MonitoredSession", "SingularMonitoredSession"):
            return []
        raise TypeError(f"sess must be a `tf.Session` object. Given class: {type(sess)}")
    runners = get_default_graph().get_collection(collection)
    if not runners:
        log.warning("`tf.train.start_queue_runners()` has nothing to start: the graph has no queue runners.")
    with sess.graph.as_default():
        return [
            thread
            for runner in runners
            for thread in runner.create_threads(sess, coord=coord, daemon=daemon, start=start)
        ]
