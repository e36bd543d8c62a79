"""Shapes, constants and views of tensors: tf.shape, tf.zeros, tf.reshape, tf.transpose ..."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.core.dtypes import as_dtype
from headrace.core.families import documented
from headrace.core.shapes import Shape, as_shape, broadcast_sizes, make_shape
from headrace.functions.sparse.tensor import SparseTensor, SparseTensorValue
from headrace.functions.values.old_names import renamed
from headrace.functions.values.structure import name_scope
from headrace.graph.tensor import Tensor
from headrace.ops.array import broadcast, source
from headrace.ops.array.concat import concat_v2
from headrace.ops.array.constant import constant
from headrace.ops.declaration import array
from headrace.ops.declaration.constants import constant_value, constant_value_as_shape
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.math import reduce, sequence
from headrace.ops.math.cast import cast

_SPARSE = (SparseTensor, SparseTensorValue)


# -- what a shape is ----------------------------------------------------------------------------
def shape(input: Any, name: str | None = None, out_type: Any = dtypes.int32) -> Tensor:
    """The sizes of the dimensions of a tensor, as a vector.

    Args:
      input: a `Tensor` or `SparseTensor`.
      name: name of the node.
      out_type: int32 or int64.

    Returns:
      A vector of `out_type`; a constant where the shape is known while the graph is built.

    Example:
      >>> tf.shape([[1, 2, 3], [4, 5, 6]])       # [2, 3]
    """
    return shape_internal(input, name, True, out_type)


def shape_internal(
    input: Any, name: str | None = None, optimize: bool = True, out_type: Any = dtypes.int32
) -> Tensor:
    """tf.shape; without `optimize` always a node."""
    out_type = as_dtype(out_type)
    with name_scope(name, "Shape", [input]) as scope:
        if isinstance(input, _SPARSE):
            return cast(input.dense_shape, DstT=out_type)
        tensor = convert_to_tensor(input)
        if optimize:
            return array.shape_of(tensor, out_type, scope)
        return array.shape(tensor, out_type, name=scope)


def shape_n(input: Any, out_type: Any = dtypes.int32, name: str | None = None) -> list[Tensor]:
    """The shapes of several tensors, as vectors.

    Args:
      input: a list of tensors of one type.
      out_type: int32 or int64.
      name: name of the node.
    """
    return list(array.shape_n(input, out_type, name=name))


def size(input: Any, name: str | None = None, out_type: Any = dtypes.int32) -> Tensor:
    """The number of elements of a tensor, as a scalar.

    Args:
      input: a `Tensor` or `SparseTensor`.
      name: name of the node.
      out_type: int32 or int64.
    """
    return size_internal(input, name, True, out_type)


def size_internal(
    input: Any, name: str | None = None, optimize: bool = True, out_type: Any = dtypes.int32
) -> Tensor:
    """tf.size; without `optimize` always a node."""
    out_type = as_dtype(out_type)
    with name_scope(name, "Size", [input]) as scope:
        if isinstance(input, _SPARSE):
            result: Tensor = reduce.prod(cast(input.dense_shape, DstT=out_type), 0, name=scope)
            return result
        tensor = convert_to_tensor(input)
        if not optimize:
            return array.size(tensor, out_type, name=scope)
        if tensor.shape.rank is not None and 0 in tensor.shape.sizes:
            return constant(0, out_type, name=scope)
        return array.size_of(tensor, out_type, scope)


def rank(input: Any, name: str | None = None) -> Tensor:
    """The number of dimensions of a tensor, as a scalar.

    Args:
      input: a `Tensor` or `SparseTensor`.
      name: name of the node.
    """
    return rank_internal(input, name)


def rank_internal(input: Any, name: str | None = None, optimize: bool = True) -> Tensor:
    """tf.rank; without `optimize` always a node."""
    with name_scope(name, "Rank", [input]) as scope:
        if isinstance(input, _SPARSE):
            return array.size(input.dense_shape, name=scope)
        tensor = convert_to_tensor(input)
        return array.rank_of(tensor, scope) if optimize else array.rank(tensor, name=scope)


def broadcast_static_shape(shape_x: Any, shape_y: Any) -> Shape:
    """The shape that two known shapes broadcast to.

    Args:
      shape_x: a `TensorShape`.
      shape_y: a `TensorShape`.

    Raises:
      ValueError: they can not be broadcast together.
    """
    x, y = as_shape(shape_x), as_shape(shape_y)
    if x.rank is None or y.rank is None:
        return Shape(None)
    try:
        return make_shape(_broadcast_known(x, y))
    except ValueError:
        raise ValueError(f"Incompatible shapes for broadcasting: {shape_x} and {shape_y}") from None


def _broadcast_known(x: Shape, y: Shape) -> Any:
    """An unknown size beside 1 or another unknown one stays unknown."""
    sizes = list(broadcast_sizes(x.sizes, y.sizes))
    for i, (a, b) in enumerate(zip(reversed(x.sizes), reversed(y.sizes)), 1):
        if None in (a, b) and (a or 0) <= 1 and (b or 0) <= 1:
            sizes[-i] = None
    return sizes


def broadcast_dynamic_shape(shape_x: Any, shape_y: Any) -> Tensor:
    """The shape that two shapes, given as vectors, broadcast to."""
    return broadcast.broadcast_args(shape_x, shape_y)


# -- constants ----------------------------------------------------------------------------------
_SMALL = 1000  # elements: below this a constant is part of the graph


def _filled(value: Any, shape: Any, dtype: Any, name: Any) -> Tensor:
    if not isinstance(shape, Tensor):
        small = _constant_if_small(value, shape, dtype, name)
        if small is not None:
            return small
        try:
            shape = convert_to_tensor(Shape(shape), name="shape_as_tensor")
        except (TypeError, ValueError):
            shape = convert_to_tensor(shape, dtypes.int32)
    if not shape.shape or shape.shape.rank == 0:
        shape = array.reshape(shape, [-1])
    return fill(shape, constant(value, dtype), name)


def _constant_if_small(value: Any, shape: Any, dtype: Any, name: Any) -> Tensor | None:
    try:
        if _holds_tensor(shape) or np.prod(shape, dtype=np.float64) >= _SMALL:  # no overflow
            return None
    except (NotImplementedError, TypeError, ValueError):
        return None
    try:
        return constant(value, dtype, shape, name)
    except (TypeError, ValueError):
        return None


def _holds_tensor(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(_holds_tensor(v) for v in value)
    return isinstance(value, Tensor)


_ZEROS: dict[str, Any] = {"b": False, "s": ""}


def zeros(shape: Any, dtype: Any = dtypes.float32, name: str | None = None) -> Tensor:
    """A tensor of zeros.

    Args:
      shape: a list of integers, a `TensorShape`, or an integer vector.
      dtype: the type of the elements; text is empty, booleans are False.
      name: name of the node.

    Example:
      >>> tf.zeros([2, 3], tf.int32)       # [[0, 0, 0], [0, 0, 0]]
    """
    kind = as_dtype(dtype).base
    with name_scope(name, "zeros", [shape]) as scope:
        return _filled(_ZEROS.get(kind.kind, 0), shape, kind, scope)


def ones(shape: Any, dtype: Any = dtypes.float32, name: str | None = None) -> Tensor:
    """A tensor of ones.

    Args:
      shape: a list of integers, a `TensorShape`, or an integer vector.
      dtype: the type of the elements; booleans are True.
      name: name of the node.
    """
    kind = as_dtype(dtype).base
    with name_scope(name, "ones", [shape]) as scope:
        return _filled(True if kind.kind == "b" else 1, shape, kind, scope)


_OF_LIKENESS = """
    Args:
      tensor: a tensor.
      dtype: the type of the elements; that of `tensor` if not given.
      name: name of the node.
      optimize: make a constant where the shape is known while the graph is built.
