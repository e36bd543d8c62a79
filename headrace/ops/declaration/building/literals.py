"""Python and NumPy values -> arrays of a TF type, by TF's rules.

Python ints become int32, floats float32, text and bytes string; a NumPy array or scalar keeps its type.  In
a list NumPy's scalars are numbers like others: float64 becomes float32, int64 int32 where it fits.  A Python
value is only converted where nothing is lost; a NumPy array is cast.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.core.dtypes import DType, as_dtype
from headrace.core.errors import ResourceExhaustedError, hinted, require
from headrace.core.modules import late
from headrace.core.shapes import Dimension, Shape, as_shape, show
from headrace.core.text import as_bytes
from headrace.graph.attrs import Literal

tensor_proto = late("headrace.formats.tensor_proto")


def literal(value: Any, dtype: Any = None, shape: Any = None, verify_shape: bool = False) -> Literal:
    """`tf.constant`'s value: converted, and filled up to `shape` with its last element."""
    wanted = None if dtype is None else as_dtype(dtype).base
    if hasattr(value, "tensor_shape") and hasattr(value, "tensor_content"):  # a TensorProto
        return Literal(tensor_proto.from_proto(value), as_dtype(value.dtype))
    if shape is not None and not isinstance(value, (np.ndarray, np.generic)):
        shape = as_shape(shape)
        if shape.num_elements() == 0:  # TF does not look at the value then, not even for its type
            value = np.empty(shape.as_list(), (wanted or dtypes.float32).numpy)
    array, found = to_array(value, wanted)
    if shape is not None:
        array = _filled(array, as_shape(shape), verify_shape)
    return Literal(array, found)


# Who writes None among numbers mostly means a dimension of a placeholder.
_OPEN_SIZE = "None is no number: for a size that is open, tf.reshape takes -1; tf.shape(x)[0] is x's"


def to_array(value: Any, dtype: DType | None) -> tuple[np.ndarray[Any, Any], DType]:
    if isinstance(value, (np.ndarray, np.generic)):
        return _from_numpy(np.asarray(value), dtype)
    if value is None:
        raise ValueError("None values not supported.")
    if isinstance(value, Dimension):
        value = value.value
        if value is None:
            raise ValueError("a dimension of unknown size has no value")
        dtype = dtype or _size_type([value])
    if isinstance(value, Shape):
        return _from_shape(value, dtype)
    if dtype is not None and dtype.is_quantized:
        return _quantized(value, dtype), dtype
    value = _plain(value)
    if dtype is not None:
        _check_compatible(value, dtype)
        return _dense(value, dtype), dtype
    found = _python_type(value)
    if found is None:  # NumPy decides: a list of arrays or of NumPy scalars
        array, found = _from_numpy(_checked_array(value, None), None)
        return _preferred(value, array, found)
    return _dense(value, found), found


def _preferred(value: Any, array: np.ndarray[Any, Any], found: DType) -> tuple[np.ndarray[Any, Any], DType]:
    """NumPy's default types of a list as TF's, unless arrays stand in it."""
    narrow = {dtypes.float64: dtypes.float32, dtypes.int64: dtypes.int32}.get(found)
    if narrow is None or any(isinstance(leaf, np.ndarray) and leaf.ndim for leaf in _leaves(value)):
        return array, found
    with np.errstate(all="ignore"):
        narrowed = array.astype(narrow.numpy)
    if narrow is dtypes.int32 and not np.array_equal(narrowed, array):
        return array, found
    return narrowed, narrow


def holds(dtype: DType, value: Any) -> bool:
    """Not an integer type with an integer beyond its range: that would wrap around."""
    if dtype.kind not in "iu":
        return True
    low, high = int(dtype.min), int(dtype.max)
    for leaf in _leaves(_plain(value)):
        if isinstance(leaf, np.ndarray) and leaf.dtype.kind in "iu" and leaf.size:
            fits = low <= int(leaf.min()) and int(leaf.max()) <= high
        else:
            fits = not isinstance(leaf, (int, np.integer)) or low <= int(leaf) <= high
        if not fits:
            return False
    return True


