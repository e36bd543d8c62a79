"""CRC32C (Castagnoli), the checksum of TF's files, in NumPy: several GB/s on large buffers.

A CRC is a remainder modulo a polynomial P over bits.  Modulo P, x**(8*5685) equals x**(8*1362) +
x**(8*426) + 1; so a byte may be dropped if it is XORed into three later places, 4323, 5259 and 5685 bytes
on, and whole stretches of bytes at once.  Squaring the equation doubles its distances: large buffers are
folded in large strides first.  The few KB that remain go through tables by position.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from headrace.core import hooks

Bytes = Any  # bytes, bytearray, memoryview or a contiguous array
_Octets = npt.NDArray[np.uint8]

_POLYNOMIAL = 0x82F63B78  # bits reversed: the highest power is the lowest bit
_ONES = 0xFFFFFFFF
_SPAN = 5685  # the relation above: the word that goes, and how far on it reappears
_STEPS = (_SPAN - 1362, _SPAN - 426, _SPAN)
_ROW = 512  # bytes per lookup by position
_SHORT = 48  # below this, a loop is faster than NumPy
_STRIDE = 1 << 4  # the largest scale: what is folded at once stays in the cache
_BLOCK = 1 << 20

_MASK_DELTA = 0xA282EAD8


def value(data: Bytes) -> int:
    """The checksum of the data."""
    return extend(0, data)


def masked(data: Bytes) -> int:
    """The checksum as files store it."""
    return mask(extend(0, data))


def mask(crc: int) -> int:
    """Stored form: a checksum of data that holds its own checksum would be a poor one."""
    return (((crc >> 15) | (crc << 17)) + _MASK_DELTA) & _ONES


def unmask(stored: int) -> int:
    rotated = (stored - _MASK_DELTA) & _ONES
    return ((rotated >> 17) | (rotated << 15)) & _ONES


def extend(crc: int, data: Bytes) -> int:
    """The checksum of A + data, from that of A."""
    octets = np.frombuffer(data, np.uint8)
    if octets.size < _SHORT:
        return _loop(crc ^ _ONES, octets.tobytes()) ^ _ONES
    native = hooks.native_checksum.value
    if native is not None:
        return native(crc, octets)
    state = crc ^ _ONES
    for start in range(0, octets.size, _BLOCK):
        state = _block(state, octets[start : start + _BLOCK])
    return state ^ _ONES


def combine(first: int, second: int, length: int) -> int:
    """The checksum of A + B, from those of A and of B, which has `length` bytes."""
    return _times_power(first, length) ^ second


# -- states: remainders with the first bit of the data as the highest power ----------------------
def _loop(state: int, data: bytes) -> int:
    table = _byte_table()
    for byte in data:
        state = table[(state ^ byte) & 0xFF] ^ (state >> 8)
    return state


def _block(state: int, octets: _Octets) -> int:
    """The state after up to _BLOCK bytes."""
    if octets.size > 2 * _SPAN:
        octets = _folded(state, octets)
        state = 0
    head = octets.size % _ROW
    state = _row(state, octets[:head])
    rows = octets[head:].reshape(-1, _ROW)
    if len(rows):
        for found in _row_states(rows).tolist():
            state = _times(_row_operator(), state) ^ found
    return state


def _folded(state: int, octets: _Octets) -> _Octets:
    """At most 2 * _SPAN bytes with the same remainder, the state before the data included."""
    work: _Octets = octets.copy()
    work[:4] ^= np.frombuffer(state.to_bytes(4, "little"), np.uint8)
    start, scale = 0, _STRIDE
    while scale:
        stride = scale * _STEPS[0]
        last = work.size - scale * _SPAN  # bytes from here on have no place to go
        while start < last:
            end = min(start + stride, last)
            gone = work[start:end]
            for step in _STEPS:
                target = work[start + scale * step : end + scale * step]
                np.bitwise_xor(target, gone, out=target)
            start = end
        scale //= 2
    rest: _Octets = work[start:]
    return rest


def _row(state: int, octets: _Octets) -> int:
    """The state after fewer than _ROW bytes."""
    if octets.size < _SHORT:
        return _loop(state, octets.tobytes())
    first = octets.copy()
    first[:4] ^= np.frombuffer(state.to_bytes(4, "little"), np.uint8)
    return int(_row_states(first[np.newaxis])[0])


def _row_states(rows: _Octets) -> npt.NDArray[np.uint32]:
    """The state after each row, from 0."""
    width = rows.shape[1]
    places = _place_offsets()[_ROW - width :]
    found = _place_table().take(rows + places)
    states: npt.NDArray[np.uint32] = np.bitwise_xor.reduce(found, axis=1)
    return states


# -- tables --------------------------------------------------------------------------------------
@cache
def _byte_table() -> tuple[int, ...]:
    """What a byte does to the state."""
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = (table >> np.uint32(1)) ^ np.where(table & 1, np.uint32(_POLYNOMIAL), np.uint32(0))
    return tuple(table.tolist())


@cache
def _place_table() -> npt.NDArray[np.uint32]:
    """What a byte contributes to the state at the end of its row, by place and value."""
    after = np.array(_byte_table(), np.uint32)
    table = np.empty((_ROW, 256), np.uint32)
    table[-1] = after
    for place in range(_ROW - 2, -1, -1):
        later = table[place + 1]
        table[place] = after[later & np.uint32(0xFF)] ^ (later >> np.uint32(8))
    return table.ravel()


@cache
def _place_offsets() -> npt.NDArray[np.int64]:
    return np.arange(0, 256 * _ROW, 256)


@cache
def _row_operator() -> tuple[int, ...]:
    return _operator(_power(_ROW))


# -- multiplication modulo P ---------------------------------------------------------------------
def _product(a: int, b: int) -> int:
    """a * b; bit 31 is x**0."""
    out = 0
    for bit in range(31, -1, -1):
        if (b >> bit) & 1:
            out ^= a
        a = (a >> 1) ^ (_POLYNOMIAL if a & 1 else 0)
    return out


@cache
def _power(length: int) -> int:
    """x ** (8 * length)."""
    out, base = 1 << 31, 1 << 23
    while length:
        if length & 1:
            out = _product(out, base)
        base = _product(base, base)
        length >>= 1
    return out


def _operator(factor: int) -> tuple[int, ...]:
    """Multiplication by `factor`, as four tables of a byte each."""
    columns = [_product(1 << bit, factor) for bit in range(32)]
    table = []
    for quarter in range(4):
        for byte in range(256):
            found = 0
            for bit in range(8):
                if (byte >> bit) & 1:
                    found ^= columns[8 * quarter + bit]
            table.append(found)
    return tuple(table)


def _times(operator: tuple[int, ...], state: int) -> int:
    return (
        operator[state & 0xFF]
        ^ operator[256 + ((state >> 8) & 0xFF)]
        ^ operator[512 + ((state >> 16) & 0xFF)]
        ^ operator[768 + (state >> 24)]
    )


def _times_power(state: int, length: int) -> int:
    return _product(state, _power(length))
