"""Sparse tensors taken apart and put together (tf.sparse.*): how many, where, in what shape."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.core.dtypes import int64
from headrace.core.shapes import Dimension
from headrace.functions.array import array, checks, indexing, stacking
from headrace.functions.control.grouping import with_dependencies
from headrace.functions.math import math, reduce
from headrace.functions.math.cast import cast
from headrace.functions.sparse.tensor import SparseTensor, SparseTensorValue
from headrace.functions.values.structure import name_scope
from headrace.graph.tensor import Tensor
from headrace.ops.array.constant import constant
from headrace.ops.array.slices import slice
from headrace.ops.declaration.constants import constant_value, constant_value_as_shape
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.math import arithmetic, comparison
from headrace.ops.sparse import array as sparse_array
from headrace.ops.sparse import dense as sparse_dense


def as_sparse(value: Any) -> SparseTensor:
    """A SparseTensor, from one or from its value."""
    if isinstance(value, SparseTensorValue):
        return SparseTensor.from_value(value)
    if not isinstance(value, SparseTensor):
        raise TypeError("Input must be a SparseTensor.")
    return value


def parts(value: SparseTensor) -> tuple[Tensor, Tensor, Tensor]:
    return value.indices, value.values, value.dense_shape


# -- making -------------------------------------------------------------------------------------
def from_dense(tensor: Any, name: str | None = None) -> SparseTensor:
    """The elements of a dense tensor that are not zero.

    Args:
      tensor: a dense tensor.
      name: name of the scope.

    Returns:
      A `SparseTensor`.

    Example:
      >>> tf.sparse.from_dense([[0, 3], [4, 0]])     # 3 at [0, 1], 4 at [1, 0]
    """
    with name_scope(name, "dense_to_sparse"):
        tensor = convert_to_tensor(tensor)
        zero = constant(0, tensor.dtype)
        indices = indexing.where_v2(comparison.not_equal(tensor, zero))
        values = indexing.gather_nd(tensor, indices)
        return SparseTensor(indices, values, array.shape(tensor, out_type=int64))


def sparse_eye(
    num_rows: Any, num_columns: Any = None, dtype: Any = dtypes.float32, name: str | None = None
) -> SparseTensor:
    """A matrix with ones on the diagonal.

    Args:
      num_rows: how many rows.
      num_columns: how many columns; as many as rows by default.
      dtype: the type of the ones.
      name: name of the scope.
    """
    with name_scope(name, "eye", [num_rows, num_columns]):
        rows = _as_int64(num_rows, "num_rows")
        columns = rows if num_columns is None else _as_int64(num_columns, "num_columns")
        size = arithmetic.minimum(rows, columns)
        diagonal = math.range_(size, dtype=int64)
        indices = stacking.stack([diagonal, diagonal], axis=1)
        return SparseTensor(indices, array.ones(size, dtype=dtype), [rows, columns])


def _as_int64(value: Any, name: str) -> Tensor:
    if isinstance(value, Integral):
        return convert_to_tensor(value, int64, name)
    if not isinstance(value, Tensor):
        raise TypeError(f"{name} must be an integer value")
    return value if value.dtype == int64 else cast(value, int64)


def sparse_placeholder(dtype: Any, shape: Any = None, name: str | None = None) -> SparseTensor:
    """A sparse tensor that must be fed: with a SparseTensorValue or a tuple of its three parts.

    Args:
      dtype: the type of the elements.
      shape: the dense shape; None entries, or None, if it is not known.
      name: prefix of the nodes' names.
    """
    prefix = f"{name}/" if name is not None else None

    def named(part: str) -> str | None:
        return None if prefix is None else prefix + part

    rank = None
    if shape is not None:
        rank = shape.shape.dim(0) if isinstance(shape, Tensor) else len(shape)
        known = isinstance(shape, Tensor) or all(Dimension(s).value is not None for s in shape)
        shape = convert_to_tensor(shape, int64, named("shape")) if known else None
    if shape is None:
        shape = array.placeholder(int64, [rank], named("shape"))
    values = array.placeholder(dtype, [None], named("values"))
    return SparseTensor(array.placeholder(int64, [None, rank], named("indices")), values, shape)


# -- dense forms --------------------------------------------------------------------------------
def sparse_to_dense(
    sparse_indices: Any,
    output_shape: Any,
    sparse_values: Any,
    default_value: Any = 0,
    validate_indices: bool = True,
    name: str | None = None,
) -> Tensor:
    """A dense tensor with the values at the given places and `default_value` elsewhere.

    Args:
      sparse_indices: a matrix of places, or a vector of places in a vector, or one such place.
      output_shape: the shape of the result.
      sparse_values: one value for every place, or one for all.
      default_value: what stands everywhere else.
      validate_indices: refuse places that are out of order, or twice there.
      name: name of the node.
    """
    return sparse_dense.sparse_to_dense(
        sparse_indices,
        output_shape,
        sparse_values,
        default_value=default_value,
        validate_indices=validate_indices,
        name=name,
    )


def sparse_tensor_to_dense(
    sp_input: Any, default_value: Any = None, validate_indices: bool = True, name: str | None = None
) -> Tensor:
    """The dense tensor that `sp_input` stands for.

    Args:
      sp_input: a `SparseTensor`.
      default_value: what stands where no element is given; zero by default.
      validate_indices: refuse places that are out of order, or twice there.
      name: name of the node.
    """
    sp_input = as_sparse(sp_input)
    if default_value is None:
        default_value = array.zeros([], dtype=sp_input.dtype)
    return sparse_dense.sparse_to_dense(
        sp_input.indices,
        sp_input.dense_shape,
        sp_input.values,
        default_value=default_value,
        validate_indices=validate_indices,
        name=name,
    )


# -- shape --------------------------------------------------------------------------------------
def sparse_expand_dims(sp_input: Any, axis: Any = None, name: str | None = None) -> SparseTensor:
    """A dimension of size 1 more, at `axis` (the last one by default)."""
    rank = sp_input.dense_shape.shape.dims[0]
    axis = -1 if axis is None else axis
    with name_scope(name, "expand_dims", [sp_input]):
        if isinstance(axis, Integral):
            axis = convert_to_tensor(axis, dtypes.int32, "axis")
        elif not isinstance(axis, Tensor):
            raise TypeError("axis must be an integer value in range [-rank(sp_input) - 1, rank(sp_input)]")
        axis = indexing.where_v2(axis >= 0, axis, axis + rank + 1)
        count = array.shape(sp_input.indices)[0]
        column = array.zeros([count, 1], dtype=int64)
        before = slice.slice_(sp_input.indices, [0, 0], [-1, axis])
        after = slice.slice_(sp_input.indices, [0, axis], [-1, -1])
        indices = stacking.concat([before, column, after], axis=1)
        outer = slice.slice_(sp_input.dense_shape, [0], [axis])
        inner = slice.slice_(sp_input.dense_shape, [axis], [-1])
        one = convert_to_tensor([1], int64, "new_shape")
        return SparseTensor(indices, sp_input.values, stacking.concat([outer, one, inner], axis=0))


def sparse_reorder(sp_input: Any, name: str | None = None) -> SparseTensor:
    """The same elements, in row-major order of their places."""
    sp_input = as_sparse(sp_input)
    indices, values = sparse_array.sparse_reorder(*parts(sp_input), name=name)
    known = sp_input.shape
    shape = known.as_list() if known.is_full else array.identity(sp_input.dense_shape)
    return SparseTensor(indices, values, shape)


def sparse_reshape(sp_input: Any, shape: Any, name: str | None = None) -> SparseTensor:
    """The same elements in another dense shape; one size may be -1.

    Raises:
      ValueError: the sizes can not be, or more than one is -1.
    """
    sp_input = as_sparse(sp_input)
    shape = cast(shape, int64)
    with name_scope(name, "SparseReshape", [sp_input]) as scope:
        indices, dense = sparse_array.sparse_reshape(
            sp_input.indices, sp_input.dense_shape, shape, name=scope
        )
        known = constant_value_as_shape(shape)
        if known.rank is not None and sp_input.shape.is_full:
            sizes = _reshaped_sizes(sp_input.shape.as_list(), known.as_list(), shape)
            if sizes is not None:
                dense = constant(sizes, dtype=int64)
        return SparseTensor(indices, array.identity(sp_input.values), dense)


def _count(sizes: Any) -> int:
    return int(np.prod(sizes, dtype=object))  # in Python's integers, which do not overflow


def _reshaped_sizes(old: list[Any], new: list[Any], shape: Tensor) -> list[int] | None:
    """The sizes of a reshaped tensor, where at most one must be inferred."""
    given = constant_value(shape)
    if given is not None and sum(d == -1 for d in given) > 1:
        raise ValueError(f"At most one dimension can be inferred (-1). Found: {given}")
    unknown = [i for i, size in enumerate(new) if size is None]
    if len(unknown) > 1:
        return None
    total, sizes = _count(old), list(new)
    if unknown:
        rest = _count([s for s in new if s is not None])
        sizes[unknown[0]] = total // rest if rest else 0
    if _count(sizes) != total:
        raise ValueError(
            f"Cannot reshape a tensor with {total} elements to shape {new} ({_count(sizes)} elements)."
        )
    return sizes


def sparse_reset_shape(sp_input: Any, new_shape: Any = None) -> SparseTensor:
    """The same elements in a dense shape that is larger, or as small as they allow.

    Args:
      sp_input: a `SparseTensor`.
      new_shape: a vector of sizes; the smallest box around the elements by default.

    Raises:
      ValueError: `new_shape` is known to have another rank or a smaller size.
    """
    sp_input = as_sparse(sp_input)
    indices, values, shape = (array.identity(x) for x in parts(sp_input))
    if new_shape is None:
        last = reduce.reduce_max(indices, axis=0)
        least = arithmetic.maximum(constant(0, int64), last + array.ones_like(shape))
        return SparseTensor(indices, values, least)
    wanted = convert_to_tensor(new_shape)
    wanted.shape.assert_has_rank(1)
    wanted = cast(wanted, int64)
    if wanted.shape.rank is not None:
        Dimension(wanted.shape.sizes[0]).merge_with(shape.shape.dim(0))
    known = constant_value(wanted)
    if known is not None and sp_input.shape.is_full:
        old = np.array(sp_input.shape.as_list())
        if not np.all(old <= known):
            raise ValueError(
                "Requested new_shape should have dimension sizes >= sp_input.shape.  Found "
                f"new_shape ({old}), sp_input.shape ({known})."
            )
        return SparseTensor(indices, values, known)
    same_rank = checks.assert_equal(array.shape(shape), array.shape(wanted))
    wanted = with_dependencies([same_rank], wanted)
    wanted = with_dependencies([checks.assert_less_equal(shape, wanted)], wanted)
    return SparseTensor(indices, values, wanted)


def sparse_transpose(sp_input: Any, perm: Any = None, name: str | None = None) -> SparseTensor:
    """The dimensions in another order: reversed, or as `perm` says."""
    with name_scope(name, "SparseTranspose", [sp_input]):
        if perm is None:
            rank = array.rank(sp_input)
            perm = (rank - 1) - math.range_(0, rank, 1)
        columns = indexing.gather(array.transpose(sp_input.indices), perm)
        order = constant_value(convert_to_tensor(perm))
        if order is not None and sp_input.shape.is_full:
            old = sp_input.shape.as_list()
            shape: Any = [old[p] for p in order]
        else:
            shape = indexing.gather(sp_input.dense_shape, perm)
        return sparse_reorder(SparseTensor(array.transpose(columns), sp_input.values, shape))
