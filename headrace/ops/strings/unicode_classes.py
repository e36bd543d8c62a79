"""Sets of characters by general category or script, as ranges of code points."""

from __future__ import annotations

import unicodedata
from functools import cache
from typing import Any

import numpy as np

from headrace.ops.strings.unicode_scripts import numbers, scripts

LAST = 0x10FFFF
SURROGATES = (0xD800, 0xDFFF)  # not characters: no set holds them
Ranges = list[tuple[int, int]]


@cache
def _categories() -> Any:
    """The category of every code point, as two-letter bytes."""
    return np.array([unicodedata.category(chr(c)).encode() for c in range(LAST + 1)], "S2")


@cache
def ranges(name: str) -> Ranges | None:
    """The ranges of a category ("L", "Lu"), a script ("Greek") or "Any"; None if unknown."""
    if name == "Any":
        return complement([])
    if name in numbers():
        return _ranges(scripts() == numbers()[name])
    if name in ("L", "M", "N", "P", "S", "Z", "C"):
        return _ranges(_categories().view("S1")[::2] == name.encode())
    chosen = _categories() == name.encode()
    return _ranges(chosen) if len(name) == 2 and chosen.any() and name != "Cn" else None


def _ranges(chosen: Any) -> Ranges:
    edges = np.flatnonzero(np.diff(np.concatenate([[False], chosen, [False]]).astype(np.int8)))
    return [(int(a), int(b) - 1) for a, b in edges.reshape(-1, 2)]


def complement(ranges: Ranges) -> Ranges:
    """Every other character; `ranges` are in order."""
    out, start = [], 0
    for low, high in sorted([*ranges, SURROGATES]):
        if start < low:
            out.append((start, low - 1))
        start = max(start, high + 1)
    return [*out, (start, LAST)] if start <= LAST else out
