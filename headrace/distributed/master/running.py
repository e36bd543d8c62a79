"""One step under way: the acting part of `step.MasterStep`.

A partial run is several of them: calls that share a number, each with some of the feeds and fetches.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any

import numpy as np

from headrace.core.errors import DeadlineExceededError, OpError
from headrace.core.later import call_later
from headrace.distributed.master import step as steps
from headrace.distributed.master.parts import Part
from headrace.distributed.sockets.reactor import result
from headrace.distributed.transport.link import Link
from headrace.distributed.wire.status import told_by
from headrace.distributed.worker.collectives import STEP_KEY
from headrace.distributed.worker.interface import Call, WorkerInterface
from headrace.distributed.worker.recording import Recording
from headrace.distributed.worker.worker import Worker

PATIENCE = 2.0  # seconds that tasks have to end a step that failed


def new_step_id() -> int:
    """A number that no other master uses at the same tasks; TF keeps the seven highest bits free."""
    return random.getrandbits(55) | 1 << 56


class RunningStep:
    """`workers` have registered the `parts`; `recording` says what is to be known of the step."""

    def __init__(
        self,
        workers: Mapping[str, WorkerInterface],
        worker_session: str,
        parts: list[Part],
        arguments: list[Any],
        count: int,
        recording: Recording | None = None,
    ) -> None:
        here_last = sorted(parts, key=lambda p: isinstance(workers[p.task], Worker))
        self.workers, self.worker_session = workers, worker_session
        self.parts = {p.task: p for p in here_last}
        self.arguments, self.count = arguments, count
        self.id = new_step_id()
        self._number: int | None = None
        self.result: Future[list[Any]] = Future()
        self._recordings = None if recording is None else {t: recording.like() for t in self.parts}
        self._links = self._open_links() if recording is None else {}
        self._state = steps.MasterStep(list(self.parts), self._told())
        self._lock = threading.Lock()

    def _open_links(self) -> dict[str, Link]:
        """To the tasks that this step reaches without gRPC: with them, values are pushed."""
        found = {t: getattr(self.workers[t], "link", None) for t in self.parts}
        return {task: link for task, link in found.items() if link is not None}

    def _told(self) -> frozenset[str]:
        """Tasks that keep a step until they are told: all that do not forget by themselves."""
        return frozenset(t for t in self.parts if not self.workers[t].forgets)

    def run(self, timeout_in_ms: int) -> list[Any]:
        """Begin, and wait for the outcome: the values, or the error that was first.  The deadline is one more
        way to be stopped."""
        timer = None
        if timeout_in_ms:
            late = DeadlineExceededError(None, None, f"The step took more than {timeout_in_ms} ms")
            timer = call_later(timeout_in_ms / 1000, lambda: self.stop(late))
        try:
            for worker in map(self.workers.__getitem__, self.parts if self._links else ()):
                if isinstance(worker, Worker):
                    worker.will_run(self.id)
            self._on(steps.Started())
            found: list[Any] = result(self.result)
            return found
        finally:
            if timer is not None:
                timer.cancel()

    def take_number(self, number: int) -> None:
        """The number that its collectives go by.  Tasks of ours are told of it; for TensorFlow's it must be
        that of the step."""
        if all(self.workers[task].forgets for task in self.parts):
            self._number = number
        else:
            self.id = number

    def stop(self, error: OpError) -> None:
        self._on(steps.Stopped(error))

    def add_to(self, metadata: Any) -> None:
        """What was recorded on all tasks, in one RunMetadata."""
        for recording in (self._recordings or {}).values():
            metadata.MergeFrom(recording.metadata)

    def _on(self, event: steps.Event) -> None:
        with self._lock:
            actions = self._state.on(event)
        for action in actions:
            self._act(action)

    def _act(self, action: steps.Action) -> None:
        match action:
            case steps.Launch(task):
                running = self._launch(self.parts[task])
                running.add_done_callback(lambda done: self._answered(task, done))
            case steps.Clean(task):
                self.workers[task].clean_step(self.id)
                if self._state.errors:
                    call_later(PATIENCE, lambda: self._on(steps.GaveUp()))
            case steps.Fail(error):
                self.result.set_exception(error)
            case steps.Deliver(values):
                self.result.set_result(self._gathered(values))

    def _launch(self, part: Part) -> Future[list[Any]]:
        given = {key: self.arguments[place] for key, place in part.feeds.items()}
        if self._number is not None:
            given[STEP_KEY] = np.array(self._number, np.int64)
        worker = self.workers[part.task]
        recording = None if self._recordings is None else self._recordings[part.task]
        call = Call(self.worker_session, part.handle, self.id, given, list(part.fetches))
        if isinstance(worker, Worker):
            return _inline(lambda: worker.run_now(call, recording, self._links))
        return worker.run(call, recording, link=self._links.get(part.task))

    def _answered(self, task: str, done: Future[list[Any]]) -> None:
        error = done.exception()
        if error is None:
            self._on(steps.PartEnded(task, done.result()))
        else:
            self._on(steps.PartFailed(task, told_by(task, error)))

    def _keys(self, part: Part) -> dict[str, list[int]]:
        """Keys of what is fetched -> where it belongs."""
        return part.fetches

    def _gathered(self, values: dict[str, list[Any]]) -> list[Any]:
        found: list[Any] = [None] * self.count
        for task, part in self.parts.items():
            for places, value in zip(self._keys(part).values(), values[task]):
                for place in places:
                    found[place] = value
        return found


class PartialCall(RunningStep):
    """One call of a partial run: values for some feeds, by their places, and the places of some fetches."""

    def __init__(
        self,
        workers: Mapping[str, WorkerInterface],
        worker_session: str,
        parts: list[Part],
        step_id: int,
        given: dict[int, Any],
        wanted: list[int],
        is_last: bool,
    ) -> None:
        self.given, self.wanted, self.is_last = given, wanted, is_last
        super().__init__(workers, worker_session, parts, [], len(wanted))
        self.id = step_id

    def _told(self) -> frozenset[str]:
        return super()._told() if self.is_last else frozenset()

    def _open_links(self) -> dict[str, Link]:
        return {}

    def _keys(self, part: Part) -> dict[str, list[int]]:
        """The same, of what is fetched now."""
        found: dict[str, list[int]] = {}
        for key, places in part.fetches.items():
            here = [at for at, place in enumerate(self.wanted) if place in places]
            if here:
                found[key] = here
        return found

    def _launch(self, part: Part) -> Future[list[Any]]:
        given = {key: self.given[place] for key, place in part.feeds.items() if place in self.given}
        call = Call(self.worker_session, part.handle, self.id, given, list(self._keys(part)))
        return self.workers[part.task].run_partial(call, self.is_last)


def _inline(run: Callable[[], list[Any]]) -> Future[list[Any]]:
    """The part of the master's own task, on the thread that waits for the step anyway; others run by now."""
    future: Future[list[Any]] = Future()
    try:
        future.set_result(run())
    except BaseException as error:
        future.set_exception(error)
    return future
