"""The colours of a JPEG that are stored at half the width (and height), interpolated and turned to RGB in one
pass, for formats.images.jpeg.

The image comes with its colours repeated, three or four bytes to a pixel.  A row of them is first mixed with
the stored row above or below, three parts to one, into a line of sums, with its ends repeated so that nothing
is special at the edges.  Then a pixel takes three parts of its own sum and one of the nearer neighbour's; the
other neighbour has the same sum as the pixel, so that both may be added to two parts of its own.  Where only
the width is halved, the other row is the same row, and the biases grow by the factor of four that the sums
do.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable
from functools import cache, lru_cache
from typing import Any

import numpy as np

from headrace.codegen.machine.cache import kernel_address
from headrace.codegen.machine.target import is_available
from headrace.formats.images.jpeg_pixels import fixed

_BIASES = {1: (4, 8), 2: (8, 7)}  # of the left and of the right pixel, by how many times rows are repeated


_LANES = 16  # pixels at a time; the last ones of a row overlap with those before
_BYTES = f"<{_LANES} x i8>"
_SHORT = f"<{_LANES} x i16>"
_LONG = f"<{_LANES} x i32>"
_PIXELS = f"<{3 * _LANES} x i8>"  # that are made


def _all(number: int, bits: int) -> str:
    """A constant in all lanes."""
    return f"<{', '.join([f'i{bits} {number}'] * _LANES)}>"


def _places(places: Iterable[int]) -> str:
    """What a shuffle takes from where."""
    found = [f"i32 {place}" for place in places]
    return f"<{len(found)} x i32> <{', '.join(found)}>"


def _given(step: int) -> str:
    """The type of pixels that come, `step` bytes each."""
    return f"<{step * _LANES} x i8>"


def _taken(name: str, pixels: str, byte: int, step: int) -> str:
    """One byte of each pixel."""
    places, given = _places(range(byte, step * _LANES, step)), _given(step)
    return f"%{name} = shufflevector {given} %{pixels}, {given} poison, {places}"


def _sum(p: str, byte: int, step: int) -> str:
    """Entries of the line of colour p."""
    return f"""
  {_taken(p + ".a8", "near.pixels", byte, step)}
  {_taken(p + ".b8", "far.pixels", byte, step)}
  %{p}.a = zext {_BYTES} %{p}.a8 to {_SHORT}
  %{p}.b = zext {_BYTES} %{p}.b8 to {_SHORT}
  %{p}.a3 = mul {_SHORT} %{p}.a, {_all(3, 16)}
  %{p}.ab = add {_SHORT} %{p}.a3, %{p}.b
  %{p}.to = getelementptr i16, ptr %{p}.line, i64 %x.1
  store {_SHORT} %{p}.ab, ptr %{p}.to, align 2"""


def _ends(p: str) -> str:
    return f"""
  %{p}.first.p = getelementptr i16, ptr %{p}.line, i64 1
  %{p}.first = load i16, ptr %{p}.first.p
  store i16 %{p}.first, ptr %{p}.line
  %{p}.last.p = getelementptr i16, ptr %{p}.line, i64 %width
  %{p}.last = load i16, ptr %{p}.last.p
  %{p}.end.p = getelementptr i16, ptr %{p}.last.p, i64 1
  store i16 %{p}.last, ptr %{p}.end.p"""


def _mixed(p: str) -> str:
    """The colour p of pixels, less 128."""
    return f"""
  %{p}.0.p = getelementptr i16, ptr %{p}.line, i64 %i
  %{p}.1.p = getelementptr i16, ptr %{p}.line, i64 %i.1
  %{p}.2.p = getelementptr i16, ptr %{p}.line, i64 %i.2
  %{p}.0 = load {_SHORT}, ptr %{p}.0.p, align 2
  %{p}.1 = load {_SHORT}, ptr %{p}.1.p, align 2
  %{p}.2 = load {_SHORT}, ptr %{p}.2.p, align 2
  %{p}.double = add {_SHORT} %{p}.1, %{p}.1
  %{p}.both = add {_SHORT} %{p}.0, %{p}.2
  %{p}.all = add {_SHORT} %{p}.double, %{p}.both
  %{p}.biased = add {_SHORT} %{p}.all, %bias
  %{p}.mean = lshr {_SHORT} %{p}.biased, {_all(4, 16)}
  %{p}.16 = sub {_SHORT} %{p}.mean, {_all(128, 16)}
  %{p} = sext {_SHORT} %{p}.16 to {_LONG}"""


def _byte(p: str) -> str:
    """A byte of each pixel: its brightness, and what the colours add, %p.t."""
    return f"""
  %{p}.half = add {_LONG} %{p}.t, {_all(32768, 32)}
  %{p}.w = ashr {_LONG} %{p}.half, {_all(16, 32)}
  %{p}.v = add {_LONG} %{p}.w, %bright
  %{p}.low = call {_LONG} @llvm.smax.v{_LANES}i32({_LONG} %{p}.v, {_LONG} zeroinitializer)
  %{p}.high = call {_LONG} @llvm.smin.v{_LANES}i32({_LONG} %{p}.low, {_LONG} {_all(255, 32)})
  %{p} = trunc {_LONG} %{p}.high to {_BYTES}"""


def _text(symbol: str, step: int) -> str:
    """The kernel for pixels of `step` bytes: row by row, a loop that makes the two lines of sums and a loop
    over the pixels."""
    width, given = 2 * _LANES, _given(step)
    first = _places(range(width))
    wide = _places([*range(_LANES), *range(_LANES)])
    together = _places([k + _LANES * byte for k in range(_LANES) for byte in range(3)])
    odd = f"<{', '.join(f'i16 {-(k % 2)}' for k in range(_LANES))}>"
    return f"""
