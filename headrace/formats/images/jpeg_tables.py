"""Numbers of JPEG (ITU-T T.81): the zigzag order, its example tables, Huffman codes both ways."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np


def _zigzag() -> list[int]:
    """Places of an 8x8 block in the order of rising frequency, along its diagonals."""
    cells = [(row, column) for row in range(8) for column in range(8)]
    cells.sort(key=lambda c: (sum(c), c[0] if sum(c) % 2 else c[1]))
    return [8 * row + column for row, column in cells]


ZIGZAG = _zigzag()

# Steps for quality 50, in reading order (T.81, annex K.1).
LUMINANCE = np.array([
    16, 11, 10, 16, 24, 40, 51, 61, 12, 12, 14, 19, 26, 58, 60, 55,
    14, 13, 16, 24, 40, 57, 69, 56, 14, 17, 22, 29, 51, 87, 80, 62,
    18, 22, 37, 56, 68, 109, 103, 77, 24, 35, 55, 64, 81, 104, 113, 92,
    49, 64, 78, 87, 103, 121, 120, 101, 72, 92, 95, 98, 112, 100, 103, 99,
])  # fmt: skip
CHROMINANCE = np.array([
    17, 18, 24, 47, 99, 99, 99, 99, 18, 21, 26, 66, 99, 99, 99, 99,
    24, 26, 56, 99, 99, 99, 99, 99, 47, 66, 99, 99, 99, 99, 99, 99,
    *[99] * 32,
])  # fmt: skip


def steps(base: Any, quality: int) -> Any:
    """Steps for a quality from 1 to 100."""
    quality = min(max(quality, 1), 100)
    scale = 5000 // quality if quality < 50 else 200 - 2 * quality
    return np.clip((base * scale + 50) // 100, 1, 255)


@dataclass(frozen=True)
class Codes:
    """A Huffman code: how many codes there are of each length from 1 to 16, and their symbols."""

    counts: tuple[int, ...]
    symbols: tuple[int, ...]

    def pairs(self) -> list[tuple[int, int, int]]:
        """(symbol, code, length)"""
        found, code, at = [], 0, 0
        for length, count in enumerate(self.counts, 1):
            for symbol in self.symbols[at : at + count]:
                found.append((symbol, code, length))
                code += 1
            at += count
            code <<= 1
        return found

    def lookup(self) -> list[int]:
        """By the next 16 bits: length | symbol << 5; 0 where no code begins like this."""
        return _lookup(self)

    def encoder(self) -> tuple[Any, Any]:
        """(code, length) by symbol."""
        codes, lengths = np.zeros(256, np.int64), np.zeros(256, np.int64)
        for symbol, code, length in self.pairs():
            codes[symbol], lengths[symbol] = code, length
        return codes, lengths


@lru_cache(maxsize=16)
def _lookup(codes: Codes) -> list[int]:
    """Kept: most files have the same few codes, and a table takes longer than a small image."""
    table = np.zeros(1 << 16, np.int32)
    for symbol, code, length in codes.pairs():
        if code >> length:
            raise ValueError("bad Huffman table")
        start = code << (16 - length)
        table[start : start + (1 << (16 - length))] = length | symbol << 5
    return list(table.tolist())


def best_codes(counts: Any) -> Codes:
    """The shortest code for symbols that occur this often; at most 16 bits (T.81, annex K.2)."""
    used = [int(s) for s in np.flatnonzero(counts)]
    # One more symbol takes the code of all ones, which JPEG does not allow.
    heap: list[tuple[int, int, list[int]]] = [(int(counts[s]), s, [s]) for s in used]
    heap.append((0, 256, [256]))
    heapq.heapify(heap)
    depth = dict.fromkeys([*used, 256], 0)
    while len(heap) > 1:
        first, second = heapq.heappop(heap), heapq.heappop(heap)
        members = first[2] + second[2]
        for symbol in members:
            depth[symbol] += 1
        heapq.heappush(heap, (first[0] + second[0], min(first[1], second[1]), members))
    sizes = [0] * (max(max(depth.values()), 16) + 1)
    for length in depth.values():
        sizes[max(length, 1)] += 1
    for length in range(len(sizes) - 1, 16, -1):  # move pairs of long codes up the tree
        while sizes[length]:
            above = length - 2
            while not sizes[above]:
                above -= 1
            sizes[length] -= 2
            sizes[length - 1] += 1
            sizes[above + 1] += 2
            sizes[above] -= 1
    longest = max(n for n in range(1, 17) if sizes[n])
    sizes[longest] -= 1  # the reserved code
    order = sorted(used, key=lambda s: (depth[s], s))
    return Codes(tuple(sizes[1:17]), tuple(order))


_LUMINANCE_AC = bytes.fromhex(
    "01020300041105122131410613516107227114328191a1082342b1c11552d1f02433627282090a161718191a25262728"
    "292a3435363738393a434445464748494a535455565758595a636465666768696a737475767778797a83848586878889"
    "8a92939495969798999aa2a3a4a5a6a7a8a9aab2b3b4b5b6b7b8b9bac2c3c4c5c6c7c8c9cad2d3d4d5d6d7d8d9dae1e2"
    "e3e4e5e6e7e8e9eaf1f2f3f4f5f6f7f8f9fa"
)
_CHROMINANCE_AC = bytes.fromhex(
    "0001020311040521310612415107617113223281081442 91a1b1c109233352f0156272d10a162434e125f11718191a26"
    "2728292a35363738393a434445464748494a535455565758595a636465666768696a737475767778797a828384858687"
    "88898a92939495969798999aa2a3a4a5a6a7a8a9aab2b3b4b5b6b7b8b9bac2c3c4c5c6c7c8c9cad2d3d4d5d6d7d8d9da"
    "e2e3e4e5e6e7e8e9eaf2f3f4f5f6f7f8f9fa".replace(" ", "")
)
# The codes of annex K.3: (DC, AC) of luminance, of chrominance.
USUAL_CODES = (
    (
        Codes((0, 1, 5, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0), tuple(range(12))),
        Codes((0, 2, 1, 3, 3, 2, 4, 3, 5, 5, 4, 4, 0, 0, 1, 125), tuple(_LUMINANCE_AC)),
    ),
    (
        Codes((0, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0), tuple(range(12))),
        Codes((0, 2, 1, 2, 4, 4, 3, 4, 7, 5, 4, 4, 0, 1, 2, 119), tuple(_CHROMINANCE_AC)),
    ),
)
