"""Which steps a task knows, and for how long.  Pure: no threads, no clock, no I/O; the caller locks.

A step is known from whatever comes first: its run, or another task's question for one of its values.  It
is forgotten when it has run here and everything that it left was taken, or when the master cleans it up:
then late questions for it are refused, since they would wait for good.  A request that comes twice (a
network may repeat it) is refused, so that no gradient is applied twice.  A master need not tell of steps
that ended well: of those whose values nobody takes (a receiver may do without) only the last are kept.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from headrace.core.errors import AbortedError
from headrace.distributed.security.limits import Limits
from headrace.distributed.worker.rendezvous import TaskRendezvous

REMEMBERED = 10_000  # ended steps, and requests
UNTAKEN = 256  # steps that have run here and left values that nobody has taken


@dataclass(slots=True)
class Entry:
    rendezvous: TaskRendezvous
    running: int = 0
    has_run: bool = False


class Steps:
    """`make` gives a step its meeting place; of `limits`, how many steps are known at a time counts."""

    def __init__(self, make: Callable[[int], TaskRendezvous], limits: Limits | None = None) -> None:
        self._make, self._limits = make, limits or Limits()
        self._live: dict[int, Entry] = {}
        self._ended: OrderedDict[int, None] = OrderedDict()
        self._requests: OrderedDict[int, None] = OrderedDict()
        self._untaken: OrderedDict[int, None] = OrderedDict()

    def meet(self, step_id: int) -> TaskRendezvous:
        """The step's meeting place, for somebody who asks for a value."""
        return self._entry(step_id).rendezvous

    def find(self, step_id: int) -> TaskRendezvous | None:
        entry = self._live.get(step_id)
        return None if entry is None else entry.rendezvous

    def begin(self, step_id: int) -> TaskRendezvous:
        """A piece of the step begins to run here."""
        entry = self._entry(step_id)
        entry.running += 1
        return entry.rendezvous

    def end(self, step_id: int) -> None:
        """It has ended, well or not."""
        entry = self._live.get(step_id)
        if entry is None:
            return  # cleaned up meanwhile
        entry.running -= 1
        entry.has_run = True
        self.settle(step_id)
        if step_id in self._live and not entry.running:
            self._untaken[step_id] = None
            if len(self._untaken) > UNTAKEN:
                self._forget(next(iter(self._untaken)))

    def settle(self, step_id: int) -> None:
        """Something was taken, or is not wanted any more: is that all?"""
        entry = self._live.get(step_id)
        if entry is not None and not entry.running and not len(entry.rendezvous):
            if entry.has_run:
                self._forget(step_id)
            else:  # only asked for, and nobody asks any more: it may still come
                del self._live[step_id]

    def clean(self, step_id: int) -> TaskRendezvous | None:
        """Forget the step; the meeting place is for the caller to abort."""
        entry = self._live.get(step_id)
        self._forget(step_id)
        return None if entry is None else entry.rendezvous

    def admit(self, request_id: int) -> None:
        """Refuse a request that was here before; 0 means that the sender does not number them."""
        if request_id:
            if request_id in self._requests:
                raise AbortedError(None, None, f"The same request ({request_id}) was received twice.")
            _note(self._requests, request_id)

    def all(self) -> list[TaskRendezvous]:
        return [entry.rendezvous for entry in self._live.values()]

    def __len__(self) -> int:
        return len(self._live)

    def _entry(self, step_id: int) -> Entry:
        entry = self._live.get(step_id)
        if entry is None:
            if step_id in self._ended:
                raise AbortedError(None, None, f"Step {step_id} has ended here.")
            self._limits.check("steps", len(self._live) + 1, "this task")
            entry = self._live[step_id] = Entry(self._make(step_id))
        return entry

    def _forget(self, step_id: int) -> None:
        self._live.pop(step_id, None)
        self._untaken.pop(step_id, None)
        _note(self._ended, step_id)


def _note(table: OrderedDict[int, None], number: int) -> None:
    table[number] = None
    if len(table) > REMEMBERED:
        table.popitem(last=False)
