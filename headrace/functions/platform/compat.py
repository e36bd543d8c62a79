"""tf.compat: text and bytes, number types, and questions about the date."""

from __future__ import annotations

import datetime
import numbers
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from headrace.core.shapes import Dimension, Shape
from headrace.core.text import as_text

integral_types = (numbers.Integral, np.integer)
real_types = (numbers.Real, np.integer, np.floating)
complex_types = (numbers.Complex, np.number)
bytes_or_text_types = (bytes, str)


def as_str_any(value: Any) -> str:
    """Bytes decoded; everything else by str()."""
    return as_text(value) if isinstance(value, bytes) else str(value)


def path_to_str(path: Any) -> Any:
    """A path object as text; everything else as it is."""
    return as_str_any(os.fspath(path)) if hasattr(path, "__fspath__") else path


def dimension_value(dimension: Any) -> Any:
    """The size in a Dimension; a plain size as it is."""
    return getattr(dimension, "value", dimension)


def dimension_at_index(shape: Any, index: int) -> Any:
    """The Dimension of a shape at an index; unknown where the rank is."""
    if shape.rank is None:
        return Dimension(None)
    return Dimension(shape.sizes[index] if isinstance(shape, Shape) else shape[index])


_horizon = [datetime.date(2019, 10, 15)]  # when 1.15 was made


def forward_compatible(year: int, month: int, day: int) -> bool:
    """May graphs use what programs of this date understand?"""
    return _horizon[0] > datetime.date(year, month, day)


@contextmanager
def forward_compatibility_horizon(year: int, month: int, day: int) -> Iterator[None]:
    """A context in which the date is another one."""
    old = _horizon[0]
    _horizon[0] = datetime.date(year, month, day)
    try:
        yield
    finally:
        _horizon[0] = old
