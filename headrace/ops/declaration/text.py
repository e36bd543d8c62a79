"""Arrays of strings: object arrays of bytes, and their elements in messages."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np


def strings(values: Iterable[Any], shape: Any = None) -> Any:
    """An object array; a list of bytes is never taken for a string type."""
    values = list(values)
    out = np.empty(len(values), object)
    out[:] = values
    return out if shape is None else out.reshape(shape)


def each(function: Callable[[bytes], Any], array: Any) -> Any:
    """`function` of every element, as an object array of the same shape."""
    return strings(map(function, array.reshape(-1)), array.shape)


def shown(value: bytes) -> str:
    """Bytes in a message."""
    return value.decode("utf-8", "replace")
