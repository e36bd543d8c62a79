"""Sliding windows: the geometry that convolutions, poolings and patches share.

`Window` is one spatial dimension of one call: how many places the window takes, how far the input
is padded.  Arrays here have their channels last: (batch, space..., channels).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any, TypeAlias

import numpy as np

from headrace.core.errors import require
from headrace.core.records import record
from headrace.core.shapes import Dim, Shape, make_shape

Pads: TypeAlias = tuple[int, int]


@record
class Window:
    """One dimension: `size` elements `dilation` apart, moved by `stride` to `count` places."""

    size: int
    stride: int
    dilation: int
    before: int  # zeros in front of the input
    after: int  # and behind it
    count: int

    def taps(self, k: int) -> slice:
        """What element k of the window meets, in the padded input."""
        start = k * self.dilation
        return slice(start, start + self.count * self.stride, self.stride)


def extent(size: int, dilation: int) -> int:
    """How much of the input a dilated window spans."""
    return (size - 1) * dilation + 1


def places(input: Dim, size: Dim, stride: int, padding: str, dilation: int = 1, pads: Pads = (0, 0)) -> Dim:
    """How many places a window takes, for a shape rule: None where that is not known yet."""
    _check(stride, dilation)
    if padding == "SAME":
        return None if input is None else -(-input // stride)
    if input is None or size is None:
        return None
    span, room = extent(size, dilation), input + (sum(pads) if padding == "EXPLICIT" else 0)
    require(span <= room, f"Negative dimension size caused by subtracting {span} from {room}")
    return (room - span) // stride + 1


def window(
    input: int, size: int, stride: int, padding: str, dilation: int = 1, pads: Pads = (0, 0)
) -> Window:
    """The geometry of one dimension of a call."""
    _check(stride, dilation)
    span = extent(size, dilation)
    if padding == "SAME":
        count = -(-input // stride)
        missing = max(0, (count - 1) * stride + span - input)
        return Window(size, stride, dilation, missing // 2, missing - missing // 2, count)
    before, after = pads if padding == "EXPLICIT" else (0, 0)
    room = input + before + after - span + stride
    # Division cuts towards zero, so a window that is a little too large finds 0 places.
    count = room // stride if room >= 0 else -(-room // stride)
    require(
        count >= 0,
        f"Computed output size would be negative: {count} [input_size: {input}, "
        f"effective_filter_size: {span}, stride: {stride}]",
    )
    return Window(size, stride, dilation, before, after, count)


def _check(stride: int, dilation: int) -> None:
    require(stride > 0, f"Stride must be > 0, but got {stride}")
    require(dilation >= 1, f"Dilation rate must be >= 1, but got {dilation}")


# -- layouts ------------------------------------------------------------------------------------
def channel_axis(data_format: str) -> int:
    """Where the channels are: axis 1 of NCHW and NCDHW, the last of NHWC."""
    return 1 if data_format.startswith("NC") else -1


def spatial(values: Sequence[Any], data_format: str) -> tuple[Any, ...]:
    """The entries of a list of one value per dimension that belong to space."""
    values = tuple(values)
    return values[2:] if channel_axis(data_format) == 1 else values[1:-1]


def channels_last(x: Any, data_format: str) -> Any:
    return np.moveaxis(x, 1, -1) if channel_axis(data_format) == 1 else x


def from_channels_last(x: Any, data_format: str) -> Any:
    return np.moveaxis(x, -1, 1) if channel_axis(data_format) == 1 else x


def layout(batch: Dim, space: Sequence[Dim], channels: Dim, data_format: str) -> Shape:
    """A shape in this layout."""
    if channel_axis(data_format) == 1:
        return make_shape((batch, channels, *space))
    return make_shape((batch, *space, channels))


def order_of(rank: int, data_format: str) -> tuple[int, ...]:
    """The axes as (batch, channels, space...): a library's view of an array in this layout."""
    if channel_axis(data_format) == 1:
        return tuple(range(rank))
    return (0, rank - 1, *range(1, rank - 1))


def fits(
    shape: Sequence[Any], data_format: str, batch: Any, windows: Sequence[Window], channels: Any
) -> bool:
    """Whether this is the shape of what the windows make of a batch."""
    shape = tuple(shape)
    return (
        len(shape) == len(windows) + 2
        and shape[0] == batch
        and shape[channel_axis(data_format)] == channels
        and spatial(shape, data_format) == tuple(w.count for w in windows)
    )


# -- arrays -------------------------------------------------------------------------------------
def padded(x: Any, windows: Sequence[Window], fill: Any = 0) -> Any:
    """x with its spatial dimensions padded; negative padding cuts."""
    pads = [(w.before, w.after) for w in windows]
    if not any(map(any, pads)):
        return x
    return np.pad(x, [(0, 0), *pads, (0, 0)], constant_values=fill)


def unpadded(x: Any, windows: Sequence[Window]) -> Any:
    """The inverse of `padded`."""
    space = (slice(w.before, n - w.after) for w, n in zip(windows, x.shape[1:]))
    return x[(slice(None), *space)]


def patches(x: Any, windows: Sequence[Window]) -> Any:
    """A view of padded x: (batch, places..., channels, window...)."""
    axes = tuple(range(1, 1 + len(windows)))
    spans = tuple(extent(w.size, w.dilation) for w in windows)
    view = np.lib.stride_tricks.sliding_window_view(x, spans, axis=axes)
    starts = tuple(slice(0, w.count * w.stride, w.stride) for w in windows)
    steps = tuple(slice(None, None, w.dilation) for w in windows)
    return view[(slice(None), *starts, slice(None), *steps)]


def taps(windows: Sequence[Window]) -> Iterator[tuple[tuple[int, ...], tuple[slice, ...]]]:
    """Every element of the window, with the index of what it meets in the padded input."""
    for at in product(*(range(w.size) for w in windows)):
        yield at, (slice(None), *(w.taps(k) for w, k in zip(windows, at)))


def padded_zeros(
    batch: int, channels: int, sizes: Sequence[int], windows: Sequence[Window], dtype: Any
) -> Any:
    """Zeros in the shape of a padded input."""
    space = (n + w.before + w.after for n, w in zip(sizes, windows))
    return np.zeros((batch, *space, channels), dtype)
