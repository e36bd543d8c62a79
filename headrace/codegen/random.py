"""Philox in native code: a faster way for ops.philox to fill an array, with the same numbers.

Two programs of fixed sizes do it, in rounds, so that no count costs a compilation of its own.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import numpy as np

from headrace.codegen.assemble import assemble
from headrace.codegen.cache import kernel_address
from headrace.codegen.kernel_ir import Expr, Tensor
from headrace.codegen.lower import Emitter
from headrace.codegen.program import Program
from headrace.core.dtypes import uint32, uint64
from headrace.ops import philox, sampling

Array = np.ndarray[Any, Any]
_SIZES = (1 << 14, 1 << 10)  # blocks per round
_MASK = 0xFFFFFFFF


def install() -> None:
    """From here on, long runs of words and logarithms of floats are made natively."""
    philox.native_words = words
    sampling.native_log32 = log32


def words(key: int, counter: int, count: int) -> Array:
    """`count` words from here on."""
    blocks = -(-count // 4)
    out = np.empty((blocks, 4), np.uint32)
    start = 0
    while start < blocks:
        size = _SIZES[0] if blocks - start >= _SIZES[0] // 2 else _SIZES[1]
        stop = min(start + size, blocks)
        lanes, _ = _program(size).run([_state(key, counter + start)])
        for k, lane in enumerate(lanes):
            out[start:stop, k] = lane[: stop - start]
        start = stop
    return out.ravel()[:count]


def _state(key: int, counter: int) -> Array:
    """Both halves of the counter, then the two keys of each round."""
    keys = [
        (part + i * step) & _MASK
        for part, step in zip((key & _MASK, key >> 32), philox.WEYL)
        for i in range(10)
    ]
    counter &= (1 << 128) - 1
    return np.array([counter & ((1 << 64) - 1), counter >> 64, *keys], np.uint64)


@cache
def _program(size: int) -> Program:
    """The four words of each block, as four arrays: they share one loop."""
    e, state = Emitter(), Tensor((22,), uint64)

    def lane(k: int) -> Tensor:
        return e.compute((size,), lambda i: e.cast(_block(e, state, e.cast(i, uint64))[k], uint32))

    return assemble([state], [lane(k) for k in range(4)], [], [])


def _block(e: Emitter, state: Tensor, number: Expr) -> tuple[Expr, Expr, Expr, Expr]:
    low = state[0] + number
    high = state[1] + e.select(low < number, e.const(1, uint64), e.const(0, uint64))
    a, b, c, d = low & _MASK, low >> 32, high & _MASK, high >> 32
    for i in range(10):
        first = a * e.const(philox.MULTIPLIERS[0], uint64)
        second = c * e.const(philox.MULTIPLIERS[1], uint64)
        a, b = (second >> 32) ^ b ^ state[2 + i], second & _MASK
        c, d = (first >> 32) ^ d ^ state[12 + i], first & _MASK
    return a, b, c, d


# -- the C library's logf ----------------------------------------------------------------------
_LOGS = """
declare float @logf(float)

define void @{symbol}(ptr noalias %x, ptr noalias %y, i64 %n) {{
entry:
  %none = icmp eq i64 %n, 0
  br i1 %none, label %done, label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %j, %loop ]
  %from = getelementptr float, ptr %x, i64 %i
  %value = load float, ptr %from
  %log = call float @logf(float %value)
  %to = getelementptr float, ptr %y, i64 %i
  store float %log, ptr %to
  %j = add i64 %i, 1
  %more = icmp ult i64 %j, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}}
"""


@cache
def _logs() -> Any:
    address = kernel_address("logf of an array", lambda symbol: _LOGS.format(symbol=symbol))
    return ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)(address)


def log32(x: Array) -> Array:
    """`logf` of every element, as `ops.sampling.log32`."""
    x = np.ascontiguousarray(x, np.float32)
    out = np.empty_like(x)
    _logs()(x.ctypes.data, out.ctypes.data, x.size)
    return out
