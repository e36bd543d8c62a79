"""Function calls are replaced by the bodies they call; If, Case and While become Switch, Merge and
frames.

A call runs all of its body or, on a branch that is not taken, nothing of it.  So where the plan has
control flow, or the call waits for something, its inputs pass through Identity nodes, and body nodes
without inputs wait for those.  The call's own name becomes a NoOp that ends when the body has run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from headrace.core import device_name, dtypes
from headrace.core.errors import NotFoundError, OpError, UnimplementedError, at
from headrace.core.modules import late
from headrace.core.shapes import SCALAR, UNKNOWN
from headrace.graph.attrs import FunctionName, Literal
from headrace.ops.array.constant import const
from headrace.ops.array.source import identity, no_op
from headrace.ops.control import function_call as calls
from headrace.ops.control.control_flow import enter, exit_, loop_cond, merge, next_iteration, switch
from headrace.ops.declaration import catalog
from headrace.ops.declaration.declare import Op
from headrace.ops.declaration.messages.node_def import output_types
from headrace.ops.declaration.traits import CONTROL_FLOW
from headrace.ops.graphdef.function_body import Body
from headrace.ops.math.comparison import equal, greater_equal, less
from headrace.ops.math.logical import logical_and
from headrace.plan.loops import exits, outside_loops
from headrace.plan.plan import Edge, Output, Plan, PlanNode
from headrace.plan.prune import prune

function_gradient = late("headrace.autodiff.function_gradient")  # few plans need it

_CALLS = frozenset({calls.partitioned_call, calls.stateful_partitioned_call})
_IFS = frozenset({calls.if_, calls.stateless_if})
_WHILES = frozenset({calls.while_, calls.stateless_while})
_EXPANDED = _CALLS | _IFS | _WHILES | {calls.case, calls.symbolic_gradient}
_BRANCHES = ("else_branch", "then_branch")


def inline(plan: Plan) -> Plan:
    """The plan without calls of functions, but for recursive ones and those marked `noinline`."""
    if not any(_may_expand(n) for n in plan.nodes.values()):
        return plan
    return _Inliner(plan).run()


def _may_expand(node: PlanNode) -> bool:
    return hasattr(node.op, "function") or node.op in _EXPANDED


class _Inliner:
    """One plan's work.  New nodes are collected in order; edges to calls are redirected at the end."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.functions: dict[str, Any] = dict(plan.functions)
        self.nodes: dict[str, PlanNode] = {}
        self.moved: dict[Edge, Edge] = {}
        self.targets: list[str] = []
        self.outputs: dict[Edge, Output] = {}
        self.names = set(plan.nodes)
        self.number = 0  # of the user's node that is replaced
        self.numbers: dict[str, int] = {}  # of every node: a body stands in the place of its call

    def run(self) -> Plan:
        """Every call replaced by the body of its function, until none is left that can be."""
        plan = self.plan
        for node in plan.nodes.values():
            self._note(node)
        strict = any(CONTROL_FLOW in n.op.traits for n in plan.nodes.values())
        for node in plan.nodes.values():
            self.number = node.number
            self._visit(node, (), strict)
        made = sorted(self.nodes.values(), key=lambda n: self.numbers[n.name])
        nodes = [
            replace(n, inputs=tuple(map(self._resolved, n.inputs)), number=i) for i, n in enumerate(made)
        ]
        return plan.rebuilt(
            nodes,
            fetches=tuple(map(self._resolved, plan.fetches)),
            targets=(*plan.targets, *self.targets),
            functions=self.functions,
        )

    def _resolved(self, edge: Edge) -> Edge:
        while edge in self.moved:
            edge = self.moved[edge]
        return edge

    def _note(self, node: PlanNode) -> None:
        for i, output in enumerate(node.outputs):
            self.outputs[Edge(node.name, i)] = output

    def _add(self, node: PlanNode) -> None:
        self._note(node)
        self.nodes[node.name], self.numbers[node.name] = node, self.number

    def _output(self, edge: Edge) -> Output:
        return self.outputs[self._resolved(edge)]

    # -- which node becomes what ---------------------------------------------------------------
    def _visit(self, node: PlanNode, chain: tuple[str, ...], strict: bool) -> None:
        """`chain`: the functions around; `strict`: values may be dead here."""
        try:
            if not _may_expand(node) or not self._expand(node, chain, strict):
                self._add(node)
        except OpError as error:
            raise at(error, node) from None

    def _expand(self, node: PlanNode, chain: tuple[str, ...], strict: bool) -> bool:
        """Replace one call; False where it stays a call: recursive, or marked as not to be inlined."""
        if node.op in _IFS:
            return self._expand_if(node, chain)
        if node.op is calls.case:
            return self._expand_case(node, chain)
        if node.op in _WHILES:
            return self._expand_while(node, chain)
        if node.op is calls.symbolic_gradient:
            f = node.attrs["f"]
            if f"gradient of {f}" in chain:
                raise UnimplementedError(None, None, f"gradient of the recursive function {f.name}")
            body = function_gradient.gradient_body(f, self.functions)
            self._put_body(node, node.inputs, body, (*chain, f"gradient of {f}"), strict)
            return True
        function = getattr(node.op, "function", None)
        inputs, attrs = node.inputs, node.attrs
        if function is None:
            f = node.attrs["f"]
            function, attrs = self._function(f.name), dict(f.attrs)
        if function.name in chain or not function.is_inlined or node.attrs.get("_noinline"):
            return False
        body = function.body_graph(attrs)
        self._put_body(node, inputs, body, (*chain, function.name), strict)
        return True

    def _function(self, name: str) -> Any:
        found = self.functions.get(name)
        if found is None:
            raise NotFoundError(None, None, f"Function {name} is not defined.")
        return found

    # -- a call --------------------------------------------------------------------------------
    def _put_body(
        self, call: PlanNode, inputs: Sequence[Edge], body: Body, chain: tuple[str, ...], strict: bool
    ) -> None:
        """The nodes of the body under the call's name, with the call's device and origins.
        `strict`: inside of control flow a node without inputs would run although the call is
        dead, so that it waits for the call's arguments.  A no-op with the call's name stays, for
        those who wait for the call."""
        body = body.for_shapes([self._output(e).shape for e in inputs])
        for name, function in body.graph._functions.items():
            self.functions.setdefault(name, function)
        plan = prune(body.graph, body.inputs, body.outputs, body.targets)
        strict = strict or any(CONTROL_FLOW in n.op.traits for n in plan.nodes.values())
        guarded = strict or bool(call.control)
        given = [self._argument(call, i, e, guarded) for i, e in enumerate(inputs)]
        ready = self._ready(call, given) if guarded else None
        renamed = {n: self._name(f"{call.name}/{n}") for n in plan.nodes if n not in plan.feeds}
        sources = {Edge(feed, 0): edge for feed, edge in zip(plan.feeds, given)}

        def source(edge: Edge) -> Edge:
            return sources.get(edge) or Edge(renamed[edge.node], edge.index)

        for old in plan.nodes.values():
            if old.name in plan.feeds:
                continue
            control = tuple(renamed[c] for c in old.control)
            if ready is not None and not old.inputs and not control:
                control = (ready,)
            new = replace(
                old,
                name=renamed[old.name],
                inputs=tuple(map(source, old.inputs)),
                control=control,
                attrs=_own_frame(old.attrs, call.name),
                device=device_name.merge(call.device, old.device),
                origins=(*old.origins, *call.origins),
            )
            self._note(new)
            self._visit(new, chain, strict)
        results = [source(e) for e in plan.fetches]
        for i, edge in enumerate(results):
            self.moved[Edge(call.name, i)] = edge
        effects = [renamed[t] for t in plan.targets]
        self.targets += effects
        outside = outside_loops(plan)
        after = [renamed[t] for t in (*plan.targets, *exits(plan)) if t in outside]
        ended = dict.fromkeys([*(self._resolved(e).node for e in results), *after])
        waits = tuple(ended) + ((ready,) if ready is not None else ())
        self._add(self._node(call, no_op, call.name, (), waits))

    def _argument(self, call: PlanNode, place: int, edge: Edge, guarded: bool) -> Edge:
        """An input of the body: a reference is read at the call."""
        output = self._output(edge)
        if not guarded and not output.dtype.is_ref:
            return edge
        name = self._name(f"{call.name}/input_{place}")
        return self._identity(call, name, edge, call.control)

    def _ready(self, call: PlanNode, given: Sequence[Edge]) -> str:
        name = self._name(f"{call.name}/inputs_ready")
        waits = tuple(dict.fromkeys(e.node for e in given)) or call.control
        self._add(self._node(call, no_op, name, (), waits))
        return name

    def _name(self, name: str) -> str:
        found, count = name, 0
        while found in self.names:
            count += 1
            found = f"{name}_{count}"
        self.names.add(found)
        return found

    # -- small nodes ---------------------------------------------------------------------------
    def _node(
        self,
        call: PlanNode,
        op: Op,
        name: str,
        inputs: Sequence[Edge],
        control: Sequence[str] = (),
        attrs: dict[str, Any] | None = None,
        outputs: Sequence[Output] = (),
    ) -> PlanNode:
        """A small node that stands for a part of the call: its device, its origins, its place in
        the order."""
        types = tuple(self._output(e).dtype.base for e in inputs)
        return PlanNode(
            name,
            op,
            tuple(inputs),
            tuple(control),
            attrs or {},
            tuple(outputs),
            types,
            call.device,
            call.origins,
            call.number,
        )

    def _emit(
        self,
        call: PlanNode,
        op: Op,
        name: str,
        inputs: Sequence[Edge],
        control: Sequence[str] = (),
        attrs: dict[str, Any] | None = None,
        outputs: Sequence[Output] | None = None,
    ) -> Edge:
        """Add a node of a type attribute T, whose outputs are like its first input."""
        first = self._output(inputs[0])
        first = Output(first.dtype.base, first.shape)
        name = self._name(f"{call.name}/{name}")
        node = self._node(
            call, op, name, inputs, control, {"T": first.dtype} | (attrs or {}), outputs or [first]
        )
        self._add(node)
        return Edge(name, 0)

    def _identity(self, call: PlanNode, name: str, edge: Edge, control: Sequence[str]) -> Edge:
        output = self._output(edge)
        plain = Output(output.dtype.base, output.shape)
        self._add(self._node(call, identity, name, [edge], control, {"T": plain.dtype}, [plain]))
        return Edge(name, 0)

    def _call(
        self,
        call: PlanNode,
        part: str,
        f: FunctionName,
        inputs: Sequence[Edge],
        control: Sequence[str],
        chain: tuple[str, ...],
    ) -> tuple[str, list[Edge]]:
        """A call of one part of an If or While: its name, and the edges of its results."""
        function = self.functions.get(f.name)
        attrs = dict(f.attrs)
        if function is not None:
            op = function.op
            outputs = [Output(t.dtype, t.shape) for t in function.body_graph(f.attrs).outputs]
        else:  # an op may be called like a function
            op = catalog.find(f.name)
            outputs = [Output(t, UNKNOWN) for t in output_types(op, attrs)]
        name = self._name(f"{call.name}/{part}")
        node = self._node(call, op, name, inputs, control, attrs, outputs)
        self._note(node)
        self._visit(node, chain, True)
        return name, [Edge(name, i) for i in range(len(outputs))]

    # -- conditionals --------------------------------------------------------------------------
    def _expand_if(self, node: PlanNode, chain: tuple[str, ...]) -> bool:
        pred = node.inputs[0]
        condition = self._output(pred)
        if condition.dtype.base is not dtypes.bool_ or condition.shape.rank not in (None, 0):
            return False
        parts = [(part, node.attrs[part], pred, i) for i, part in enumerate(_BRANCHES)]
        return self._expand_branches(node, parts, chain)

    def _expand_case(self, node: PlanNode, chain: tuple[str, ...]) -> bool:
        index, functions = node.inputs[0], node.attrs["branches"]
        parts = []
        for i, f in enumerate(functions[:-1]):
            chosen = self._compare(node, equal, f"is_{i}", index, i)
            parts.append((f"branch_{i}", f, chosen, 1))
        positive = self._compare(node, greater_equal, "is_positive", index, 0)
        below = self._compare(node, less, "is_below", index, len(functions) - 1)
        name = self._name(f"{node.name}/is_not_last")
        truth = [Output(dtypes.bool_, SCALAR)]
        self._add(self._node(node, logical_and, name, [positive, below], outputs=truth))
        parts.append(("last_branch", functions[-1], Edge(name, 0), 0))
        return self._expand_branches(node, parts, chain)

    def _compare(self, node: PlanNode, op: Op, name: str, index: Edge, number: int) -> Edge:
        """index (op) number, as nodes beside the call: the number waits for the index, so that both are
        dead together."""
        value = Literal(np.array(number, np.int32), dtypes.int32)
        scalar = Output(dtypes.int32, SCALAR)
        constant = self._node(
            node,
            const,
            self._name(f"{node.name}/{number}"),
            (),
            [self._resolved(index).node],
            {"value": value, "dtype": dtypes.int32},
            [scalar],
        )
        self._add(constant)
        attrs = {"incompatible_shape_error": True} if op is equal else {}
        inputs = [index, Edge(constant.name, 0)]
        return self._emit(node, op, name, inputs, node.control, attrs, [Output(dtypes.bool_, SCALAR)])

    def _expand_branches(
        self, node: PlanNode, parts: Sequence[tuple[str, Any, Edge, int]], chain: tuple[str, ...]
    ) -> bool:
        """parts: name, function, and the side of which predicate it is on."""
        pair = [Output(dtypes.bool_, SCALAR)] * 2
        branches = []
        for part, function, pred, side in parts:
            pivot = self._emit(node, switch, f"{part}_pred", [pred, pred], node.control, outputs=pair)
            live = self._emit(node, identity, part + "_taken", [Edge(pivot.node, side)])
            chosen = []
            for i, edge in enumerate(node.inputs[1:]):
                output = self._output(edge)
                both = [Output(output.dtype.base, output.shape)] * 2
                split = self._emit(node, switch, f"{part}_in_{i}", [edge, pred], node.control, outputs=both)
                chosen.append(Edge(split.node, side))
            name, results = self._call(node, part, function, chosen, [live.node], chain)
            ended = self._emit(node, identity, part + "_done", [live], [name])
            branches.append((results, ended))
        for i, output in enumerate(node.outputs):
            joined = self._merge(node, f"output_{i}", [r[i] for r, _ in branches], output)
            self.moved[Edge(node.name, i)] = joined
        ends = [end for _, end in branches]
        done = self._merge(node, "done", ends, Output(dtypes.bool_, SCALAR))
        self._add(self._node(node, no_op, node.name, (), [done.node]))
        return True

    def _merge(self, node: PlanNode, name: str, inputs: Sequence[Edge], output: Output) -> Edge:
        outputs = [Output(output.dtype.base, output.shape), Output(dtypes.int32, SCALAR)]
        return self._emit(node, merge, name, inputs, attrs={"N": len(inputs)}, outputs=outputs)

    def _loop_outputs(self, node: PlanNode, body: Body) -> list[Output]:
        """Types of the loop's variables, and what of their shapes holds in every iteration."""
        shapes = [self._output(e).shape for e in node.inputs]
        while True:
            after = [t.shape for t in body.for_shapes(shapes).outputs]
            agreed = [a.most_specific_compatible_shape(b) for a, b in zip(shapes, after)]
            if [s._sizes for s in agreed] == [s._sizes for s in shapes]:
                return [Output(o.dtype.base, s) for o, s in zip(node.outputs, shapes)]
            shapes = agreed

    # -- loops ---------------------------------------------------------------------------------
    def _expand_while(self, node: PlanNode, chain: tuple[str, ...]) -> bool:
        """A functional loop as primitives (Enter, Merge, Switch, Exit, NextIteration), which the
        rest of the system knows.  False where it can not be written so: no loop variables, or a
        condition that is no single bool."""
        condition, step = node.attrs["cond"], node.attrs["body"]
        results = self._function(condition.name).body_graph(condition.attrs).outputs
        if not node.inputs or len(results) != 1 or results[0].dtype is not dtypes.bool_:
            return False
        frame = {
            "frame_name": node.name,
            "is_constant": False,
            "parallel_iterations": node.attrs["parallel_iterations"],
        }
        outputs = self._loop_outputs(node, self._function(step.name).body_graph(step.attrs))
        merges, backs = [], []
        for i, (edge, output) in enumerate(zip(node.inputs, outputs)):
            first = self._emit(node, enter, f"enter_{i}", [edge], node.control, frame)
            back = Edge(self._name(f"{node.name}/next_{i}"), 0)
            self.outputs[back] = output
            merges.append(self._merge(node, f"merge_{i}", [first, back], output))
            backs.append(back)
        _, (again,) = self._call(node, "cond", condition, merges, [], chain)
        name = self._name(f"{node.name}/loop_cond")
        scalar = [Output(dtypes.bool_, SCALAR)]
        self._add(self._node(node, loop_cond, name, [again], outputs=scalar))
        inside = []
        for i, (edge, output) in enumerate(zip(merges, outputs)):
            split = self._emit(node, switch, f"switch_{i}", [edge, Edge(name, 0)], outputs=[output] * 2)
            self.moved[Edge(node.name, i)] = self._emit(node, exit_, f"exit_{i}", [split])
            inside.append(self._emit(node, identity, f"body_in_{i}", [Edge(split.node, 1)]))
        _, values = self._call(node, "body", step, inside, [], chain)
        for back, value in zip(backs, values):
            output = self._output(value)
            self._add(
                self._node(
                    node,
                    next_iteration,
                    back.node,
                    [value],
                    (),
                    {"T": output.dtype.base},
                    [Output(output.dtype.base, output.shape)],
                )
            )
        ends = tuple(self.moved[Edge(node.name, i)].node for i in range(len(outputs)))
        self._add(self._node(node, no_op, node.name, (), ends))
        return True


def _own_frame(attrs: Any, call: str) -> Any:
    """A loop inside a body is another one at every call."""
    if "frame_name" not in attrs:
        return attrs
    return dict(attrs) | {"frame_name": f"{call}/{attrs['frame_name']}"}
