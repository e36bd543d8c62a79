"""Norms of vectors, matrices and lists of tensors, and tensors divided by them."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.functions.math import reduce
from headrace.functions.values.old_names import renamed
from headrace.functions.values.structure import name_scope
from headrace.graph.tensor import Tensor
from headrace.ops.array.constant import constant
from headrace.ops.array.unique import list_diff
from headrace.ops.declaration import array
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.linalg import matrix_terms as terms
from headrace.ops.linalg import spectral
from headrace.ops.math import arithmetic, cast
from headrace.ops.math.sequence import range_

MATRIX_NORMS = ["euclidean", "fro", 1, 2, np.inf]
VECTOR_NORMS = ["euclidean", 1, 2, np.inf]
AXIS_ERROR = "'axis' must be None, an integer, or a tuple of 2 unique integers"


def norm(
    tensor: Any,
    ord: Any = "euclidean",
    axis: Any = None,
    keepdims: bool | None = None,
    name: str | None = None,
    keep_dims: bool | None = None,
) -> Tensor:
    """The norm of vectors, matrices, or of a whole tensor.

    Args:
      tensor: floats or complex numbers.
      ord: "euclidean", 1, 2, np.inf or a positive p for vectors; "euclidean", "fro", 1, 2 (the
        largest singular value) or np.inf for matrices.
      axis: None for one norm over all elements; an integer for the vectors along that axis; a pair
        of integers for the matrices in those axes.
      keepdims: keep the reduced axes with size 1.
      name: name of the scope.
      keep_dims: old name of `keepdims`.

    Returns:
      The norms.

    Raises:
      ValueError: `ord` or `axis` is not one of these.
    """
    keepdims = bool(renamed("keepdims", keepdims, "keep_dims", keep_dims))
    is_matrix = isinstance(axis, (tuple, list)) and len(axis) == 2
    axes = _checked_axes(ord, axis, is_matrix)
    with name_scope(name, "norm", [tensor]):
        tensor = convert_to_tensor(tensor)
        if is_matrix and ord in (2, 2.0):
            result = _largest_singular_value(tensor, axes)
        elif ord in ("fro", "euclidean", 2, 2.0):
            squares = reduce.reduce_sum(tensor * terms.conj(tensor), axes, keepdims=True)
            result = arithmetic.sqrt(squares)
        else:
            result = _power_norm(arithmetic.magnitude(tensor), ord, axes, is_matrix)
        return result if keepdims else array.squeeze(result, axes)


def _checked_axes(ord: Any, axis: Any, is_matrix: bool) -> tuple[int, ...] | None:
    if is_matrix:
        first, second = axis
        if not isinstance(first, int) or not isinstance(second, int) or first == second:
            raise ValueError(AXIS_ERROR)
        if ord not in MATRIX_NORMS:
            raise ValueError(f"'ord' must be a supported matrix norm in {MATRIX_NORMS}, got {ord}")
        return (first, second)
    if not (isinstance(axis, int) or axis is None):
        raise ValueError(AXIS_ERROR)
    if (not np.isreal(ord) or ord <= 0) and ord not in VECTOR_NORMS:
        raise ValueError(f"'ord' must be a supported vector norm, got {ord}")
    return None if axis is None else (axis,)


def _power_norm(size: Tensor, ord: Any, axes: Any, is_matrix: bool) -> Tensor:
    """Norms that start from the magnitudes: 1, infinity and p."""
    first = None if axes is None else axes[0]
    if ord == 1:
        total = reduce.reduce_sum(size, first, keepdims=True)
        return reduce.reduce_max(total, axes[-1], keepdims=True) if is_matrix else total
    if ord == np.inf:
        total = reduce.reduce_sum(size, axes[1], keepdims=True) if is_matrix else size
        return reduce.reduce_max(total, first, keepdims=True)
    powers = arithmetic.pow_(size, constant(ord, size.dtype))
    total = reduce.reduce_sum(powers, axes, keepdims=True)
    return arithmetic.pow_(total, constant(1.0 / ord, size.dtype))


def _largest_singular_value(tensor: Tensor, axes: Any) -> Tensor:
    """Puts the two axes last, and back."""
    rank = tensor.shape.rank
    if rank is not None:
        last = [axis % rank for axis in axes]
        perm: Any = [i for i in range(rank) if i not in last] + last
        back: Any = list(np.argsort(perm))
    else:
        count = array.rank(tensor)
        inner = arithmetic.floor_mod(constant(list(axes)), count)
        outer = list_diff(range_(0, count, 1), inner)[0]
        perm = array.concat_v2([outer, inner], 0)
        back = array.invert_permutation(perm)
    values = spectral.svd(array.transpose(tensor, perm), compute_uv=False)[0]
    largest = reduce.reduce_max(arithmetic.magnitude(values), -1, keepdims=True)
    return array.transpose(array.expand_dims(largest, -1), back)


def normalize(
    tensor: Any, ord: Any = "euclidean", axis: Any = None, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """A tensor divided by its norms, and the norms.

    Args:
      tensor: floats or complex numbers.
      ord: as for tf.norm.
      axis: as for tf.norm.
      name: name of the scope.

    Returns:
      The quotient, and the norms with reduced axes of size 1.
    """
    with name_scope(name, "normalize", [tensor]):
        tensor = convert_to_tensor(tensor)
        length = norm(tensor, ord, axis, keepdims=True)
        if length.dtype != tensor.dtype:
            length = cast.cast(length, tensor.dtype)
        return tensor / length, length


def l2_normalize(
    x: Any, axis: Any = None, epsilon: float = 1e-12, name: str | None = None, dim: Any = None
) -> Tensor:
    """x / sqrt(max(sum(x**2), epsilon)), with the sum along `axis`.

    Args:
      x: a tensor.
      axis: one axis or several.
      epsilon: a lower bound of the sum.
      name: name of the node.
      dim: old name of `axis`.

    Returns:
      A tensor like `x`.
    """
    axis = renamed("axis", axis, "dim", dim)
    with name_scope(name, "l2_normalize", [x]) as scope:
        x = convert_to_tensor(x, name="x")
        total = reduce.reduce_sum(arithmetic.square(x), axis, keepdims=True)
        return arithmetic.mul(x, arithmetic.rsqrt(arithmetic.maximum(total, epsilon)), name=scope)
