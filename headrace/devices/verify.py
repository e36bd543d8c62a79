"""HEADRACE_VERIFY=1: a compiled value beside the reference's."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

verifying = threading.RLock()  # a verified region puts variables back: one at a time


def compare(got: Any, want: Any, name: str) -> None:
    """A compiled value against the reference's."""
    if not isinstance(want, np.ndarray) or want.dtype == object:
        return
    assert got.dtype == want.dtype and got.shape == want.shape, (name, got.shape, want.shape)
    if want.dtype.kind in "iub":
        np.testing.assert_array_equal(got, want, err_msg=f"compiled {name}")
        return
    wide, other = got.astype(np.float64), want.astype(np.float64)
    loose = {2: 5e-2, 4: 1e-4}.get(want.dtype.itemsize, 1e-8)
    scale = max(np.abs(other[np.isfinite(other)]).max(initial=0.0), 1e-30)
    close = np.isclose(wide, other, rtol=loose, atol=loose * scale, equal_nan=True)
    # Where gradients are next to nothing, optimizers that divide by them magnify rounding.
    if np.count_nonzero(~close) <= close.size // 500:
        loose *= 100
    np.testing.assert_allclose(
        wide, other, rtol=loose, atol=loose * scale, err_msg=f"compiled {name}"
    )
