"""A function's body and its gradient, cut in two where values pass from one to the other.

Gradient nodes are added to the body's own graph.  What depends on the gradients that flow in is the
later half; what it takes from the earlier one must be saved when the function runs, so that nothing
is computed, or drawn, a second time.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from typing import Any

from headrace.autodiff.loops import inside
from headrace.core.dtypes import DType
from headrace.core.modules import late
from headrace.core.shapes import Shape
from headrace.functions.array.array import zeros
from headrace.functions.control.flow_context import CondContext, merge_any, switch_any
from headrace.graph.attrs import FunctionName
from headrace.graph.graph import Graph
from headrace.graph.node import Node
from headrace.graph.tensor import Tensor
from headrace.ops.array.source import placeholder
from headrace.ops.control.function_call import fake_param
from headrace.ops.declaration import array
from headrace.ops.declaration.building.build import make_node
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.declaration.traits import CONTROL_FLOW, SOURCE, STATEFUL, SWITCH
from headrace.ops.graphdef.function_body import Body, copied
from headrace.ops.graphdef.function_def import to_function_def
from headrace.ops.graphdef.function_graph import FunctionGraph
from headrace.ops.graphdef.function_library import Function

gradients = late("headrace.autodiff.gradients")

lock = threading.RLock()  # bodies are shared by all nodes that name them
_open: set[Body] = set()  # being differentiated: a function that calls itself is met here


def find(graph: Graph, f: FunctionName) -> Body | None:
    """The body of a function, if it may be cut: it is no op, has no gradient function of its own and
    is not recursive."""
    function = graph._functions.get(f.name)
    if function is None or function.gradient_name:
        return None
    body: Body = function.body_graph(f.attrs)
    return None if body in _open else body


def of(body: Body, count: int) -> Halves:
    """The halves of a body for its first `count` results; it is differentiated once, where a second
    gradient can use what is saved for the first."""
    found: Halves | None = body.halves
    if found is None or found.count != count or not found.is_shared:
        found = body.halves = Halves(body, count)
    return found


def extended(
    node: Node,
    inputs: Sequence[Tensor],
    examples: Sequence[Tensor],
    shapes: Sequence[Shape],
    attrs: dict[str, Any],
) -> list[Tensor]:
    """Give a node more outputs, like the examples, also in the eyes of loops around it."""
    kinds = [(t.dtype.base, shape) for t, shape in zip(examples, shapes)]
    added: list[Tensor] = node._extend(inputs, kinds, attrs)
    for tensor, example in zip(added, examples):
        tensor.handle_data = example.handle_data
        context = node._get_control_flow_context()
        while context is not None:
            context.AddName(tensor)
            context = context.outer_context
    return added


class Halves:
    """The gradient of a body.  `dxs` has None for an argument that gets nothing."""

    def __init__(self, body: Body, count: int) -> None:
        self.body, self.count, graph = body, count, body.graph
        self.is_shared = True  # may several gradients use one set of saved values?
        before = len(graph.get_operations())
        _open.add(body)
        try:
            with graph.as_default(), graph.control_dependencies(None):
                self.flows = [i for i, y in enumerate(body.outputs[:count]) if has_gradient(y)]
                ys = [body.outputs[i] for i in self.flows]
                self.dys = [argument_like(y, graph) for y in ys]
                dxs = gradients.gradients(ys, list(body.inputs), self.dys) if ys else [None]
                dxs = [None if dx is None else convert_to_tensor(dx) for dx in dxs]
        finally:
            _open.discard(body)
        self.dxs: list[Tensor | None] = dxs if ys else [None] * len(body.inputs)
        self._late = _late(self.dys, graph.get_operations()[before:])

    def fill(self, places: Iterable[int]) -> None:
        """Zeros for arguments that get nothing here, but elsewhere do."""
        graph = self.body.graph
        with graph.as_default(), graph.control_dependencies(None):
            for i in places:
                if self.dxs[i] is None:
                    before = len(graph.get_operations())
                    self.dxs[i] = _zero(self.body.inputs[i])
                    self._late.update(graph.get_operations()[before:])

    def needed(self, results: Sequence[Tensor]) -> list[Tensor]:
        """What the later half takes from the earlier one, arguments included."""
        taken = [t for n in self._later_nodes(results) for t in n.inputs]
        ends = self._late | self._fixed()
        found = list(dict.fromkeys(t for t in (*taken, *results) if t.op not in ends))
        # Who takes values from a stack empties it.
        given = set(self.body.inputs)
        self.is_shared = all(t in given or t.dtype.base.kind != "r" for t in found)
        return found

    def _later_nodes(self, results: Sequence[Tensor]) -> dict[Node, None]:
        found: dict[Node, None] = {}
        stack = [t.op for t in results if t.op in self._late]
        while stack:
            node = stack.pop()
            if node not in found:
                found[node] = None
                sources = [*(t.op for t in node.inputs), *node._control_inputs]
                stack += [n for n in sources if n in self._late]
        return found

    def _fixed(self) -> set[Node]:
        """Nodes that are the same in every call: made from constants, without effects."""
        found: set[Node] = set()
        for node in self.body.graph.get_operations():
            if not (
                node in self._late
                or node._control_inputs
                or node.declaration.traits & {STATEFUL, SOURCE, CONTROL_FLOW}
                or node.type == fake_param.name
            ) and all(t.op in found for t in node.inputs):
                found.add(node)
        return found

    def later(self, inputs: Sequence[Tensor], results: Sequence[Tensor]) -> FunctionGraph:
        """A graph of the gradient: (inputs..., dys...) -> results."""
        given = [*inputs, *self.dys]
        later = self._later_nodes(results)
        taken = [t for n in later for t in n.inputs]
        ends = self._late | {t.op for t in self.body.inputs}
        fixed = self._fixed()
        again = _reached([t.op for t in (*taken, *results) if t.op in fixed], ends)
        places = {t.op for t in self.dys}
        nodes = [*(n for n in later if n not in places), *again]
        copy, tensor_of, _ = copied(self.body.graph, given, [t.shape for t in given], nodes)
        copy.outputs = list(map(tensor_of, results))
        copy.is_pruned = True
        return copy


def widened(body: Body, inputs: Sequence[Tensor], outputs: Sequence[Tensor]) -> Body:
    """The same body, with more arguments and results at the end."""
    taken, given = [*body.inputs, *inputs], [*body.outputs, *outputs]
    return Body(body.graph, taken, given, body.targets)


def whole(body: Body) -> FunctionGraph:
    """A body as a graph of its own."""
    places = {t.op for t in body.inputs}
    nodes = _reached([*(t.op for t in body.outputs), *body.targets], places)
    shapes = [t.shape for t in body.inputs]
    copy, tensor_of, node_of = copied(body.graph, body.inputs, shapes, nodes)
    copy.outputs = list(map(tensor_of, body.outputs))
    copy.is_pruned = True
    copy.control_returns = list(map(node_of, body.targets))
    return copy


def _zero(x: Tensor) -> Tensor:
    if x.shape.is_full and x.dtype.base.kind not in "rv":
        found: Tensor = zeros(x.shape, x.dtype.base)
        return found
    return result(x, None)


def live(tensor: Tensor) -> Tensor:
    """A value that exists whichever branch of the body's own conditionals is taken."""
    context = tensor.op._get_control_flow_context()
    while isinstance(context, CondContext):
        graph = tensor.graph
        with graph.as_default(), graph.control_dependencies(None), inside(context.outer_context):
            nothing = placeholder_like(tensor)
            other = switch_any(nothing, context.pred)[1 - context.branch]
            tensor = merge_any([other, tensor])[0]
        context = context.outer_context
    return tensor


