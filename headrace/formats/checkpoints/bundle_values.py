"""The bytes of tensors in a checkpoint's data files, with their checksums.

Numbers are stored as they stand in memory, little-endian, and cut into segments that threads write,
read and sum up at the same time.  Strings: all lengths, a checksum of the lengths, all bytes.
Variants: each with its length and a running checksum.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from headrace.core.dtypes import DType
from headrace.formats import proto
from headrace.formats.coding import Buffer, Damaged, fixed32, read_bytes, read_fixed32, varint
from headrace.formats.coding import read_varint as _read_varint
from headrace.formats.records import crc32c

Array = np.ndarray[Any, np.dtype[Any]]

SEGMENT = 4 << 20
THREADS = 4  # reading and writing wait for the system; more than cores is right
_LONG = 2**32


# -- numbers -------------------------------------------------------------------------------------
def octets(array: Array, dtype: DType) -> Any:
    """The bytes of an array in row-major order, little-endian; no copy where it has that form."""
    flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return flat if sys.byteorder == "little" else _swapped(flat, dtype)


def _swapped(data: Any, dtype: DType) -> Any:
    unit = dtype.numpy.itemsize // (2 if dtype.kind == "c" else 1)
    return data.view(f"u{unit}").byteswap().view(np.uint8)


def write_octets(fd: int, offset: int, data: Any) -> int:
    """Write bytes at a place of a file; returns their checksum."""

    def write(start: int) -> tuple[int, int]:
        part = data[start : start + SEGMENT]
        done, view = 0, memoryview(part)
        while done < len(view):
            done += os.pwrite(fd, view[done:], offset + start + done)
        return crc32c.value(part), len(part)

    return _joined(_in_parallel(write, len(data)))


def read_octets(fd: int, offset: int, data: Any) -> int:
    """Fill an array of bytes from a place of a file; returns their checksum.

    Raises Damaged where the file ends first."""

    def read(start: int) -> tuple[int, int]:
        part = data[start : start + SEGMENT]
        done, view = 0, memoryview(part)
        while done < len(view):
            count = os.preadv(fd, [view[done:]], offset + start + done)
            if count == 0:
                raise Damaged("the file ends", offset + start + done)
            done += count
        return crc32c.value(part), len(part)

    return _joined(_in_parallel(read, len(data)))


def _in_parallel(work: Callable[[int], tuple[int, int]], size: int) -> Iterable[tuple[int, int]]:
    if size <= SEGMENT:
        return [work(0)]
    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(work, range(0, size, SEGMENT)))


def _joined(parts: Iterable[tuple[int, int]]) -> int:
    crc = 0
    for part, length in parts:
        crc = crc32c.combine(crc, part, length)
    return crc


def normalize(array: Array, dtype: DType, is_swapped: bool) -> None:
    """Make the bytes of a file, read into `array`, those of values of this machine."""
    octets = array.reshape(-1).view(np.uint8)
    if dtype.kind == "b":
        np.not_equal(octets, 0, out=octets.view(np.bool_))  # a byte of 2 is no bool to NumPy
    if is_swapped:
        octets[:] = _swapped(octets, dtype)


# -- strings -------------------------------------------------------------------------------------
def string_octets(array: Array) -> tuple[bytes, int]:
    """The bytes of a string tensor, and their checksum."""
    strings = [text if isinstance(text, bytes) else str(text).encode() for text in array.flat]
    lengths = [len(text) for text in strings]
    crc = crc32c.value(_length_words(lengths, "<"))
    stored = fixed32(crc32c.mask(crc))
    crc = crc32c.extend(crc, stored)
    body = b"".join(strings)
    head = b"".join(varint(length) for length in lengths)
    return head + stored + body, crc32c.extend(crc, body)


def strings_from_octets(data: Buffer, count: int, is_swapped: bool) -> tuple[list[bytes], int]:
    """The strings in these bytes, and their checksum.  Raises Damaged."""
    if count == 0 and not data:
        return [], 0
    if count > len(data):
        raise Damaged(f"{len(data)} bytes for {count} strings")
    lengths, at = [], 0
    for _ in range(count):
        length, at = _read_varint(data, at)
        lengths.append(length)
    crc = crc32c.value(_length_words(lengths, ">" if is_swapped else "<"))
    start = at
    stored, at = read_fixed32(data, at)
    if is_swapped:
        stored = int.from_bytes(stored.to_bytes(4, "little"), "big")
    if crc32c.unmask(stored) != crc:
        raise Damaged("the checksum of the lengths does not match", start)
    if at + sum(lengths) != len(data):
        raise Damaged(f"strings of {sum(lengths)} bytes in {len(data) - at}", at)
    crc = crc32c.extend(crc, data[start:])
    strings = []
    for length in lengths:
        strings.append(bytes(data[at : at + length]))
        at += length
    return strings, crc


def _length_words(lengths: list[int], order: str) -> bytes:
    """What the checksum of the lengths runs over: words of 32 bits, of 64 where that is too little."""
    if all(length < _LONG for length in lengths):
        return np.array(lengths, order + "u4").tobytes()
    side = "little" if order == "<" else "big"
    return b"".join(n.to_bytes(4 if n < _LONG else 8, side) for n in lengths)  # type: ignore[arg-type]


# -- variants ------------------------------------------------------------------------------------
def variant_octets(array: Array) -> tuple[bytes, int]:
    """The bytes of a tensor of variants (messages), and their checksum."""
    parts, crc = [], 0
    for message in array.flat:
        text = message.SerializeToString()
        crc = crc32c.extend(crc32c.extend(crc, len(text).to_bytes(8, "little")), text)
        stored = fixed32(crc32c.mask(crc))
        crc = crc32c.extend(crc, stored)
        parts += [varint(len(text)), text, stored]
    return b"".join(parts), crc


def variants_from_octets(data: Buffer, count: int) -> tuple[list[Any], int]:
    """The messages in these bytes, and their checksum.  Raises Damaged."""
    from google.protobuf.message import DecodeError

    if count > len(data):
        raise Damaged(f"{len(data)} bytes for {count} variants")
    found, crc, at = [], 0, 0
    for place in range(count):
        start = at
        length, at = _read_varint(data, at)
        text, at = read_bytes(data, at, length)
        crc = crc32c.extend(crc32c.extend(crc, length.to_bytes(8, "little")), text)
        raw, at = read_bytes(data, at, 4)
        if crc32c.unmask(int.from_bytes(raw, "little")) != crc:
            raise Damaged(f"the checksum after variant {place} does not match", at - 4)
        crc = crc32c.extend(crc, raw)
        try:
            found.append(proto.VariantTensorDataProto.FromString(text))
        except DecodeError:
            raise Damaged(f"variant {place} is no message", start) from None
    return found, crc
