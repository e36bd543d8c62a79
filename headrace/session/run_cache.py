"""What a session remembers of a signature: the prepared pieces and how values go in and out."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from headrace.core import options
from headrace.core.errors import OpError
from headrace.devices.device import Device
from headrace.graph.graph import Graph
from headrace.graph.node import Node
from headrace.graph.tensor import Tensor
from headrace.partition.split import Piece, split
from headrace.passes.pipeline import PIPELINE, Pass, improve
from headrace.placement.place import explain, place
from headrace.plan.inline import inline
from headrace.plan.late_reads import late_reads
from headrace.plan.plan import Plan, PlanNode
from headrace.plan.prune import prune
from headrace.plan.state_order import order_state
from headrace.plan.text import to_text
from headrace.runtime.executor import pool
from headrace.runtime.step import Step

LIMIT = 512  # signatures; the one that was not used for longest is forgotten


@dataclass(frozen=True, slots=True)
class Settings:
    """What of a ConfigProto changes how a signature is prepared."""

    devices: tuple[Device, ...]
    soft_placement: bool = False
    optimize: bool = True
    log_placement: bool = False
    pipeline: tuple[Pass, ...] = PIPELINE

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(d.name for d in self.devices)

    def device(self, name: str) -> Device:
        """By its full name; an empty plan names none."""
        return next((d for d in self.devices if d.name == name), self.devices[0])

    def can_run(self, name: str, node: PlanNode) -> bool:
        return self.device(name).can_run(node)


class Prepared:
    """A signature that is ready to run."""

    def __init__(self, pieces: Sequence[Piece], programs: Sequence[Any], count: int) -> None:
        self.pieces, self.programs, self.count = pieces, programs, count
        self.only = programs[0] if len(programs) == 1 else None

    def run(self, step: Step, arguments: Sequence[Any]) -> list[Any]:
        if self.only is not None:
            return self.only.run(step, arguments)  # type: ignore[no-any-return]
        return self._run_pieces(step, arguments)

    def _run_pieces(self, step: Step, arguments: Sequence[Any]) -> list[Any]:
        """Pieces run beside one another and meet at the step's rendezvous."""
        results: list[Any] = [None] * self.count
        errors: list[BaseException] = []

        def work(piece: Piece, program: Any) -> None:
            try:
                values = program.run(step, [arguments[i] for i in piece.feeds])
                for place_, value in zip(piece.fetches, values):
                    results[place_] = value
                step.rendezvous.ended(piece.device)
            except BaseException as error:
                errors.append(error)
                step.rendezvous.abort(error)
                step.cancel.set(error if isinstance(error, OpError) else None)

        step.rendezvous.joined(piece.device for piece in self.pieces)
        parts = list(zip(self.pieces, self.programs))
        waiting = [pool().submit(work, *part) for part in parts[1:]]
        work(*parts[0])
        for future in waiting:
            future.result()
        if errors:
            raise errors[0]
        return results


def prepare(
    graph: Graph,
    feeds: Sequence[Tensor],
    fetches: Sequence[Tensor],
    targets: Sequence[Node],
    settings: Settings,
) -> Prepared:
    """The path of a signature in one process: what `make_plan` does, then split, prepare."""
    pieces = split(make_plan(graph, feeds, fetches, targets, settings))
    programs = [settings.device(p.device).prepare(p.plan) for p in pieces]
    return Prepared(pieces, programs, len(fetches))


def make_plan(
    graph: Graph,
    feeds: Sequence[Tensor],
    fetches: Sequence[Tensor],
    targets: Sequence[Node],
    settings: Settings,
) -> Plan:
    """Prune, inline, place, improve: a plan in which every node has a device."""
    plan = inline(prune(graph, feeds, fetches, targets))
    # Placed first: what a node asks for counts even if the node is folded away afterwards.
    plan = place(plan, settings.names, settings.soft_placement, settings.can_run)
    plan = order_state(late_reads(plan))
    if settings.optimize:
        plan = improve(plan, settings.pipeline)
    if settings.log_placement:
        print(explain(plan), flush=True)
    if options.shown():
        options.show("plan", to_text(plan))
    return plan


class RunCache:
    """Prepared signatures; the least recently used one goes first.  Mutations of the graph empty it."""

    def __init__(self) -> None:
        self._entries: OrderedDict[Any, Any] = OrderedDict()
        self.plain: dict[Any, Any] = {}  # by a fetched tensor or node alone, where nothing is fed
        self._lock = threading.RLock()
        self.mutations = 0

    def get(self, key: Any, mutations: int) -> Any:
        if mutations != self.mutations:
            with self._lock:
                self._entries.clear()
                self.plain.clear()
                self.mutations = mutations
            return None
        found = self._entries.get(key)
        # Below half of the limit nothing is forgotten soon, and the order of uses need not be kept.
        if found is not None and len(self._entries) > LIMIT // 2:
            with self._lock:
                if key in self._entries:  # another thread may have emptied it
                    self._entries.move_to_end(key)
        return found

    def put(self, key: Any, entry: Any) -> None:
        with self._lock:
            self._entries[key] = entry
            while len(self._entries) > LIMIT:
                self._entries.popitem(last=False)

    def put_plain(self, key: Any, entry: Any) -> None:
        with self._lock:
            if len(self.plain) >= LIMIT:
                self.plain.clear()
            self.plain[key] = entry
