"""Gradients of the control-flow primitives.  They stand here and not in the ops' blocks because they
need the state of the backward walk: a Switch becomes a Merge and the other way round, an Exit becomes
an Enter of the backward loop."""

from __future__ import annotations

from typing import Any

from headrace.autodiff.loops import _enter, accumulate_gradient, full_shape, outside
from headrace.core.shapes import Shape
from headrace.functions.control.flow_context import CondContext, merge_any, output_context, switch_any
from headrace.functions.control.while_context import WhileContext, add_back_edge
from headrace.graph.node import Node
from headrace.graph.tensor import Tensor
from headrace.ops.array import concat
from headrace.ops.array.constant import constant
from headrace.ops.control import control_flow as primitives
from headrace.ops.declaration import array
from headrace.ops.declaration.indexed_slices import IndexedSlices
from headrace.ops.math import comparison


def _current(node: Node) -> Any:
    return node.graph._get_control_flow_context()


def _switch_grad(node: Node, *dys: Any) -> Any:
    context, current = node._get_control_flow_context(), _current(node)
    if isinstance(context, WhileContext):
        merges = current.grad_state.switch_merges
        merge = merges.get(node)
        if merge is not None:
            # Seen before, by its Exit: now the body's gradient closes the backward loop.
            if dys[1] is not None:
                add_back_edge(merge, dys[1])
            return None, None
        if dys[0] is None:
            return None, None
        merge = primitives.merge([dys[0], dys[0]], name="b_switch")[0]
        merges[node] = merge
        return merge, None
    if isinstance(context, CondContext):
        if dys[1 - context.branch] is None or dys[context.branch] is None:
            return None, None
        return merge_any(list(dys), name="cond_grad")[0], None
    false = primitives.switch(dys[0], node.inputs[1])[0]
    true = primitives.switch(dys[1], node.inputs[1])[1]
    return primitives.merge([false, true])[0], None


def _merge_grad(node: Node, dy: Any, _: Any) -> Any:
    context, current = output_context(node.inputs[0].op), _current(node)
    if isinstance(context, WhileContext):
        return list(switch_any(dy, current.pivot))
    if isinstance(context, CondContext):
        pred = context.pred
        if current is not None and current.grad_state is not None:
            pred = current.grad_state.real_pred(pred)
        return list(switch_any(dy, pred, name="cond_grad"))
    chosen = [comparison.equal(node.outputs[1], i) for i in range(len(node.inputs))]
    return [switch_any(dy, pred)[1] for pred in chosen]


def _exit_grad(node: Node, dy: Any) -> Any:
    current = _current(node)
    if current is None or not current.back_prop:
        return None  # back_prop=False: the loop has no gradient
    if node._get_control_flow_context().grad_state is not None:
        raise TypeError("Second-order gradient for while loops not supported.")
    for tensor in _tensors(dy):
        current.AddName(tensor)
    if isinstance(dy, Tensor):
        with current.entered():
            return _enter(current, dy, "b_exit")
    with current.entered():
        parts = [_enter(current, t, "b_exit") for t in _tensors(dy)]
    return IndexedSlices(*parts)


def _tensors(dy: Any) -> list[Tensor]:
    if isinstance(dy, Tensor):
        return [dy]
    parts = [dy.values, dy.indices]
    return parts if dy.dense_shape is None else [*parts, dy.dense_shape]


def _next_iteration_grad(node: Node, dy: Any) -> Any:
    return dy


def _enter_grad(node: Node, dy: Any) -> Any:
    current = _current(node)
    if current is None or not current.back_prop or current.grad_state is None:
        return dy
    if node.attrs["is_constant"]:
        if isinstance(dy, Tensor):
            return accumulate_gradient(current, node, dy)
        return _accumulate_slices(current, node, dy)
    if not isinstance(dy, Tensor):
        raise TypeError(f"the gradient of {node.name} in a loop must be a tensor, it is {dy}")
    result = primitives.exit_(dy)
    current.loop_exits.append(result)
    current.leave([result])
    return result


def _accumulate_slices(loop: WhileContext, node: Node, dy: IndexedSlices) -> IndexedSlices:
    """Slices of all iterations, one after the other."""
    sources = [dy.values, dy.indices]
    with outside(loop):
        starts = []
        for tensor in sources:
            tail = tensor.shape.sizes[1:] if tensor.shape.rank else ()
            if None in tail:
                tail_shape = full_shape(node.inputs[0])[1:]
                sizes = concat.concat_v2([constant([0]), tail_shape], 0)
                starts.append(array.fill(sizes, constant(0, tensor.dtype.base)))
            else:
                zero = 0 if tensor.dtype.base.kind in "iu" else 0.0
                starts.append(array.fill([0, *tail], constant(zero, tensor.dtype.base)))
    totals = []
    for start, tensor in zip(starts, sources):
        loop.AddName(start)
        enter = _enter(loop, start, "b_acc")
        enter._shape = Shape([None]).concatenate(tensor.shape[1:])
        merge = primitives.merge([enter, enter], name="b_acc")[0]
        switch = primitives.switch(merge, loop.pivot)
        joined = concat.concat_v2([switch[1], tensor], 0)
        merge.op._update_input(1, primitives.next_iteration(joined))
        total = primitives.exit_(switch[0], name="b_acc")
        loop.loop_exits.append(total)
        loop.leave([total])
        totals.append(total)
    shape = None
    if dy.dense_shape is not None:
        with outside(loop):
            shape = full_shape(node.inputs[0])
    return IndexedSlices(totals[0], totals[1], shape)


for _ops, _rule in (
    ((primitives.switch, primitives.ref_switch), _switch_grad),
    ((primitives.merge, primitives.ref_merge), _merge_grad),
    ((primitives.exit_, primitives.ref_exit), _exit_grad),
    ((primitives.next_iteration, primitives.ref_next_iteration), _next_iteration_grad),
    ((primitives.enter, primitives.ref_enter), _enter_grad),
):
    for _op in _ops:
        _op.gradient(_rule)
