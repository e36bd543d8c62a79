"""Entropy-coded data of JPEG -> coefficients: sequential and progressive Huffman scans.

Reading bit by bit is what costs time here, so the next 16 bits at every bit position are computed at
once, with NumPy; a symbol is then one look-up.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from headrace.formats.images.jpeg_tables import ZIGZAG

_LEAST = [0] + [1 << (n - 1) for n in range(1, 17)]  # the least positive number of n bits
_SHIFT = [0] + [1 - (1 << n) for n in range(1, 17)]  # what makes smaller ones negative
_SPARE = 8  # bytes behind the end that may be looked at


class Truncated(ValueError):
    """The data ends before the image does."""


@dataclass
class Component:
    """One plane of the image."""

    number: int
    down: int  # sampling factors
    across: int
    table: int  # of steps
    rows: int = 0  # blocks that the image needs
    columns: int = 0
    stride: int = 0  # blocks per row that are stored: whole MCUs
    stored_rows: int = 0
    values: Any = field(default_factory=lambda: array("h"))  # 64 per block, in reading order
    codes: tuple[Any, Any] = (None, None)
    last: int = 0  # the DC coefficient before

    def place(self, row: int, column: int) -> int:
        return (row * self.stride + column) * 64


class Bits:
    """The bits of one segment between restart markers."""

    def __init__(self, data: bytes) -> None:
        plain = np.frombuffer(data.replace(b"\xff\x00", b"\xff") + b"\0" * _SPARE, np.uint8)
        wide = plain.astype(np.uint32)
        windows = (wide[:-2] << 16) | (wide[1:-1] << 8) | wide[2:]
        shifts = np.arange(8, 0, -1, dtype=np.uint32)
        every = ((windows[:, None] >> shifts) & 0xFFFF).astype(np.uint16)
        self.next: Any = np.ascontiguousarray(every.reshape(-1)).data
        self.end = 8 * (len(plain) - _SPARE)
        self.at = 0
        self.run = 0  # blocks that have ended, in progressive scans


def _units(parts: list[Component], size: tuple[int, int]) -> list[list[tuple[Any, int]]]:
    """The blocks of a scan in their order, per MCU: (component, place)."""
    if len(parts) == 1:
        only = parts[0]
        return [
            [(only, only.place(row, column))] for row in range(only.rows) for column in range(only.columns)
        ]
    units = []
    for i in range(size[0]):
        for j in range(size[1]):
            units.append(
                [
                    (part, part.place(i * part.down + r, j * part.across + c))
                    for part in parts
                    for r in range(part.down)
                    for c in range(part.across)
                ]
            )
    return units


def read_scan(
    segments: list[bytes],
    parts: list[Component],
    size: tuple[int, int],
    interval: int,
    first: int,
    last: int,
    high: int,
    low: int,
    progressive: bool,
) -> None:
    """Decode a scan into the components.  size: MCUs down and across; interval: MCUs between
    restart markers, 0 for none; first to last: coefficients; high, low: bits known, bits to come."""
    needs = (first == 0 and not (progressive and high), last > 0)
    for part in parts:
        if any(needed and codes is None for needed, codes in zip(needs, part.codes)):
            raise ValueError("a Huffman table is missing")
    units = _units(parts, size)
    step = interval or len(units)
    read = _reader(first, high, progressive)
    done = 0
    for data in segments:
        bits = Bits(data)
        for part in parts:
            part.last = 0
        for unit in units[done : done + step]:
            for part, place in unit:
                read(bits, part, place, first, last, low)
            if bits.at > bits.end:
                raise Truncated(f"after {done} of {len(units)} units")
            done += 1
    if done < len(units):
        raise Truncated(f"after {done} of {len(units)} units")


def _reader(first: int, high: int, progressive: bool) -> Any:
    if not progressive:
        return _sequential
    if first == 0:
        return _refine_first if high else _first
    return _refine_others if high else _others


def _sequential(bits: Bits, part: Component, place: int, _: int, last: int, low: int) -> None:
    """A whole block."""
    _first(bits, part, place, 0, 0, 0)
    at, following, codes, values = bits.at, bits.next, part.codes[1], part.values
    if at >= bits.end + 16:
        raise Truncated("no bits left")
    k = 1
    while k < 64:
        found = codes[following[at]]
        at += found & 31
        symbol = found >> 5
        count = symbol & 15
        if count:
            k += symbol >> 4
            value = following[at] >> (16 - count)
            at += count
            if value < _LEAST[count]:
                value += _SHIFT[count]
            if k > 63:
                raise ValueError("a block has too many coefficients")
            values[place + ZIGZAG[k]] = value
            k += 1
        elif symbol == 0xF0:
            k += 16
        elif found:
            break
        else:
            raise ValueError("bad Huffman code")
        if at > bits.end:
            raise Truncated("no bits left")
    bits.at = at


def _first(bits: Bits, part: Component, place: int, _: int, last: int, low: int) -> None:
    """The DC coefficient: its difference to the one before."""
    if bits.at >= bits.end:
        raise Truncated("no bits left")
    found = part.codes[0][bits.next[bits.at]]
    if not found:
        raise ValueError("bad Huffman code")
    bits.at += found & 31
    count = found >> 5
    if count > 15:
        raise ValueError("bad Huffman code")
    if count:
        if bits.at >= bits.end:
            raise Truncated("no bits left")
        value = bits.next[bits.at] >> (16 - count)
        bits.at += count
        part.last += value if value >= _LEAST[count] else value + _SHIFT[count]
        if not -32768 <= part.last << low <= 32767:
            raise ValueError("a coefficient is too large")
    part.values[place] = part.last << low


def _refine_first(bits: Bits, part: Component, place: int, _: int, last: int, low: int) -> None:
    """One more bit of the DC coefficient."""
    if bits.at >= bits.end:
        raise Truncated("no bits left")
    if bits.next[bits.at] >> 15:
        part.values[place] |= 1 << low
    bits.at += 1


def _others(bits: Bits, part: Component, place: int, first: int, last: int, low: int) -> None:
    """Some other coefficients, their upper bits."""
    if bits.run:
        bits.run -= 1
        return
    following, codes, k = bits.next, part.codes[1], first
    while k <= last:
        if bits.at >= bits.end:
            raise Truncated("no bits left")
        found = codes[following[bits.at]]
        if not found:
            raise ValueError("bad Huffman code")
        bits.at += found & 31
        run, count = found >> 9, found >> 5 & 15
        if count:
            k += run
            value = following[bits.at] >> (16 - count)
            bits.at += count
            if k > 63:
                raise ValueError("a block has too many coefficients")
            value = value if value >= _LEAST[count] else value + _SHIFT[count]
            part.values[place + ZIGZAG[k]] = value << low
            k += 1
        elif run == 15:
            k += 16
        else:
            bits.run = _run_length(bits, run) - 1
            return


def _run_length(bits: Bits, run: int) -> int:
    """How many blocks end here, this one included."""
    if not run:
        return 1
    more = bits.next[bits.at] >> (16 - run)
    bits.at += run
    return int((1 << run) + more)


def _refine_others(bits: Bits, part: Component, place: int, first: int, last: int, low: int) -> None:
    """One more bit of some other coefficients; those that were 0 may begin here."""
    values, k = part.values, first
    bit = 1 << low
    if not bits.run:
        while k <= last:
            if bits.at >= bits.end:
                raise Truncated("no bits left")
            found = part.codes[1][bits.next[bits.at]]
            if not found:
                raise ValueError("bad Huffman code")
            bits.at += found & 31
            run, count = found >> 9, found >> 5 & 15
            new = 0
            if count:
                new = bit if bits.next[bits.at] >> 15 else -bit
                bits.at += 1
            elif run < 15:
                bits.run = _run_length(bits, run)
                break
            k = _skip_zeros(bits, values, place, k, last, run, bit)
            if new and k <= last:
                values[place + ZIGZAG[k]] = new
            k += 1
    if bits.run:
        _skip_zeros(bits, values, place, k, last, 64, bit)
        bits.run -= 1


def _skip_zeros(bits: Bits, values: Any, place: int, k: int, last: int, zeros: int, bit: int) -> int:
    """Pass `zeros` coefficients that are 0; others on the way get their next bit."""
    while k <= last:
        at = place + ZIGZAG[k]
        known = values[at]
        if known:
            if bits.at >= bits.end + 16:
                raise Truncated("no bits left")
            if (
                bits.next[bits.at] >> 15 and not known & bit
                if known > 0
                else (bits.next[bits.at] >> 15 and not -known & bit)
            ):
                values[at] = known + bit if known > 0 else known - bit
            bits.at += 1
        elif zeros == 0:
            return k
        else:
            zeros -= 1
        k += 1
    return k
