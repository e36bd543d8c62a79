"""Numbers in bytes: varints, fixed words, and the ordered code of slice keys (bytes that sort as the
values do).  Readers take a buffer and a place, return a value and the place after it, and raise
`Damaged` where the bytes end or make no sense; whoever knows the file turns that into DataLossError.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence

Buffer = bytes | bytearray | memoryview


class Damaged(Exception):
    """Bytes that are no such encoding; `offset` is relative to the buffer."""

    def __init__(self, message: str, offset: int = 0) -> None:
        super().__init__(message)
        self.offset = offset


# -- varints and fixed words ---------------------------------------------------------------------
def varint(value: int) -> bytes:
    """Seven bits a byte, lowest first."""
    out = bytearray()
    while value >= 0x80:
        out.append((value & 0x7F) | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def read_varint(data: Buffer, at: int, bits: int = 64) -> tuple[int, int]:
    start, value, shift = at, 0, 0
    while shift < bits:
        if at >= len(data):
            raise Damaged("a number is cut short", start)
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if value >> bits:
                break
            return value, at
        shift += 7
    raise Damaged(f"a number has more than {bits} bits", start)


def fixed32(value: int) -> bytes:
    return struct.pack("<I", value)


def read_fixed32(data: Buffer, at: int) -> tuple[int, int]:
    if at < 0 or at + 4 > len(data):
        raise Damaged("a word is cut short", at)
    return struct.unpack_from("<I", data, at)[0], at + 4


def read_bytes(data: Buffer, at: int, length: int) -> tuple[bytes, int]:
    if length < 0 or at + length > len(data):
        raise Damaged(f"{length} bytes asked for, {len(data) - at} left", at)
    return bytes(data[at : at + length]), at + length


# -- ordered code --------------------------------------------------------------------------------
# A number is its length and its bytes, highest first.  A string has 00 and ff escaped and ends in
# 00 01.  A signed number starts with as many ones (or zeros, if negative) as it has bytes.
_ESCAPES = {b"\x00": b"\x00\xff", b"\xff": b"\xff\x00"}


def ordered_number(value: int) -> bytes:
    size = (value.bit_length() + 7) // 8
    return bytes([size]) + value.to_bytes(size, "big")


def read_ordered_number(data: Buffer, at: int) -> tuple[int, int]:
    if at >= len(data):
        raise Damaged("a key is cut short", at)
    size = data[at]
    if size > 8:
        raise Damaged(f"a number of {size} bytes in a key", at)
    raw, end = read_bytes(data, at + 1, size)
    return int.from_bytes(raw, "big"), end


def ordered_string(value: bytes) -> bytes:
    return re.sub(rb"[\x00\xff]", lambda m: _ESCAPES[m[0]], value) + b"\x00\x01"


def read_ordered_string(data: Buffer, at: int) -> tuple[bytes, int]:
    out, start = bytearray(), at
    while at < len(data):
        byte = data[at]
        if byte not in (0x00, 0xFF):
            out.append(byte)
            at += 1
            continue
        follower = data[at + 1] if at + 1 < len(data) else None
        at += 2
        if byte == 0x00 and follower == 0x01:
            return bytes(out), at
        if (byte, follower) not in ((0x00, 0xFF), (0xFF, 0x00)):
            break
        out.append(byte)
    raise Damaged("a string in a key does not end", start)


def ordered_signed(value: int) -> bytes:
    if value < 0:
        return bytes(byte ^ 0xFF for byte in ordered_signed(~value))
    size = value.bit_length() // 7 + 1  # of eight bits, one counts the bytes
    return (value | _ones(size)).to_bytes(size, "big")


def read_ordered_signed(data: Buffer, at: int) -> tuple[int, int]:
    flip = 0 if at < len(data) and data[at] >= 0x80 else 0xFF
    head = bytes(byte ^ flip for byte in data[at : at + 10])
    size = _leading_ones(head)
    if not 0 < size <= len(head):
        raise Damaged("a signed number in a key is cut short", at)
    value = int.from_bytes(head[:size], "big") ^ _ones(size)
    if value >= 1 << 63:
        raise Damaged("a signed number in a key has more than 64 bits", at)
    return (~value if flip else value), at + size


def _ones(size: int) -> int:
    """As many ones as there are bytes, at the top of them."""
    return ((1 << size) - 1) << (7 * size)


def _leading_ones(head: bytes) -> int:
    count = 0
    for byte in head:
        for bit in range(7, -1, -1):
            if not (byte >> bit) & 1:
                return count
            count += 1
    return count


# -- keys of slices ------------------------------------------------------------------------------
Extent = tuple[int, int]  # start, length; (0, -1) is all of a dimension


def slice_key(name: bytes, extents: Sequence[Extent]) -> bytes:
    """Where a table keeps a slice: sorts before all plain names, then by name and place."""
    key = ordered_number(0) + ordered_string(name) + ordered_number(len(extents))
    for start, length in extents:
        key += ordered_signed(start) + ordered_signed(length)
    return key


def read_slice_key(key: Buffer) -> tuple[bytes, list[Extent]]:
    zero, at = read_ordered_number(key, 0)
    if zero != 0:
        raise Damaged("a key of no slice", 0)
    name, at = read_ordered_string(key, at)
    rank, at = read_ordered_number(key, at)
    extents = []
    for _ in range(rank):
        start, at = read_ordered_signed(key, at)
        length, at = read_ordered_signed(key, at)
        extents.append((start, length))
    if at != len(key):
        raise Damaged("bytes behind a key", at)
    return name, extents
