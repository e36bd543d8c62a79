"""Half types are computed in float32, long sums in blocks: NumPy would round after every step."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np


def widen(x: Any) -> Any:
    """float16 and bfloat16 as float32; everything else as it is."""
    return x.astype("float32") if x.dtype.itemsize == 2 and x.dtype.kind in "fV" else x


def widest(x: Any) -> Any:
    """Floats and complex numbers as the widest of their kind: for sums of any length."""
    if x.dtype.kind == "c":
        return x.astype("complex128")
    is_half = x.dtype.itemsize == 2 and x.dtype.kind == "V"
    return x.astype("float64") if x.dtype.kind == "f" or is_half else x


BLOCK = 128  # terms that are added one after the other


def block_sum(x: Any, axes: int | Sequence[int], keepdims: bool = False) -> Any:
    """The sum along axes, in blocks whose sums are added in blocks.  NumPy does so along the innermost axis
    alone: down a column of ten million a float32 would stop growing."""
    axes = (axes,) if isinstance(axes, int) else tuple(axes)
    if x.dtype.kind not in "fc" or math.prod(x.shape[a] for a in axes) <= BLOCK:
        return x.sum(axes, keepdims=keepdims, dtype=x.dtype)
    for axis in axes:
        while x.shape[axis] > BLOCK and not (axis == x.ndim - 1 and x.flags.c_contiguous):
            x = np.add.reduceat(x, np.arange(0, x.shape[axis], BLOCK), axis)
        x = x.sum(axis, keepdims=True)
    return x if keepdims else x.squeeze(axes)


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
