"""What a session remembers of a signature: the prepared pieces and how values go in and out."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

from headrace.core import options
from headrace.core.errors import OpError
from headrace.core.records import record
from headrace.devices.device import Device
from headrace.graph.graph import Graph
from headrace.graph.node import Node
from headrace.graph.tensor import Tensor
from headrace.ops.declaration.traits import DEFERRED
from headrace.partition.client import served
from headrace.partition.split import Piece, split
from headrace.passes.pipeline import PIPELINE, Pass, improve
from headrace.placement.place import explain, place
from headrace.plan.deadlocks import WAITS
from headrace.plan.inline import inline
from headrace.plan.late_reads import late_reads
from headrace.plan.plan import Plan, PlanNode
from headrace.plan.prune import prune
from headrace.plan.state_order import is_open_inside, order_state
from headrace.plan.text import to_text
from headrace.plan.units import inner_plans
from headrace.runtime.executor import DataflowProgram, pool
from headrace.runtime.resumable import ResumableRun, Submit, Then
from headrace.runtime.step import Step
from headrace.session.in_turns import InTurns

LIMIT = 512  # signatures; the one that was not used for longest is forgotten


@record
class Settings:
    """What of a ConfigProto changes how a signature is prepared."""

    devices: tuple[Device, ...]
    soft_placement: bool = False
    optimize: bool = True
    log_placement: bool = False
    halves: bool = False  # float32 goes between tasks as bfloat16
    orders_state: bool = (
        True  # where edges leave it open; not in partial runs: a read may come before its feeds
    )
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

    def __init__(
        self, pieces: Sequence[Piece], programs: Sequence[Any], count: int, take_turns: bool = False
    ) -> None:
        self.pieces, self.programs, self.count = pieces, programs, count
        self.take_turns = take_turns
        self.only = programs[0] if len(programs) == 1 else None

    def run(self, step: Step, arguments: Sequence[Any]) -> list[Any]:
        if self.only is not None:
            return self.only.run(step, arguments)  # type: ignore[no-any-return]
        return self._run_pieces(step, arguments)

    def start(self, step: Step, arguments: Sequence[Any], then: Then, submit: Submit) -> None:
        """The same without a thread that waits, as far as that is possible: `then` gets values or an error.
        `submit` says who works."""
        if isinstance(self.only, DataflowProgram):
            ResumableRun(self.only, step, arguments, then, submit).start()
            return

        def work() -> None:
            try:
                values = self.run(step, arguments)
            except BaseException as error:
                then(None, error)
            else:
                then(values, None)

        (submit if self._never_waits() else pool().submit)(work)

    def _never_waits(self) -> bool:
        """One program, none of whose nodes answers later."""
        if len(self.pieces) != 1:
            return False
        nodes = self.pieces[0].plan.nodes.values()
        return all(DEFERRED not in n.op.traits and not inner_plans(n) for n in nodes)

    def _run_pieces(self, step: Step, arguments: Sequence[Any]) -> list[Any]:
        """Pieces run beside one another and meet at the step's rendezvous."""
        if self.take_turns:
            return InTurns(self.pieces, self.programs, step, arguments).run(self.count)
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
    is_part: bool = False,
    is_served: bool = False,
) -> Prepared:
    """The path of a signature in one process: what `make_plan` does, then split, prepare."""
    plan = make_plan(graph, feeds, fetches, targets, settings, is_part, is_served)
    pieces = split(plan)
    programs = [settings.device(p.device).prepare(p.plan) for p in pieces]
    take_turns = len(pieces) > 1 and settings.orders_state and not is_part and is_open_inside(plan)
    if any(n.op.traits & WAITS for n in plan.nodes.values()):  # else one might wait in the midst of its turn
        take_turns = take_turns and all(isinstance(p, DataflowProgram) for p in programs)
    return Prepared(pieces, programs, len(fetches), take_turns)


def make_plan(
    graph: Graph,
    feeds: Sequence[Tensor],
    fetches: Sequence[Tensor],
    targets: Sequence[Node],
    settings: Settings,
    is_part: bool = False,
    is_served: bool = False,
) -> Plan:
    """Prune, inline, place, improve: a plan in which every node has a device.

    `is_part`: of a plan on several tasks, which its master has put in order.  Here a read may seem free to
    wait for a write that waits, by way of another task, for the read; in a partial run, for a feed that
    comes after the read was fetched.  `is_served`: feeds and fetches pass the step's meeting place.
    """
    plan = pruned(graph, feeds, fetches, targets, settings)
    plan = late_reads(served(plan) if is_served else plan)
    if not is_part:
        plan = order_state(plan)
    if settings.optimize:
        plan = improve(plan, settings.pipeline)
    if settings.log_placement:
        print(explain(plan), flush=True)
    if options.shown():
        options.show("plan", to_text(plan))
    return plan


def pruned(
    graph: Graph,
    feeds: Sequence[Tensor],
    fetches: Sequence[Tensor],
    targets: Sequence[Node],
    settings: Settings,
) -> Plan:
    """Only what a signature needs, placed.  That comes first: what a node asks for counts even if the node
    is folded away afterwards."""
    plan = inline(prune(graph, feeds, fetches, targets))
    return place(plan, settings.names, settings.soft_placement, settings.can_run)


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
