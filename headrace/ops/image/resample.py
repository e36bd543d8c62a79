"""Resampling along one axis: every output is a weighted sum of a few inputs.

`Taps` says which and how much; the resizes differ in nothing else.  TF computes positions in
float32, and so do we: rounding decides which pixel is nearest.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from headrace.core.records import record

F = np.float32


@record
class Taps:
    """Output i is the sum over k of weight[i, k] * input[index[i, k]]; an index of -1 is no input.  A
    weight of 0 counts: times a NaN it is NaN, as in TF."""

    index: Any
    weight: Any

    @staticmethod
    def of_places(index: Any) -> Taps:
        """Each output is one input."""
        return Taps(index[:, None], np.ones((len(index), 1), F))

    def back(self, size: int) -> Taps:
        """The gradient: each of `size` inputs is a weighted sum of the outputs that it is in."""
        size = int(size)
        count = self.index.shape[1]
        order = np.argsort(self.index, axis=None, kind="stable")
        places = self.index.reshape(-1)[order]
        number = np.arange(len(places)) - np.searchsorted(places, places)
        index = np.full((size, int(number.max(initial=0)) + 1), -1, np.int64)
        weight = np.zeros(index.shape, F)
        index[places, number] = order // count
        weight[places, number] = np.asarray(self.weight, F).reshape(-1)[order]
        return Taps(index, weight)


def apply(x: Any, rows: Taps, columns: Taps) -> Any:
    """Images (batch, height, width, channels) resampled along height and width, as float32."""
    x = np.asarray(x, F)
    for axis, taps in ((1, rows), (2, columns)):
        shape = [-1 if i == axis else 1 for i in range(4)]
        total: Any = 0
        for k in range(taps.index.shape[1]):
            index, weight = taps.index[:, k], taps.weight[:, k].reshape(shape)
            share = np.take(x, np.maximum(index, 0), axis) * weight
            total = total + np.where(index.reshape(shape) >= 0, share, F(0))
        x = total
    return x


def apply_back(dy: Any, rows: Taps, columns: Taps, height: int, width: int, dtype: Any) -> Any:
    """The gradient of `apply` with respect to images of this height and width, added up in `dtype`."""
    dx = np.zeros((len(dy), height, width, dy.shape[3]), dtype)
    for k in range(rows.index.shape[1]):
        down = dy * rows.weight[:, k].reshape(-1, 1, 1)
        for j in range(columns.index.shape[1]):
            share = down * columns.weight[:, j].reshape(-1, 1)
            at: Any = (slice(None), rows.index[:, k, None], columns.index[:, j])
            np.add.at(dx, at, share)
    return dx


UNROLLED = 12  # terms that are written out


def lowered(e: Any, x: Any, rows: Taps, columns: Taps) -> Any:
    """`apply` as a compiled rule.  A gradient is the same with the taps' `back`."""
    for axis, taps in ((1, rows), (2, columns)):
        x = _lowered_along(e, x, axis, taps)
    return x


def _lowered_along(e: Any, x: Any, axis: int, taps: Taps) -> Any:
    index, weight = e.known(taps.index), e.known(np.asarray(taps.weight, F))
    outputs, count = taps.index.shape
    last = x.shape[axis] - 1
    some_are_missing = bool((taps.index < 0).any())

    def element(*i: Any) -> Any:
        def term(k: Any) -> Any:
            place = index[(i[axis], k)]
            at = e.max(e.min(place, last), 0)
            share = e.cast(x[(*i[:axis], at, *i[axis + 1 :])], F) * weight[(i[axis], k)]
            return e.select(place >= 0, share, 0) if some_are_missing else share

        if count > UNROLLED:
            return e.reduce("sum", count, term)
        return sum((term(k) for k in range(1, count)), term(0))

    return e.compute([outputs if a == axis else n for a, n in enumerate(x.shape)], element)


# -- positions ----------------------------------------------------------------------------------
def scale_of(inputs: int, outputs: int, align_corners: bool) -> Any:
    """How far apart the outputs are, in pixels of the input."""
    if align_corners and outputs > 1:
        return F(F(inputs - 1) / F(outputs - 1))
    return F(F(inputs) / F(outputs))


def positions(outputs: int, scale: Any, half_pixel_centers: bool) -> Any:
    """Where the outputs are in the input."""
    at = np.arange(outputs, dtype=F)
    return (at + F(0.5)) * scale - F(0.5) if half_pixel_centers else at * scale


def nearest(inputs: int, outputs: int, align_corners: bool, half_pixel_centers: bool) -> Any:
    """The index of the nearest input."""
    inputs, outputs = int(inputs), int(outputs)
    scale = scale_of(inputs, outputs, align_corners)
    at = np.arange(outputs, dtype=F)
    at = (at + F(0.5)) * scale if half_pixel_centers else at * scale
    at = np.floor(at + F(0.5)) if align_corners else np.floor(at)  # halves go up
    return np.clip(at.astype(np.int64), 0, inputs - 1)


def linear(inputs: int, outputs: int, align_corners: bool, half_pixel_centers: bool) -> Taps:
    """Between the two neighbours."""
    inputs, outputs = int(inputs), int(outputs)
    at = positions(outputs, scale_of(inputs, outputs, align_corners), half_pixel_centers)
    low = np.floor(at)
    index = np.stack([np.maximum(low, 0), np.minimum(np.ceil(at), inputs - 1)], 1)
    share = at - low
    return Taps(index.astype(np.int64), np.stack([1 - share, share], 1))


_STEPS = 1 << 10  # TF reads cubic weights from a table of this many steps