def _from_numpy(array: np.ndarray[Any, Any], dtype: DType | None) -> Any:
    if array.dtype.kind in "SUO":
        if dtype not in (None, dtypes.string):
            if array.dtype.kind == "O" and dtype.is_numpy_compatible:
                return array.astype(dtype.numpy), dtype
            raise TypeError(f"Expected {dtype.name}, got {array!r} of type 'ndarray' instead.")
        return _bytes_array(array), dtypes.string
    if array.dtype.fields:  # a quantized type
        found = as_dtype(array.dtype)
        array = array.view(found.numpy)
    else:
        found = as_dtype(array.dtype)
    if dtype is None or dtype.numpy == array.dtype:
        return np.array(array, order="C"), dtype or found
    if dtype is dtypes.string:
        raise TypeError(f"Expected string, got {array!r} of type 'ndarray' instead.")
    with np.errstate(all="ignore"):
        return np.array(array, order="C").astype(dtype.numpy), dtype


def _from_shape(shape: Shape, dtype: DType | None) -> Any:
    if not shape.is_full:
        raise ValueError(f"Cannot convert a partially known TensorShape to a Tensor: {shape}")
    found = dtype or _size_type(shape.as_list())
    if found not in (dtypes.int32, dtypes.int64):
        raise TypeError(f"Cannot convert a TensorShape to dtype: {found.name}")
    largest = max((s for s in shape.as_list() if s is not None), default=0)
    if found is dtypes.int32 and largest > found.max:
        raise ValueError(
            f"Cannot convert a TensorShape to dtype: int32; a dimension is too large ({largest})"
        )
    return np.array(shape.as_list(), dtype=found.numpy), found


def _size_type(sizes: list[Any]) -> DType:
    return dtypes.int64 if any(s > np.iinfo(np.int32).max for s in sizes) else dtypes.int32


_NUMBERS = frozenset((bool, int, float, complex))


def _plain(value: Any) -> Any:
    """Nested lists of plain Python values; objects that know NumPy's protocol become arrays."""
    if isinstance(value, (list, tuple)):
        if _NUMBERS.issuperset(map(type, value)):
            return list(value)
        return [_plain(v) for v in value]
    if isinstance(value, Dimension):
        return value.value
    if not isinstance(value, np.generic) and _is_array_like(value):
        return np.asarray(value)
    return value


def _is_array_like(value: Any) -> bool:
    if isinstance(value, type):
        return False
    return hasattr(value, "__array__") or isinstance(getattr(value, "__array_interface__", None), dict)


def _quantized(value: Any, dtype: DType) -> Any:
    """Elements of a quantized type are tuples of one integer, so that they differ from numbers."""
    for leaf in _tuples(value):
        if not isinstance(leaf, tuple):
            kind = type(leaf).__name__
            raise TypeError(f"Expected {dtype.name}, got {leaf!r} of type '{kind}' instead.")
    return np.array(value, dtype=dtype.as_numpy_dtype).view(dtype.numpy)


def _tuples(value: Any) -> Any:
    if isinstance(value, list):
        for item in value:
            yield from _tuples(item)
    else:
        yield value


def _leaves(value: Any) -> Any:
    """The values in nested lists; of a list of nothing but floats or ints, those that tell all."""
    if not isinstance(value, list):
        yield value
        return
    kinds = set(map(type, value))
    if kinds == {float}:
        yield value[0]
    elif kinds == {int}:
        yield from (value[0], min(value), max(value))
    else:
        for item in value:
            yield from _leaves(item)


def _python_type(value: Any) -> DType | None:
    """The TF type of nested Python values; None where NumPy should decide."""
    found: DType | None = None
    for leaf in _leaves(value):
        if isinstance(leaf, (np.ndarray, np.generic)):
            return None
        kind = _leaf_type(leaf)
        if kind is None:
            message = (
                f"Failed to convert object of type {type(value)} to Tensor. Contents: {value}. "
                "Consider casting elements to a supported type."
            )
            raise TypeError(hinted(message, _OPEN_SIZE if leaf is None else None))
        found = kind if found is None else _wider(found, kind, leaf)
    return dtypes.float32 if found is None else found


def _leaf_type(leaf: Any) -> DType | None:
    if isinstance(leaf, bool):
        return dtypes.bool_
    if isinstance(leaf, int):
        if -(2**31) <= leaf < 2**31:
            return dtypes.int32
        if -(2**63) <= leaf < 2**63:
            return dtypes.int64
        return dtypes.uint64 if leaf < 2**64 and leaf >= 0 else None
    if isinstance(leaf, float):
        return dtypes.float32
    if isinstance(leaf, complex):
        return dtypes.complex128
    if isinstance(leaf, (str, bytes)):
        return dtypes.string
    return None


_WIDENING = (dtypes.bool_, dtypes.int32, dtypes.int64, dtypes.uint64, dtypes.float32, dtypes.complex128)


