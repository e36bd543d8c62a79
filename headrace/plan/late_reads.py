"""A variable by reference is read where its value is used.

In TF `w/read` is an Identity that shares the variable's buffer: whoever runs after a writer, by data or
control edges, sees what the writer left, however early the Identity ran.  Here a value never changes,
so a read happens when its node runs.  In: a placed plan.  Out: the same plan, in which a user that is
ordered after a writer, while its value comes from a read that is not, has a read of its own:

    step = ApplyGradientDescent(w, ...)         step = ApplyGradientDescent(w, ...)
    read = Identity(w)                      ->  read_1 = Identity(w) ^step
    y = Minimum(read, 1.5) ^step                y = Minimum(read_1, 1.5) ^step

A user that no path leads to from a writer keeps its early read: reads come first.  The read is made on
the variable's device.  What passes a buffer on unchanged (identities, reshapes, the ways into branches
and loops) is an alias of the variable and is repeated behind the new read; into branches and loops the
reference itself is led, so that the read happens inside.  What comes out of a branch or a loop is a value.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from headrace.core.records import record
from headrace.ops.array.source import identity
from headrace.ops.control.control_flow import enter, ref_enter, ref_switch, switch
from headrace.ops.declaration.traits import ALIAS, CONTROL_FLOW, ENTER, EXIT, IDENTITY, MERGE, NEXT_ITERATION
from headrace.plan.frames import Path, frames_of
from headrace.plan.plan import Edge, Output, Plan, PlanNode
from headrace.plan.state_order import Variable, variables_of

_BORDERS = frozenset({ENTER, EXIT, MERGE})  # where paths enter and leave iterations
_Earlier = tuple[str, Path]  # a writer, and the outermost loop whose iterations lie between, or ()
_NONE: frozenset[_Earlier] = frozenset()
_LED = {switch: ref_switch, enter: ref_enter}


@record
class _Alias:
    """A value that is the variable's buffer."""

    variable: Variable
    source: Edge  # the reference that was read
    chain: tuple[tuple[PlanNode, int], ...]  # who read it and passed it on, and by which output
    after: frozenset[_Earlier]  # the writers that come before the last of these


def late_reads(plan: Plan) -> Plan:
    if not any(n.writes for n in plan.nodes.values()):
        return plan
    variables = {e: v for e, v in variables_of(plan).items() if plan.dtype(e).is_ref}
    return _LateReads(plan, variables).run() if variables else plan


