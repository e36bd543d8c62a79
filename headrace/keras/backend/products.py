"""Products of tensors, as Keras means them."""

from __future__ import annotations

import builtins
from typing import Any

from headrace.layers import ops


def dot(x: Any, y: Any) -> Any:
    """The product over the last axis of `x` and the last but one of `y`."""
    if isinstance(x, ops.SparseTensor):
        return ops.sparse_tensor_dense_matmul(x, y)
    ranks = x.shape.ndims, y.shape.ndims
    if None in ranks or builtins.max(ranks) <= 2:
        return ops.matmul(x, y)
    found = ops.tensordot(x, y, [[ranks[0] - 1], [builtins.max(ranks[1] - 2, 0)]])
    return found


def batch_dot(x: Any, y: Any, axes: Any = None) -> Any:
    """The product over an axis of each, example by example.

    Args:
      x, y: tensors whose first axis is the batch.
      axes: the axis of each; default the last of `x` and the last but one of `y`.
    """
    ranks = x.shape.ndims, y.shape.ndims
    if isinstance(axes, int):
        axes = (axes, axes)
    if axes is None:
        axes = (ranks[0] - 1, ranks[1] - 2)
    extra = abs(ranks[0] - ranks[1])
    fill = [1] * extra
    if ranks[0] > ranks[1]:
        y = ops.reshape(y, ops.concat([ops.shape(y), fill], axis=0))
    elif extra:
        x = ops.reshape(x, ops.concat([ops.shape(x), fill], axis=0))
    if x.shape.ndims == 2 and y.shape.ndims == 2:
        if axes[0] == axes[1]:
            out = ops.reduce_sum(x * y, axes[0])
        else:
            out = ops.reduce_sum(ops.transpose(x, [1, 0]) * y, axes[1])
    else:
        adjoint_x = axes[0] != x.shape.ndims - 1
        adjoint_y = axes[1] == y.shape.ndims - 1
        out = ops.matmul(x, y, adjoint_a=adjoint_x, adjoint_b=adjoint_y)
    if extra:
        first = ranks[0] + ranks[1] - 3 if ranks[0] > ranks[1] else ranks[0] - 1
        out = ops.squeeze(out, list(builtins.range(first, first + extra)))
    return ops.expand_dims(out, 1) if out.shape.ndims == 1 else out
