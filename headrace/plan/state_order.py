"""The order of a variable's reads and writes, where edges leave it open, becomes edges.

In: a plan in its running order.  Out: the same plan, in which an access of a variable waits for those
before it that it could disturb: a read for the last write, a write for that and for the reads since.
A straight plan on one device runs in its order anyway and is left alone.  Elsewhere (pieces beside one
another, nodes that wait for a queue) the result would depend on who is quicker.

A loop or a branch is one access of all that is touched inside: others wait for what comes out of it, and
what goes into it waits for others.  A pair stays open where an edge would make a cycle, or could make the
step wait for itself (plan.deadlocks).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from headrace.ops.array.source import identity
from headrace.ops.declaration.traits import CONTROL_FLOW, ENTER, EXIT, SWITCH, VARIABLE
from headrace.plan.deadlocks import WAITS, Deadlocks
from headrace.plan.frames import frames_of
from headrace.plan.guards import Guards, Unstructured
from headrace.plan.plan import Edge, Output, Plan, PlanNode, is_handle

Variable = tuple[str, ...]  # names what a reference or a handle leads to
_IS_VARIABLE = 3  # device, container, name; of a queue, say, it is the node alone


def variables_of(plan: Plan) -> dict[Edge, Variable]:
    """The variable that every reference and every handle of the plan leads to."""
    found: dict[Edge, Variable] = {}
    for node in plan.nodes.values():
        for i, output in enumerate(node.outputs):
            if is_handle(output.dtype):
                found[Edge(node.name, i)] = _variable(node, found)
    return found


def _variable(node: PlanNode, known: dict[Edge, Variable]) -> Variable:
    if VARIABLE in node.op.traits:
        return node.device, node.attrs["container"], node.attrs["shared_name"] or node.name
    return next((known[e] for e in node.inputs if e in known), (node.name,))


def order_state(plan: Plan) -> Plan:
    """Edges that keep reads and writes of a variable in the graph's order where executors would be
    free to choose: with several devices, or where something waits.  Only nodes that certainly
    run are ordered: waiting for one on an untaken branch would make its follower dead."""
    several = len({n.device for n in plan.nodes.values()}) > 1
    if not several and not any(n.op.traits & WAITS for n in plan.nodes.values()):
        return plan
    try:
        accesses = _accesses(plan)
    except Unstructured:
        return plan  # primitives that are no loops and branches: who is quicker is first
    return _Order(plan).run(accesses)


def is_open_inside(plan: Plan) -> bool:
    """Whether loops or branches touch, inside, a variable that the plan writes: no edge orders that."""
    try:
        accesses = _accesses(plan)
    except Unstructured:
        return True
    written = {v for a in accesses for v, writes in a.writes.items() if writes}
    return any(a.is_unit and not written.isdisjoint(a.writes) for a in accesses)


@dataclass(slots=True, eq=False)
class _Access:
    """A node, or a whole loop or branch, with the variables that it touches."""

    entries: list[str] = field(default_factory=list)  # nodes that may wait for others
    exits: list[str] = field(default_factory=list)  # nodes that others may wait for
    writes: dict[Variable, bool] = field(default_factory=dict)
    hides: dict[Variable, list[_Access]] = field(default_factory=dict)  # whoever waits for it, for these
    is_unit: bool = False  # a loop or a branch


def _accesses(plan: Plan) -> list[_Access]:
    """In running order."""
    variables = variables_of(plan)
    unit_of = _Units(plan).of if any(CONTROL_FLOW in n.op.traits for n in plan.nodes.values()) else {}
    found: list[_Access] = []
    units: dict[object, _Access] = {}
    for node in plan.nodes.values():
        unit = unit_of.get(node.name)
        access = _Access([node.name], [node.name]) if unit is None else units.get(unit.key)
        if access is None:
            assert unit is not None
            access = units[unit.key] = _Access(unit.entries, unit.exits, is_unit=True)
            found.append(access)  # in the place of its first node: the last may stand anywhere
        touched = {variables[e] for e in node.inputs if e in variables}
        for variable in touched if VARIABLE not in node.op.traits else ():
            if len(variable) == _IS_VARIABLE and CONTROL_FLOW not in node.op.traits:
                access.writes[variable] = node.writes or access.writes.get(variable, False)
        if unit is None and access.writes:
            found.append(access)
    return found


@dataclass(slots=True)
class _Unit:
    key: object
    entries: list[str] = field(default_factory=list)
    exits: list[str] = field(default_factory=list)


class _Units:
    """The outermost loop or branch that every node is in, `of` a node's name."""

    def __init__(self, plan: Plan) -> None:
        """Walk the plan: a node belongs to the outermost loop or conditional around it; a Switch outside
        of all of them begins a conditional, and the Merge of its predicate ends it."""
        self.of: dict[str, _Unit] = {}
        units: dict[object, _Unit] = {}
        frames, guards = frames_of(plan), Guards()
        loops: dict[str, object] = {}  # a loop -> the branch that it is in, or itself
        for node in plan.nodes.values():
            guards.add(node)
            path = max(frames.takes[node.name], frames.gives[node.name], key=len)
            guard = guards.of[node.name]
            if path and ENTER in node.op.traits and not frames.takes[node.name] and guard:
                loops[path[0]] = guard[0][0]
            key: object = guard[0][0] if guard and not path else None
            key = loops.get(path[0], path[0]) if path else key
            if SWITCH in node.op.traits and key is None:
                key = guards.predicate(node.inputs[1])
                units.setdefault(key, _Unit(key)).entries.append(node.name)
            elif node.name in guards.merged and key is None:
                key = guards.merged[node.name]
                units.setdefault(key, _Unit(key)).exits.append(node.name)
            if key is None:
                continue
            unit = self.of[node.name] = units.setdefault(key, _Unit(key))
            if isinstance(key, str) and len(path) == 1:
                if ENTER in node.op.traits:
                    unit.entries.append(node.name)
                elif EXIT in node.op.traits:
                    unit.exits.append(node.name)


