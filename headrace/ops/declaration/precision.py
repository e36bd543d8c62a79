"""Half types are computed in float32: NumPy would round after every step, TF's kernels do not."""

from __future__ import annotations

from typing import Any

import numpy as np


def widen(x: Any) -> Any:
    """float16 and bfloat16 as float32; everything else as it is."""
    return x.astype("float32") if x.dtype.itemsize == 2 and x.dtype.kind in "fV" else x


def sign(x: Any) -> Any:
    """-1, 0 or 1, in the type of x; of NaN 0, as in TF 1.15; of a complex number x / |x|."""
    if x.dtype.kind != "c":
        return (x > 0).astype(x.dtype) - (x < 0).astype(x.dtype)
    size = np.abs(x)
    return np.where(size == 0, np.zeros((), x.dtype), x / np.where(size == 0, 1, size))


def clamp(x: Any, low: Any, high: Any) -> Any:
    """x, at most `high` and then at least `low`: where the two are crossed `low` wins, as in TF's
    kernels (np.clip gives `high`)."""
    return np.maximum(np.minimum(x, high), low)