def _cubic_table(a: float) -> tuple[Any, Any]:
    x = (np.arange(_STEPS + 1) / _STEPS).astype(F).astype(np.float64)  # rounded once more, at the end
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    x = x + 1
    return near.astype(F), (((a * x - 5 * a) * x + 8 * a) * x - 4 * a).astype(F)


def cubic(inputs: int, outputs: int, align_corners: bool, half_pixel_centers: bool) -> Taps:
    """Four neighbours, cubic weights.  With half pixel centers the weights are Keys', and what
    would be outside does not count; else outside is the edge."""
    inputs, outputs = int(inputs), int(outputs)
    near, far = _cubic_table(-0.5 if half_pixel_centers else -0.75)
    at = positions(outputs, scale_of(inputs, outputs, align_corners), half_pixel_centers)
    low = np.floor(at)
    step = np.rint((at - low) * F(_STEPS)).astype(np.int64)
    weight = np.stack([far[step], near[step], near[_STEPS - step], far[_STEPS - step]], 1)
    wanted = low.astype(np.int64)[:, None] + np.arange(-1, 3)
    index = np.clip(wanted, 0, inputs - 1)
    if half_pixel_centers:
        weight = np.where(index == wanted, weight, F(0))
        weight = weight / weight.sum(axis=1, keepdims=True)
    return Taps(index, weight)


def area(inputs: int, outputs: int, align_corners: bool) -> Taps:
    """The mean of what an output pixel covers; of a single input that is always the input, although
    with aligned corners nothing of it would be covered."""
    inputs, outputs = int(inputs), int(outputs)
    if inputs == 1:
        return Taps(np.zeros((outputs, 1), np.int64), np.ones((outputs, 1), F))
    scale = scale_of(inputs, outputs, align_corners)
    start = np.arange(outputs, dtype=F) * scale
    end = np.arange(1, outputs + 1, dtype=F) * scale
    first, last = np.floor(start).astype(np.int64), np.ceil(end).astype(np.int64)
    cell = first[:, None] + np.arange(int((last - first).max()))
    low, high = np.maximum(cell, start[:, None]), np.minimum(cell + 1, end[:, None])
    covered = cell < last[:, None]
    weight = np.where(covered, high - low, 0) / scale
    return Taps(np.where(covered, np.clip(cell, 0, inputs - 1), -1), weight.astype(F))


# -- windows of any width -----------------------------------------------------------------------
def _lanczos(radius: int) -> Callable[[Any], Any]:
    def weight(x: Any) -> Any:
        t = np.pi * np.maximum(x, 1e-3)
        inside = radius * np.sin(t) * np.sin(t / radius) / (t * t)
        return np.where(x > radius, 0, np.where(x <= 1e-3, 1, inside))

    return weight


def _gaussian(x: Any) -> Any:
    return np.where(x >= 1.5, 0, np.exp(-2 * x * x))


def _box(x: Any) -> Any:
    return np.where(x < 0.5, 1, np.where(x == 0.5, 0.5, 0))


def _triangle(x: Any) -> Any:
    return np.maximum(1 - x, 0)


def _keys(x: Any) -> Any:
    outer = ((-0.5 * x + 2.5) * x - 4) * x + 2
    return np.where(x >= 2, 0, np.where(x >= 1, outer, (1.5 * x - 2.5) * x * x + 1))


def _mitchell(x: Any) -> Any:
    outer = ((-7 / 18 * x + 2) * x - 10 / 3) * x + 16 / 9
    return np.where(x >= 2, 0, np.where(x >= 1, outer, (7 / 6 * x - 2) * x * x + 8 / 9))


KERNELS: dict[str, tuple[float, Callable[[Any], Any]]] = {  # radius, weight at a distance
    "lanczos1": (1, _lanczos(1)),
    "lanczos3": (3, _lanczos(3)),
    "lanczos5": (5, _lanczos(5)),
    "gaussian": (1.5, _gaussian),
    "box": (1, _box),
    "triangle": (1, _triangle),
    "keyscubic": (2, _keys),
    "mitchellcubic": (2, _mitchell),
}


def spans(inputs: int, outputs: int, scale: Any, translation: Any, kernel: str, antialias: bool) -> Taps:
    """Everything within the kernel's radius.  Shrinking with `antialias` widens the kernel; an
    output that lies outside of the input is 0."""
    inputs, outputs = int(inputs), int(outputs)
    radius, weigh = KERNELS[kernel]
    inverse = F(1.0 / scale)
    shift = F(-inverse * F(translation))
    wide = F(max(inverse, F(1))) if antialias else F(1)
    at = (np.arange(outputs, dtype=F) + F(0.5)) * inverse + shift
    reach = F(radius) * wide
    first = np.clip(np.ceil(at - reach - F(0.5)), 0, inputs - 1).astype(np.int64)
    last = np.clip(np.floor(at + reach - F(0.5)), 0, inputs - 1).astype(np.int64)
    cell = first[:, None] + np.arange(int((last - first).max()) + 1)
    distance = np.abs((cell.astype(F) + F(0.5) - at[:, None]) / wide)
    weight = np.where(cell <= last[:, None], weigh(distance), 0).astype(F)
    total = weight.sum(axis=1, keepdims=True)
    seen = (at >= 0) & (at <= inputs)
    kept = seen[:, None] & (np.abs(total) >= 1000 * np.finfo(F).tiny)
    with np.errstate(divide="ignore", invalid="ignore"):
        weight = np.where(kept, weight / total, F(0))
    return Taps(np.minimum(cell, inputs - 1), weight)
