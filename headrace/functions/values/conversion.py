"""tf.convert_to_tensor and its kin, as programs call them."""

from __future__ import annotations

from typing import Any

from headrace.core.dtypes import DTypeLike
from headrace.graph.tensor import Tensor
from headrace.ops.declaration import convert


def convert_to_tensor(
    value: Any,
    dtype: DTypeLike | None = None,
    name: str | None = None,
    preferred_dtype: Any = None,
    dtype_hint: Any = None,
) -> Tensor:
    """The tensor that a value stands for.

    Args:
      value: a tensor, a variable, a number, text, nested lists of them, or a NumPy array.
      dtype: the element type; follows from the value if None.
      name: the name of the constant, where one is made.
      preferred_dtype: the element type where `dtype` is None and the value fits it.
      dtype_hint: the new name of `preferred_dtype`.

    Raises:
      TypeError: there is no way to convert the value.
      ValueError: the value is a tensor of another type.

    Example:
      >>> tf.convert_to_tensor([1, 2], dtype=tf.float32)
    """
    if dtype_hint is not None:
        if preferred_dtype is not None:
            raise ValueError("Cannot specify both 'dtype_hint' and 'preferred_dtype'.")
        preferred_dtype = dtype_hint
    return convert.convert_to_tensor(value, dtype, name, preferred_dtype=preferred_dtype)
