"""tensordot: a contraction of two tensors, as one product of matrices."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.core.shapes import Dim, make_shape
from headrace.functions.array.array import transpose
from headrace.functions.array.indexing import gather
from headrace.functions.array.stacking import concat, stack
from headrace.functions.linalg.linalg import matmul
from headrace.functions.math.reduce import reduce_prod
from headrace.functions.values.structure import name_scope
from headrace.graph.tensor import Tensor
from headrace.ops.array.indexing import where
from headrace.ops.array.unique import list_diff
from headrace.ops.declaration import array
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.math import comparison
from headrace.ops.math.sequence import range_

Integer = (int, np.integer)


def tensordot(a: Any, b: Any, axes: Any, name: str | None = None) -> Tensor:
    """Sums the products of elements of `a` and `b` over pairs of axes, as np.tensordot does.

    Args:
      a: a tensor.
      b: a tensor of the same type.
      axes: an integer N for the last N axes of `a` and the first N of `b`; or two lists (or a
        tensor [2, k]): the axes of `a` and those of `b`.
      name: name of the node.

    Returns:
      A tensor with the axes of `a` that are left, then those of `b`.

    Raises:
      ValueError: `axes` does not fit the tensors.

    Example:
      >>> tf.tensordot(a, b, 1)        # tf.matmul(a, b) for matrices
    """
    with name_scope(name, "Tensordot", [a, b, axes]) as scope:
        a, b = convert_to_tensor(a, name="a"), convert_to_tensor(b, name="b")
        a_axes, b_axes = _pairs(a, axes)
        left, a_free, a_static = _as_matrix(a, a_axes, is_right=False)
        right, b_free, b_static = _as_matrix(b, b_axes, is_right=True)
        product = matmul(left, right)
        if isinstance(a_free, list) and isinstance(b_free, list):
            sizes: Any = convert_to_tensor(a_free + b_free, dtype=dtypes.int32)
            return array.reshape(product, sizes, name=scope)
        parts = [convert_to_tensor(free, dtype=dtypes.int32) for free in (a_free, b_free)]
        product = array.reshape(product, concat(parts, 0), name=scope)
        if a_static is not None and b_static is not None:
            product.set_shape(make_shape(a_static + b_static))
        return product


def _pairs(a: Tensor, axes: Any) -> tuple[Any, Any]:
    """The axes of either side."""
    rank = a.shape.rank
    if isinstance(axes, Integer):
        if axes < 0:
            raise ValueError("'axes' must be at least 0.")
        if rank is None:
            count = array.rank(a)
            return range_(count - axes, count, 1), range_(0, axes, 1)
        if axes > rank:
            raise ValueError(f"'axes' must not be larger than the number of dimensions of tensor {a}.")
        return list(range(rank - axes, rank)), list(range(axes))
    if isinstance(axes, (list, tuple)):
        if len(axes) != 2:
            raise ValueError("'axes' must be an integer or have length 2.")
        first, second = ([x] if isinstance(x, Integer) else x for x in axes)
        if len(first) != len(second):
            raise ValueError(
                f"Different number of contraction axes 'a' and 'b', {len(first)} != {len(second)}."
            )
        return first, second
    axes = convert_to_tensor(axes, name="axes", dtype=dtypes.int32)
    return axes[0], axes[1]


def _as_matrix(x: Tensor, axes: Any, is_right: bool) -> tuple[Tensor, Any, Any]:
    """(matrix, free sizes, free sizes as far as known): free axes first, on the right side last."""
    if x.shape.rank is None or not isinstance(axes, (list, tuple)):
        return _as_matrix_at_run_time(x, axes, is_right)
    sizes = x.shape.sizes
    for axis in axes:
        if not -len(sizes) <= axis < len(sizes):
            raise IndexError(f"axis {axis} of a tensor with {len(sizes)} dimensions")
    summed = [int(axis) % len(sizes) for axis in axes]
    free = [i for i in range(len(sizes)) if i not in summed]
    perm = summed + free if is_right else free + summed
    static: list[Dim] = [sizes[i] for i in free]
    if x.shape.is_full:
        shape = [math.prod(sizes[i] or 0 for i in part) for part in (free, summed)]
        turned = transpose(x, perm)
        return array.reshape(turned, shape[::-1] if is_right else shape), static, static
    given = convert_to_tensor(summed, dtype=dtypes.int32, name="axes")
    rest = convert_to_tensor(free, dtype=dtypes.int32, name="free")
    return (*_flattened(x, rest, given, array.shape(x), is_right), static)


def _as_matrix_at_run_time(x: Tensor, axes: Any, is_right: bool) -> tuple[Tensor, Any, None]:
    sizes, count = array.shape(x), array.rank(x)
    axes = convert_to_tensor(axes, dtype=dtypes.int32, name="axes")
    axes = where.select(comparison.greater_equal(axes, 0), axes, axes + count)
    free = list_diff(range_(0, count, 1), axes)[0]
    return (*_flattened(x, free, axes, sizes, is_right), None)


def _flattened(
    x: Tensor, free: Tensor, summed: Tensor, sizes: Tensor, is_right: bool
) -> tuple[Tensor, Tensor]:
    free_sizes, summed_sizes = gather(sizes, free), gather(sizes, summed)
    shape = [reduce_prod(part) for part in (free_sizes, summed_sizes)]
    perm = concat([summed, free] if is_right else [free, summed], 0)
    size = stack(shape[::-1] if is_right else shape)
    return array.reshape(transpose(x, perm), size), free_sizes
