"""Bits -> samples, as TF's distributions make them: uniform, integer, normal, truncated normal.

A sample depends on the bits alone, so results equal TF's wherever the C library's `logf` and
`sincosf` do: both use the system's.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import math
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np

from headrace.core import dtypes, hooks
from headrace.core.dtypes import DType
from headrace.ops.random.philox import Philox

Array = np.ndarray[Any, Any]
RESERVED = 256  # blocks that TF sets aside for one output of a random op


# -- uniform ----------------------------------------------------------------------------------
def floats32(bits: Array) -> Array:
    """[0, 1) with 23 bits: the mantissa of a number in [1, 2)."""
    ones = bits & np.uint32(0x7FFFFF)
    ones |= np.uint32(0x3F800000)
    out = ones.view(np.float32)
    out -= np.float32(1)
    return out


def floats64(bits: Array) -> Array:
    """[0, 1) with 52 bits, from pairs of words [..., 2]: the first one is the upper part."""
    high = (bits[..., 0].astype(np.uint64) & np.uint64(0xFFFFF)) << np.uint64(32)
    mantissa = high | bits[..., 1].astype(np.uint64)
    return (mantissa | np.uint64(0x3FF << 52)).view(np.float64) - 1.0


def _floats16(bits: Array) -> Array:
    mantissa = bits.astype(np.uint16) & np.uint16(0x3FF)
    return (mantissa | np.uint16(0x3C00)).view(np.float16) - np.float16(1)


def _brain_floats(bits: Array) -> Array:
    mantissa = bits.astype(np.uint16) & np.uint16(0x7F)
    return (mantissa | np.uint16(0x3F80)).view(ml_dtypes.bfloat16) - ml_dtypes.bfloat16(1)


def narrow_floats(bits: Array, dtype: DType) -> Array:
    """[0, 1) in a type of at most 32 bits, from one word each."""
    if dtype is dtypes.float32:
        return floats32(bits)
    return _floats16(bits) if dtype is dtypes.float16 else _brain_floats(bits)


def uniform(generator: Philox, count: int, dtype: DType) -> Array:
    """`count` numbers in [0, 1)."""
    if dtype is dtypes.float64:
        return floats64(generator.words(2 * count).reshape(-1, 2))
    return narrow_floats(generator.words(count), dtype)


def integers(generator: Philox, count: int, dtype: DType) -> Array:
    """`count` integers over the whole range of a type of 32 or 64 bits."""
    if dtype.size == 4:
        return generator.words(count).view(dtype.numpy)
    pairs = generator.words(2 * count).reshape(-1, 2).astype(np.uint64)
    return (pairs[:, 0] | (pairs[:, 1] << np.uint64(32))).view(dtype.numpy)


def integers_between(generator: Philox, count: int, low: int, high: int, dtype: DType) -> Array:
    """`count` integers in [low, high), by remainder as in TF (large ranges are a little uneven)."""
    unsigned = dtypes.uint32 if dtype.size == 4 else dtypes.uint64
    bits = integers(generator, count, unsigned)
    bits %= unsigned.numpy.type(high - low)
    bits += unsigned.numpy.type(low & ((1 << (8 * dtype.size)) - 1))
    return bits.view(dtype.numpy)


# -- normal -----------------------------------------------------------------------------------
def log32(x: Array) -> Array:
    """The C library's `logf`; NumPy's own may differ in the last bit."""
    native_log32 = hooks.native_log32.value
    if native_log32 is not None:
        return native_log32(x)
    return np.asarray(_logf()(x), np.float32)


@cache
def _logf() -> Any:
    library = ctypes.CDLL(ctypes.util.find_library("m") or None)
    library.logf.restype, library.logf.argtypes = ctypes.c_float, [ctypes.c_float]
    return np.frompyfunc(library.logf, 1, 1)


def log64(x: Array) -> Array:
    """The C library's logarithm; NumPy's own may differ in the last bit."""
    return np.asarray(_LOG64(x), np.float64)


def power64(x: Array, y: Array) -> Array:
    """The C library's power, as `log64`."""
    return np.asarray(_POWER64(x, y), np.float64)


_LOG64 = np.frompyfunc(math.log, 1, 1)
_POWER64 = np.frompyfunc(math.pow, 2, 1)


def normal_pairs32(bits: Array) -> Array:
    """Box-Muller: pairs of words [..., 2] to pairs of float32 normals."""
    radius = floats32(bits[..., 0])
    radius = np.sqrt(np.float32(-2) * log32(np.maximum(radius, np.float32(1e-7))))
    angle = (floats32(bits[..., 1]).astype(np.float64) * (2.0 * math.pi)).astype(np.float32)
    return _scaled(radius, np.exp(1j * angle.astype(np.complex64)))


def normal_pairs64(bits: Array) -> Array:
    """Box-Muller: four words [..., 4] to pairs of float64 normals."""
    radius = np.maximum(floats64(bits[..., :2]), 1e-7)
    radius = np.sqrt(-2.0 * log64(radius))
    return _scaled(radius, np.exp(1j * (2.0 * math.pi * floats64(bits[..., 2:]))))


def _scaled(radius: Array, turn: Array) -> Array:
    """The complex exponential is `sincos` to the C library, for NumPy too."""
    return np.stack((turn.imag * radius, turn.real * radius), axis=-1)


def normal(generator: Philox, count: int, dtype: DType) -> Array:
    """`count` normal numbers."""
    if dtype is dtypes.float64:
        return normal_pairs64(generator.blocks(-(-count // 2))).ravel()[:count]
    pairs = normal_pairs32(generator.blocks(-(-count // 4)).reshape(-1, 2, 2))
    return pairs.ravel()[:count].astype(dtype.numpy)


def truncated_normal(generator: Philox, count: int, dtype: DType) -> Array:
    """`count` normal numbers of magnitude below 2; others are drawn again.

    Outputs come in groups with a region of the stream each; a group takes blocks of its region
    until it is full, so that the first ones that pass are its outputs.
    """
    if dtype is dtypes.float64:
        return _truncated(generator, -(-count // 2), 2).ravel()[:count]
    made = truncated32(generator, -(-count // 4))
    return made.ravel()[:count].astype(dtype.numpy, copy=False)


_LONG = 1 << 8  # groups from which a native call is worth it


def truncated32(generator: Philox, groups: int) -> Array:
    """float32 [groups, 4]."""
    native_truncated32 = hooks.native_truncated32.value
    if native_truncated32 is not None and groups >= _LONG:
        return native_truncated32(generator, groups)
    return _truncated(generator, groups, 4)


def _truncated(generator: Philox, groups: int, group: int) -> Array:
    stride = group * RESERVED // 4
    kept = np.zeros((groups, 4 * group), np.float64 if group == 2 else np.float32)
    filled = np.zeros(groups, np.int64)
    open_groups = np.arange(groups)
    step = 0
    while open_groups.size:
        blocks = generator.blocks_at(open_groups * stride + step)
        made = normal_pairs64(blocks) if group == 2 else normal_pairs32(blocks.reshape(-1, 2, 2))
        made = made.reshape(open_groups.size, group)
        for column in made.T:
            passes = np.abs(column) < 2
            rows = open_groups[passes]
            kept[rows, np.minimum(filled[rows], 4 * group - 1)] = column[passes]
            filled[rows] += 1
        open_groups = open_groups[filled[open_groups] < group]
        step += 1
    return kept[:, :group]
