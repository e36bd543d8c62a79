"""Tensors put together and taken apart: tf.stack, tf.unstack, tf.concat, tf.split."""

from __future__ import annotations

from typing import Any

from headrace.core import dtypes
from headrace.core.modules import late
from headrace.core.shapes import Dimension, Shape
from headrace.functions.values.structure import name_scope
from headrace.graph.tensor import Tensor
from headrace.ops.array import source
from headrace.ops.array.constant import pack, unpack
from headrace.ops.declaration import array
from headrace.ops.declaration.convert import convert_to_tensor

ragged_stack = late("headrace.functions.ragged.stack")


def stack(values: Any, axis: int = 0, name: str = "stack") -> Tensor:
    """Tensors of one shape, joined along a new dimension.

    Args:
      values: a list of tensors of equal shape and type.
      axis: where the new dimension stands; negative numbers count from the end.
      name: name of the node.

    Raises:
      ValueError: `axis` is out of range.

    Example:
      >>> tf.stack([[1, 4], [2, 5], [3, 6]], axis=1)       # [[1, 2, 3], [4, 5, 6]]
    """
    if axis == 0:
        try:
            return convert_to_tensor(values, name=name)
        except (TypeError, ValueError, NotImplementedError):
            pass  # not one value: Pack says what is wrong
    first = convert_to_tensor(values[0], name=name).shape.rank
    if first is not None and not -first - 1 <= axis < first + 1:
        raise ValueError(f"axis = {axis} not in [{-first - 1}, {first + 1})")
    return pack(values, axis, name=name)


def parallel_stack(values: Any, name: str = "parallel_stack") -> Tensor:
    """As tf.stack along axis 0, for tensors whose shapes are known.

    Args:
      values: a list of tensors of equal shape and type.
      name: name of the scope.
    """
    with name_scope(name):
        shape = Shape([len(values)]).concatenate(convert_to_tensor(values[0]).shape)
        rows = [array.expand_dims(v, 0) for v in values]
        return array.parallel_concat(rows, shape)


def unstack(value: Any, num: int | None = None, axis: int = 0, name: str = "unstack") -> list[Tensor]:
    """The slices of a tensor along a dimension.

    Args:
      value: a tensor of rank 1 or more.
      num: how many slices there are; follows from the shape if not given.
      axis: the dimension to take apart.
      name: name of the node.

    Raises:
      ValueError: `num` is not given and does not follow, or `axis` is out of range.
    """
    if num is None:
        value = convert_to_tensor(value)
        rank = value.shape.rank
        if rank is not None:
            if not -rank <= axis < rank:
                raise ValueError(f"axis = {axis} not in [{-rank}, {rank})")
            num = value.shape.sizes[axis]
    if num is None:
        raise ValueError(f"Cannot infer num from shape {value.shape}")
    return list(unpack(value, num, axis, name=name))


def concat(values: Any, axis: Any, name: str = "concat") -> Any:
    """Tensors joined along one of their dimensions.

    Args:
      values: a list of tensors whose shapes differ along `axis` alone.
      axis: a scalar; negative numbers count from the end.
      name: name of the node.

    Ragged tensors among them make the result ragged.

    Example:
      >>> tf.concat([[[1, 2]], [[3, 4]]], 0)       # [[1, 2], [3, 4]]
    """
    if not isinstance(values, (list, tuple)):
        values = [values]
    if any(hasattr(v, "row_splits") for v in values):
        return ragged_stack.concat(values, axis, name)
    if len(values) == 1:
        with name_scope(name):
            convert_to_tensor(axis, dtypes.int32, "concat_dim").shape.assert_has_rank(0)
            return source.identity(values[0], name=name)
    return array.concat_v2(values, axis, name=name)


def split(
    value: Any, num_or_size_splits: Any, axis: Any = 0, num: int | None = None, name: str = "split"
) -> list[Tensor]:
    """A tensor in parts along a dimension.

    Args:
      value: a tensor.
      num_or_size_splits: an integer, how many equal parts; or a vector of their sizes, of which
        one may be -1.
      axis: the dimension.
      num: how many parts, where the length of the vector is not known.
      name: name of the node.

    Raises:
      ValueError: `num` is needed, or the vector is a scalar tensor.
    """
    sizes = convert_to_tensor(num_or_size_splits)
    if isinstance(num_or_size_splits, (int, Dimension)):
        return list(array.split(axis, value, num_or_size_splits, name=name))
    if sizes.shape.rank == 0:
        raise ValueError(
            "Rank-0 tensors are not supported as the num_or_size_splits argument to split. "
            f"Argument provided: {num_or_size_splits}"
        )
    if num is None:
        num = sizes.shape.dim(0) if sizes.shape.rank else None
        if num is None:
            raise ValueError(f"Cannot infer num from shape {num_or_size_splits}")
    return list(array.split_v(value, sizes, axis, num, name=name))
