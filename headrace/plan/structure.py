"""Primitives of control flow -> loops and branches (plan.units), one inside of the other.

In: a plan with Switch, Merge, Enter, Exit, NextIteration.  Out: the same computation as a straight
plan, or None where it is not made of loops and conditionals alone: then the executor runs it.
Frames become loops, the innermost first; then `blocks` finds the branches.

`partly_structured` is for what the executor must run: in which something waits inside of a loop, or
dead values come from other devices.  Loops in which nothing waits become units; the rest stays.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import dataclass, replace

from headrace.core import options
from headrace.ops.array.source import identity
from headrace.ops.control.control_flow import loop_cond
from headrace.ops.control.transfer import SENDS
from headrace.ops.declaration.traits import (
    BLOCKING,
    CONSTANT,
    CONTROL_FLOW,
    DEFERRED,
    ENTER,
    EXIT,
    MERGE,
    NEXT_ITERATION,
    SWITCH,
    VARIABLE,
)
from headrace.plan.blocks import Base, Block, free
from headrace.plan.frames import Path, frames_of
from headrace.plan.guards import Guards, Unstructured
from headrace.plan.plan import Edge, Plan, PlanNode, is_back_edge
from headrace.plan.units import LOOP, Loop, unit_attrs


def structured(plan: Plan) -> Plan | None:
    """The plan without primitives, or None."""
    try:
        return _Structure(plan).run()
    except Unstructured as reason:
        options.show("plan", f"not structured: {reason}")
        return None


def partly_structured(plan: Plan) -> Plan:
    """The plan with units in the place of all loops that can be units."""
    frames = frames_of(plan)
    waiting = (n for n in plan.nodes.values() if n.op.traits & {BLOCKING, DEFERRED} or n.op in SENDS)
    is_open = {p for n in waiting for p in _prefixes(frames.gives[n.name])}
    while True:
        work = _Structure(plan, is_open)
        found = work.run_partly()
        if found is not None:
            return found
        assert work.is_open > is_open, "a loop can be no unit, and this is known now"
        is_open = work.is_open


def _prefixes(path: Path) -> set[Path]:
    """The frame and all around it."""
    return {path[: i + 1] for i in range(len(path))}


@dataclass(slots=True)
class _Variable:
    """What a loop carries from iteration to iteration."""

    enter: PlanNode
    merge: PlanNode
    following: Edge


class _Structure:
    """One attempt.  `is_open`: frames that stay as they are; None: there must be none."""

    def __init__(self, plan: Plan, is_open: set[Path] | None = None) -> None:
        """Frames, variables read where control flow would pass their references, then guards: which
        branch each node is in."""
        self.plan = plan
        self.is_open = set() if is_open is None else set(is_open)
        self.is_partial, self.has_left = is_open is not None, False
        frames = frames_of(plan)
        self.takes, self.gives = dict(frames.takes), dict(frames.gives)
        self.position = {name: i for i, name in enumerate(plan.nodes)}
        self.nodes = dict(plan.nodes)
        self.known = dict(plan.nodes)
        self.fetches, self.targets = plan.fetches, plan.targets
        self.renamed: dict[Edge, Edge] = {}  # Exits -> outputs of loops
        for node in plan.nodes.values():
            self._prepare(node)
        self.guards = Guards(self.is_partial)
        for node in self.sorted(self.nodes.values()):
            self.guards.add(node)
        self.inside: dict[Path, dict[str, None]] = {}  # the nodes of each frame
        self.ends: dict[Path, list[str]] = {}  # its Exits
        self.users: dict[str, dict[str, None]] = {}  # who needs a node, as data or as control
        for node in self.nodes.values():
            self.inside.setdefault(self.gives[node.name], {})[node.name] = None
            if EXIT in node.op.traits:
                self.ends.setdefault(self.takes[node.name], []).append(node.name)
            self._note_users(node)

    def _note_users(self, node: PlanNode) -> None:
        for source in (*(e.node for e in node.inputs), *node.control):
            self.users.setdefault(source, {})[node.name] = None

    def _prepare(self, node: PlanNode) -> None:
        """Variables are outside of all loops: a name is not computed. Primitives that are given a
        reference pass on the value."""
        home = max(self.takes[node.name], self.gives[node.name], key=len)
        if self.is_partial and (not home or home in self.is_open):
            return  # it stays as it is
        if VARIABLE in node.op.traits and not node.inputs and self.is_open.isdisjoint(_prefixes(home)):
            # A name for state: found wherever and whenever.
            self.nodes[node.name] = self.known[node.name] = replace(node, control=())
            self.takes[node.name] = self.gives[node.name] = ()
        elif CONTROL_FLOW in node.op.traits and node.inputs and not node.outputs[0].dtype.is_ref:
            if any(self.plan.dtype(e).is_ref for e in node.inputs):
                try:
                    self._read_first(node)
                except Unstructured:
                    if not self.is_partial:
                        raise
                    self._leave(home)

    def _read_first(self, node: PlanNode) -> None:
        """A primitive that is given a variable passes on its value."""
        inputs = []
        for k, edge in enumerate(node.inputs):
            dtype = self.plan.dtype(edge)
            if dtype.is_ref and MERGE in node.op.traits:
                raise Unstructured(f"{node.name} joins variables")
            if dtype.is_ref:
                name = f"{node.name}/_read{k}"
                output = node.outputs[0]
                read = PlanNode(
                    name,
                    identity,
                    (edge,),
                    node.control,
                    {"T": output.dtype},
                    (output,),
                    (output.dtype,),
                    node.device,
                    node.origins,
                    node.number,
                )
                self.nodes[name] = self.known[name] = read
                self.takes[name] = self.gives[name] = self.takes[node.name]
                self.position[name] = self.position[node.name]
                edge = Edge(name, 0)
            inputs.append(edge)
        self.nodes[node.name] = self.known[node.name] = node.with_inputs(inputs)

    def run(self) -> Plan:
        """Fold loops from the innermost outwards, then the conditionals of the outermost level.
        Raises Unstructured where the plan does not have the form that TF's functions build."""
        paths = {path for path in self.gives.values() if path}
        for path in sorted(paths, key=lambda p: (-len(p), p)):
            self.fold(path)
        feeds = set(self.plan.feeds)
        for node in self.nodes.values():
            if node.op.traits & {ENTER, EXIT, NEXT_ITERATION}:
                raise Unstructured(f"{node.name} is in no loop")
        nodes = self.sorted(n for n in self.nodes.values() if n.name not in feeds)
        for edge in self.fetches:
            if self.guards.of_edge(edge) or self.guards.of.get(edge.node):
                raise Unstructured(f"{edge} is fetched, and may have no value")
        block = Block(nodes, self.guards, self.known, self.renamed, self.fetches)
        made = [self.plan.nodes[name] for name in self.plan.feeds]
        made += block.straight([n.name for n in nodes])
        targets = tuple(dict.fromkeys(block.unit.get(t, t) for t in self.targets))
        targets = tuple(t for t in targets if SWITCH not in self.known.get(t, made[0]).op.traits)
        return replace(
            self.plan,
            nodes={n.name: n for n in made},
            targets=targets,
            fetches=tuple(map(block.resolve, self.fetches)),
        )

    def run_partly(self) -> Plan | None:
        """Fold the loops that are not open.  None where one turns out to be none that a unit can
        express: then it and those around it are open, too."""
        paths = {p for p in self.gives.values() if p} - self.is_open
        for path in sorted(paths, key=lambda p: (-len(p), p)):
            if path in self.is_open:
                continue
            try:
                self.fold(path)
            except Unstructured as reason:
                options.show("plan", f"not structured: {reason}")
                self._leave(path)
        if self.has_left:
            return None
        try:
            nodes = {n.name: n for n in self.sorted(self.nodes.values())}
        except Unstructured:  # which of the loops needs what comes out of it is not known
            for path in paths:
                self._leave(path)
            return None
        return replace(self.plan, nodes=nodes, fetches=self.fetches, targets=self.targets)

    def _leave(self, path: Path) -> None:
        """This frame can be no unit, nor can those around it: the next attempt knows."""
        self.is_open |= _prefixes(path)
        self.has_left = True

    def sorted(self, nodes: Iterable[PlanNode]) -> list[PlanNode]:
        """In running order, as close to the plan's as loops that became nodes allow."""
        by_name = {n.name: n for n in nodes}
        waiting: dict[str, int] = {}
        users: dict[str, list[str]] = {}
        for n in by_name.values():
            data = {e.node for e in n.inputs if e.node in by_name}
            sources = {s for s in data if not is_back_edge(by_name[s], n)}
            sources |= {c for c in n.control if c in by_name}
            waiting[n.name] = len(sources)
            for source in sources:
                users.setdefault(source, []).append(n.name)
        ready = [(self.position[name], name) for name, left in waiting.items() if not left]
        heapq.heapify(ready)
        out = []
        while ready:
            _, name = heapq.heappop(ready)
            out.append(by_name[name])
            for user in users.get(name, ()):
                waiting[user] -= 1
                if not waiting[user]:
                    heapq.heappush(ready, (self.position[user], user))
        if len(out) < len(by_name):
            raise Unstructured("a loop needs what comes out of it")
        return out

    # -- one loop ----------------------------------------------------------------------------
    def fold(self, path: Path) -> None:
        """Put a node in the place of a frame."""
        inside = self.sorted(self.nodes[name] for name in self.inside.get(path, ()))
        exits = [self.nodes[name] for name in self.ends.get(path, ())]
        variables = self._variables(inside)
        condition = self._condition(inside)
        guards, merges = self.guards, {v.merge.name for v in variables}
        base = self._base(inside, condition)
        pred = Edge(condition.name, 0)
        for v in variables:
            if set(guards.of_edge(v.following)) != base | {(pred, 1)}:
                raise Unstructured(f"{v.merge.name} does not go on with every iteration")
        skipped = ENTER, NEXT_ITERATION
        rest = [n for n in inside if not n.op.traits & set(skipped) and n.name not in merges]
        names = [n.name for n in rest if n is not condition]
        if any((pred, 0) in guards.of[name] for name in names):
            raise Unstructured(f"something runs where {condition.name} is false")
        block = Block(rest, guards, self.known, self.renamed)
        node = self._loop(path, block, names, condition, variables, base)
        guards.put(node, tuple(base))
        self._replace(path, node, inside, exits, variables, pred)

    def _base(self, inside: list[PlanNode], condition: PlanNode) -> Base:
        """What guards the loop: nothing of it runs where a part of that is missing."""
        enters = [n for n in inside if ENTER in n.op.traits]
        whole = frozenset(g for n in enters for g in self.guards.of[n.name])
        if set(self.guards.of[condition.name]) != whole:
            raise Unstructured(f"{condition.name} may be alive where something enters dead")
        return whole

    def _variables(self, inside: list[PlanNode]) -> list[_Variable]:
        """The variables of a loop: a Merge of one Enter and one NextIteration each.  Anything else
        that uses the primitives is not a loop that a LOOP node can express."""
        found = []
        used = {e.node for n in inside if MERGE not in n.op.traits for e in n.inputs}
        for node in inside:
            if ENTER in node.op.traits and not node.attrs["is_constant"] and node.name in used:
                raise Unstructured(f"{node.name} is used in the first iteration alone")
            if MERGE not in node.op.traits:
                continue
            sources = [self.nodes[e.node] for e in node.inputs]
            nexts = [s for s in sources if NEXT_ITERATION in s.op.traits]
            enters = [s for s in sources if ENTER in s.op.traits and not s.attrs["is_constant"]]
            if not nexts and not enters:
                continue
            if len(nexts) != 1 or len(enters) != 1 or len(sources) != 2:
                raise Unstructured(f"{node.name} is no variable of a loop")
            if node.outputs[0].dtype.is_ref:
                raise Unstructured(f"{node.name} carries a reference")
            found.append(_Variable(enters[0], node, nexts[0].inputs[0]))
        nexts = [n for n in inside if NEXT_ITERATION in n.op.traits]
        if len(nexts) != len(found):
            raise Unstructured("a NextIteration leads to no Merge, or to several")
        return found

    def _condition(self, inside: list[PlanNode]) -> PlanNode:
        found = [n for n in inside if n.op is loop_cond]
        if len(found) != 1:
            raise Unstructured(f"a loop with {len(found)} conditions")
        return found[0]

    def _loop(
        self,
        path: Path,
        block: Block,
        names: list[str],
        condition: PlanNode,
        variables: list[_Variable],
        base: Base,
    ) -> PlanNode:
        """The LOOP node: the condition's plan also gives what the body shares with it, so that
        nothing is computed twice.  Constants are copied into the body instead: they are cheaper
        to have twice than to pass."""
        pred = Edge(condition.name, 0)
        block.rename(pred, condition.inputs[0])
        first = self._before(block, names, condition, pred, base)
        head = block.straight([n for n in names if n in first], base)
        tail = block.straight([n for n in names if n not in first], base | {(pred, 1)})
        wanted = block.resolve(condition.inputs[0])
        nexts = [block.resolve(v.following) for v in variables]
        made = {n.name: n for n in head}
        copies = {
            e.node: made[e.node]
            for e in free(tail, nexts)
            if e.node in made and CONSTANT in made[e.node].op.traits
        }
        tail = [*copies.values(), *tail]
        shared = [e for e in free(tail, nexts) if e.node in made]
        carried = [Edge(v.merge.name, 0) for v in variables]
        outside = [*free(head, [wanted, *shared]), *free(tail, nexts)]
        invariants = [e for e in dict.fromkeys(outside) if e not in carried and e not in shared]
        sources = [self._entering(e, path) for e in invariants]
        label = f"{path[-1]}/_loop"
        feeds = [*carried, *invariants]
        head_plan, _ = block.closed(f"{label}/_if", head, [wanted, *shared], feeds)
        tail_plan, _ = block.closed(f"{label}/_do", tail, nexts, [*feeds, *shared])
        enters = [v.enter for v in variables]
        enters += [self.nodes[e.node] for e in invariants if self.gives[e.node] == path]
        control = {c for n in enters for c in n.control}
        inputs = (*(v.enter.inputs[0] for v in variables), *sources)
        types = tuple(self.known[e.node].outputs[e.index].dtype for e in inputs)
        first_node = variables[0].merge
        return PlanNode(
            label,
            LOOP,
            inputs,
            tuple(sorted(control)),
            unit_attrs(Loop(head_plan, tail_plan, len(variables))),
            tuple(v.merge.outputs[0] for v in variables),
            types,
            first_node.device,
            condition.origins,
            first_node.number,
        )

    def _before(
        self, block: Block, names: list[str], condition: PlanNode, pred: Edge, base: Base
    ) -> set[str]:
        """The nodes that run once more than the body does: those of the condition."""
        free_ones = {n for n in names if (pred, 1) not in block.guards.of[n]}
        stack = [n for n in block.sources(condition) if n in free_ones]
        effects = [n for n in free_ones if block.nodes[n].has_effect]
        if any(not base <= set(block.guards.of[n]) for n in effects):
            raise Unstructured("an effect in the condition of a loop")
        stack += effects
        found: set[str] = set()
        while stack:
            name = stack.pop()
            if name not in found and name in free_ones:
                found.add(name)
                node = block.nodes[name]
                stack += [*(e.node for e in node.inputs), *node.control]
                if CONTROL_FLOW in node.op.traits and not node.outputs:
                    raise Unstructured(f"the condition waits for {name}")
        return found

    def _entering(self, edge: Edge, path: Path) -> Edge:
        """What an invariant is outside of the loop."""
        node = self.known[edge.node]
        if self.gives[edge.node] == path:
            if ENTER not in node.op.traits or edge.index:
                raise Unstructured(f"{edge} is used in the loop {path[-1]}")
            return node.inputs[0]
        return edge

    def _replace(
        self,
        path: Path,
        node: PlanNode,
        inside: list[PlanNode],
        exits: list[PlanNode],
        variables: list[_Variable],
        pred: Edge,
    ) -> None:
        """Put the LOOP node in the place of the nodes it holds: exits become its outputs, and
        whoever waited for a node inside waits for the loop."""
        places = {v.merge.name: i for i, v in enumerate(variables)}
        renamed: dict[Edge, Edge] = {}
        for exit_ in exits:
            switch = self.nodes[exit_.inputs[0].node]
            source = switch.inputs[0].node if SWITCH in switch.op.traits else ""
            if exit_.inputs[0].index or source not in places or switch.inputs[1] != pred:
                raise Unstructured(f"{exit_.name} is no end of a loop's variable")
            renamed[Edge(exit_.name, 0)] = Edge(node.name, places[source])
        gone = {n.name for n in [*inside, *exits]}
        self._check_outside(gone, inside)
        self.position[node.name] = min(self.position[name] for name in gone)
        self.takes[node.name] = self.gives[node.name] = path[:-1]
        self.renamed |= renamed
        users = dict.fromkeys(user for name in gone for user in self.users.pop(name, ()))
        changed = [node]
        for n in (self.nodes[user] for user in users if user in self.nodes and user not in gone):
            inputs = tuple(renamed.get(e, e) for e in n.inputs)
            control = tuple(dict.fromkeys(node.name if c in gone else c for c in n.control))
            changed.append(replace(n, inputs=inputs, control=control))
        for name in gone:
            del self.nodes[name]
            self.inside[self.gives[name]].pop(name)
        self.inside.setdefault(path[:-1], {})[node.name] = None
        for n in changed:
            self.nodes[n.name] = self.known[n.name] = n
            self._note_users(n)
        self.fetches = tuple(renamed.get(e, e) for e in self.fetches)
        self.targets = tuple(dict.fromkeys(node.name if t in gone else t for t in self.targets))

    def _check_outside(self, gone: set[str], inside: list[PlanNode]) -> None:
        names = {n.name for n in inside}
        for edge in self.fetches:
            if edge.node in names:
                raise Unstructured(f"{edge} is fetched from inside of a loop")
        if names & set(self.plan.feeds):
            raise Unstructured("something in a loop is fed")
