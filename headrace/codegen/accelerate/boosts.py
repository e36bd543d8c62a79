"""Native forms of what other folders do in NumPy: checksums, random words, logarithms, filters
and colours of images.  Loaded and compiled when first used, so that a program without them pays nothing."""

from __future__ import annotations

from typing import Any

from headrace.codegen.machine import target
from headrace.core import hooks
from headrace.core.dtypes import DType, NDArray
from headrace.core.modules import late
from headrace.formats.records import crc32c
from headrace.ops.random import philox, sampling

jpeg_colors = late("headrace.codegen.accelerate.jpeg_colors")
key_rows = late("headrace.codegen.accelerate.key_rows")
checksum = late("headrace.codegen.accelerate.checksum")
png_filters = late("headrace.codegen.accelerate.png_filters")
random = late("headrace.codegen.accelerate.random")
random_truncated = late("headrace.codegen.accelerate.random_truncated")


def install() -> None:
    """From here on, checksums, and long runs of words, logarithms and normal numbers within limits,
    are made natively."""
    if hooks.native_words.value is None:
        hooks.native_checksum.value = _extend
        hooks.native_words.value = _words
        hooks.native_log32.value = _log32
        hooks.native_truncated32.value = _truncated32
        hooks.native_key_rows.value = _key_rows
        hooks.native_unfilter.value = _unfiltered
        hooks.native_jpeg_colors.value = _jpeg_colors


def _extend(crc: int, octets: NDArray) -> int:
    checksum.install()
    return crc32c.extend(crc, octets)


def _words(key: int, counter: int, count: int) -> NDArray:
    hooks.native_words.value = random.words if target.is_available() else None
    return philox.Philox.at(counter, key).blocks(-(-count // 4)).reshape(-1)[:count]


def _log32(x: NDArray) -> NDArray:
    hooks.native_log32.value = random.log32 if target.is_available() else None
    return sampling.log32(x)


def _key_rows(dtype: DType) -> Any:
    hooks.native_key_rows.value = key_rows.make
    return key_rows.make(dtype)


def _unfiltered(lines: NDArray, step: int) -> Any:
    native = hooks.native_unfilter.value = png_filters.native()
    return None if native is None else native(lines, step)


def _jpeg_colors(image: NDArray, down: int) -> Any:
    native = hooks.native_jpeg_colors.value = jpeg_colors.native()
    return None if native is None else native(image, down)


def _truncated32(generator: philox.Philox, groups: int) -> NDArray:
    native = random_truncated.truncated32 if target.is_available() else None
    hooks.native_truncated32.value = native
    return sampling.truncated32(generator, groups)