"""


@documented(_OF_LIKENESS)
def zeros_like(tensor: Any, dtype: Any = None, name: str | None = None, optimize: bool = True) -> Tensor:
    """Zeros of the shape of a tensor."""
    with name_scope(name, "zeros_like", [tensor]) as scope:
        tensor = convert_to_tensor(tensor, name="tensor")
        kind = tensor.dtype.base if dtype is None else as_dtype(dtype).base
        if optimize and tensor.shape.is_full and tensor.dtype.base is not dtypes.variant:
            return zeros(tensor.shape, kind, scope)
        if kind is not tensor.dtype.base and kind is not dtypes.variant:
            return zeros(shape_internal(tensor, optimize=optimize), kind, scope)
        return array.zeros_like(tensor, name=scope)


@documented(_OF_LIKENESS)
def ones_like(tensor: Any, dtype: Any = None, name: str | None = None, optimize: bool = True) -> Tensor:
    """Ones of the shape of a tensor."""
    with name_scope(name, "ones_like", [tensor]) as scope:
        tensor = convert_to_tensor(tensor, name="tensor")
        sizes = shape_internal(tensor, optimize=optimize)
        out = ones(sizes, tensor.dtype if dtype is None else dtype, scope)
        out.set_shape(tensor.shape)
        return out


def fill(dims: Any, value: Any, name: str | None = None) -> Tensor:
    """A tensor of one value.

    Args:
      dims: the shape, an integer vector.
      value: a scalar.
      name: name of the node.

    Example:
      >>> tf.fill([2, 3], 9)       # [[9, 9, 9], [9, 9, 9]]
    """
    out: Tensor = array.fill(dims, value, name=name)
    return with_static_shape(out, dims)


def with_static_shape(tensor: Tensor, shape: Any) -> Tensor:
    """Say what `shape` tells of the shape of a tensor, where inference knew less."""
    if not tensor.shape.is_full and isinstance(shape, Tensor) and shape.shape.rank == 1:
        tensor.set_shape(constant_value_as_shape(shape))
    return tensor


# -- views --------------------------------------------------------------------------------------
def reshape(tensor: Any, shape: Any, name: str | None = None) -> Tensor:
    """The elements of a tensor, in their order, under another shape.

    Args:
      tensor: a tensor.
      shape: an integer vector; one entry may be -1: the size that remains.
      name: name of the node.

    Raises:
      ValueError: the shapes have different numbers of elements.

    Example:
      >>> tf.reshape([1, 2, 3, 4, 5, 6], [3, -1])       # [[1, 2], [3, 4], [5, 6]]
    """
    out: Tensor = array.reshape(tensor, shape, name=name)
    return with_static_shape(out, shape)


def expand_dims(input: Any, axis: Any = None, name: str | None = None, dim: Any = None) -> Tensor:
    """A tensor with a dimension of size 1 inserted.

    Args:
      input: a tensor.
      axis: where the new dimension stands; negative numbers count from the end.
      name: name of the node.
      dim: the old name of `axis`.

    Raises:
      ValueError: neither or both of `axis` and `dim` are given.
    """
    axis = renamed("axis", axis, "dim", dim)
    if axis is None:
        raise ValueError("Must specify an axis argument to tf.expand_dims()")
    return array.expand_dims(input, axis, name=name)


def squeeze(input: Any, axis: Any = None, name: str | None = None, squeeze_dims: Any = None) -> Tensor:
    """A tensor without dimensions of size 1.

    Args:
      input: a tensor.
      axis: the dimensions to remove, one or several; all of size 1 if not given.
      name: name of the node.
      squeeze_dims: the old name of `axis`.

    Raises:
      ValueError: both `axis` and `squeeze_dims` are given, or a named size is not 1.
    """
    axis = renamed("axis", axis, "squeeze_dims", squeeze_dims)
    if np.isscalar(axis):
        axis = [axis]
    return array.squeeze(input, axis, name=name)


def transpose(a: Any, perm: Any = None, name: str | None = "transpose", conjugate: bool = False) -> Tensor:
    """A tensor with its dimensions in another order.

    Args:
      a: a tensor.
      perm: dimension i of the result is dimension perm[i] of `a`; reversed if not given.
      name: name of the node.
      conjugate: also conjugate complex elements.

    Example:
      >>> tf.transpose([[1, 2, 3], [4, 5, 6]])       # [[1, 4], [2, 5], [3, 6]]
    """
    with name_scope(name, "transpose", [a]) as scope:
        is_complex = conjugate and convert_to_tensor(a).dtype.is_complex
        build = array.conjugate_transpose if is_complex else array.transpose
        if perm is not None:
            return build(a, perm, name=scope)
        a = convert_to_tensor(a, name="a")
        if a.shape.rank:
            return build(a, np.arange(a.shape.rank)[::-1], name=scope)
        count = array.rank(a)
        backwards: Tensor = build(a, (count - 1) - sequence.range_(0, count, 1), name=scope)
        backwards.set_shape(a.shape)
        return backwards


def matrix_transpose(a: Any, name: str = "matrix_transpose", conjugate: bool = False) -> Tensor:
    """A tensor with its last two dimensions exchanged.

    Args:
      a: a tensor of rank 2 or more.
      name: name of the scope.
      conjugate: also conjugate complex elements.

    Raises:
      ValueError: the rank is known and below 2.
    """
    with name_scope(name, values=[a]):
        a = convert_to_tensor(a, name="a")
        count = a.shape.rank
        if count is None:
            many = rank(a)
            perm: Any = concat_v2([sequence.range_(0, many - 2, 1), [many - 1, many - 2]], 0)
        elif count < 2:
            raise ValueError(f"Argument 'a' should be a (batch) matrix, with rank >= 2.  Found: {a.shape}")
        else:
            perm = [*range(count - 2), count - 1, count - 2]
        return transpose(a, perm, conjugate=conjugate)


def identity(input: Any, name: str | None = None) -> Tensor:
    """A tensor of the same shape and values: a new node.

    Args:
      input: a tensor.
      name: name of the node.
    """
    return source.identity(input, name=name)


# -- placeholders -------------------------------------------------------------------------------
def placeholder(dtype: Any, shape: Any = None, name: str | None = None) -> Tensor:
    """A tensor whose value is given when a session runs, through `feed_dict`.

    Args:
      dtype: the type of the elements.
      shape: what is known of the shape; nothing if not given.
      name: name of the node.

    Example:
      >>> x = tf.placeholder(tf.float32, [None, 3])
      >>> sess.run(x * 2, {x: [[1, 2, 3]]})
    """
    return source.placeholder(dtype, shape, name=name)


def placeholder_with_default(input: Any, shape: Any, name: str | None = None) -> Tensor:
    """A tensor that has the value of `input` unless it is fed.

    Args:
      input: the value if nothing is fed.
      shape: what is known of the shape; it may be less than that of `input`.
      name: name of the node.
    """
    return source.placeholder_with_default(input, shape, name=name)


def get_static_value(tensor: Any, partial: bool = False) -> Any:
    """The value of a tensor where it is known while the graph is built, else None.

    Args:
      tensor: a tensor.
      partial: let a packed vector be known in parts, with None for the rest.

    Returns:
      A NumPy array or None.  A tensor whose value was used this way can not be fed any more.

      What is no tensor is its own value; the value of a variable is never known.
    """
    return constant_value(tensor, partial)
