"""Philox in native code: a faster way for ops.random.philox to fill an array, with the same numbers."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache

import numpy as np

from headrace.codegen.accelerate.philox_rounds import rounds
from headrace.codegen.machine.cache import kernel_address
from headrace.core.dtypes import NDArray
from headrace.ops.random.philox import Philox

LANES = 8  # blocks at a time
_TEXT = """
define void @{symbol}(ptr noalias %state, ptr noalias %out, i64 %blocks) #0 {{
entry:
  %high_at = getelementptr i64, ptr %state, i64 1
  %key_at = getelementptr i64, ptr %state, i64 2
  %low = load i64, ptr %state
  %high = load i64, ptr %high_at
  %key = load i64, ptr %key_at
  %key_low = and i64 %key, 4294967295
  %key_high = lshr i64 %key, 32
{splats}
  %none = icmp eq i64 %blocks, 0
  br i1 %none, label %done, label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %first = insertelement <8 x i64> poison, i64 %i, i64 0
  %all = shufflevector <8 x i64> %first, <8 x i64> poison, <8 x i32> zeroinitializer
  %offset = add <8 x i64> %all, <i64 0, i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7>
  %low_here = add <8 x i64> %lows, %offset
  %wraps = icmp ult <8 x i64> %low_here, %offset
  %carry = zext <8 x i1> %wraps to <8 x i64>
  %high_here = add <8 x i64> %highs, %carry
  %a0 = and <8 x i64> %low_here, splat (i64 4294967295)
  %b0 = lshr <8 x i64> %low_here, splat (i64 32)
  %c0 = and <8 x i64> %high_here, splat (i64 4294967295)
  %d0 = lshr <8 x i64> %high_here, splat (i64 32)
{rounds}
  %b_up = shl <8 x i64> %b10, splat (i64 32)
  %d_up = shl <8 x i64> %d10, splat (i64 32)
  %ab = or <8 x i64> %a10, %b_up
  %cd = or <8 x i64> %c10, %d_up
  %in_turn = shufflevector <8 x i64> %ab, <8 x i64> %cd, <16 x i32> {in_turn}
  %place = shl i64 %i, 4
  %at = getelementptr i8, ptr %out, i64 %place
  store <16 x i64> %in_turn, ptr %at, align 4
  %next = add i64 %i, 8
  %more = icmp ult i64 %next, %blocks
  br i1 %more, label %loop, label %done
done:
  ret void
}}

attributes #0 = {{ nounwind "prefer-vector-width"="512" "min-legal-vector-width"="512" }}
"""
_SPLAT = """\
  %{many}_one = insertelement <8 x i64> poison, i64 %{one}, i64 0
  %{many} = shufflevector <8 x i64> %{many}_one, <8 x i64> poison, <8 x i32> zeroinitializer"""


def _text(symbol: str) -> str:
    pairs = {"lows": "low", "highs": "high", "key0": "key_low", "key1": "key_high"}
    order = ", ".join(f"i32 {k}, i32 {LANES + k}" for k in range(LANES))
    return _TEXT.format(
        symbol=symbol,
        splats="\n".join(_SPLAT.format(many=many, one=one) for many, one in pairs.items()),
        rounds=rounds(LANES),
        in_turn=f"<{order}>",
    )


@cache
def _blocks() -> Callable[[int, int, int], None]:
    address = kernel_address("words of Philox", _text)
    return ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)(address)


def words(key: int, counter: int, count: int) -> NDArray:
    """`count` words from here on."""
    blocks = -(-count // (4 * LANES)) * LANES
    state, out = Philox.at(counter, key).state(), np.empty(4 * blocks, np.uint32)
    _blocks()(state.ctypes.data, out.ctypes.data, blocks)
    return out[:count]


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
def _logs() -> Callable[[int, int, int], None]:
    address = kernel_address("logf of an array", lambda symbol: _LOGS.format(symbol=symbol))
    return ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)(address)


def log32(x: NDArray) -> NDArray:
    """`logf` of every element, as `ops.random.sampling.log32`."""
    x = np.ascontiguousarray(x, np.float32)
    out = np.empty_like(x)
    _logs()(x.ctypes.data, out.ctypes.data, x.size)
    return out
