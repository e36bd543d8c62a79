"""The hash functions that graphs rely on: FarmHash's Fingerprint64, SipHash-2-4, Murmur's Hash64.

Each is written once for 64-bit words that are Python ints (one string) or uint64 arrays (many of
one length): `& M` keeps both within 64 bits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

M = 0xFFFFFFFFFFFFFFFF
K0, K1, K2 = 0xC3A5C85C97CB3127, 0xB492B66FBE98F273, 0x9AE16A3B2F90404F
_MANY = 12  # strings of one length from which on arrays are faster

Word = Any  # int or uint64 array
Text = Any  # bytes, or a uint8 matrix with one string per row


def of_strings(function: Callable[..., Word], strings: Any, *args: Any) -> Any:
    """`function` of every string of an object array, as uint64."""
    flat = strings.reshape(-1)
    out = np.empty(flat.size, np.uint64)
    groups: dict[int, list[int]] = {}
    for i, s in enumerate(flat):
        groups.setdefault(len(s), []).append(i)
    for length, members in groups.items():
        if len(members) < _MANY or not length:
            for i in members:
                out[i] = function(flat[i], *args)
        else:
            joined = b"".join(flat[i] for i in members)
            rows = np.frombuffer(joined, np.uint8).reshape(len(members), length)
            out[members] = function(rows, *args)
    return out.reshape(strings.shape)


def _length(s: Text) -> int:
    return len(s) if isinstance(s, bytes) else int(s.shape[1])


def _word(s: Text, at: int, size: int = 8) -> Word:
    """`size` bytes from `at`, little-endian."""
    if isinstance(s, bytes):
        return int.from_bytes(s[at : at + size], "little")
    out = np.zeros((len(s), 8), np.uint8)
    out[:, :size] = s[:, at : at + size]
    return out.view("<u8")[:, 0].astype(np.uint64)


def _rotate(x: Word, by: int) -> Word:
    """To the right."""
    return ((x >> by) | (x << (64 - by))) & M


def _mix(x: Word) -> Word:
    return x ^ (x >> 47)


# -- FarmHash -----------------------------------------------------------------------------------
def _pair(u: Word, v: Word, mul: Word) -> Word:
    a = _mix(((u ^ v) * mul) & M)
    b = _mix(((v ^ a) * mul) & M)
    return (b * mul) & M


def fingerprint64(s: Text) -> Word:
    """FarmHash's Fingerprint64: the same number on every machine, for ever."""
    n = _length(s)
    if n <= 16:
        return _up_to_16(s, n)
    if n <= 32:
        return _up_to_32(s, n)
    return _up_to_64(s, n) if n <= 64 else _long(s, n)


def _up_to_16(s: Text, n: int) -> Word:
    mul = (K2 + n * 2) & M
    if n >= 8:
        a, b = (_word(s, 0) + K2) & M, _word(s, n - 8)
        c = (_rotate(b, 37) * mul + a) & M
        d = ((_rotate(a, 25) + b) * mul) & M
        return _pair(c, d, mul)
    if n >= 4:
        return _pair((n + (_word(s, 0, 4) << 3)) & M, _word(s, n - 4, 4), mul)
    if n > 0:
        y = (_word(s, 0, 1) + (_word(s, n >> 1, 1) << 8)) & M
        z = (n + (_word(s, n - 1, 1) << 2)) & M
        return (_mix(((y * K2) & M) ^ ((z * K0) & M)) * K2) & M
    return K2


def _ends(s: Text, n: int, factor: int, mul: int) -> tuple[Word, Word, Word, Word, Word]:
    a, b = (_word(s, 0) * factor) & M, _word(s, 8)
    c, d = (_word(s, n - 8) * mul) & M, (_word(s, n - 16) * K2) & M
    first = (_rotate((a + b) & M, 43) + _rotate(c, 30) + d) & M
    second = (a + _rotate((b + K2) & M, 18) + c) & M
    return first, second, a, b, c


def _up_to_32(s: Text, n: int) -> Word:
    mul = (K2 + n * 2) & M
    first, second, *_ = _ends(s, n, K1, mul)
    return _pair(first, second, mul)


def _up_to_64(s: Text, n: int) -> Word:
    mul = (K2 + n * 2) & M
    y, second, a, *_ = _ends(s, n, K2, mul)
    z = _pair(y, second, mul)
    e, f = (_word(s, 16) * mul) & M, _word(s, 24)
    g = ((y + _word(s, n - 32)) * mul) & M
    h = ((z + _word(s, n - 24)) * mul) & M
    return _pair(
        (_rotate((e + f) & M, 43) + _rotate(g, 30) + h) & M, (e + _rotate((f + a) & M, 18) + g) & M, mul
    )


