"""Signals as frames: cut one into overlapping pieces, add the pieces up again, shape them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.core.families import named
from headrace.core.shapes import make_shape
from headrace.functions.values.structure import name_scope
from headrace.graph.tensor import Tensor
from headrace.ops.array.constant import constant, pack
from headrace.ops.array.indexing import gather, where
from headrace.ops.declaration import array
from headrace.ops.declaration.constants import constant as constant_value
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.math import arithmetic, cast, comparison, reduce, trigonometry
from headrace.ops.math.sequence import range_


def scalar(value: Any, name: str, dtype: Any = None) -> Tensor:
    """A tensor that must be a scalar."""
    tensor = convert_to_tensor(value, dtype=dtype, name=name)
    tensor.shape.assert_has_rank(0)
    return tensor


def known(tensor: Tensor) -> int | None:
    value = constant_value(tensor)
    return None if value is None else int(value)


# -- frames -------------------------------------------------------------------------------------
def frame(
    signal: Any,
    frame_length: int | Tensor,
    frame_step: int | Tensor,
    pad_end: bool = False,
    pad_value: Any = 0,
    axis: Any = -1,
    name: str | None = None,
) -> Tensor:
    """Cuts the `axis` of a signal into frames that may overlap.

    Args:
      signal: [..., samples, ...].
      frame_length: samples per frame.
      frame_step: samples from the start of a frame to the start of the next.
      pad_end: also give the frames that go beyond the end, filled with `pad_value`.
      pad_value: what they are filled with.
      axis: the axis of samples.
      name: name of the scope.

    Returns:
      [..., frames, frame_length, ...].

    Example:
      >>> tf.signal.frame([1, 2, 3, 4, 5], 3, 2)        # [[1, 2, 3], [3, 4, 5]]
    """
    with name_scope(name, "frame", [signal, frame_length, frame_step, pad_value]):
        signal = convert_to_tensor(signal, name="signal")
        signal.shape.with_rank_at_least(1)
        length = scalar(frame_length, "frame_length")
        step = scalar(frame_step, "frame_step")
        axis = scalar(axis, "axis")
        result_shape = _frame_shape(signal, known(length), known(step), pad_end, known(axis))
        rank = array.rank(signal)
        axis = arithmetic.floor_mod(axis, rank)
        samples = array.shape(signal)[axis]
        if pad_end:
            count = -(-samples // step)
            missing = arithmetic.maximum(0, length + step * (count - 1) - samples)
            at = cast.cast(comparison.equal(range_(0, rank, 1), axis), dtypes.int32)
            paddings = pack([array.zeros_like(at), at * missing], axis=1)
            fill = scalar(pad_value, "pad_value", signal.dtype)
            signal = array.pad_v2(signal, paddings, fill)
        else:
            count = arithmetic.maximum(0, 1 + (samples - length) // step)
        starts = array.expand_dims(range_(0, count, 1) * step, 1)
        places = starts + array.expand_dims(range_(0, length, 1), 0)
        frames = gather.gather_v2(signal, places, axis)
        if result_shape is not None:
            frames.set_shape(make_shape(result_shape))
        return frames


def _frame_shape(
    signal: Tensor, length: int | None, step: int | None, pad_end: bool, axis: int | None
) -> list[int | None] | None:
    if signal.shape.rank is None:
        return None
    if axis is None:
        return [None] * (signal.shape.rank + 1)
    sizes = signal.shape.as_list()
    samples, count = sizes[axis], None
    if samples is not None and step is not None:
        if pad_end:
            count = -(-samples // step)
        elif length is not None:
            count = max(0, (samples - length + step) // step)
    axis %= len(sizes)
    return [*sizes[:axis], count, length, *sizes[axis + 1 :]]


def overlap_and_add(signal: Any, frame_step: Any, name: str | None = None) -> Tensor:
    """Adds up frames, each `frame_step` samples behind the one before.

    Args:
      signal: [..., frames, frame_length].
      frame_step: samples from the start of a frame to the start of the next; at most the length.
      name: name of the scope.

    Returns:
      [..., (frames - 1) * frame_step + frame_length].

    Raises:
      ValueError: `frame_step` is not an integer, or `signal` has fewer than two dimensions.
    """
    with name_scope(name, "overlap_and_add", [signal, frame_step]):
        signal = convert_to_tensor(signal, name="signal")
        signal.shape.with_rank_at_least(2)
        step = scalar(frame_step, "frame_step")
        if not step.dtype.is_integer:
            raise ValueError(f"frame_step must be an integer. Got {step.dtype}")
        sizes = array.shape(signal)
        batch, frames, length = sizes[:-2], sizes[-2], sizes[-1]
        total = length + step * (frames - 1)
        if signal.shape.rank is not None and known(step) == signal.shape.dim(-1) is not None:
            return array.reshape(signal, _join(batch, total), name="fast_path")

        # A frame is `parts` pieces of one step; piece p of frame f belongs to place f + p.  Rows of
        # pieces p, each followed by `parts` zeros, are cut one entry short: reading them again as
        # rows of that length moves every row one place to the right.
        parts = -(-length // step)
        wide = frames + parts
        padded = _padded_end(signal, parts, parts * step - length)
        pieces = array.reshape(padded, _join(batch, wide, parts, step))
        rows = _swapped(pieces)
        row = array.reshape(rows, _join(batch, wide * parts, step))
        skewed = array.reshape(row[..., : (wide - 1) * parts, :], _join(batch, parts, wide - 1, step))
        added = array.reshape(reduce.sum_(skewed, -3), _join(batch, (wide - 1) * step))
        return added[..., :total]


def _join(batch: Tensor, *inner: Any) -> Tensor:
    return array.concat_v2([batch, pack(list(inner))], 0)


def _padded_end(x: Tensor, rows: Any, columns: Any) -> Tensor:
    """Zeros behind the two last dimensions."""
    lead = array.fill(pack([array.rank(x) - 2]), constant(0))
    after = array.concat_v2([lead, pack([rows, columns])], 0)
    return array.pad(x, pack([array.zeros_like(after), after], axis=1))


def _swapped(x: Tensor) -> Tensor:
    """Exchanges the third- and second-last dimensions."""
    axes = range_(0, array.rank(x), 1)
    return array.transpose(x, array.concat_v2([axes[:-3], axes[-2:-1], axes[-3:-2], axes[-1:]], 0))


# -- windows ------------------------------------------------------------------------------------
def _raised_cosine(called: str, formula: str, a: float, b: float) -> Callable[..., Tensor]:
    """The function of a window a - b cos(2 pi k / n)."""

    @named(
        called,
        f"""{formula}.

    Args:
      window_length: how many values.
      periodic: n is the next odd number instead of the length - 1: for spectral analysis.
      dtype: a float type.
      name: name of the scope.

    Returns:
      [window_length].

    Raises:
      ValueError: `dtype` is not a float type.
    """,
    )
    def window(
        window_length: Any, periodic: Any = True, dtype: Any = dtypes.float32, name: str | None = None
    ) -> Tensor:
        dtype = dtypes.as_dtype(dtype)
        if not dtype.is_floating:
            raise ValueError(f"dtype must be a floating point type. Found {dtype}")
        with name_scope(name, called, [window_length, periodic]):
            length = scalar(window_length, "window_length", dtypes.int32)
            if known(length) == 1:
                return constant(np.ones(1), dtype)
            periodic = cast.cast(scalar(periodic, "periodic", dtypes.bool_), dtypes.int32)
            even = 1 - arithmetic.floor_mod(length, 2)
            n = cast.cast(length + periodic * even - 1, dtype)
            count = cast.cast(range_(0, length, 1), dtype)
            angle = count * constant(2 * np.pi, dtype) / n
            window = constant(a, dtype) - constant(b, dtype) * trigonometry.cos(angle)
            if known(length) is not None:
                return window
            # One value alone is 1; the formula has 0 / 0 there.
            is_one = array.fill(array.shape(window), comparison.equal(length, 1))
            return where.select(is_one, array.ones_like(window), window)

    return window


hann_window = _raised_cosine("hann_window", "Hann's window, 0.5 - 0.5 cos(2 pi k / n)", 0.5, 0.5)
hamming_window = _raised_cosine("hamming_window", "Hamming's window, 0.54 - 0.46 cos(2 pi k / n)", 0.54, 0.46)
