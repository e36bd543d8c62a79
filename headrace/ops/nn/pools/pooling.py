"""Pooling of arrays (batch, space..., channels) in any number of spatial dimensions.

A maximum that occurs twice in a window belongs to its first place; padding never counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

from headrace.ops.declaration.precision import widen, widest
from headrace.ops.nn.window import Window, padded, padded_zeros, taps, unpadded


def lowest(dtype: Any) -> Any:
    """The least value of a type."""
    if np.issubdtype(dtype, np.integer):
        return np.iinfo(dtype).min
    return dtype.type(-np.inf)


def max_pool(x: Any, windows: Sequence[Window]) -> Any:
    """The largest element under the window; NaN if one is there."""
    x = padded(x, windows, lowest(x.dtype))
    return reduce(np.maximum, (x[index] for _, index in taps(windows)))


def argmax_pool(x: Any, windows: Sequence[Window]) -> Any:
    """Where the largest element under the window is: the flat index into its image's space."""
    sizes = x.shape[1:-1]
    space = np.arange(np.prod(sizes, dtype=np.int64)).reshape(1, *sizes, 1)
    space, x = padded(space, windows, -1), padded(x, windows)
    best = found = None
    for _, index in taps(windows):
        place = np.broadcast_to(space[index], x[index].shape)
        if found is None:
            best, found = x[index].copy(), place.copy()
            continue
        better = (place >= 0) & ((found < 0) | (best < x[index]))
        best, found = np.where(better, x[index], best), np.where(better, place, found)
    return found


def max_pool_grad(x: Any, dy: Any, windows: Sequence[Window]) -> Any:
    """dy, added up at the place of each maximum."""
    return scatter_places(argmax_pool(x, windows), dy, x.shape)


def scatter_places(found: Any, dy: Any, shape: Sequence[int]) -> Any:
    """dy, added up at flat spatial indices into an array of this shape."""
    batch, *space, channels = shape
    image = np.arange(batch).reshape(-1, *(1,) * (dy.ndim - 1))
    at = (image * int(np.prod(space)) + found) * channels + np.arange(channels)
    dx = np.zeros(int(np.prod(shape)), widest(dy).dtype)
    np.add.at(dx, at.ravel(), dy.ravel())
    return dx.reshape(tuple(shape))


def where_equal(x: Any, y: Any, ddx: Any, windows: Sequence[Window]) -> Any:
    """ddx at the first element under the window that equals y, the maximum; else 0."""
    inside = padded(np.ones((1, *x.shape[1:-1], 1), bool), windows)
    x, ddx = padded(x, windows), padded(ddx, windows)
    out, found = np.zeros(y.shape, ddx.dtype), np.zeros(y.shape, bool)
    for _, index in taps(windows):
        here = inside[index] & (x[index] == y) & ~found
        out, found = np.where(here, ddx[index], out), found | here
    return out


def gather_places(x: Any, found: Any) -> Any:
    """The elements of x at flat spatial indices."""
    batch, *space, channels = x.shape
    flat = x.reshape(batch, int(np.prod(space)), channels)
    places = found.reshape(batch, int(np.prod(found.shape[1:-1])), channels)
    return np.take_along_axis(flat, places, 1).reshape(found.shape)


def counts(sizes: Sequence[int], windows: Sequence[Window]) -> Any:
    """How many elements of the input, not of its padding, each place sees: (1, places..., 1)."""
    total = np.ones((1,) * (len(windows) + 2), np.int64)
    for axis, (n, w) in enumerate(zip(sizes, windows)):
        start = np.arange(w.count) * w.stride - w.before
        seen = np.minimum(start + w.size, n) - np.maximum(start, 0)
        total = total * seen.reshape([-1 if i == axis + 1 else 1 for i in range(total.ndim)])
    return total


def avg_pool(x: Any, windows: Sequence[Window]) -> Any:
    """The mean of the elements under the window."""
    sizes, x = x.shape[1:-1], padded(widen(x), windows)
    total = np.zeros((len(x), *(w.count for w in windows), x.shape[-1]), x.dtype)
    for _, index in taps(windows):
        total += x[index]
    return total / counts(sizes, windows).astype(x.dtype)


def avg_pool_grad(sizes: Sequence[int], dy: Any, windows: Sequence[Window]) -> Any:
    """dy, shared out equally among the elements under the window."""
    batch, *space, channels = sizes
    dy = widen(dy)
    share = dy / counts(space, windows).astype(dy.dtype)
    dx = padded_zeros(batch, channels, space, windows, share.dtype)
    for _, index in taps(windows):
        dx[index] += share
    return unpadded(dx, windows)
