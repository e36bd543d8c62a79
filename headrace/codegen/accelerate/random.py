"""Philox in native code: a faster way for ops.random.philox to fill an array, with the same numbers.

Two programs of fixed sizes do it, in rounds, so that no count costs a compilation of its own.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache

import numpy as np

from headrace.codegen.assembly.assemble import assemble
from headrace.codegen.ir.kernel_ir import Array
from headrace.codegen.lowering.lower import Emitter
from headrace.codegen.machine.cache import kernel_address
from headrace.codegen.program.program import NativeProgram
from headrace.core.dtypes import NDArray, uint64
from headrace.ops.random.draw_rules import lanes
from headrace.ops.random.philox import Philox

_SIZES = (1 << 14, 1 << 10)  # blocks per round


def words(key: int, counter: int, count: int) -> NDArray:
    """`count` words from here on."""
    blocks = -(-count // 4)
    out = np.empty((blocks, 4), np.uint32)
    start = 0
    while start < blocks:
        size = _SIZES[0] if blocks - start >= _SIZES[0] // 2 else _SIZES[1]
        stop = min(start + size, blocks)
        lanes, _ = _program(size).run([Philox.at(counter + start, key).state()])
        for k, lane in enumerate(lanes):
            out[start:stop, k] = lane[: stop - start]
        start = stop
    return out.ravel()[:count]


@cache
def _program(size: int) -> NativeProgram:
    state = Array((3,), uint64)
    made = assemble([state], lanes(Emitter(), state, size), [], [])
    assert isinstance(made, NativeProgram)
    return made


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
