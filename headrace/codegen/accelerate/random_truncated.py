"""Normal numbers within (-2, 2), as `ops.random.sampling.truncated_normal` draws them, in one native loop.

A number that is too large is drawn again, so a difference in the last digit may change all that
follow in its group: the logarithm, the sine and the cosine are the C library's, one by one.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from functools import cache

import numpy as np

from headrace.codegen.accelerate.philox_rounds import rounds
from headrace.codegen.emit.llvm_text import literal
from headrace.codegen.machine.cache import kernel_address
from headrace.core.dtypes import NDArray
from headrace.ops.random.philox import Philox
from headrace.ops.random.sampling import RESERVED

GROUP = 4  # outputs with a region of the stream of their own

_TEXT = """
declare float @logf(float)
declare float @sinf(float)
declare float @cosf(float)
declare float @llvm.sqrt.f32(float)
declare float @llvm.fabs.f32(float)

define internal float @uniform(i64 %word) alwaysinline {{
  %bits = trunc i64 %word to i32
  %low = and i32 %bits, 8388607
  %ones = or i32 %low, 1065353216
  %number = bitcast i32 %ones to float
  %result = fsub float %number, 1.0
  ret float %result
}}

define internal i64 @keep(float %x, ptr %found, i64 %count) alwaysinline {{
  %place = getelementptr float, ptr %found, i64 %count
  store float %x, ptr %place
  %size = call float @llvm.fabs.f32(float %x)
  %fits = fcmp olt float %size, 2.0
  %one = zext i1 %fits to i64
  %after = add i64 %count, %one
  ret i64 %after
}}

define internal i64 @pair(i64 %first, i64 %second, ptr %found, i64 %count) alwaysinline {{
  %u = call float @uniform(i64 %first)
  %small = fcmp olt float %u, {least}
  %above = select i1 %small, float {least}, float %u
  %log = call float @logf(float %above)
  %square = fmul float %log, -2.0
  %radius = call float @llvm.sqrt.f32(float %square)
  %v = call float @uniform(i64 %second)
  %wide = fpext float %v to double
  %turn = fmul double %wide, {turn}
  %angle = fptrunc double %turn to float
  %sine = call float @sinf(float %angle)
  %cosine = call float @cosf(float %angle)
  %x = fmul float %sine, %radius
  %y = fmul float %cosine, %radius
  %one = call i64 @keep(float %x, ptr %found, i64 %count)
  %both = call i64 @keep(float %y, ptr %found, i64 %one)
  ret i64 %both
}}

define void @{symbol}(ptr %state, ptr %out, i64 %groups) {{
entry:
  %found = alloca [8 x float]
  %low_at = getelementptr i64, ptr %state, i64 0
  %high_at = getelementptr i64, ptr %state, i64 1
  %key_at = getelementptr i64, ptr %state, i64 2
  %low = load i64, ptr %low_at
  %high = load i64, ptr %high_at
  %key = load i64, ptr %key_at
  %key0 = and i64 %key, 4294967295
  %key1 = lshr i64 %key, 32
  %none = icmp eq i64 %groups, 0
  br i1 %none, label %done, label %group
group:
  %g = phi i64 [ 0, %entry ], [ %g_next, %full ]
  %start = mul i64 %g, {stride}
  br label %draw
draw:
  %step = phi i64 [ 0, %group ], [ %step_next, %draw ]
  %count = phi i64 [ 0, %group ], [ %four, %draw ]
  %offset = add i64 %start, %step
  %low_here = add i64 %low, %offset
  %wraps = icmp ult i64 %low_here, %offset
  %carry = zext i1 %wraps to i64
  %high_here = add i64 %high, %carry
  %a0 = and i64 %low_here, 4294967295
  %b0 = lshr i64 %low_here, 32
  %c0 = and i64 %high_here, 4294967295
  %d0 = lshr i64 %high_here, 32
{rounds}
  %two = call i64 @pair(i64 %a10, i64 %b10, ptr %found, i64 %count)
  %four = call i64 @pair(i64 %c10, i64 %d10, ptr %found, i64 %two)
  %step_next = add i64 %step, 1
  %enough = icmp uge i64 %four, {group}
  br i1 %enough, label %full, label %draw
full:
  %from = load <{group} x float>, ptr %found, align 4
  %at = mul i64 %g, {group}
  %to = getelementptr float, ptr %out, i64 %at
  store <{group} x float> %from, ptr %to, align 4
  %g_next = add i64 %g, 1
  %more = icmp ult i64 %g_next, %groups
  br i1 %more, label %group, label %done
done:
  ret void
}}
"""


def _text(symbol: str) -> str:
    """The kernel, with Philox's ten rounds written out."""
    return _TEXT.format(
        symbol=symbol,
        rounds=rounds(),
        least=literal(1e-7, "float"),
        turn=literal(2.0 * math.pi, "double"),
        stride=GROUP * RESERVED // 4,
        group=GROUP,
    )


@cache
def _function() -> Callable[[int, int, int], None]:
    address = kernel_address("truncated normal numbers", _text)
    return ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)(address)


def truncated32(generator: Philox, groups: int) -> NDArray:
    """float32 [groups, GROUP]: each row from its own region of the stream."""
    state = generator.state()
    out = np.empty((groups, GROUP), np.float32)
    _function()(state.ctypes.data, out.ctypes.data, groups)
    return out
