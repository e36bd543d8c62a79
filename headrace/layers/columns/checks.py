"""What arguments of feature columns must be."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.core.dtypes import string
from headrace.functions.values.nest import is_nested


def check_key(key: Any) -> None:
    if not isinstance(key, str):
        raise ValueError(f"key must be a string. Got: type {type(key)}. Given key: {key}.")


def check_text_or_whole(dtype: Any, prefix: str) -> None:
    if dtype != string and not dtype.is_integer:
        raise ValueError(f"{prefix} dtype must be string or integer. dtype: {dtype}.")


def check_number(dtype: Any, key: str) -> None:
    if not (dtype.is_integer or dtype.is_floating):
        raise ValueError(f"dtype must be convertible to float. dtype: {dtype}, key: {key}")


def check_normalizer(normalizer_fn: Any) -> None:
    if normalizer_fn is not None and not callable(normalizer_fn):
        raise TypeError(f"normalizer_fn must be a callable. Given: {normalizer_fn}")


def checked_shape(shape: Any, key: str) -> tuple[int, ...]:
    sizes: tuple[int, ...] = tuple(shape) if is_nested(shape) else (shape,)
    for size in sizes:
        if not isinstance(size, int):
            raise TypeError(f"shape dimensions must be integer. shape: {sizes}, key: {key}")
        if size < 1:
            raise ValueError(f"shape dimensions must be greater than 0. shape: {sizes}, key: {key}")
    return sizes


def checked_default(shape: tuple[int, ...], default_value: Any, dtype: Any, key: str) -> Any:
    """The default in the shape of the feature, as tuples; one number fills it."""
    if default_value is None:
        return None
    if isinstance(default_value, int):
        return _filled(shape, float(default_value) if dtype.is_floating else default_value)
    if isinstance(default_value, float) and dtype.is_floating:
        return _filled(shape, default_value)
    if callable(getattr(default_value, "tolist", None)):
        default_value = default_value.tolist()
    if is_nested(default_value):
        if np.shape(default_value) != shape:
            raise ValueError(
                f"The shape of default_value must be equal to given shape. default_value: {default_value}, "
                f"shape: {shape}, key: {key}"
            )
        flat = np.array(default_value, dtype=object).reshape(-1)
        if dtype.is_integer and all(isinstance(v, int) for v in flat):
            return _tuples(default_value)
        if dtype.is_floating and all(isinstance(v, int | float) for v in flat):
            return _tuples(default_value, float)
    raise TypeError(
        "default_value must be compatible with dtype. "
        f"default_value: {default_value}, dtype: {dtype}, key: {key}"
    )


def _filled(shape: tuple[int, ...], value: Any) -> Any:
    for size in reversed(shape):
        value = (value,) * size
    return value


def _tuples(value: Any, kind: Any = int) -> Any:
    return tuple(_tuples(v, kind) for v in value) if is_nested(value) else kind(value)


def check_embedding(dimension: Any, ckpt_to_load_from: Any, tensor_name_in_ckpt: Any) -> None:
    if dimension is None or dimension < 1:
        raise ValueError(f"Invalid dimension {dimension}.")
    if (ckpt_to_load_from is None) != (tensor_name_in_ckpt is None):
        raise ValueError("Must specify both `ckpt_to_load_from` and `tensor_name_in_ckpt` or none of them.")
