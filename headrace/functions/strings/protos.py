"""Values as TensorProto messages and back: tf.make_tensor_proto, tf.make_ndarray; and tf.ensure_shape."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.core.dtypes import DTypeLike, as_dtype
from headrace.core.shapes import as_shape
from headrace.formats import proto
from headrace.formats.tensor_proto import from_proto, to_proto
from headrace.graph.tensor import Tensor
from headrace.ops.array.reshape import ensure_shape as build_ensure_shape
from headrace.ops.declaration.building import literals


def make_tensor_proto(
    values: Any,
    dtype: DTypeLike | None = None,
    shape: Any = None,
    verify_shape: bool = False,
    allow_broadcast: bool = False,
) -> Any:
    """A TensorProto of a value.

    Args:
      values: Python or NumPy values; a TensorProto is returned as it is.
      dtype: the type of the elements; follows from the values if not given.
      shape: the shape; with fewer values the last one stands for the rest.
      verify_shape: refuse values of another shape.
      allow_broadcast: let one value fill the shape, and refuse other differences.

    Raises:
      TypeError: the values do not have the type or the shape.
      ValueError: None among the values, too many values, or both of the last two options.
    """
    if allow_broadcast and verify_shape:
        raise ValueError("allow_broadcast and verify_shape are not both allowed.")
    if isinstance(values, proto.TensorProto):
        return values
    wanted = None if dtype is None else as_dtype(dtype)
    sizes = None if shape is None else [int(s) for s in shape]
    if sizes is not None and 0 in sizes and not isinstance(values, (np.ndarray, np.generic)):
        array, found = literals.to_array(values, wanted)
        array = np.empty(sizes, array.dtype)
    else:
        array, found = literals.to_array(values, wanted)
    if sizes is not None:
        _check_shape(array, sizes, verify_shape, allow_broadcast)
    return to_proto(array, found, sizes)


def _check_shape(array: Any, sizes: list[int], verify: bool, broadcast: bool) -> None:
    differs = array.shape != tuple(sizes)
    if broadcast:
        differs = array.shape not in ((), (1,)) and array.size != int(np.prod(sizes, dtype=np.int64))
    if differs and (verify or broadcast):
        raise TypeError(f"Expected Tensor's shape: {tuple(sizes)}, got {array.shape}.")


def make_ndarray(tensor: Any) -> Any:
    """The NumPy array of a TensorProto.

    Args:
      tensor: a TensorProto.

    Raises:
      TypeError: it has a type that NumPy can not hold.
    """
    dtype = as_dtype(tensor.dtype)
    if dtype.kind in "rv":
        raise TypeError(f"Unsupported tensor type: {tensor.dtype}")
    array = from_proto(tensor)
    return array.view(dtype.as_numpy_dtype) if dtype.is_quantized else array


def ensure_shape(x: Any, shape: Any, name: str | None = None) -> Tensor:
    """A tensor whose shape is checked when it runs, and known from here on.

    Args:
      x: a tensor.
      shape: a `TensorShape`, or what can become one.
      name: name of the node.

    Raises:
      InvalidArgumentError: when it runs, if the shape does not agree.
    """
    return build_ensure_shape(x, as_shape(shape), name=name)
