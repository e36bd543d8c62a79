"""Values as the user gets them: scalars as NumPy scalars, strings as bytes, arrays that are his own.

A fetched array never changes afterwards, and the user may write into it: it is handed out as it is
only where nobody else holds it, else as a copy.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from headrace.core.dtypes import DType


def to_user(values: list[Any], place: int, dtype: DType) -> Any:
    """Take value `place` out of `values` and give it away."""
    value = values[place]
    values[place] = None
    if not isinstance(value, np.ndarray):
        return value
    if value.ndim == 0:
        return value[()]
    owner = value if value.base is None else value.base
    if not value.flags.writeable or not isinstance(owner, np.ndarray) or _held(owner, value):
        value = np.array(value)
    return value


def _held(owner: Any, value: Any) -> bool:
    # to_user's `owner` and `value`, our two parameters, getrefcount's argument
    if owner is value:
        return sys.getrefcount(owner) > _SOLE
    return sys.getrefcount(owner) > _SOLE_BASE or not owner.flags.owndata


_SOLE = _SOLE_BASE = 0


def _calibrate() -> None:
    """Learn what the counts are when nobody else holds the array (they differ between Pythons)."""
    global _SOLE, _SOLE_BASE

    def measure(values: list[Any], place: int) -> int:  # holds what to_user holds
        value = values[place]
        values[place] = None
        owner = value if value.base is None else value.base
        return _count(owner, value)

    _SOLE, _SOLE_BASE = measure([np.zeros(2)], 0), measure([np.zeros(2)[:1]], 0)


def _count(owner: Any, value: Any) -> int:
    return sys.getrefcount(owner)


_calibrate()
