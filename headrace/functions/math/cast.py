"""Conversions between types."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from headrace.core import dtypes
from headrace.core.dtypes import as_dtype
from headrace.functions.sparse.tensor import SparseTensor
from headrace.functions.values.structure import name_scope
from headrace.graph.tensor import Tensor
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.declaration.indexed_slices import IndexedSlices
from headrace.ops.math import arithmetic
from headrace.ops.math import cast as ops


def cast(x: Any, dtype: Any, name: str | None = None) -> Any:
    """`x` in another type.

    Floats lose their fraction on the way to integers, complex numbers their imaginary part on the
    way to real ones; whatever is not zero is true.

    Args:
      x: a number, `Tensor`, `SparseTensor` or `IndexedSlices`.
      dtype: the type of the result.
      name: name of the node.

    Returns:
      What `x` was, with elements of type `dtype`; `x` itself if it has that type.

    Raises:
      TypeError: `x` can not be cast.

    Example:
      >>> tf.cast(tf.constant([1.8, 2.2]), tf.int32)      # 1 2
    """
    base = as_dtype(dtype).base
    # A resource variable stays one: who uses the result later reads it later.
    if (isinstance(x, Tensor) or hasattr(x, "sparse_read")) and x.dtype == base:
        return x
    with name_scope(name, "Cast", [x]) as scope:
        if isinstance(x, SparseTensor):
            return SparseTensor(x.indices, cast(x.values, base, scope), x.dense_shape)
        if isinstance(x, IndexedSlices):
            return IndexedSlices(cast(x.values, base, scope), x.indices, x.dense_shape)
        x = convert_to_tensor(x, name="x")
        if x.dtype.base is base:
            return x
        if x.dtype.is_complex and base.is_floating:
            logging.getLogger("headrace").warning("Casting complex to real discards imaginary part.")
        return ops.cast(x, base, name=scope)


def saturate_cast(value: Any, dtype: Any, name: str | None = None) -> Tensor:
    """`value` in another type; what that can not hold becomes its smallest or largest number.

    Args:
      value: a `Tensor`.
      dtype: the type of the result.
      name: name of the node.

    Returns:
      A tensor of type `dtype`.
    """
    with name_scope(name, "saturate_cast", [value]) as scope:
        value, target = convert_to_tensor(value, name="value"), as_dtype(dtype).base
        if value.dtype.min < target.min:
            low = convert_to_tensor(target.min, value.dtype, name="min")
            value = arithmetic.maximum(value, low)
        if value.dtype.max > target.max:
            high = convert_to_tensor(target.max, value.dtype, name="max")
            value = arithmetic.minimum(value, high)
        result: Tensor = cast(value, target, name=scope)
        return result


def _to(called: str, dtype: dtypes.DType, default: str) -> Callable[..., Any]:
    def convert(x: Any, name: str = default) -> Any:
        return cast(x, dtype, name=name)

    convert.__name__ = convert.__qualname__ = called
    convert.__doc__ = f"`x` in the type {dtype.name}.  Deprecated: use `tf.cast`."
    return convert


to_float = _to("to_float", dtypes.float32, "ToFloat")
to_double = _to("to_double", dtypes.float64, "ToDouble")
to_int32 = _to("to_int32", dtypes.int32, "ToInt32")
to_int64 = _to("to_int64", dtypes.int64, "ToInt64")
to_bfloat16 = _to("to_bfloat16", dtypes.bfloat16, "ToBFloat16")
to_complex64 = _to("to_complex64", dtypes.complex64, "ToComplex64")
to_complex128 = _to("to_complex128", dtypes.complex128, "ToComplex128")


def bitcast(input: Any, type: Any, name: str | None = None) -> Tensor:
    """The bits of `input` as elements of another type.

    Args:
      input: a `Tensor` of numbers.
      type: the type of the result.  A smaller one adds a dimension at the end, a larger one takes
        the last away.
      name: name of the node.

    Returns:
      A tensor of type `type`.
    """
    return ops.bitcast(input, type, name=name)