class _Order:
    """The edges that are added to one plan."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.users: dict[str, set[str]] = {}
        for node in plan.nodes.values():
            for name in _sources(node):
                self.users.setdefault(name, set()).add(node.name)
        self.deadlocks = Deadlocks(plan, self.users, variables_of(plan))
        self.news: dict[str, list[str]] = {}
        self.markers: dict[str, PlanNode] = {}

    def run(self, accesses: Iterable[_Access]) -> Plan:
        """The plan with edges from each write to the next accesses of its variable, and from reads to the
        next write."""
        last: dict[Variable, list[_Access]] = {}  # the accesses that no write waits for yet
        for access in accesses:
            for variable, writes in access.writes.items():
                before = last.get(variable, [])
                if writes:
                    joined = self._follow(access, before, variable, reads_too=True)
                    access.hides[variable] = joined
                    before = [a for a in before if a not in joined]
                else:
                    self._follow(access, before, variable, reads_too=False)
                last[variable] = [*before, access]
        if not self.news:
            return self.plan
        nodes = [
            replace(n, control=(*n.control, *map(self._marker, self.news.get(n.name, ()))))
            for n in self.plan.nodes.values()
        ]
        return self.plan.rebuilt([*nodes, *self.markers.values()])

    def _marker(self, name: str) -> str:
        """What to wait for where a loop or a branch ends: its value has come out, once."""
        node = self.plan.nodes[name]
        if CONTROL_FLOW not in node.op.traits:
            return name
        marker, dtype = f"{name}/_out", node.outputs[0].dtype.base
        self.markers[marker] = replace(
            node,
            name=marker,
            op=identity,
            inputs=(Edge(name, 0),),
            control=(),
            attrs={"T": dtype},
            outputs=(Output(dtype, node.outputs[0].shape),),
            input_types=(dtype,),
        )
        return marker

    def _follow(
        self, access: _Access, before: list[_Access], variable: Variable, reads_too: bool
    ) -> list[_Access]:
        """Let an access wait for those before it: these, and where it cannot wait for one (a loop stands
        where it begins, so edges may put a later access before it) those which that one waits for.
        Returns the ones that it waits for now."""
        found: list[_Access] = []
        stack = list(before)
        while stack:
            earlier = stack.pop()
            if not (reads_too or earlier.writes[variable]):
                continue
            if self._join(earlier, access):
                found.append(earlier)
            else:
                stack += earlier.hides.get(variable, ())
        return found

    def _join(self, earlier: _Access, later: _Access) -> bool:
        """Whether the later one now waits for the earlier; not where it is the other way round by
        their own edges, at least in part."""
        if not earlier.exits:  # a branch that gives no value: nobody can wait for it, so it waits
            if later.exits:
                self._join(later, earlier)
            return False
        pairs = [(source, name) for source in earlier.exits for name in later.entries]
        if any(self._leads(name, source) for source, name in pairs):
            return False
        for source, name in pairs:
            is_there = source in _sources(self.plan.nodes[name])
            if not is_there and not self.deadlocks.is_risky(source, name):
                self.news.setdefault(name, []).append(source)
                self.deadlocks.add(source, name)
        return True

    def _leads(self, name: str, to: str) -> bool:
        """Whether a path leads from one node to another: the edge back would close a cycle."""
        stack, seen = [name], {name}
        while stack:
            current = stack.pop()
            if current == to:
                return True
            news = self.users.get(current, set()) - seen
            seen |= news
            stack += news
        return False


def _sources(node: PlanNode) -> set[str]:
    return {*(e.node for e in node.inputs), *node.control}
