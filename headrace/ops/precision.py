"""Half types are computed in float32: NumPy would round after every step, TF's kernels do not."""

from __future__ import annotations

from typing import Any


def widen(x: Any) -> Any:
    """float16 and bfloat16 as float32; everything else as it is."""
    return x.astype("float32") if x.dtype.itemsize == 2 and x.dtype.kind in "fV" else x
