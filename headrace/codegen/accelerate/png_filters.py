"""PNG's filters, undone: each byte is what is stored plus a guess from those left of it and above, one after
the other, for formats.images.png.

The lines of the result have a pixel of zeros in front and a line of zeros above, so that nothing is special.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from headrace.codegen.machine.cache import kernel_address
from headrace.codegen.machine.target import is_available

# What each filter guesses, of %a left, %b above and %c left above, all i32.
_GUESSES = (
    "%guess = add i32 0, 0",
    "%guess = add i32 %a, 0",
    "%guess = add i32 %b, 0",
    "%sum = add i32 %a, %b\n  %guess = lshr i32 %sum, 1",
    """%to.a = sub i32 %b, %c
  %to.b = sub i32 %a, %c
  %to.c = add i32 %to.a, %to.b
  %pa = call i32 @llvm.abs.i32(i32 %to.a, i1 false)
  %pb = call i32 @llvm.abs.i32(i32 %to.b, i1 false)
  %pc = call i32 @llvm.abs.i32(i32 %to.c, i1 false)
  %a.b = icmp ule i32 %pa, %pb
  %a.c = icmp ule i32 %pa, %pc
  %is.a = and i1 %a.b, %a.c
  %is.b = icmp ule i32 %pb, %pc
  %other = select i1 %is.b, i32 %b, i32 %c
  %guess = select i1 %is.a, i32 %a, i32 %other""",
)

# %out is the place of the line's first byte; its left neighbour is %step before it, the line above %pitch.
_FILTER = """
filter{kind}:
  %i{kind} = phi i64 [ 0, %line ], [ %next{kind}, %filter{kind} ]
{body}
  %more{kind} = icmp ult i64 %next{kind}, %stride
  br i1 %more{kind}, label %filter{kind}, label %end
"""
_BODY = """  %from = getelementptr i8, ptr %in, i64 %i
  %x = load i8, ptr %from
  %to = getelementptr i8, ptr %out, i64 %i
  %left.at = sub i64 %i, %step
  %left = getelementptr i8, ptr %out, i64 %left.at
  %a8 = load i8, ptr %left
  %a = zext i8 %a8 to i32
  %above = getelementptr i8, ptr %up, i64 %i
  %b8 = load i8, ptr %above
  %b = zext i8 %b8 to i32
  %corner = getelementptr i8, ptr %up, i64 %left.at
  %c8 = load i8, ptr %corner
  %c = zext i8 %c8 to i32
  GUESS
  %guess8 = trunc i32 %guess to i8
  %y = add i8 %x, %guess8
  store i8 %y, ptr %to
  %next = add i64 %i, 1"""
_WHOLE = frozenset({"%in", "%out", "%up", "%step", "%stride"})  # names of the line, not of one filter

_TEXT = """
declare i32 @llvm.abs.i32(i32, i1)
define i64 @{symbol}(ptr %lines, ptr %plain, i64 %height, i64 %stride, i64 %step) {{
entry:
  %pitch = add i64 %stride, %step
  %back = sub i64 0, %pitch
  br label %line
line:
  %row = phi i64 [ 0, %entry ], [ %row.next, %end ]
  %line.size = add i64 %stride, 1
  %line.at = mul i64 %row, %line.size
  %head = getelementptr i8, ptr %lines, i64 %line.at
  %kind = load i8, ptr %head
  %in = getelementptr i8, ptr %head, i64 1
  %row.next = add i64 %row, 1
  %plain.row = mul i64 %row.next, %pitch
  %plain.at = add i64 %plain.row, %step
  %out = getelementptr i8, ptr %plain, i64 %plain.at
  %up = getelementptr i8, ptr %out, i64 %back
  switch i8 %kind, label %bad [ {cases} ]
{filters}
end:
  %again = icmp ult i64 %row.next, %height
  br i1 %again, label %line, label %done
done:
  ret i64 0
bad:
  ret i64 1
}}
"""


def _text(symbol: str) -> str:
    filters = []
    for kind, guess in enumerate(_GUESSES):
        words = _BODY.replace("GUESS", guess).split(" ")
        for i, word in enumerate(words):
            name = word.rstrip(",)\n")
            if name.startswith("%") and name not in _WHOLE:
                words[i] = word.replace(name, f"{name}{kind}")
        filters.append(_FILTER.format(kind=kind, body=" ".join(words)))
    cases = " ".join(f"i8 {kind}, label %filter{kind}" for kind in range(len(_GUESSES)))
    return _TEXT.format(symbol=symbol, cases=cases, filters="".join(filters))


@lru_cache(maxsize=1)
def native() -> Callable[[Any, int], Any] | None:
    """Lines of bytes, each with the number of its filter in front, and the bytes of a pixel -> plain lines,
    or None where a filter has another number; None itself where there is no compiler."""
    if not is_available():
        return None
    whole = ctypes.c_int64
    kind = ctypes.CFUNCTYPE(whole, ctypes.c_void_p, ctypes.c_void_p, whole, whole, whole)
    function = kind(kernel_address(_text("png_filters"), _text))

    def unfiltered(lines: Any, step: int) -> Any:
        height, stride = lines.shape[0], lines.shape[1] - 1
        plain = np.zeros((height + 1, step + stride), np.uint8)
        if height and stride:
            lines = np.ascontiguousarray(lines)
            places = [x.__array_interface__["data"][0] for x in (lines, plain)]
            if function(*places, height, stride, step):
                return None
        return plain[1:, step:]

    return unfiltered
