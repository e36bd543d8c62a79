"""Short-time Fourier transforms: the spectrum of every frame of a signal, and the way back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.core.shapes import make_shape
from headrace.functions.signal.fourier import irfft, rfft
from headrace.functions.signal.framing import frame, hann_window, known, overlap_and_add, scalar
from headrace.functions.values.structure import name_scope
from headrace.graph.tensor import Tensor
from headrace.ops.array.constant import constant, pack
from headrace.ops.declaration import array
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.math import arithmetic, cast, exponential, reduce, rounding

Window = Callable[..., Tensor]


def stft(
    signals: Any,
    frame_length: int | Tensor,
    frame_step: int | Tensor,
    fft_length: int | Tensor | None = None,
    window_fn: Window | None = hann_window,
    pad_end: bool = False,
    name: str | None = None,
) -> Tensor:
    """The spectra of the frames of real signals.

    Args:
      signals: float32 [..., samples].
      frame_length: samples per frame.
      frame_step: samples from the start of a frame to the start of the next.
      fft_length: samples per transform; the power of two that holds a frame if not given.
      window_fn: gives the window of a length and a `dtype`; None for no window.
      pad_end: also take the frames that go beyond the end, filled with zeros.
      name: name of the scope.

    Returns:
      complex64 [..., frames, fft_length // 2 + 1].
    """
    with name_scope(name, "stft", [signals, frame_length, frame_step]):
        signals = convert_to_tensor(signals, name="signals")
        signals.shape.with_rank_at_least(1)
        length = scalar(frame_length, "frame_length")
        step = scalar(frame_step, "frame_step")
        size = _transform_length(length, fft_length)
        frames = frame(signals, length, step, pad_end=pad_end)
        if window_fn is not None:
            frames = frames * window_fn(length, dtype=frames.dtype)
        return rfft(frames, pack([size]))


def _transform_length(frame_length: Tensor, fft_length: Any) -> Tensor:
    if fft_length is not None:
        return scalar(fft_length, "fft_length")
    length = known(frame_length)
    if length is not None:
        return constant(int(2 ** np.ceil(np.log2(length))), frame_length.dtype)
    exponent = exponential.log(cast.cast(frame_length, dtypes.float64)) / np.log(2.0)
    power = exponential.pow_(constant(2.0, dtypes.float64), rounding.ceil(exponent))
    return cast.cast(power, frame_length.dtype)


def inverse_stft_window_fn(
    frame_step: Any, forward_window_fn: Window = hann_window, name: str | None = None
) -> Window:
    """The window function with which inverse_stft undoes stft.

    Args:
      frame_step: samples from the start of a frame to the start of the next.
      forward_window_fn: the window function of stft.
      name: name of the scope.

    Returns:
      A function of a window length and a `dtype`.
    """
    with name_scope(name, "inverse_stft_window_fn", [forward_window_fn]):
        step = scalar(frame_step, "frame_step")

    def window_fn(frame_length: Any, dtype: Any) -> Tensor:
        # Griffin and Lim, equation 7: divided by the sum of the squares of all that overlap.
        with name_scope(name, "inverse_stft_window_fn", [forward_window_fn]):
            length = scalar(frame_length, "frame_length")
            forward = forward_window_fn(length, dtype=dtype)
            overlaps = -(-length // step)
            missing = overlaps * step - length
            squares = array.pad(arithmetic.square(forward), pack([pack([0, missing])]))
            total = reduce.sum_(array.reshape(squares, pack([overlaps, step])), 0, True)
            repeated = array.reshape(array.tile(total, pack([overlaps, 1])), [-1])
            return forward / repeated[:length]

    return window_fn


def inverse_stft(
    stfts: Any,
    frame_length: int | Tensor,
    frame_step: int | Tensor,
    fft_length: int | Tensor | None = None,
    window_fn: Window | None = hann_window,
    name: str | None = None,
) -> Tensor:
    """The signals whose frames have these spectra, frames that overlap added up.

    Args:
      stfts: complex64 [..., frames, fft_length // 2 + 1].
      frame_length: samples per frame.
      frame_step: samples from the start of a frame to the start of the next.
      fft_length: samples per transform; the power of two that holds a frame if not given.
      window_fn: gives the window of a length and a `dtype`; inverse_stft_window_fn makes the one
        that undoes stft.
      name: name of the scope.

    Returns:
      float32 [..., samples].
    """
    with name_scope(name, "inverse_stft", [stfts]):
        stfts = convert_to_tensor(stfts, name="stfts")
        stfts.shape.with_rank_at_least(2)
        length = scalar(frame_length, "frame_length")
        step = scalar(frame_step, "frame_step")
        size = _transform_length(length, fft_length)
        frames = _resized(irfft(stfts, pack([size])), length)
        if window_fn is not None:
            frames = frames * window_fn(length, dtype=stfts.dtype.real_dtype)
        return overlap_and_add(frames, step)


def _resized(frames: Tensor, length: Tensor) -> Tensor:
    """Frames cut, or filled with zeros, to this length."""
    wanted, rank = known(length), frames.shape.rank
    given = None if rank is None else frames.shape.dim(-1)
    if wanted is not None and given is not None:
        if given >= wanted:
            return frames if given == wanted else frames[..., :wanted]
        return array.pad(frames, [[0, 0]] * (len(frames.shape) - 1) + [[0, wanted - given]])
    frames = frames[..., :length]
    sizes = array.shape(frames)
    missing = arithmetic.maximum(0, length - sizes[-1])
    lead = array.zeros_like(sizes[:-1])
    after = array.concat_v2([lead, pack([missing])], 0)
    frames = array.pad(frames, pack([array.zeros_like(after), after], axis=1))
    if wanted is not None and rank is not None:
        frames.set_shape(make_shape([None] * (rank - 1) + [wanted]))
    return frames
