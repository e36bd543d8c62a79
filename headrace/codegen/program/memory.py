"""Where every array of a program is.  In: blocks with sizes and lifetimes.  Out: offsets in one arena.

Greedy: the largest block first, each at the lowest place where no block that lives at the same time is.
"""

from __future__ import annotations

from bisect import insort
from dataclasses import dataclass

ALIGNMENT = 64


@dataclass(slots=True, eq=False)
class Block:
    """Memory that is needed from step `first` to step `last`, both included."""

    size: int
    first: int
    last: int
    name: str = ""
    offset: int = -1
    lane: tuple[int, int] | None = None  # the fork, and the only one of its branches that uses it

    def overlaps(self, other: Block) -> bool:
        if self.lane and other.lane and self.lane[0] == other.lane[0]:
            if self.lane != other.lane:
                return True
        return self.first <= other.last and other.first <= self.last


def align(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT


def plan(blocks: list[Block]) -> int:
    """Give every block its offset; the size of the arena."""
    placed: list[tuple[int, int, Block]] = []  # offset, end; lowest first
    total = 0
    for block in sorted(blocks, key=lambda b: (-b.size, b.first)):
        size = align(block.size)
        at = 0
        for offset, end, other in placed:
            if offset >= at + size:
                break  # so do all that follow
            if end > at and other.overlaps(block):
                at = end
        block.offset = at
        insort(placed, (at, at + size, block), key=_offset)
        total = max(total, at + size)
    return total


def _offset(placed: tuple[int, int, Block]) -> int:
    return placed[0]


def most_alive(blocks: list[Block]) -> int:
    """The lower bound: bytes alive at the fullest step."""
    changes: dict[int, int] = {}
    for b in blocks:
        changes[b.first] = changes.get(b.first, 0) + align(b.size)
        changes[b.last + 1] = changes.get(b.last + 1, 0) - align(b.size)
    alive = top = 0
    for step in sorted(changes):
        alive += changes[step]
        top = max(top, alive)
    return top


def describe(blocks: list[Block], total: int) -> str:
    lines = [f"arena {total} bytes, at most {most_alive(blocks)} alive, {len(blocks)} blocks"]
    lines += [
        f"  {b.offset:>10} {b.size:>10}  steps {b.first}-{b.last}  {b.name}"
        for b in sorted(blocks, key=lambda b: b.offset)
    ]
    return "\n".join(lines)
