"""Pieces of a step that take turns on one thread.

Loops and branches over several devices may read and write variables in an order that no edge says.  With a
thread for each piece the quicker one would be first.  Here a piece works until it waits for another, then
the next one that can go on does: the order is open to TensorFlow, and always the same here.

In: pieces with their programs, a step, its arguments.  Out: the values that are fetched.
"""

from __future__ import annotations

import queue
from collections.abc import Callable, Sequence
from typing import Any

from headrace.core.errors import OpError
from headrace.partition.split import Piece
from headrace.runtime.executor import DataflowProgram
from headrace.runtime.resumable import ResumableRun
from headrace.runtime.step import Step


class InTurns:
    """One step."""

    def __init__(
        self, pieces: Sequence[Piece], programs: Sequence[Any], step: Step, arguments: Sequence[Any]
    ) -> None:
        self.parts = list(zip(pieces, programs))
        self.step, self.arguments = step, arguments
        self.jobs: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self.runs: dict[str, ResumableRun] = {}  # of the devices whose pieces can wait
        self.left = {p.device for p in pieces}
        self.errors: list[BaseException] = []

    def run(self, count: int) -> list[Any]:
        """The fetched values, once every piece has ended.  A job is what a piece can do before it waits."""
        results: list[Any] = [None] * count
        self.step.rendezvous.joined(piece.device for piece, _ in self.parts)
        for piece, program in self.parts:
            self._begin(piece, program, results)
        try:
            while self.left:
                if self.jobs.empty():
                    self._all_wait()
                self.jobs.get()()
        except BaseException as error:  # an interrupt between two turns
            self._failed(error)
        if self.errors:
            raise self.errors[0]
        return results

    def _begin(self, piece: Piece, program: Any, results: list[Any]) -> None:
        """Its first turn stands behind those of the pieces before it."""
        given = [self.arguments[i] for i in piece.feeds]

        def ended(values: Any, error: BaseException | None) -> None:
            self.left.discard(piece.device)
            if error is not None:
                self._failed(error)
                return
            for place, value in zip(piece.fetches, values):
                results[place] = value
            self.step.rendezvous.ended(piece.device)

        def work() -> None:
            try:
                values = program.run(self.step, given)
            except BaseException as error:
                ended(None, error)
            else:
                ended(values, None)

        if isinstance(program, DataflowProgram):
            run = self.runs[piece.device] = ResumableRun(program, self.step, given, ended, self.jobs.put)
            run.start()
        else:
            self.jobs.put(work)

    def _all_wait(self) -> None:
        """Nobody can go on: if they wait for each other, the meeting place ends the step."""
        for device, run in self.runs.items():
            if device in self.left and run.program.receives_on is not None:
                self.step.rendezvous.idle(run.program.receives_on, run.waiting)

    def _failed(self, error: BaseException) -> None:
        self.errors.append(error)
        self.step.rendezvous.abort(error)
        self.step.cancel.set(error if isinstance(error, OpError) else None)
