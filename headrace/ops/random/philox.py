"""Philox 4x32-10, the counter-based generator behind TF's random ops (Salmon et al., SC'11).

A generator is a key and a 128-bit counter; block n is a function of key and counter + n, so any
part of a stream is computed at once.  A block is four uint32.
"""

from __future__ import annotations

import secrets
from typing import Any

import numpy as np

from headrace.core import dtypes, hooks
from headrace.core.shapes import make_shape
from headrace.ops.declaration.resources import Slot

_MASK64, _MASK128 = (1 << 64) - 1, (1 << 128) - 1
_LOW = np.uint64(0xFFFFFFFF)
_SHIFT = np.uint64(32)
MULTIPLIERS = 0xD2511F53, 0xCD9E8D57
WEYL = 0x9E3779B9, 0xBB67AE85
_CHUNK = 1 << 13  # blocks that are worked on together: they stay in the cache

_LONG = 1 << 10  # words from which a native call is worth it

Array = np.ndarray[Any, Any]


class Philox:
    """A generator.  Skipping is cheap; asking for blocks does not advance it."""

    __slots__ = ("key", "counter")

    def __init__(self, seed: int, seed2: int = 0) -> None:
        """As TF seeds it: the first seed is the key, the second the upper half of the counter."""
        self.key = seed & _MASK64
        self.counter = (seed2 & _MASK64) << 64

    @staticmethod
    def at(counter: int, key: int) -> Philox:
        """A generator from its whole state."""
        new = Philox(key)
        new.counter = counter & _MASK128
        return new

    def skipped(self, blocks: int) -> Philox:
        return Philox.at(self.counter + blocks, self.key)

    def state(self) -> Array:
        """The counter's halves and the key."""
        return np.array([self.counter & _MASK64, self.counter >> 64, self.key], np.uint64)

    def blocks(self, count: int) -> Array:
        """The next `count` blocks: uint32 [count, 4]."""
        native_words = hooks.native_words.value
        if native_words is not None and 4 * count >= _LONG:
            return native_words(self.key, self.counter, 4 * count).reshape(count, 4)
        out = np.empty((count, 4), np.uint32)
        for start in range(0, count, _CHUNK):
            stop = min(start + _CHUNK, count)
            out[start:stop] = self._at(np.arange(start, stop, dtype=np.uint64))
        return out

    def blocks_at(self, offsets: Array) -> Array:
        """The blocks at these distances from here: uint32 [len(offsets), 4]."""
        offsets = offsets.astype(np.uint64)
        out = np.empty((len(offsets), 4), np.uint32)
        for start in range(0, len(offsets), _CHUNK):
            out[start : start + _CHUNK] = self._at(offsets[start : start + _CHUNK])
        return out

    def _at(self, offsets: Array) -> Array:
        low = np.uint64(self.counter & _MASK64) + offsets
        carry = low < offsets
        high = np.uint64(self.counter >> 64) + carry.astype(np.uint64)
        return _rounds(low & _LOW, low >> _SHIFT, high & _LOW, high >> _SHIFT, self.key)

    def words(self, count: int) -> Array:
        """The next `count` uint32, block after block."""
        return self.blocks(-(-count // 4)).ravel()[:count]


def _rounds(a: Array, b: Array, c: Array, d: Array, key: int) -> Array:
    key0, key1 = key & 0xFFFFFFFF, key >> 32
    for _ in range(10):
        first, second = a * np.uint64(MULTIPLIERS[0]), c * np.uint64(MULTIPLIERS[1])
        a, b = (second >> _SHIFT) ^ b ^ np.uint64(key0), second & _LOW
        c, d = (first >> _SHIFT) ^ d ^ np.uint64(key1), first & _LOW
        key0, key1 = (key0 + WEYL[0]) & 0xFFFFFFFF, (key1 + WEYL[1]) & 0xFFFFFFFF
    return np.stack((a, b, c, d), axis=1).astype(np.uint32)


def generator_of(ctx: Any, seed: int, seed2: int) -> Slot:
    """The generator of a node in its session, as a variable: the counter's halves, then the key.

    Two zero seeds mean: different in every session.
    """
    with ctx.lock:
        slot: Slot | None = ctx.state.get("philox")
        if slot is None:
            if seed == 0 and seed2 == 0:
                seed, seed2 = secrets.randbits(64), secrets.randbits(64)
            slot = ctx.state["philox"] = Slot("generator", dtypes.uint64, make_shape([3]))
            slot.value = Philox(seed, seed2).state()
        return slot


def reserve(ctx: Any, seed: int, seed2: int, blocks: int) -> Philox:
    """The node's generator as it stands; the next step continues `blocks` further."""
    slot = generator_of(ctx, seed, seed2)
    with slot.lock:
        low, high, key = slot.value.tolist()
        generator = Philox.at(low | high << 64, key)
        slot.value = generator.skipped(blocks).state()
    return generator
