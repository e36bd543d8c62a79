"""Where every array of a program is.  In: allocations with sizes and lifetimes.  Out: offsets in one
arena.

Greedy: the largest first, each at the lowest place where none is that lives at the same time.
"""

from __future__ import annotations

from bisect import insort
from dataclasses import dataclass

ALIGNMENT = 64


@dataclass(slots=True, eq=False)
class Allocation:
    """Memory that is needed from entry `first` to entry `last`, both included."""

    size: int  # of now, where it is open
    first: int
    last: int
    name: str = ""
    offset: int = -1
    lane: tuple[int, int] | None = None  # the fork, and the only one of its branches that uses it

    def overlaps(self, other: Allocation) -> bool:
        if self.lane and other.lane and self.lane[0] == other.lane[0]:
            if self.lane != other.lane:
                return True
        return self.first <= other.last and other.first <= self.last


def align(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT


def plan(allocations: list[Allocation]) -> int:
    """Give every allocation its offset; the size of the arena."""
    placed: list[tuple[int, int, Allocation]] = []  # offset, end; lowest first
    total = 0
    for allocation in sorted(allocations, key=lambda b: (-b.size, b.first)):
        size = align(allocation.size)
        at = 0
        for offset, end, other in placed:
            if offset >= at + size:
                break  # so do all that follow
            if end > at and other.overlaps(allocation):
                at = end
        allocation.offset = at
        insort(placed, (at, at + size, allocation), key=_offset)
        total = max(total, at + size)
    return total


def _offset(placed: tuple[int, int, Allocation]) -> int:
    return placed[0]


def most_alive(allocations: list[Allocation]) -> int:
    """The lower bound: bytes alive at the fullest entry."""
    changes: dict[int, int] = {}
    for b in allocations:
        changes[b.first] = changes.get(b.first, 0) + align(b.size)
        changes[b.last + 1] = changes.get(b.last + 1, 0) - align(b.size)
    alive = top = 0
    for entry in sorted(changes):
        alive += changes[entry]
        top = max(top, alive)
    return top


def describe(allocations: list[Allocation], total: int) -> str:
    lines = [f"arena {total} bytes, at most {most_alive(allocations)} alive, {len(allocations)} allocations"]
    lines += [
        f"  {b.offset:>10} {b.size:>10}  entries {b.first}-{b.last}  {b.name}"
        for b in sorted(allocations, key=lambda b: b.offset)
    ]
    return "\n".join(lines)
