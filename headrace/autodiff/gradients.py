"""tf.gradients: walk back from ys to xs and add the nodes that compute the derivatives.

The walk visits a node when the gradients of all its outputs that matter are there; each node's rule
makes gradients of its inputs.  Nodes of loops and conditionals go through `control_flow`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import Enum
from typing import Any

from headrace.autodiff import control_flow
from headrace.autodiff.accumulate import aggregate
from headrace.autodiff.reach import Reach, has_gradient_type
from headrace.autodiff.registry import Rule, rule_for
from headrace.core import dtypes
from headrace.core.modules import late
from headrace.functions.control.grouping import tuple_
from headrace.functions.values.structure import name_scope
from headrace.graph.defaults import get_default_graph
from headrace.graph.graph import Graph
from headrace.graph.node import Node
from headrace.graph.tensor import Tensor
from headrace.ops.array.constant import constant
from headrace.ops.array.source import identity
from headrace.ops.declaration import array
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.declaration.indexed_slices import IndexedSlices

variable_parts = late("headrace.ops.state.variable_parts")


class UnconnectedGradients(Enum):
    """What the gradient of an x is that no y depends on."""

    NONE = "none"
    ZERO = "zero"


def gradients(
    ys: Any,
    xs: Any,
    grad_ys: Any = None,
    name: str = "gradients",
    colocate_gradients_with_ops: bool = False,
    gate_gradients: bool = False,
    aggregation_method: int | None = None,
    stop_gradients: Any = None,
    unconnected_gradients: Any = UnconnectedGradients.NONE,
) -> list[Any]:
    """Symbolic derivatives of sum(ys) with respect to each of xs.

    Args:
      ys: a tensor or a list of tensors.
      xs: a tensor or a list of tensors.
      grad_ys: what flows in at ys; ones if not given.
      name: a scope for the new nodes.
      colocate_gradients_with_ops: put the nodes of a gradient where the node itself is.
      gate_gradients: compute all gradients of a node before any is used.
      aggregation_method: see AggregationMethod.
      stop_gradients: tensors through which nothing flows back.
      unconnected_gradients: "none" or "zero" for an x that no y depends on.

    Returns: a list like xs: tensors, IndexedSlices, or None.

    Example:
      >>> x = tf.constant(3.0)
      >>> tf.gradients(x * x, x)        # [6.0]
    """
    unconnected = UnconnectedGradients(
        unconnected_gradients.value
        if isinstance(unconnected_gradients, UnconnectedGradients)
        else _unconnected(unconnected_gradients)
    )
    graph = get_default_graph()
    ys, xs = _as_list(ys), _as_list(xs)
    stops = [] if stop_gradients is None else _as_list(stop_gradients)
    given = [None] * len(ys) if grad_ys is None else _as_list(grad_ys)
    with name_scope(name, "gradients", [*ys, *xs, *stops, *[g for g in given if g is not None]]):
        graph = get_default_graph()
        sources = [_source(x) for x in xs]
        tensors_x = [_within(graph, _handle_or_tensor(x)) for x in sources]
        # A tensor of an outer graph stays one: the walk goes through that graph.
        tensors_y = [y if isinstance(y, Tensor) else convert_to_tensor(y, name="y") for y in ys]
        stopped = [_handle_or_tensor(_source(s)) for s in stops]
        initial = _initial(tensors_y, given, colocate_gradients_with_ops, graph)
        walk = _Walk(
            graph,
            tensors_y,
            tensors_x,
            stopped,
            colocate_gradients_with_ops,
            gate_gradients,
            aggregation_method,
        )
        walk.start(initial)
        walk.run()
        return [walk.result(x, s, unconnected) for x, s in zip(tensors_x, sources)]


def _unconnected(value: Any) -> str:
    try:
        return str(UnconnectedGradients(value).value)
    except ValueError:
        raise ValueError(f"Unknown value for unconnected_gradients: {value!r}") from None


def _as_list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _source(x: Any) -> Any:
    """A variable stands for its handle, or for the reference to its state."""
    handle = getattr(x, "handle", None)
    if isinstance(handle, Tensor) and handle.dtype.base is dtypes.resource:
        return handle
    return x


def _within(graph: Any, x: Tensor) -> Tensor:
    """What a value of eager mode is in the body of a function: the argument that brings it in."""
    is_brought_in = graph.building_function and x.graph.runs_at_once
    return graph.capture(x) if is_brought_in else x


def _handle_or_tensor(x: Any) -> Tensor:
    if isinstance(x, Tensor):
        return x
    if isinstance(x, IndexedSlices):
        return x.values
    element = getattr(x, "_as_graph_element", None)
    if element is not None:
        return element()  # type: ignore[no-any-return]
    return convert_to_tensor(x, name="x", as_ref=True)


def _initial(ys: Sequence[Tensor], given: Sequence[Any], colocate: bool, graph: Graph) -> list[Any]:
    """The gradients that flow in at ys, checked against their types.

    Given ones get a name in the scope of this call: tensor arrays tell calls apart by it.
    """
    if len(given) != len(ys):
        raise ValueError(f"Passed {len(given)} grad_ys for {len(ys)} ys")
    out: list[Any] = []
    for i, (y, dy) in enumerate(zip(ys, given)):
        if dy is not None and not isinstance(dy, (Tensor, IndexedSlices)):
            dy = convert_to_tensor(dy, name=f"grad_y_{i}")
        with _beside(graph, y.op if colocate else None):
            if dy is None:
                out.append(_ones(y, f"grad_ys_{i}"))
                continue
            _check_given(y, dy)
            out.append(_named(dy, f"grad_ys_{i}"))
    return out


def _named(dy: Any, name: str) -> Any:
    if isinstance(dy, Tensor):
        return identity(dy, name=name)
    return IndexedSlices(
        identity(dy.values, name=f"{name}_values"),
        identity(dy.indices, name=f"{name}_indices"),
        None if dy.dense_shape is None else identity(dy.dense_shape, name=f"{name}_shape"),
    )


def _check_given(y: Tensor, dy: Any) -> None:
    kind, its = y.dtype.base, dy.dtype.base
    generated = f"Gradient type {its.name} generated for"
    if kind.is_floating or kind.is_integer:
        if not (its.is_floating or its.is_integer):
            raise TypeError(
                f"{generated} real or integer-valued tensor {y} with type {kind.name} must be real or integer"
            )
    elif kind.is_complex:
        if not its.is_complex:
            raise TypeError(f"{generated} complex-valued tensor {y} with type {kind.name} must be real")
    elif kind is dtypes.variant:
        if its is not dtypes.variant:
            raise TypeError(f"{generated} variant tensor {y} with type {kind.name} must be variant")
    elif kind is dtypes.resource:
        if its is dtypes.resource:
            raise TypeError(f"Input gradient {dy} for resource tensor {y} should not be a resource")
    else:
        raise TypeError(f"Tensor {y} with type {kind.name} must be numeric to obtain a default gradient")


def _ones(y: Tensor, name: str) -> Any:
    if y.dtype.base.is_complex:
        raise TypeError(f"Gradients of complex tensors must set grad_ys (y.dtype = {y.dtype!r})")
    value = 1 if y.dtype.base.kind in "iu" else 1.0
    return array.fill(array.shape_of(y), constant(value, y.dtype.base, name=name))


@contextmanager
def _beside(graph: Graph, node: Node | None) -> Iterator[None]:
    if node is None:
        yield
    else:
        with graph.colocate_with(node):
            yield


class _Walk:
    """The backward walk of one call."""

    def __init__(
        self,
        graph: Graph,
        ys: Sequence[Tensor],
        xs: Sequence[Tensor],
        stops: Sequence[Tensor],
        colocate: bool,
        gate: bool,
        method: int | None,
    ) -> None:
        self.graph, self.ys, self.xs = graph, ys, xs
        self.colocate, self.gate, self.method = colocate, gate, method
        self.reach = reach = Reach(graph, xs)
        self.inputs_of = reach.inputs_of
        between = reach.between(ys)
        self.loops = control_flow.State(between)
        self.pending = dict.fromkeys(between, 0)
        for node in between:
            for source in self.inputs_of(node):
                if source.op in between:
                    self.pending[source.op] += 1
        # An x ends the walk, unless another x lies behind it.
        ends = {x.op for x in xs if not any(self.pending.get(i.op) for i in self.inputs_of(x.op))}
        self.stops = ends | {t.op for t in stops}
        self.grads: dict[Node, list[list[Any]]] = {}

    def start(self, initial: Sequence[Any]) -> None:
        for y, dy in zip(self.ys, initial):
            if dy is not None:
                self._add(y, dy)

    def run(self) -> None:
        # An output that another output depends on waits for that one.
        starts = {y.op: None for y in self.ys if self.pending.get(y.op) == 0}
        queue = deque(starts)
        for tensor in self.loops.unused_exits(self.pending, set(starts)):
            self.add_zero_exit(tensor)
            queue.append(tensor.op)
        while queue:
            node = queue.popleft()
            with _beside(self.graph, node if self.colocate else None):
                self._differentiate(node)
            for source in self.inputs_of(node):
                target = source.op
                if target not in self.pending:
                    continue
                self.pending[target] -= 1
                queue.extend(self.loops.released(target, self.pending, self))
        self.loops.finish()

    def has_gradient(self, node: Node) -> bool:
        return any(p is not None for parts in self.grads.get(node, ()) for p in parts)

    def add_zero_exit(self, tensor: Tensor) -> None:
        if has_gradient_type(tensor):
            self._add(tensor, self.loops.zeros_for_exit(tensor))

    def _differentiate(self, node: Node) -> None:
        with self.loops.arriving(node):
            out_grads = self._outputs(node)
        if node in self.stops or not any(g is not None for g in out_grads):
            return
        rule = rule_for(node)
        if rule is None:
            return
        with self.loops.computing(node):
            if control_flow.enters_own_loop(node):
                raise ValueError(
                    "Cannot compute gradient inside while loop with respect to op "
                    f"'{self.reach.nearest_x(node).name}'. We do not support taking the gradient wrt "
                    "or through the initial value of a loop variable. Gradients can be computed "
                    "through loop invariants or wrt the input parameters to the loop body."
                )
            in_grads = self._apply(node, rule, out_grads)
        for source, dx in zip(self.inputs_of(node), in_grads):
            if dx is None:
                continue
            if isinstance(dx, Tensor) and source.dtype.base is not dtypes.resource:
                _match_shape(node, source, dx)
            self._add(source, dx)

    def _outputs(self, node: Node) -> list[Any]:
        parts = self.grads.get(node)
        if parts is None:
            return [None] * len(node.outputs)
        out = []
        for i in range(len(node.outputs)):
            total = aggregate(parts[i], self.method)
            parts[i] = [] if total is None else [total]
            out.append(total)
        return out

    def _apply(self, node: Node, rule: Rule, out_grads: list[Any]) -> list[Any]:
        # A rule sees zeros, not None, where an output that has a gradient type got nothing.
        # Not so for what a node gives to its gradient alone.
        shown = len(out_grads) if node.saving is None else node.saving.outputs
        filled = [
            self.loops.zeros(node, i)
            if dy is None and i < shown and has_gradient_type(node.outputs[i])
            else dy
            for i, dy in enumerate(out_grads)
        ]
        with self.graph.name_scope(node.name + "_grad"):
            result = rule(node, *filled)
            grads = list(result) if isinstance(result, (list, tuple)) else [result]
            if len(grads) != len(node.inputs):
                raise ValueError(
                    f"Num gradients {len(grads)} generated for op {node.node_def} do not match num "
                    f"inputs {len(node.inputs)}"
                )
            self._check(node, grads)
            if self.gate and sum(g is not None for g in grads) > 1:
                grads = _gated(grads)
        return grads

    def _check(self, node: Node, grads: Sequence[Any]) -> None:
        for source, dx in zip(node.inputs, grads):
            if dx is None or isinstance(dx, IndexedSlices):
                continue
            if not isinstance(dx, Tensor):
                raise TypeError(f"the gradient of {node.name} gave {dx!r}, which is not a tensor")
            if dx.dtype.base is dtypes.variant or source.dtype.base in (dtypes.resource, dtypes.variant):
                continue
            if dx.dtype.base is not source.dtype.base and not (
                dx.dtype.base.is_floating and source.dtype.base.is_floating
            ):
                raise ValueError(
                    f"the gradient of {node.name} has type {dx.dtype.name}, its input "
                    f"{source.name} {source.dtype.name}"
                )

    def _add(self, tensor: Tensor, grad: Any) -> None:
        parts = self.grads.setdefault(tensor.op, [[] for _ in tensor.op.outputs])
        parts[tensor.value_index].append(grad)

    def result(self, x: Tensor, source: Any, unconnected: UnconnectedGradients) -> Any:
        parts = self.grads.get(x.op)
        found = aggregate(parts[x.value_index], self.method) if parts else None
        if found is None and unconnected is UnconnectedGradients.ZERO:
            return _zeros_of(x)
        return found


def _zeros_of(x: Tensor) -> Any:
    if x.dtype.base is dtypes.resource and x.handle_data is not None:
        dtype, _ = x.handle_data
        zero = constant(0, dtype) if dtype.kind in "iu" else constant(0.0, dtype)
        return array.fill(variable_parts.shape_of_variable(x), zero)
    return array.zeros_like(x)


def _match_shape(node: Node, source: Tensor, dx: Tensor) -> None:
    try:
        dx.set_shape(source.shape)
    except ValueError:
        raise ValueError(
            "Incompatible shapes between op input and calculated input gradient. Forward operation: "
            f"{node.name}. Input shape: {source.shape}. Calculated input gradient shape: {dx.shape}"
        ) from None


def _gated(grads: Sequence[Any]) -> list[Any]:
    """No gradient of a node is used before all of them are computed."""
    return list(tuple_(grads))