class _LateReads:
    """One plan's work.  `plan.nodes` are the nodes as they were, `nodes` as they become."""

    def __init__(self, plan: Plan, variables: dict[Edge, Variable]) -> None:
        self.plan, self.variables = plan, variables
        self.nodes = dict(plan.nodes)
        self.back = self._back_edges()
        self.before = self._writers_before()
        self.aliases: dict[Edge, _Alias] = {}
        self.made: dict[tuple[Edge, tuple[str, ...]], Edge] = {}  # reads, which users share

    def run(self) -> Plan:
        for node in self.plan.nodes.values():
            self._visit(node)
        if len(self.nodes) == len(self.plan.nodes):
            return self.plan
        return self.plan.rebuilt(self.nodes.values())

    # -- order -------------------------------------------------------------------------------
    def _writers_before(self) -> dict[str, dict[Variable, frozenset[_Earlier]]]:
        """For every node the writers, by variable, that a path leads from; through back edges of
        loops too, since those lead from the iteration before, as does the end of an iteration where
        the next one waits for it."""
        users: dict[str, list[str]] = {}
        for node in self.plan.nodes.values():
            for name in _sources(node):
                users.setdefault(name, []).append(node.name)
        for writer, turns in self._one_by_one().items():
            users.setdefault(writer, []).extend(turns)
        found: dict[str, dict[Variable, frozenset[_Earlier]]] = {}
        for node in self.plan.nodes.values():
            for variable in self._written(node):
                for user, between in self._reached(node.name, users):
                    own = found.setdefault(user, {})
                    own[variable] = own.get(variable, _NONE) | {(node.name, between)}
        return found

    def _reached(self, start: str, users: dict[str, list[str]]) -> set[tuple[str, Path]]:
        """The nodes that paths lead to, and of each path the outermost loop that it goes round."""
        stack: list[tuple[str, Path]] = [(start, ())]
        seen: set[tuple[str, Path]] = set()
        while stack:
            name, between = stack.pop()
            loop = self.back.get(name)
            if loop is not None and (not between or len(loop) < len(between)):
                between = loop
            news = {(user, between) for user in users.get(name, ())} - seen
            seen |= news
            stack += news
        return seen

    def _back_edges(self) -> dict[str, Path]:
        """What carries a value to the next iteration, and of which loop."""
        if not any(ENTER in n.op.traits for n in self.plan.nodes.values()):
            return {}
        frames = frames_of(self.plan).takes
        nodes = (n for n in self.plan.nodes.values() if NEXT_ITERATION in n.op.traits)
        return {n.name: frames[n.name] for n in nodes}

    def _one_by_one(self) -> dict[str, list[str]]:
        """Of every writer in a loop whose iterations do not overlap: what begins the next one, which
        waits for all of this one."""
        enters = [n for n in self.plan.nodes.values() if ENTER in n.op.traits]
        one = {n.attrs["frame_name"] for n in enters if n.attrs["parallel_iterations"] == 1}
        if not one:
            return {}
        frames = frames_of(self.plan).takes
        writers = [n.name for n in self.plan.nodes.values() if self._written(n)]
        return {
            w: [
                turn for turn, loop in self.back.items() if loop[-1] in one and frames[w][: len(loop)] == loop
            ]
            for w in writers
        }

    def _written(self, node: PlanNode) -> list[Variable]:
        if not node.writes:
            return []
        ends = zip(node.inputs, node.input_types)
        return [self.variables[e] for e, t in ends if t.is_ref and e in self.variables]

    def _after(self, name: str, variable: Variable) -> frozenset[_Earlier]:
        return self.before.get(name, {}).get(variable, _NONE)

    # -- nodes -------------------------------------------------------------------------------
    def _visit(self, node: PlanNode) -> None:
        inputs = list(node.inputs)
        for place, (edge, declared) in enumerate(zip(node.inputs, node.input_types)):
            if edge in self.variables and not declared.is_ref:
                inputs[place] = self._near(node, edge)
            elif edge in self.aliases and MERGE not in node.op.traits:
                inputs[place] = self._current(node, edge)
        if inputs != list(node.inputs):
            self.nodes[node.name] = node.with_inputs(inputs)
        self._note_alias(node)

    def _near(self, node: PlanNode, edge: Edge) -> Edge:
        """A reference that a node on another device reads is read on its own device first.  A Merge
        takes the side that comes: its read waits for nothing of the other, which never comes."""
        if self.plan.nodes[edge.node].device == node.device:
            return edge
        if MERGE in node.op.traits:
            node = node.with_inputs([edge])
        return self._read(edge, self._waits(node, self.variables[edge]), node)

    def _current(self, node: PlanNode, edge: Edge) -> Edge:
        """The value of an alias as it is when the node runs."""
        alias = self.aliases[edge]
        if self._after(node.name, alias.variable) <= alias.after:
            return edge
        source = alias.source
        control: list[str] = []
        views: list[tuple[PlanNode, int, tuple[Edge, ...]]] = []
        for passed, index in alias.chain:
            if passed.op in _LED:
                source = self._led(passed, index, source, control)
                views = [(v, i, self._entered(passed, others)) for v, i, others in views]
                control = []
                continue
            control += passed.control
            if IDENTITY not in passed.op.traits:
                views.append((passed, index, passed.inputs[1:]))
        waits = tuple(dict.fromkeys([*control, *self._waits(node, alias.variable)]))
        made = self._read(source, waits, node)
        for view, index, others in views:
            name = self._name(f"{view.name}/_again")
            self.nodes[name] = replace(view, name=name, inputs=(made, *others), control=())
            made = Edge(name, index)
        return made

    def _note_alias(self, node: PlanNode) -> None:
        """Remember what this node passes on."""
        if not node.inputs or node.input_types[0].is_ref:
            return
        first = node.inputs[0]
        chain: tuple[tuple[PlanNode, int], ...] = ()
        if first in self.variables and ALIAS in node.op.traits:
            variable, source = self.variables[first], first
        elif first in self.aliases and (ALIAS in node.op.traits or _leads_in(node)):
            known = self.aliases[first]
            variable, source, chain = known.variable, known.source, known.chain
        else:
            return
        after = self._after(node.name, variable)
        for i in range(len(node.outputs)):
            self.aliases[Edge(node.name, i)] = _Alias(variable, source, (*chain, (node, i)), after)

    # -- new nodes ---------------------------------------------------------------------------
    def _led(self, passed: PlanNode, index: int, source: Edge, control: list[str]) -> Edge:
        """The reference behind a way into a branch or a loop, beside the value."""
        name = f"{passed.name}/_reference"
        if name not in self.nodes:
            output = self.nodes[source.node].outputs[source.index]
            self.nodes[name] = replace(
                passed,
                name=name,
                op=_LED[passed.op],
                inputs=(source, *passed.inputs[1:]),
                control=tuple(dict.fromkeys([*passed.control, *control])),
                input_types=(passed.input_types[0].as_ref, *passed.input_types[1:]),
                outputs=(Output(output.dtype.as_ref, output.shape),) * len(passed.outputs),
                device=self.nodes[source.node].device,
            )
        return Edge(name, index)

    def _entered(self, passed: PlanNode, edges: tuple[Edge, ...]) -> tuple[Edge, ...]:
        """These values behind the same way: a view that is repeated inside of a loop needs there
        the shape that it has outside; a branch sees it as it is."""
        if ENTER not in passed.op.traits:
            return edges
        found = []
        for edge in edges:
            name = f"{passed.name}/_with_{edge.node}_{edge.index}"
            output = self.nodes[edge.node].outputs[edge.index]
            self.nodes[name] = replace(
                passed,
                name=name,
                inputs=(edge,),
                input_types=(output.dtype,),
                outputs=(output,),
                attrs=dict(passed.attrs) | {"T": output.dtype},
            )
            found.append(Edge(name, 0))
        return tuple(found)

    def _read(self, source: Edge, waits: tuple[str, ...], user: PlanNode) -> Edge:
        """A read of the reference on the variable's device, behind what it waits for."""
        found = self.made.get((source, waits))
        if found is None:
            producer = self.nodes[source.node]
            dtype, shape = producer.outputs[source.index]
            dtype = dtype.base
            name = self._name(f"{source.node}/_read_for_{user.name}")
            self.nodes[name] = PlanNode(
                name,
                identity,
                (source,),
                waits,
                {"T": dtype},
                (Output(dtype, shape),),
                (dtype,),
                producer.device,
                user.origins,
                user.number,
            )
            found = self.made[source, waits] = Edge(name, 0)
        return found

    def _name(self, name: str) -> str:
        while name in self.nodes:
            name += "_"
        return name

    # -- what a read waits for -----------------------------------------------------------------
    def _waits(self, node: PlanNode, variable: Variable) -> tuple[str, ...]:
        """Control inputs that put a read behind all writers which come before the node: those
        writers, or, where one is in another iteration or branch, whatever the node itself needs."""
        nearest = self._nearest(node, variable)
        if nearest is not None:
            return tuple(sorted(w for w in nearest if not self._is_hidden(w, nearest, variable)))
        waits = [n for n in node.control if self._is_behind(n, variable)]
        waits += [self._marker(e) for e in node.inputs if self._is_behind(e.node, variable)]
        return tuple(dict.fromkeys(waits))

    def _is_hidden(self, writer: str, nearest: set[str], variable: Variable) -> bool:
        """Another one waits for it, in the same iteration."""
        return any((writer, ()) in self._after(n, variable) for n in nearest)

    def _is_behind(self, name: str, variable: Variable) -> bool:
        is_writer = variable in self._written(self.plan.nodes[name])
        return is_writer or bool(self._after(name, variable))

    def _nearest(self, node: PlanNode, variable: Variable) -> set[str] | None:
        """The last writers on all paths to the node; None where a path comes out of a branch, or
        crosses the border of an iteration."""
        found: set[str] = set()
        stack, seen = list(_sources(node)), {node.name}
        while stack:
            name = stack.pop()
            if name in seen:
                continue
            seen.add(name)
            source = self.plan.nodes[name]
            if variable in self._written(source):
                found.add(name)
            elif self._after(name, variable):
                if source.op.traits & _BORDERS:
                    return None
                stack.extend(_sources(source))
        return found

    def _marker(self, edge: Edge) -> str:
        """A node to wait for, which runs where and when this value exists: a primitive of control
        flow may run where its output is dead."""
        source = self.plan.nodes[edge.node]
        if CONTROL_FLOW not in source.op.traits:
            return source.name
        name = f"{edge.node}/_seen_{edge.index}"
        output = source.outputs[edge.index]
        dtype = output.dtype.base
        self.nodes[name] = replace(
            source,
            name=name,
            op=identity,
            inputs=(edge,),
            control=(),
            attrs={"T": dtype},
            outputs=(Output(dtype, output.shape),),
            input_types=(dtype,),
        )
        return name


def _leads_in(node: PlanNode) -> bool:
    """Is a way into a branch, or the same value in all iterations of a loop."""
    return node.op in _LED and (ENTER not in node.op.traits or node.attrs["is_constant"])


def _sources(node: PlanNode) -> Iterator[str]:
    yield from (e.node for e in node.inputs)
    yield from node.control
