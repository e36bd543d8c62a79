"""Shape rules for batches of matrices: what linear algebra asks of the two last dimensions."""

from __future__ import annotations

from typing import Any

from headrace.core.errors import require
from headrace.core.shapes import UNKNOWN, Dim, Shape, broadcast_sizes, make_shape, show


def at_least(x: Any, rank: int) -> None:
    """Refuse a known rank below `rank`."""
    require(x.rank is None or x.rank >= rank, f"Shape must be at least rank {rank} but is rank {x.rank}")


def exactly(x: Any, rank: int) -> None:
    """Refuse a known rank other than `rank`."""
    require(x.rank in (None, rank), f"Shape must be rank {rank} but is rank {x.rank}")


def equal(a: Dim, b: Dim, *inputs: Any) -> Dim:
    """One size from two that must agree; either may be unknown."""
    shapes = ", ".join(show(x) for x in inputs)
    require(
        a is None or b is None or a == b,
        f"Dimensions must be equal, but are {a} and {b} with input shapes: {shapes}.",
    )
    return b if a is None else a


def lead(x: Any, inner: int = 2) -> tuple[Dim, ...] | None:
    """The batch dimensions: all but the last `inner`."""
    return None if x.rank is None else x.sizes[: x.rank - inner]


def merge_lead(x: Any, y: Any) -> tuple[Dim, ...] | None:
    """Batch dimensions that must be the same for both."""
    a, b = lead(x), lead(y)
    if a is None or b is None:
        return b if a is None else a
    require(
        len(a) == len(b),
        f"Shapes must be equal rank, but are {len(a)} and {len(b)} with input shapes: {show(x)}, {show(y)}.",
    )
    return tuple(equal(p, q, x, y) for p, q in zip(a, b))


def broadcast_lead(x: Any, y: Any) -> tuple[Dim, ...] | None:
    """Batch dimensions that broadcast."""
    a, b = lead(x), lead(y)
    if a is None or b is None:
        return None
    try:
        return broadcast_sizes(a, b)
    except ValueError:
        sizes = next((p, q) for p, q in zip(a[::-1], b[::-1]) if 1 not in (p, q) and p != q)
        equal(*sizes, x, y)
        raise


def square(x: Any) -> Dim:
    """The side of square matrices; refuses others."""
    at_least(x, 2)
    return None if x.rank is None else equal(x.sizes[-1], x.sizes[-2], x)


def join(batch: tuple[Dim, ...] | None, *inner: Dim) -> Shape:
    """Batch and inner dimensions together; unknown where the batch is."""
    return UNKNOWN if batch is None else make_shape((*batch, *inner))
