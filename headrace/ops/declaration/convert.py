"""Python values -> tensors.  A type may register how it converts: `register_tensor_conversion_function`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from headrace.core.dtypes import DType, as_dtype
from headrace.core.modules import late
from headrace.core.shapes import Dimension, Shape
from headrace.graph.defaults import get_default_graph
from headrace.graph.graph import Graph
from headrace.graph.mixing import different_graphs
from headrace.graph.tensor import Tensor
from headrace.ops.declaration.building.literals import holds

cast = late("headrace.ops.math.cast")
constant = late("headrace.ops.array.constant")

Conversion = Callable[..., Any]
_CONVERSIONS: list[tuple[int, Any, Conversion]] = []  # priority, type(s), function


def register_tensor_conversion_function(
    base_type: Any, conversion_func: Conversion, priority: int = 100
) -> None:
    """Values of `base_type` become tensors by `conversion_func(value, dtype, name, as_ref)`.

    Lower priorities are asked first.  The function may return NotImplemented.
    """
    types = base_type if isinstance(base_type, tuple) else (base_type,)
    if not all(isinstance(t, type) for t in types):
        raise TypeError("base_type must be a type or a tuple of types.")
    if not callable(conversion_func):
        raise TypeError("conversion_func must be callable.")
    _CONVERSIONS.append((priority, base_type, conversion_func))
    _CONVERSIONS.sort(key=lambda row: row[0])


def convert_to_tensor(
    value: Any, dtype: Any = None, name: str | None = None, as_ref: bool = False, preferred_dtype: Any = None
) -> Tensor:
    """The tensor that `value` stands for; constants are made in the default graph."""
    if isinstance(value, Tensor):
        return _check_tensor(value, dtype)
    wanted = None if dtype is None else as_dtype(dtype).base
    for _, base_type, convert in _CONVERSIONS:
        if not isinstance(value, base_type):
            continue
        if wanted is None and preferred_dtype is not None:
            result = _preferred(convert, value, as_dtype(preferred_dtype), name, as_ref)
            if result is not NotImplemented:
                return result
        result = convert(value, dtype=wanted, name=name, as_ref=as_ref)
        if result is NotImplemented:
            continue
        if not isinstance(result, Tensor):
            raise RuntimeError(
                f"{name or 'value'}: Conversion function {convert!r} for type {base_type} returned "
                f"non-Tensor: {result!r}"
            )
        if wanted is not None and result.dtype.base is not wanted:
            raise RuntimeError(
                f"{name or 'value'}: Conversion function {convert!r} for type {base_type} returned "
                f"incompatible dtype: requested = {wanted.name}, actual = {result.dtype.name}"
            )
        return result
    return _constant(value, wanted, name, preferred_dtype)


def _check_tensor(value: Tensor, dtype: Any) -> Tensor:
    if dtype is not None and not as_dtype(dtype).base.is_compatible_with(value.dtype.base):
        raise ValueError(
            f"Tensor conversion requested dtype {as_dtype(dtype).base.name} for Tensor with dtype "
            f"{value.dtype.name}: {str(value)!r}"
        )
    graph = get_default_graph()
    if value.graph is not graph and graph.building_function:
        return graph.capture(value)
    return value


def _preferred(convert: Conversion, value: Any, dtype: DType, name: Any, as_ref: bool) -> Any:
    try:
        result = convert(value, dtype=dtype, name=name, as_ref=as_ref)
    except (TypeError, ValueError):
        return NotImplemented
    if result is not NotImplemented and result.dtype.base is not dtype.base:
        return NotImplemented
    return result


def _constant(value: Any, dtype: DType | None, name: str | None, preferred: Any) -> Tensor:
    if dtype is None and preferred is not None:
        try:
            if holds(as_dtype(preferred), value):
                return constant.constant(value, as_dtype(preferred), name=name or "Const")
        except (TypeError, ValueError):
            pass
    return constant.constant(value, dtype, name=name or "Const")


def convert_n_to_tensor(
    values: Any, dtype: Any = None, name: str | None = None, preferred_dtype: Any = None
) -> list[Tensor]:
    return [
        convert_to_tensor(v, dtype, f"{name}_{i}" if name else None, preferred_dtype=preferred_dtype)
        for i, v in enumerate(values)
    ]


def is_dense_tensor_like(value: Any) -> bool:
    return isinstance(value, Tensor) or hasattr(value, "_as_graph_element")


def _has_tensor(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(_has_tensor(v) for v in value)
    return is_dense_tensor_like(value)


def _convert_sequence(
    value: Any, dtype: DType | None = None, name: str | None = None, as_ref: bool = False
) -> Any:
    """A list that holds tensors is packed; other lists are constants."""
    if as_ref or not _has_tensor(value):
        return NotImplemented
    found = dtype or _first_type(value)

    return constant.pack(_packed_items(value, found, dtype is not None), name=name or "packed")


def _first_type(value: Any) -> DType | None:
    if isinstance(value, (list, tuple)):
        for item in value:
            found = _first_type(item)
            if found is not None:
                return found
        return None
    return as_dtype(value.dtype).base if is_dense_tensor_like(value) else None


def _packed_items(values: Any, dtype: DType | None, may_cast: bool) -> list[Tensor]:
    """The items as tensors of one type, which casts only where the caller asked for it."""
    out: list[Tensor] = []
    for i, value in enumerate(values):
        if isinstance(value, (list, tuple)) and _has_tensor(value):
            out.append(constant.pack(_packed_items(value, dtype, may_cast), name=str(i)))
        else:
            tensor = convert_to_tensor(value, None if is_dense_tensor_like(value) else dtype, str(i))
            if dtype is not None and tensor.dtype.base is not dtype:
                if may_cast:
                    out.append(cast.cast(tensor, DstT=dtype))
                    continue
                raise TypeError(
                    f"Cannot convert a list containing a tensor of dtype {tensor.dtype} to {dtype} "
                    f"(Tensor is: {tensor!r})"
                )
            out.append(tensor)
    return out


def _decline_arrays(value: Any, **_: Any) -> Any:
    return NotImplemented


register_tensor_conversion_function((list, tuple), _convert_sequence, 99)
register_tensor_conversion_function((np.ndarray, np.generic, Shape, Dimension), _decline_arrays, 101)


def graph_from_inputs(op: Any, values: dict[str, Any]) -> Graph | None:
    """The graph that the given tensors live in.  Mixing graphs is an error."""
    found: Graph | None = None
    original: Any = None
    default = get_default_graph()
    if default.building_function:
        return default
    eager = default.runs_at_once
    for arg in op.signature.inputs:
        value = values.get(arg.name)
        for item in value if isinstance(value, (list, tuple)) else (value,):
            if not isinstance(item, Tensor):
                if eager:
                    continue
                convert = getattr(item, "_as_graph_element", None)
                item = convert() if convert is not None else None
                if not isinstance(item, Tensor):
                    continue
            if found is None:
                found, original = item.graph, item
            elif item.graph is not found:
                if default.runs_at_once:
                    described = [g for g in (found, item.graph) if getattr(g, "describes_models", False)]
                    if described:  # Keras: the op becomes a part of the model that is being described
                        found = described[0]
                        continue
                    default.capture(item if found is default else original)
                raise different_graphs(item, original)
    if found is not None and found.runs_at_once and not eager:
        raise RuntimeError("Attempting to capture an EagerTensor without building a function.")
    return found