def _wider(a: DType, b: DType, leaf: Any) -> DType:
    if a is b:
        return a
    if a in _WIDENING and b in _WIDENING:
        return max(a, b, key=_WIDENING.index)
    raise TypeError(
        f"Can't convert Python sequence with mixed types to Tensor: Expected {a.name}, got "
        f"{leaf!r} of type '{type(leaf).__name__}' instead."
    )


# What a tensor of each kind accepts.  A bool is an int, to Python and to TF.
_ACCEPTED: dict[str, tuple[type, ...]] = {
    "i": (int, np.integer),
    "u": (int, np.integer),
    "f": (int, float, np.integer, np.floating),
    "c": (int, float, complex, np.number),
    "b": (bool, np.bool_),
    "s": (str, bytes),
}


def _accepts(dtype: DType, leaf: Any) -> bool:
    return isinstance(leaf, _ACCEPTED.get(dtype.kind, ()))


def _check_compatible(value: Any, dtype: DType) -> None:
    for leaf in _leaves(value):
        if isinstance(leaf, np.ndarray):
            continue
        if not _accepts(dtype, leaf):
            if isinstance(leaf, np.generic) and leaf.dtype == dtype.numpy:
                continue
            message = f"Expected {dtype.name}, got {leaf!r} of type '{type(leaf).__name__}' instead."
            raise TypeError(hinted(message, _OPEN_SIZE if leaf is None else None))


def _dense(value: Any, dtype: DType) -> Any:
    if dtype.kind == "s":
        return _bytes_array(_checked_array(value, object))
    array = _checked_array(value, None)
    if array.size == 0:
        return array.astype(dtype.numpy)
    if dtype.kind in "iu" and array.dtype.kind == "O":
        raise ValueError(f"Tensor conversion requested dtype {dtype.name}, but {value} is out of range")
    with np.errstate(all="ignore"):
        return array.astype(dtype.numpy)  # an integer that does not fit wraps around, as in TF


def _checked_array(value: Any, dtype: Any) -> np.ndarray[Any, Any]:
    try:
        array = np.array(value, dtype=dtype)
    except ValueError:
        raise ValueError(
            f"Argument must be a dense tensor: {value} - setting an array element with a sequence, "
            "or lists of different lengths."
        ) from None
    if dtype is object and array.ndim != _depth(value):
        raise ValueError(f"Argument must be a dense tensor: {value} - got a ragged list.")
    return array


def _depth(value: Any) -> int:
    depth = 0
    while isinstance(value, list):
        depth += 1
        if not value:
            break
        value = value[0]
    return depth + (value.ndim if isinstance(value, np.ndarray) else 0)


def _bytes_array(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Strings are kept as an object array of bytes."""
    out = np.empty(array.shape, dtype=object)
    flat, source = out.reshape(-1), array.reshape(-1)
    for i in range(flat.size):
        flat[i] = as_bytes(source[i])
    return out


def _filled(array: np.ndarray[Any, Any], shape: Shape, verify: bool) -> np.ndarray[Any, Any]:
    """The last element is repeated until the shape is full, as TF 1 does."""
    shape.assert_is_fully_defined()
    sizes: list[int] = shape.as_list()  # type: ignore[assignment]
    if verify and list(array.shape) != sizes:
        raise TypeError(f"Expected Tensor's shape: {tuple(sizes)}, got {tuple(array.shape)}.")
    wanted = math.prod(sizes) if sizes else 1
    if array.size > wanted:
        raise ValueError(f"Too many elements provided. Needed at most {wanted}, but received {array.size}")
    if array.size == wanted:
        return array.reshape(sizes)
    if array.size == 0:
        raise ValueError(f"Too few elements provided: none for the shape {shape}")
    require(wanted < 2**63, f"Shape {show(sizes)} would have more than 2**63 - 1 elements")
    last = array.ravel()[-1]
    if array.dtype != object and not last.tobytes().strip(b"\0"):
        # Zeros cost no memory until they are written.
        out = _allocated(sizes, array.dtype, np.zeros)
    else:
        out = _allocated(sizes, array.dtype)
        out.reshape(-1)[array.size :] = last
    out.reshape(-1)[: array.size] = array.ravel()
    return out


def _allocated(sizes: list[int], dtype: Any, make: Any = np.empty) -> Any:
    try:
        return make(sizes, dtype)
    except (MemoryError, ValueError):  # NumPy's words for "too large"
        raise ResourceExhaustedError(
            None, None, f"OOM when allocating tensor with shape{show(sizes)} and type {dtype}"
        ) from None