def placeholder_like(tensor: Tensor) -> Tensor:
    """A value that nobody uses, in the place of one that is not computed."""
    found: Tensor = fake_param(dtype=tensor.dtype.base, shape=tensor.shape)
    return found


def _late(dys: Sequence[Tensor], nodes: Sequence[Node]) -> set[Node]:
    """Which of the new nodes depend on the gradients that flow in, or are part of a backward loop."""
    waiting: dict[Node, list[Node]] = {}
    for node in nodes:
        for source in node._control_inputs:
            waiting.setdefault(source, []).append(node)
    found: set[Node] = set()
    stack = [t.op for t in dys]
    stack += [n for n in nodes if _may_be_dead(n) or _is_in_backward_loop(n)]
    while stack:
        node = stack.pop()
        if node not in found:
            found.add(node)
            stack += [*node.users, *waiting.get(node, ())]
    return found


def _may_be_dead(node: Node) -> bool:
    """New nodes outside of loops that depend on which branch is taken: they can not be saved.

    A new Switch makes the zeros of a branch; others take what a branch has computed."""
    context = node._get_control_flow_context()
    if context is not None and context.while_context() is not None:
        return False
    if SWITCH in node.declaration.traits:
        return True
    sources = (t.op._get_control_flow_context() for t in node.inputs)
    return any(isinstance(c, CondContext) and c.while_context() is None for c in sources)


def _is_in_backward_loop(node: Node) -> bool:
    context = node._get_control_flow_context()
    while context is not None:
        if getattr(context, "grad_state", None) is not None:
            return True
        context = context.outer_context
    return False


def _reached(nodes: Iterable[Node], ends: set[Node]) -> list[Node]:
    """The nodes and all that they need, up to `ends`, in the order of the graph."""
    found: set[Node] = set()
    stack = list(nodes)
    while stack:
        node = stack.pop()
        if node not in found and node not in ends:
            found.add(node)
            stack += [*(t.op for t in node.inputs), *node._control_inputs]
    return sorted(found, key=lambda n: n.number)


def as_function(graph: FunctionGraph, name: str, like: Function | None = None) -> Function:
    """A function of the library from a body; `like`: it is called in the way that one is."""
    graph.name = name
    definition = to_function_def(graph, name, append_hash=True)
    if like is not None and not like.is_inlined:
        definition.attr["_noinline"].b = True
    return Function(definition, graph)


def argument(graph: FunctionGraph, dtype: DType, shape: Shape, name: str) -> Tensor:
    """A placeholder in a body's graph, for those who make another body of it."""
    attrs = {"dtype": dtype, "shape": shape}
    with graph.no_devices():
        return make_node(graph, placeholder, (), (), attrs, f"gradients/{name}").outputs[0]


def argument_like(tensor: Tensor, graph: FunctionGraph) -> Tensor:
    found = argument(graph, tensor.dtype.base, tensor.shape, f"d_{tensor.op.name}")
    found.handle_data = tensor.handle_data
    return found


def has_gradient(y: Tensor) -> bool:
    base = y.dtype.base
    return base.is_floating or base.is_complex or base.kind == "v"


def result(x: Tensor, dx: Any) -> Tensor:
    if dx is not None:
        return convert_to_tensor(dx)
    if x.dtype.base.kind == "r" and x.handle_data is not None:
        found: Tensor = gradients._zeros_of(x)
        return found
    zeros: Tensor = array.zeros_like(x)
    return zeros