def _weak(s: Text, at: int, a: Word, b: Word) -> tuple[Word, Word]:
    w, x, y, z = (_word(s, at + i) for i in (0, 8, 16, 24))
    a = (a + w) & M
    b = _rotate((b + a + z) & M, 21)
    c = a
    a = (a + x + y) & M
    b = (b + _rotate(a, 44)) & M
    return (a + z) & M, (b + c) & M


def _long(s: Text, n: int) -> Word:
    x: Word = (((81 * K2) & M) + _word(s, 0)) & M
    y: Word = (81 * K1 + 113) & M
    z: Word = (_mix((y * K2 + 113) & M) * K2) & M
    v: tuple[Word, Word] = (0, 0)
    w: tuple[Word, Word] = (0, 0)
    end = (n - 1) // 64 * 64
    for at in range(0, end, 64):
        x, y, z, v, w = _round(s, at, x, y, z, v, w, K1, 1)
    mul = (K1 + ((z & 0xFF) << 1)) & M
    w0 = (w[0] + ((n - 1) & 63)) & M
    v0 = (v[0] + w0) & M
    w0 = (w0 + v0) & M
    x, y, z, v, w = _round(s, n - 64, x, y, z, (v0, v[1]), (w0, w[1]), mul, 9)
    return _pair((_pair(v[0], w[0], mul) + _mix(y) * K0 + z) & M, (_pair(v[1], w[1], mul) + x) & M, mul)


def _round(
    s: Text,
    at: int,
    x: Word,
    y: Word,
    z: Word,
    v: tuple[Word, Word],
    w: tuple[Word, Word],
    mul: Word,
    factor: int,
) -> tuple[Word, Word, Word, tuple[Word, Word], tuple[Word, Word]]:
    x = (_rotate((x + y + v[0] + _word(s, at + 8)) & M, 37) * mul) & M
    y = (_rotate((y + v[1] + _word(s, at + 48)) & M, 42) * mul) & M
    x = x ^ ((w[1] * factor) & M)
    y = (y + v[0] * factor + _word(s, at + 40)) & M
    z = (_rotate((z + w[0]) & M, 33) * mul) & M
    v = _weak(s, at, (v[1] * mul) & M, (x + w[0]) & M)
    w = _weak(s, at + 32, (z + w[1]) & M, (y + _word(s, at + 16)) & M)
    return z, y, x, v, w


_CAT = 0xC6A4A7935BD1E995


def fingerprint_cat64(first: Word, second: Word) -> Word:
    """The fingerprint of a pair of fingerprints."""
    out = first ^ _CAT ^ ((_mix((second * _CAT) & M) * _CAT) & M)
    out = (out * _CAT) & M
    out = (_mix(out) * _CAT) & M
    return _mix(out)


# -- SipHash ------------------------------------------------------------------------------------
def siphash(s: Text, key: tuple[int, int]) -> Word:
    """SipHash-2-4 with a key of two words."""
    v: list[Word] = [
        0x736F6D6570736575 ^ key[0],
        0x646F72616E646F6D ^ key[1],
        0x6C7967656E657261 ^ key[0],
        0x7465646279746573 ^ key[1],
    ]
    n = _length(s)
    whole = n // 8 * 8
    last = _word(s, whole, n - whole) | ((n & 0xFF) << 56)
    for word in [*(_word(s, at) for at in range(0, whole, 8)), last]:
        v[3] = v[3] ^ word
        _sip_round(v)
        _sip_round(v)
        v[0] = v[0] ^ word
    v[2] = v[2] ^ 0xFF
    for _ in range(4):
        _sip_round(v)
    return v[0] ^ v[1] ^ v[2] ^ v[3]


def _sip_round(v: list[Word]) -> None:
    for a, b, turn, half in ((0, 1, 51, True), (2, 3, 48, False), (0, 3, 43, False), (2, 1, 47, True)):
        v[a] = (v[a] + v[b]) & M
        v[b] = _rotate(v[b], turn) ^ v[a]
        if half:
            v[a] = _rotate(v[a], 32)


# -- Murmur -------------------------------------------------------------------------------------
def hash64(s: Text, seed: int = 0xDECAFCAFFE) -> Word:
    """Murmur 2 for 64 bits, as the first StringToHashBucket uses it."""
    n = _length(s)
    h: Word = seed ^ ((n * _CAT) & M)
    for at in range(0, n // 8 * 8, 8):
        k = (_mix((_word(s, at) * _CAT) & M) * _CAT) & M
        h = ((h ^ k) * _CAT) & M
    if n % 8:
        h = ((h ^ _word(s, n // 8 * 8, n % 8)) * _CAT) & M
    h = (_mix(h) * _CAT) & M
    return _mix(h)


def hash64_combine(a: int, b: int) -> int:
    """One hash of two, whose order counts."""
    return a ^ ((b + 0x9E3779B97F4A7800 + (a << 10) + (a >> 4)) & M)
