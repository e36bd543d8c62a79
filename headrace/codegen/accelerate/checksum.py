"""CRC32C by the processor's own instruction, for formats.records.crc32c: eight bytes at a time.

An instruction waits for the one before it, but the processor can start one in every cycle; so large buffers
are cut into three lanes that are summed up side by side, and whose checksums are joined.
"""

from __future__ import annotations

import ctypes
import platform
from collections.abc import Callable
from functools import lru_cache

from headrace.codegen.machine.cache import kernel_address
from headrace.codegen.machine.target import host, is_available
from headrace.core import hooks
from headrace.core.dtypes import NDArray
from headrace.formats.records import crc32c

_ONES = 0xFFFFFFFF

# Instruction sets: what LLVM calls the feature, the step of eight bytes, the step of one.
_X86 = (
    ("+sse4.2", "+crc32"),
    "declare i64 @llvm.x86.sse42.crc32.64.64(i64, i64)\ndeclare i32 @llvm.x86.sse42.crc32.32.8(i32, i8)\n",
    "%wide = zext i32 %state to i64\n"
    "  %long = call i64 @llvm.x86.sse42.crc32.64.64(i64 %wide, i64 %word)\n"
    "  %next = trunc i64 %long to i32\n",
    "%last.next = call i32 @llvm.x86.sse42.crc32.32.8(i32 %last, i8 %byte)\n",
)
_ARM = (
    ("+crc",),
    "declare i32 @llvm.aarch64.crc32cx(i32, i64)\ndeclare i32 @llvm.aarch64.crc32cb(i32, i32)\n",
    "%next = call i32 @llvm.aarch64.crc32cx(i32 %state, i64 %word)\n",
    "%int = zext i8 %byte to i32\n  %last.next = call i32 @llvm.aarch64.crc32cb(i32 %last, i32 %int)\n",
)
_FAMILIES = {"x86_64": _X86, "AMD64": _X86, "aarch64": _ARM, "arm64": _ARM}

_TEXT = """
{declarations}
define i32 @{symbol}(i32 %start, ptr %data, i64 %size) {{
entry:
  %words = lshr i64 %size, 3
  %whole = and i64 %size, -8
  %any = icmp ne i64 %words, 0
  br i1 %any, label %loop, label %tail
loop:
  %at = phi i64 [ 0, %entry ], [ %at.next, %loop ]
  %state = phi i32 [ %start, %entry ], [ %next, %loop ]
  %place = getelementptr i64, ptr %data, i64 %at
  %word = load i64, ptr %place, align 1
  {step8}
  %at.next = add i64 %at, 1
  %more = icmp ult i64 %at.next, %words
  br i1 %more, label %loop, label %tail
tail:
  %first = phi i32 [ %start, %entry ], [ %next, %loop ]
  %rest = icmp ult i64 %whole, %size
  br i1 %rest, label %bytes, label %done
bytes:
  %i = phi i64 [ %whole, %tail ], [ %i.next, %bytes ]
  %last = phi i32 [ %first, %tail ], [ %last.next, %bytes ]
  %spot = getelementptr i8, ptr %data, i64 %i
  %byte = load i8, ptr %spot
  {step1}
  %i.next = add i64 %i, 1
  %again = icmp ult i64 %i.next, %size
  br i1 %again, label %bytes, label %done
done:
  %result = phi i32 [ %first, %tail ], [ %last.next, %bytes ]
  ret i32 %result
}}
"""


_LANES = 3
_LEAST = 1 << 15  # bytes of a lane; below this, joining takes longer than it saves

_LANES_TEXT = """
{declarations}
define void @{symbol}(ptr %states, ptr %data, i64 %words) {{
entry:
{first}
  br label %loop
loop:
  %at = phi i64 [ 0, %entry ], [ %at.next, %loop ]
{states}
{steps}
  %at.next = add i64 %at, 1
  %more = icmp ult i64 %at.next, %words
  br i1 %more, label %loop, label %done
done:
{last}
  ret void
}}
"""


def _lanes_text(symbol: str, declarations: str, step8: str) -> str:
    """A kernel that computes the states of several lanes at once; the lanes lie one after the other, each
    with the same number of words."""
    first, states, steps, last = [], [], [], []
    for lane in range(_LANES):
        first += [
            f"%slot{lane} = getelementptr i32, ptr %states, i64 {lane}",
            f"%start{lane} = load i32, ptr %slot{lane}",
            f"%skip{lane} = mul i64 %words, {lane}",
            f"%base{lane} = getelementptr i64, ptr %data, i64 %skip{lane}",
        ]
        states.append(f"%state{lane} = phi i32 [ %start{lane}, %entry ], [ %next{lane}, %loop ]")
        step = step8
        for name in ("state", "word", "wide", "long", "next"):
            step = step.replace(f"%{name}", f"%{name}{lane}")
        steps += [
            f"%place{lane} = getelementptr i64, ptr %base{lane}, i64 %at",
            f"%word{lane} = load i64, ptr %place{lane}, align 1",
            step,
        ]
        last.append(f"store i32 %next{lane}, ptr %slot{lane}")
    parts = {"first": first, "states": states, "steps": steps, "last": last}
    text = {key: "\n".join(f"  {line}" for line in lines) for key, lines in parts.items()}
    return _LANES_TEXT.format(symbol=symbol, declarations=declarations, **text)


def install() -> None:
    """From here on, checksums are made natively, where the processor can."""
    hooks.native_checksum.value = native()


@lru_cache(maxsize=1)
def native() -> Callable[[int, NDArray], int] | None:
    """`crc32c.extend` for contiguous arrays of bytes; None where there is no such instruction."""
    family = _FAMILIES.get(platform.machine())
    if family is None or not is_available():
        return None
    features, declarations, step8, step1 = family
    if not set(features) & set(host().features.split(",")):
        return None

    def write(symbol: str) -> str:
        return _TEXT.format(symbol=symbol, declarations=declarations, step8=step8, step1=step1)

    def write_lanes(symbol: str) -> str:
        return _lanes_text(symbol, declarations, step8)

    kind = ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_uint32, ctypes.c_void_p, ctypes.c_int64)
    function = kind(kernel_address(write("crc32c"), write))
    kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
    lanes = kind(kernel_address(write_lanes("crc32c_lanes"), write_lanes))

    def extend(crc: int, octets: NDArray) -> int:
        place, left = octets.__array_interface__["data"][0], octets.size
        while left >= _LANES * _LEAST:
            size = 1 << ((left // _LANES).bit_length() - 1)  # few lengths: joining remembers them
            states = (ctypes.c_uint32 * _LANES)(crc ^ _ONES, *[_ONES] * (_LANES - 1))
            lanes(ctypes.addressof(states), place, size >> 3)
            crc = states[0] ^ _ONES
            for state in states[1:]:
                crc = crc32c.combine(crc, state ^ _ONES, size)
            place, left = place + _LANES * size, left - _LANES * size
        return int(function(crc ^ _ONES, place, left)) ^ _ONES

    return extend
