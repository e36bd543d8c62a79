"""Native forms of what other folders do in NumPy: checksums, random words, logarithms.  Loaded and
compiled when first used, so that a program without them pays nothing."""

from __future__ import annotations

from headrace.codegen.machine import target
from headrace.core import hooks
from headrace.core.dtypes import NDArray
from headrace.core.modules import late
from headrace.formats.records import crc32c
from headrace.ops.random import philox, sampling

checksum = late("headrace.codegen.accelerate.checksum")
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


def _extend(crc: int, octets: NDArray) -> int:
    checksum.install()
    return crc32c.extend(crc, octets)


def _words(key: int, counter: int, count: int) -> NDArray:
    hooks.native_words.value = random.words if target.is_available() else None
    return philox.Philox.at(counter, key).blocks(-(-count // 4)).reshape(-1)[:count]


def _log32(x: NDArray) -> NDArray:
    hooks.native_log32.value = random.log32 if target.is_available() else None
    return sampling.log32(x)


def _truncated32(generator: philox.Philox, groups: int) -> NDArray:
    native = random_truncated.truncated32 if target.is_available() else None
    hooks.native_truncated32.value = native
    return sampling.truncated32(generator, groups)
