"""Values as Summary messages: histograms, pictures, sounds.  Arrays in, messages out."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from headrace.core.errors import InvalidArgumentError, require
from headrace.formats import proto
from headrace.formats.images import png, wav

_LARGEST = np.finfo(np.float64).max


def legacy_scalar(array: Any) -> bool:
    """A scalar, or a vector of one element: old graphs have these for scalars."""
    return array.ndim == 0 or (array.ndim == 1 and array.size == 1)


# -- histograms -----------------------------------------------------------------------------------
@cache
def bucket_limits() -> Any:
    """Upper limits of the buckets: a tenth apart, from 1e-12 to 1e20 on both sides of 0."""
    limits = []
    limit = 1.0e-12
    while limit < 1.0e20:
        limits.append(limit)
        limit *= 1.1
    limits.append(_LARGEST)
    return np.array([-x for x in reversed(limits)] + [0.0] + limits)


class Histogram:
    """Numbers that are gathered bit by bit."""

    def __init__(self) -> None:
        self._counts = np.zeros(len(bucket_limits()), np.int64)
        self._min, self._max, self._num, self._sum, self._squares = _LARGEST, -_LARGEST, 0, 0.0, 0.0

    def add(self, values: Any) -> None:
        flat = np.asarray(values).reshape(-1).astype(np.float64)
        places = np.searchsorted(bucket_limits(), flat, side="right")
        self._counts += np.bincount(places, minlength=len(self._counts))
        self._min = flat.min(initial=self._min)
        self._max = flat.max(initial=self._max)
        self._num += flat.size
        self._sum += _total(flat)
        self._squares += _total(flat * flat)

    def message(self) -> Any:
        """The HistogramProto of all so far."""
        found = proto.HistogramProto(
            min=self._min, max=self._max, num=self._num, sum=self._sum, sum_squares=self._squares
        )
        # A run of empty buckets becomes one, with the last limit.
        empty = self._counts == 0
        kept = ~(empty & np.append(empty[1:], False))
        found.bucket_limit.extend(bucket_limits()[kept].tolist())
        found.bucket.extend(self._counts[kept].astype(np.float64).tolist())
        return found


def histogram(values: Any, name: str) -> Any:
    """The HistogramProto of all values; `name` is the node's, for messages."""
    flat = np.asarray(values)
    if np.isnan(flat).any():
        raise InvalidArgumentError(None, None, f"Nan in summary histogram for: {name}")
    if np.isinf(flat).any():
        raise InvalidArgumentError(None, None, f"Infinity in summary histogram for: {name}")
    found = Histogram()
    found.add(flat)
    return found.message()


def _total(flat: Any) -> float:
    """The sum in order, as a loop would have it."""
    return float(np.cumsum(flat)[-1]) if flat.size else 0.0


# -- pictures -------------------------------------------------------------------------------------
def images(tag: bytes, tensor: Any, max_images: int, bad_color: Any) -> Any:
    """The Summary of the first pictures of [batch, height, width, channels]."""
    require(
        tensor.ndim == 4 and tensor.shape[3] in (1, 3, 4),
        f"Tensor must be 4-D with last dim 1, 3, or 4, not {shown(tensor.shape)}",
    )
    batch, height, width, depth = tensor.shape
    require(
        max(batch, height, width) < 2**31 and height * width < 2**29,
        f"Tensor too large for summary {shown(tensor.shape)}",
    )
    require(
        height * width > 0,
        f"input tensor must have non-zero dims. Found: [{batch}, {height}, {width}, {depth}].",
    )
    if tensor.dtype != np.uint8:
        require(
            bad_color.size >= depth,
            f"expected depth <= bad_color.size, got depth = {depth}, bad_color.size = {bad_color.size}",
        )
    summary = proto.Summary()
    for i in range(min(max_images, batch)):
        value = summary.value.add(tag=_numbered(tag, "image", i, max_images))
        pixels = tensor[i] if tensor.dtype == np.uint8 else to_pixels(tensor[i], bad_color[:depth])
        value.image.height, value.image.width, value.image.colorspace = height, width, depth
        value.image.encoded_image_string = png.encode(pixels)
    return summary


def to_pixels(image: Any, bad_color: Any) -> Any:
    """Numbers of any range as bytes: 0 stays 0, or becomes 128 where some are negative; pixels with a
    part that is not finite get `bad_color`."""
    finite = np.isfinite(image).all(axis=-1)
    seen = image[finite].astype(np.float32)
    least, most = seen.min(initial=np.inf), seen.max(initial=-np.inf)
    if least < 0:
        reach, full, offset = max(abs(least), abs(most)), 127.0, 128.0
    else:
        reach, full, offset = most, 255.0, 0.0
    scale = 0.0 if reach < 1e-6 else np.float32(full) / reach
    kind = image.dtype.type
    scaled = np.where(finite[..., None], image, kind(0)) * kind(scale) + kind(offset)
    return np.where(finite[..., None], scaled.astype(np.uint8), bad_color).astype(np.uint8)


# -- sounds ---------------------------------------------------------------------------------------
def audio(tag: bytes, tensor: Any, sample_rate: float, max_outputs: int) -> Any:
    """The Summary of the first sounds of [batch, time] or [batch, time, channels]."""
    require(tensor.ndim in (2, 3), f"Tensor must be 3-D or 2-D, got: {shown(tensor.shape)}")
    require(sample_rate > 0, "sample_rate must be > 0")
    sounds = tensor if tensor.ndim == 3 else tensor[..., None]
    summary = proto.Summary()
    for i in range(min(max_outputs, len(sounds))):
        value = summary.value.add(tag=_numbered(tag, "audio", i, max_outputs))
        frames, channels = sounds[i].shape
        found = value.audio
        found.sample_rate, found.content_type = sample_rate, "audio/wav"
        found.num_channels, found.length_frames = channels, frames
        found.encoded_audio_string = wav.write(sounds[i], max(1, round(float(sample_rate))))
    return summary


def _numbered(tag: bytes, kind: str, i: int, count: int) -> str:
    name = tag.decode("utf-8", "replace")
    return f"{name}/{kind}/{i}" if count > 1 else f"{name}/{kind}"


def shown(shape: Any) -> str:
    return "[" + ",".join(map(str, shape)) + "]"
