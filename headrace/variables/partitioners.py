"""Functions of shape and type that say into how many parts a variable is cut."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

from headrace.core import dtypes
from headrace.core.dtypes import DType, DTypeLike
from headrace.core.shapes import Shape
from headrace.variables.scope import get_variable_scope, variable_scope
from headrace.variables.store import default_store

Partitioner = Callable[..., list[int]]


def variable_axis_size_partitioner(
    max_shard_bytes: int, axis: int = 0, bytes_per_string_element: int = 16, max_shards: int | None = None
) -> Partitioner:
    """Cut along `axis` so that no part is larger than `max_shard_bytes`, if that is possible.

    Args:
      max_shard_bytes: largest size of a part.
      axis: dimension to cut.
      bytes_per_string_element: what a string counts.
      max_shards: at most so many parts, whatever their size.

    Returns:
      A partitioner for `get_variable` and `variable_scope`.

    Raises:
      ValueError: an argument is not positive.
    """
    if max_shard_bytes < 1 or bytes_per_string_element < 1:
        raise ValueError("Both max_shard_bytes and bytes_per_string_element must be positive.")
    if max_shards and max_shards < 1:
        raise ValueError("max_shards must be positive.")

    def partitioner(shape: Any, dtype: Any) -> list[int]:
        if not isinstance(shape, Shape):
            raise ValueError(f"shape is not a TensorShape: {shape}")
        if not shape.is_fully_defined():
            raise ValueError(f"shape is not fully defined: {shape}")
        if not isinstance(dtype, DType):
            raise ValueError(f"dtype is not a DType: {dtype}")
        length = int(shape.as_list()[axis] or 0)
        row = (shape.num_elements() or 0) / length * _bytes(dtype, bytes_per_string_element)
        rows = max(1, math.floor(max_shard_bytes / row))
        count = math.ceil(length / rows)
        return _one_axis(shape, axis, min(max_shards, count) if max_shards else count)

    return partitioner


def min_max_variable_partitioner(
    max_partitions: int = 1,
    axis: int = 0,
    min_slice_size: int = 256 << 10,
    bytes_per_string_element: int = 16,
) -> Partitioner:
    """Cut along `axis` into at most `max_partitions` parts of at least `min_slice_size` bytes.

    Args:
      max_partitions: at most so many parts.
      axis: dimension to cut.
      min_slice_size: smallest size of a part.
      bytes_per_string_element: what a string counts.

    Returns:
      A partitioner for `get_variable` and `variable_scope`.
    """

    def partitioner(shape: Any, dtype: Any) -> list[int]:
        if axis >= len(shape):
            raise ValueError(f"Can not partition variable along axis {axis} when shape is only {shape}")
        size = shape.num_elements() * _bytes(dtype, bytes_per_string_element)
        wanted = min(shape.as_list()[axis], max_partitions, math.ceil(size / min_slice_size))
        return _one_axis(shape, axis, max(1, wanted))

    return partitioner


def fixed_size_partitioner(num_shards: int, axis: int = 0) -> Partitioner:
    """Cut along `axis` into `num_shards` parts (fewer where the dimension is smaller).

    Args:
      num_shards: how many parts.
      axis: dimension to cut.

    Returns:
      A partitioner for `get_variable` and `variable_scope`.
    """

    def partitioner(shape: Any, **unused: Any) -> list[int]:
        return _one_axis(shape, axis, min(num_shards, shape.as_list()[axis]))

    return partitioner


def _bytes(dtype: DType, bytes_per_string_element: int) -> int:
    return bytes_per_string_element if dtype.base is dtypes.string else dtype.size


def _one_axis(shape: Shape, axis: int, count: int) -> list[int]:
    partitions = [1] * len(shape)
    partitions[axis] = count
    return partitions


def create_partitioned_variables(
    shape: Any,
    slicing: Any,
    initializer: Any,
    dtype: DTypeLike = dtypes.float32,
    trainable: bool = True,
    collections: Iterable[str] | None = None,
    name: str | None = None,
    reuse: Any = None,
) -> list[Any]:
    """The parts of a new partitioned variable; `get_variable` with a partitioner is its successor.

    Args:
      shape: full shape.
      slicing: into how many parts each dimension is cut; one entry may be larger than 1.
      initializer: an initializer, or a value of the full shape.
      dtype: element type.
      trainable: also add the parts to `GraphKeys.TRAINABLE_VARIABLES`.
      collections: where to add them.
      name: name of the scope; default "PartitionedVariable".
      reuse: as for `variable_scope`.

    Returns:
      The parts, in order.

    Raises:
      ValueError: the arguments do not fit each other.
    """
    if len(shape) != len(slicing):
        raise ValueError(
            "The 'shape' and 'slicing' of a partitioned Variable must have the length: shape: "
            f"{shape}, slicing: {slicing}"
        )
    if len(shape) < 1:
        raise ValueError(f"A partitioned Variable must have rank at least 1: shape: {shape}")
    with variable_scope(name, "PartitionedVariable", reuse=reuse):
        whole = get_variable_scope()._get_partitioned_variable(
            default_store(),
            None,
            shape=shape,
            dtype=dtype,
            initializer=initializer,
            trainable=trainable,
            partitioner=lambda **unused: slicing,
            collections=collections,
        )
        return list(whole)
