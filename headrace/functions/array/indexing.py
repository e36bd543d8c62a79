"""Elements by index, by condition, by mask: tf.gather, tf.where, tf.boolean_mask, tf.one_hot ..."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.core.dtypes import DTypeLike, as_dtype
from headrace.functions.array.array import rank, shape
from headrace.functions.values.structure import name_scope
from headrace.graph.tensor import Tensor
from headrace.ops.array.concat import concat_v2
from headrace.ops.array.constant import constant
from headrace.ops.array.indexing import gather as gathering
from headrace.ops.array.indexing import where as choice
from headrace.ops.array.indexing.mask import boolean_mask
from headrace.ops.array.indexing.one_hot import one_hot as build_one_hot
from headrace.ops.declaration import array
from headrace.ops.declaration.constants import constant_value
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.math import reduce, sequence
from headrace.ops.math.arithmetic import maximum
from headrace.ops.math.cast import cast

__all__ = [
    "batch_gather",
    "boolean_mask",
    "boolean_mask_v2",
    "gather",
    "gather_nd",
    "gather_nd_v2",
    "gather_v2",
    "one_hot",
    "sequence_mask",
    "where",
    "where_v2",
]


def boolean_mask_v2(tensor: Any, mask: Any, axis: Any = None, name: str = "boolean_mask") -> Tensor:
    """tf.boolean_mask with the order of arguments that TensorFlow 2 has."""
    return boolean_mask(tensor, mask, name, axis)


# -- gather -------------------------------------------------------------------------------------
def gather(
    params: Any,
    indices: Any,
    validate_indices: bool | None = None,
    name: str | None = None,
    axis: Any = None,
    batch_dims: int = 0,
) -> Tensor:
    """The slices of a tensor at given places along a dimension.

    Args:
      params: a tensor or a variable of rank `axis` + 1 or more.
      indices: int32 or int64; outside [0, size) is an error.
      validate_indices: has no effect; indices are always checked.
      name: name of the node.
      axis: the dimension; the first one behind the batch if not given.
      batch_dims: so many leading dimensions of both go together.

    Returns:
      A tensor of shape params.shape[:axis] + indices.shape[batch_dims:] + params.shape[axis + 1:].
      The gradient for axis 0 is `IndexedSlices`.

    Example:
      >>> tf.gather([10, 20, 30], [2, 0])       # [30, 10]
    """
    del validate_indices
    if axis is None:
        axis = batch_dims
    static = constant_value(axis) if isinstance(axis, Tensor) else axis
    if static != 0 or batch_dims != 0:
        return gathering.gather_v2(params, indices, axis, batch_dims, name=name)
    read = getattr(params, "sparse_read", None)
    if read is not None:
        result: Tensor = read(indices, name=name)
        return result
    return gathering.gather_v2(params, indices, axis, name=name)


def gather_v2(
    params: Any,
    indices: Any,
    validate_indices: bool | None = None,
    axis: Any = None,
    batch_dims: int = 0,
    name: str | None = None,
) -> Tensor:
    """tf.gather with the order of arguments that TensorFlow 2 has."""
    return gather(params, indices, validate_indices, name, axis, batch_dims)


def batch_gather(params: Any, indices: Any, name: str | None = None) -> Tensor:
    """tf.gather where all dimensions of `indices` but the last are batches.

    Args:
      params: a tensor.
      indices: a tensor of known rank.
      name: name of the scope.

    Raises:
      ValueError: the rank of `indices` is not known.
    """
    with name_scope(name, "BatchGather", [params, indices]):
        indices = convert_to_tensor(indices, name="indices")
        params = convert_to_tensor(params, name="params")
        if indices.shape.rank is None:
            raise ValueError("batch_gather does not allow indices with unknown shape.")
        batch = indices.shape.rank - 1
        _check_batch(params, indices, batch)
        return gathering.gather_v2(params, indices, batch, batch)


def _check_batch(params: Tensor, indices: Tensor, batch: int) -> None:
    for what, tensor in (("indices", indices), ("params", params)):
        count = tensor.shape.rank
        if count is not None and batch >= count:
            raise ValueError(f"batch_dims = {batch} must be less than rank({what}) = {count}")


def gather_nd(params: Any, indices: Any, name: str | None = None, batch_dims: Any = 0) -> Tensor:
    """The elements or slices of a tensor at index vectors.

    Args:
      params: a tensor or a variable.
      indices: int32 or int64; the last dimension holds the vectors.
      name: name of the node.
      batch_dims: so many leading dimensions of both go together.

    Returns:
      A tensor of shape indices.shape[:-1] + params.shape[batch_dims + indices.shape[-1]:].

    Example:
      >>> tf.gather_nd([[1, 2], [3, 4]], [[0, 0], [1, 1]])       # [1, 4]
    """
    static = constant_value(batch_dims) if isinstance(batch_dims, Tensor) else batch_dims
    if static is not None and static == 0:
        read = getattr(params, "gather_nd", None)
        if read is not None:
            result: Tensor = read(indices, name=name)
            return result
        return gathering.gather_nd(params, indices, name=name)
    return _batch_gather_nd(params, indices, static, name)


def gather_nd_v2(params: Any, indices: Any, batch_dims: Any = 0, name: str | None = None) -> Tensor:
    """tf.gather_nd with the order of arguments that TensorFlow 2 has."""
    return gather_nd(params, indices, name, batch_dims)


def _batch_gather_nd(params: Any, indices: Any, batch: Any, name: str | None) -> Tensor:
    """The place in the batch is put in front of every index vector."""
    with name_scope(name, "BatchGatherND", [params, indices]):
        indices = convert_to_tensor(indices, name="indices")
        params = convert_to_tensor(params, name="params")
        if not isinstance(batch, (int, np.integer)):
            raise TypeError(f"batch_dims must be an int; got {batch!r}")
        batch = int(batch)
        if batch < 0:
            raise ValueError("tf.gather_nd does not allow negative batch_dims.")
        _check_batch(params, indices, batch)
        sizes, index_sizes = shape(params), shape(indices)
        outer = sizes[:batch]
        many = reduce.prod(outer, [0])
        flat_params = array.reshape(params, concat_v2([[many], sizes[batch:]], 0))
        flat = array.reshape(indices, concat_v2([[many], index_sizes[batch:]], 0))
        flat_rank = rank(indices) - batch + 1
        column = concat_v2([[many], array.fill([flat_rank - 1], 1)], 0)
        places = array.reshape(sequence.range_(0, many, 1), column)
        spread = concat_v2([[many], index_sizes[batch:-1], [1]], 0)
        places = cast(array.broadcast_to(places, spread), DstT=indices.dtype.base)
        out = gathering.gather_nd(flat_params, concat_v2([places, flat], -1))
        out = array.reshape(out, concat_v2([outer, shape(out)[1:]], 0))
        return _with_batch_shape(out, params, indices, batch)


def _with_batch_shape(out: Tensor, params: Tensor, indices: Tensor, batch: int) -> Tensor:
    if params.shape.rank is not None and indices.shape.rank is not None:
        depth = indices.shape.sizes[-1]
        if depth is not None:
            front = indices.shape[:-1].as_list()
            front[:batch] = params.shape[:batch].merge_with(indices.shape[:batch]).as_list()
            out.set_shape([*front, *params.shape[batch + depth :].as_list()])
    return out


# -- conditions ---------------------------------------------------------------------------------
def _where(build: Any, condition: Any, x: Any, y: Any, name: str | None) -> Tensor:
    if x is None and y is None:
        with name_scope(name, "Where", [condition]) as scope:
            condition = convert_to_tensor(condition, name="condition", preferred_dtype=dtypes.bool_)
            return choice.where(condition, name=scope)
    if x is None or y is None:
        raise ValueError("x and y must both be non-None or both be None.")
    result: Tensor = build(condition, x, y, name=name)
    return result


def where(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Tensor:
    """Elements of `x` where a condition holds, else of `y`; or, without them, where it holds.

    Args:
      condition: booleans; of the shape of `x`, a vector that chooses rows, or a scalar.
      x: a tensor.
      y: a tensor of the shape and type of `x`.
      name: name of the node.

    Returns:
      A tensor like `x`; without `x` and `y` the indices of the true elements, int64 [n, rank].

    Raises:
      ValueError: one of `x` and `y` is missing.
    """
    return _where(choice.select, condition, x, y, name)


def where_v2(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Tensor:
    """As tf.where, but the condition, `x` and `y` broadcast as in NumPy.

    Args:
      condition: booleans.
      x: a tensor.
      y: a tensor of the type of `x`.
      name: name of the node.

    Raises:
      ValueError: one of `x` and `y` is missing.
    """
    return _where(choice.select_v2, condition, x, y, name)


def one_hot(
    indices: Any,
    depth: Any,
    on_value: Any = None,
    off_value: Any = None,
    axis: int | None = None,
    dtype: DTypeLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Vectors that are `on_value` at one place and `off_value` elsewhere.

    Args:
      indices: the places; one outside [0, depth) gives a vector without `on_value`.
      depth: a scalar, the length of the vectors.
      on_value: a scalar, 1 if not given.
      off_value: a scalar, 0 if not given.
      axis: the dimension of the vectors, the last one if not given.
      dtype: the type of the result; follows from the values, else float32.
      name: name of the node.

    Raises:
      TypeError: the types of `on_value`, `off_value` and `dtype` differ.

    Example:
      >>> tf.one_hot([0, 2, -1], 3)       # [[1, 0, 0], [0, 0, 1], [0, 0, 0]]
    """
    values = [indices, depth, on_value, off_value, axis, dtype]
    with name_scope(name, "one_hot", values) as scope:
        on_type = None if on_value is None else convert_to_tensor(on_value).dtype.base
        off_type = None if off_value is None else convert_to_tensor(off_value).dtype.base
        for what, found in (("on_value", on_type), ("off_value", off_type)):
            if None not in (found, dtype) and found != as_dtype(dtype):
                raise TypeError(f"dtype {found} of {what} does not match dtype parameter {dtype}")
        kind = as_dtype(dtype or on_type or off_type or dtypes.float32)
        if on_value is None:
            on_value, on_type = convert_to_tensor(1, kind, "on_value"), kind
        if off_value is None:
            off_value, off_type = convert_to_tensor(0, kind, "off_value"), kind
        if on_type != off_type:
            raise TypeError(f"dtype {on_type} of on_value does not match dtype {off_type} of off_value")
        at = -1 if axis is None else axis
        return build_one_hot(indices, depth, on_value, off_value, at, name=scope)


