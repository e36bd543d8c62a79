"""Native forms of what other folders do in NumPy: checksums, random words, logarithms.  Loaded and
compiled when first used, so that a program without them pays nothing."""

from __future__ import annotations

from typing import Any

from headrace.core.dtypes import NDArray
from headrace.formats.records import crc32c
from headrace.ops.random import philox, sampling


def install() -> None:
    """From here on, checksums, and long runs of words, logarithms and normal numbers within limits,
    are made natively."""
    if philox.native_words is None:
        crc32c.accelerate(_extend)
        philox.native_words = _words
        sampling.native_log32 = _log32
        sampling.native_truncated32 = _truncated32


def _extend(crc: int, octets: Any) -> int:
    from headrace.codegen.accelerate import checksum

    checksum.install()
    return crc32c.extend(crc, octets)


def _words(key: int, counter: int, count: int) -> NDArray:
    from headrace.codegen.accelerate import random
    from headrace.codegen.machine import target

    philox.native_words = random.words if target.is_available() else None
    return philox.Philox.at(counter, key).blocks(-(-count // 4)).reshape(-1)[:count]


def _log32(x: NDArray) -> NDArray:
    from headrace.codegen.accelerate import random
    from headrace.codegen.machine import target

    sampling.native_log32 = random.log32 if target.is_available() else None
    return sampling.log32(x)


def _truncated32(generator: philox.Philox, groups: int) -> NDArray:
    from headrace.codegen.accelerate import random_truncated
    from headrace.codegen.machine import target

    native = random_truncated.truncated32 if target.is_available() else None
    sampling.native_truncated32 = native
    return sampling.truncated32(generator, groups)