declare {_LONG} @llvm.smax.v{_LANES}i32({_LONG}, {_LONG})
declare {_LONG} @llvm.smin.v{_LANES}i32({_LONG}, {_LONG})
declare i64 @llvm.umin.i64(i64, i64)
define void @{symbol}(ptr noalias %whole, ptr noalias %rgb, ptr noalias %cb.line, ptr noalias %cr.line,
    i64 %height, i64 %width, i64 %down, i16 %left, i16 %right) {{
entry:
  %pitch = mul i64 %width, 3
  %given.pitch = mul i64 %width, {step}
  %last = sub i64 %width, {_LANES}
  %less = sub i64 %down, 1
  %reach = shl i64 %less, 1
  %back = sub i64 0, %reach
  %left.1 = insertelement {_SHORT} poison, i16 %left, i32 0
  %lefts = shufflevector {_SHORT} %left.1, {_SHORT} poison, <{_LANES} x i32> zeroinitializer
  %right.1 = insertelement {_SHORT} poison, i16 %right, i32 0
  %rights = shufflevector {_SHORT} %right.1, {_SHORT} poison, <{_LANES} x i32> zeroinitializer
  %differ = xor {_SHORT} %lefts, %rights
  %differ.odd = and {_SHORT} %differ, {odd}
  %bias.even = xor {_SHORT} %lefts, %differ.odd
  %bias.odd = xor {_SHORT} %rights, %differ.odd
  br label %row
row:
  %y = phi i64 [ 0, %entry ], [ %y.next, %row.end ]
  %start = mul i64 %y, %pitch
  %given.start = mul i64 %y, %given.pitch
  %in = getelementptr i8, ptr %whole, i64 %given.start
  %out = getelementptr i8, ptr %rgb, i64 %start
  %odd = and i64 %y, %less
  %near.y = sub i64 %y, %odd
  %is.odd = icmp ne i64 %odd, 0
  %delta = select i1 %is.odd, i64 %reach, i64 %back
  %other.y = add i64 %near.y, %delta
  %inside = icmp ult i64 %other.y, %height
  %far.y = select i1 %inside, i64 %other.y, i64 %near.y
  %near.at = mul i64 %near.y, %given.pitch
  %far.at = mul i64 %far.y, %given.pitch
  %near = getelementptr i8, ptr %whole, i64 %near.at
  %far = getelementptr i8, ptr %whole, i64 %far.at
  br label %sums
sums:
  %x = phi i64 [ 0, %row ], [ %x.next, %sums ]
  %x.1 = add i64 %x, 1
  %x.byte = mul i64 %x, {step}
  %near.p = getelementptr i8, ptr %near, i64 %x.byte
  %far.p = getelementptr i8, ptr %far, i64 %x.byte
  %near.pixels = load {given}, ptr %near.p, align 1
  %far.pixels = load {given}, ptr %far.p, align 1{_sum("cb", 1, step)}{_sum("cr", 2, step)}
  %x.more = icmp ult i64 %x, %last
  %x.step = add i64 %x, {_LANES}
  %x.next = call i64 @llvm.umin.i64(i64 %x.step, i64 %last)
  br i1 %x.more, label %sums, label %ends
ends:{_ends("cb")}{_ends("cr")}
  br label %pixels
pixels:
  %i = phi i64 [ 0, %ends ], [ %i.next, %pixels ]
  %i.1 = add i64 %i, 1
  %i.2 = add i64 %i, 2
  %i3 = mul i64 %i, 3
  %i.odd = trunc i64 %i to i1
  %bias = select i1 %i.odd, {_SHORT} %bias.odd, {_SHORT} %bias.even{_mixed("cb")}{_mixed("cr")}
  %i.byte = mul i64 %i, {step}
  %in.p = getelementptr i8, ptr %in, i64 %i.byte
  %in.pixels = load {given}, ptr %in.p, align 1
  {_taken("bright.8", "in.pixels", 0, step)}
  %bright = zext {_BYTES} %bright.8 to {_LONG}
  %red.t = mul {_LONG} %cr, {_all(fixed(1.402), 32)}
  %green.b = mul {_LONG} %cb, {_all(-fixed(0.34414), 32)}
  %green.r = mul {_LONG} %cr, {_all(-fixed(0.71414), 32)}
  %green.t = add {_LONG} %green.b, %green.r
  %blue.t = mul {_LONG} %cb, {_all(fixed(1.772), 32)}{_byte("red")}{_byte("green")}{_byte("blue")}
  %two = shufflevector {_BYTES} %red, {_BYTES} %green, {first}
  %third = shufflevector {_BYTES} %blue, {_BYTES} poison, {wide}
  %three = shufflevector <{width} x i8> %two, <{width} x i8> %third, {together}
  %out.p = getelementptr i8, ptr %out, i64 %i3
  store {_PIXELS} %three, ptr %out.p, align 1
  %i.more = icmp ult i64 %i, %last
  %i.step = add i64 %i, {_LANES}
  %i.next = call i64 @llvm.umin.i64(i64 %i.step, i64 %last)
  br i1 %i.more, label %pixels, label %row.end
row.end:
  %y.next = add i64 %y, 1
  %y.more = icmp ult i64 %y.next, %height
  br i1 %y.more, label %row, label %done
done:
  ret void
}}
"""


@lru_cache(maxsize=1)
def native() -> Callable[[Any, int], Any] | None:
    """YCbCr [height, width, 3 or 4] of bytes, its colours repeated twice across and once or twice down -> RGB
    with interpolated colours, or None where it is narrow; None itself where there is no compiler."""
    if not is_available():
        return None

    def colored(image: Any, down: int) -> Any:
        height, width, step = image.shape
        if width < _LANES:
            return None
        image = np.ascontiguousarray(image)
        rgb = np.empty((height, width, 3), np.uint8)
        if image.size:
            lines = np.empty((2, width + 2), np.int16)
            places = [x.__array_interface__["data"][0] for x in (image, rgb, lines[0], lines[1])]
            _kernel(step)(*places, height, width, down, *_BIASES[down])
        return rgb

    return colored


@cache
def _kernel(step: int) -> Callable[..., None]:
    whole = ctypes.c_int64
    kind = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4, whole, whole, whole, ctypes.c_int16, ctypes.c_int16)

    def write(symbol: str) -> str:
        return _text(symbol, step)

    return kind(kernel_address(write("jpeg_colors"), write))
