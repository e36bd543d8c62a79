"""Functions that may be called for many elements at once: what they do to a stack of elements, row by row,
is what they do to each element.

That holds where every node is elementwise on values of one rank, so that the new first dimension lines up,
and what is captured has no more dimensions than an element.  One-hot vectors end a shape of any rank.
"""

from __future__ import annotations

from typing import Any

from headrace.core.shapes import Shape
from headrace.graph.node import Node
from headrace.ops.array.indexing.one_hot import one_hot
from headrace.ops.declaration.traits import CONSTANT, ELEMENTWISE, HOST, STATEFUL


def is_rowwise(body: Any, count: int) -> bool:
    """Whether the body may be called so, where its first `count` arguments are an element."""
    ranks: dict[Any, int] = {}  # of the tensors that are different for each element
    for tensor in body.inputs[:count]:
        if tensor.shape.rank is None or tensor.dtype.base.kind in "rvs":
            return False
        ranks[tensor] = tensor.shape.rank
    places = {t.op for t in body.inputs}
    if body.targets or body.graph.control_returns:
        return False
    for node in body.graph.get_operations():
        if node not in places and not _is_rowwise(node, ranks):
            return False
    return all(t in ranks for t in body.outputs)


def _is_rowwise(node: Node, ranks: dict[Any, int]) -> bool:
    op = node.declaration
    if STATEFUL in op.traits or node.control_inputs:
        return False
    found = [ranks[t] for t in node.inputs if t in ranks]
    if not found:
        return CONSTANT in op.traits or HOST not in op.traits
    if op is one_hot:
        if node.inputs[0] not in ranks or len(found) != 1 or node.attrs["axis"] != -1:
            return False
        ranks[node.outputs[0]] = found[0] + 1
        return True
    others = [t.shape.rank for t in node.inputs if t not in ranks]
    fits = len(set(found)) == 1 and all(r is not None and r <= found[0] for r in others)
    if ELEMENTWISE not in op.traits or not fits:
        return False
    for tensor in node.outputs:
        if tensor.dtype.base.kind in "rvs":
            return False
        ranks[tensor] = found[0]
    return True


def batched(shape: Shape) -> Shape:
    return Shape([None]).concatenate(shape)
