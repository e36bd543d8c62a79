"""Convolution of arrays in any number of spatial dimensions, and its two gradients.

x is (batch, space..., channels), w is (window..., channels / groups, outputs), y is
(batch, places..., outputs): groups of channels see their own share of the outputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from headrace.ops.declaration.precision import widen
from headrace.ops.nn.window import Window, padded, padded_zeros, patches, taps, unpadded

_CHUNK = 1 << 23  # elements of patches to hold at a time


def convolve(x: Any, w: Any, windows: Sequence[Window]) -> Any:
    """y[n, p, o] = sum over k, c of x[n, p * stride + k * dilation - before, c] * w[k, c, o]"""
    x, w = widen(x), widen(w)
    channels, outputs = w.shape[-2:]
    groups = x.shape[-1] // channels if channels else 1
    places = tuple(window.count for window in windows)
    y = np.zeros((len(x), *places, outputs), x.dtype)
    if not y.size or not w.size:
        return y
    weights = _by_group(w.reshape(-1, outputs), groups)
    view = patches(padded(x, windows), windows)
    space = tuple(range(1, 1 + len(windows)))
    view = view.reshape(*view.shape[: 1 + len(windows)], groups, channels, *w.shape[:-2])
    inner = tuple(range(3 + len(windows), view.ndim))
    view = view.transpose(1 + len(windows), 0, *space, *inner, 2 + len(windows))
    step = max(1, _CHUNK // max(1, view[:, 0].size))
    for start in range(0, len(x), step):
        rows = view[:, start : start + step]
        found = rows.reshape(groups, -1, weights.shape[1]) @ weights
        y[start : start + step] = np.moveaxis(found, 0, 1).reshape(-1, *places, outputs)
    return y


def convolve_input(sizes: Sequence[int], w: Any, dy: Any, windows: Sequence[Window]) -> Any:
    """The gradient of `convolve` with respect to an x of these sizes."""
    w, dy = widen(w), widen(dy)
    batch, *space, total = sizes
    channels, outputs = w.shape[-2:]
    groups = total // channels if channels else 1
    dx = padded_zeros(batch, total, space, windows, dy.dtype)
    if dx.size and dy.size and w.size:
        dy = _by_group(dy.reshape(-1, outputs), groups)
        places = tuple(window.count for window in windows)
        for at, index in taps(windows):
            found = dy @ _by_group(w[at], groups).swapaxes(1, 2)
            dx[index] += np.moveaxis(found, 0, 1).reshape(batch, *places, total)
    return unpadded(dx, windows)


def convolve_filter(x: Any, sizes: Sequence[int], dy: Any, windows: Sequence[Window]) -> Any:
    """The gradient of `convolve` with respect to a w of these sizes."""
    x, dy = widen(x), widen(dy)
    channels, outputs = sizes[-2:]
    groups = x.shape[-1] // channels if channels else 1
    dw = np.zeros(tuple(sizes), x.dtype)
    if dw.size and dy.size:
        dy = _by_group(dy.reshape(-1, outputs), groups)
        x = padded(x, windows)
        for at, index in taps(windows):
            rows = _by_group(x[index].reshape(-1, groups * channels), groups)
            dw[at] = np.moveaxis(rows.swapaxes(1, 2) @ dy, 0, 1).reshape(channels, outputs)
    return dw


def _by_group(matrix: Any, groups: int) -> Any:
    """(rows, columns) as (groups, rows, columns / groups)."""
    return np.moveaxis(matrix.reshape(len(matrix), groups, -1), 1, 0)