def sequence_mask(
    lengths: Any, maxlen: Any = None, dtype: Any = dtypes.bool_, name: str | None = None
) -> Tensor:
    """Masks that are true at the first `lengths` places.

    Args:
      lengths: an integer tensor.
      maxlen: a scalar, the length of the masks; the largest of `lengths` if not given.
      dtype: the type of the result.
      name: name of the scope.

    Raises:
      ValueError: `maxlen` is not a scalar.

    Example:
      >>> tf.sequence_mask([1, 3], 4)       # [[T, F, F, F], [T, T, T, F]]
    """
    with name_scope(name, "SequenceMask", [lengths, maxlen]):
        lengths = convert_to_tensor(lengths)
        if maxlen is None:
            longest = reduce.max_(lengths, _all_axes(lengths))
            maxlen = maximum(constant(0, longest.dtype), longest)
        else:
            maxlen = convert_to_tensor(maxlen)
        if maxlen.shape.rank not in (None, 0):
            raise ValueError("maxlen must be scalar for sequence_mask")
        kind = maxlen.dtype.base
        row = sequence.range_(constant(0, kind), maxlen, constant(1, kind))
        column = cast(array.expand_dims(lengths, -1), DstT=kind)
        mask: Tensor = row < column
        if dtype is None or as_dtype(dtype).base is dtypes.bool_:
            return mask
        return cast(mask, DstT=as_dtype(dtype))


def _all_axes(x: Tensor) -> Any:
    if x.shape.rank is not None:
        return constant(np.arange(x.shape.rank), dtypes.int32)
    return sequence.range_(0, array.rank(x), 1)
