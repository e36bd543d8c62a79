"""Half types are computed in float32: NumPy would round after every step, TF's kernels do not."""

from __future__ import annotations

from typing import Any

import numpy as np


def widen(x: Any) -> Any:
    """float16 and bfloat16 as float32; everything else as it is."""
    return x.astype("float32") if x.dtype.itemsize == 2 and x.dtype.kind in "fV" else x


def clamp(x: Any, low: Any, high: Any) -> Any:
    """x, at most `high` and then at least `low`: where the two are crossed `low` wins, as in TF's
    kernels (np.clip gives `high`)."""
    return np.maximum(np.minimum(x, high), low)
