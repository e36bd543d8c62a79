"""Fed values: checked against the tensor they stand for, and seen as arrays without a copy.

A fed array is never written and never kept: it is passed on as a read-only view.
"""

from __future__ import annotations

import math
import reprlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from headrace.core.dtypes import DType
from headrace.core.errors import layout
from headrace.core.text import as_bytes
from headrace.graph.graph import Graph
from headrace.graph.mixing import stranger
from headrace.graph.tensor import Tensor
from headrace.session.fetches import expand_feed
from headrace.session.handles import TensorHandle

_LARGE = 6e4  # fits every type of floats


def feed_tensor(graph: Graph, key: Any) -> Tensor:
    """The tensor that a key of feed_dict names."""
    try:
        tensor = graph.as_graph_element(key, allow_operation=False)
    except (TypeError, ValueError, KeyError) as error:
        raise TypeError(
            f"Cannot interpret feed_dict key as Tensor: {_plain(error)}{stranger(key, graph)}"
        ) from None
    if not graph.is_feedable(tensor):
        raise ValueError(f"Tensor {tensor} may not be fed.")
    return tensor  # type: ignore[no-any-return]


def _plain(error: BaseException) -> str:
    return str(error.args[0]) if error.args else str(error)


def expanded(feed_dict: Any) -> list[tuple[Any, Any]]:
    """Pairs of a key for one tensor and its value."""
    if not isinstance(feed_dict, Mapping):
        raise TypeError(f"feed_dict must be a dictionary of tensors and values, not {feed_dict!r}")
    pairs: list[tuple[Any, Any]] = []
    for key, value in feed_dict.items():
        if isinstance(key, (list, tuple)):
            pairs += _zipped(key, value)
        else:
            pairs += expand_feed(key, value)
    return pairs


def _zipped(keys: Any, values: Any) -> list[tuple[Any, Any]]:
    """A tuple of tensors as key: its value has the same structure."""
    if not hasattr(values, "__len__") or len(keys) != len(values):
        raise ValueError(f"Could not flatten dictionary. Key: {keys}, value: {values}.")
    out: list[tuple[Any, Any]] = []
    for key, value in zip(keys, values):
        out += _zipped(key, value) if isinstance(key, (list, tuple)) else expand_feed(key, value)
    return out


def arrays(tensors: list[Tensor], feed_dict: dict[Any, Any]) -> list[Any]:
    """Fed values for a step that checks the arrays itself and never writes into them."""
    return [
        v if type(v) is np.ndarray and v.dtype is t._dtype.numpy else to_value(t, v)
        for t, v in zip(tensors, feed_dict.values())
    ]


def to_value(tensor: Tensor, value: Any) -> Any:
    """`value` as the tensor's type; anything that does not fit is refused before the step starts."""
    if isinstance(value, Tensor):
        raise TypeError(
            f"The value of a feed cannot be a tf.Tensor object: {tensor} is fed with {value}. Feed a "
            "number, a string, a list, an array or a TensorHandle; session.run gives a tensor's value."
        )
    dtype = tensor._dtype
    if dtype.kind in "rv":
        return value
    if isinstance(value, TensorHandle):
        return to_value(tensor, value.session_handle_value())
    if type(value) is np.ndarray and value.dtype == dtype.numpy and dtype.kind != "s":
        array = value.view()
        array.flags.writeable = False
    else:
        array = _converted(tensor, value)
    sizes = tensor._shape._sizes
    if sizes is not None and sizes != array.shape and not _is_like(array.shape, sizes):
        _refuse_shape(tensor, array)
    return array


def as_fed(array: Any, value: Any) -> Any:
    """What is fed and fetched comes back as TF gives it: text stays text, a number is an array."""
    if array.dtype == object and not isinstance(value, TensorHandle):
        array = np.asarray(value, dtype=object)
    return np.array(array)


def _is_like(shape: tuple[int, ...], sizes: tuple[int | None, ...]) -> bool:
    if len(shape) != len(sizes):
        return False
    for n, size in zip(shape, sizes):
        if size is not None and n != size:
            return False
    return True


def _refuse_shape(tensor: Tensor, array: Any) -> None:
    message = (
        f"Cannot feed value of shape {array.shape!r} for Tensor {tensor.name!r}, which has "
        f"shape {str(tensor.shape)!r}"
    )
    raise ValueError(_laid_out(message, tensor, _reshaped(array, tensor.shape.as_list())))


def _reshaped(array: Any, sizes: list[int | None]) -> str | None:
    """How the value would fit, if only its dimensions are grouped otherwise."""
    if sizes.count(None) > 1 or 0 in array.shape:
        return None
    if len(sizes) == array.ndim + 1 and _is_like((1, *array.shape), tuple(sizes)):
        return f"value[None] has shape {(1, *array.shape)}: a batch of one"
    new = tuple(-1 if size is None else size for size in sizes)
    known = math.prod(size for size in new if size != -1)
    fits = known and array.size % known == 0 if -1 in new else array.size == known
    return f"value.reshape({', '.join(map(str, new))}) would fit" if fits and new else None


def _laid_out(message: str, tensor: Tensor, hint: str | None = None) -> str:
    return layout(message, tensor.op.name, [tensor.op.origin], hint)


class _Misfit(Exception):
    """A value that the tensor's type can not hold."""


def _converted(tensor: Tensor, value: Any) -> Any:
    """A fed value as the array of the tensor's type; TensorFlow's message where it does not fit."""
    dtype = tensor.dtype
    try:
        return _as_array(dtype, value)
    except _Misfit:
        message = (
            f"Type of feed value {reprlib.repr(value)} with type {type(value)} is not compatible "
            f"with Tensor type {dtype.as_numpy_dtype}. Try explicitly setting the type of the feed "
            "tensor to a larger type (e.g. int64)."
        )
        raise TypeError(_laid_out(message, tensor)) from None
    except (TypeError, OverflowError, ValueError) as error:  # NumPy's own refusals
        kind = next(k for k in (TypeError, OverflowError, ValueError) if isinstance(error, k))
        what = f"Cannot feed a {type(value).__name__} for Tensor {tensor.name!r} of type {dtype.name}"
        raise kind(_laid_out(f"{what}: {error}", tensor)) from None


def _as_array(dtype: DType, value: Any) -> Any:
    """As NumPy converts it, but no Python integer wraps around.  A float, the commonest scalar, first."""
    kind = type(value)
    if kind is float and dtype.kind == "f" and -_LARGE < value < _LARGE:
        return np.array(value, dtype.numpy)
    if isinstance(value, np.generic):
        value = np.asarray(value)
        if value.dtype == dtype.numpy:
            return value
    if dtype.kind == "s":
        return _strings(value)
    source = np.asarray(value)
    # An array may be of a wider type, which wraps around, as in TF; Python's integers may not.
    if source is not value and dtype.is_integer and source.dtype.kind in "iuO" and source.size:
        if not (dtype.min <= source.min() and source.max() <= dtype.max):
            raise _Misfit
    if source.dtype.fields:
        source = source.view(dtype.numpy)
    with np.errstate(all="ignore"):
        return source.astype(dtype.numpy, order="C", copy=source is value)


def _strings(value: Any) -> Any:
    if isinstance(value, (int, float)):
        raise _Misfit
    source = np.asarray(value, dtype=object) if not isinstance(value, np.ndarray) else value
    out = np.array(source, dtype=object, order="C")
    flat = out.reshape(-1)
    items = flat.tolist()
    if set(map(type, items)) - {bytes}:
        for i, item in enumerate(items):
            flat[i] = as_bytes(item if isinstance(item, (bytes, str)) else str(item))
    return out
