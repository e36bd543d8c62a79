"""Sizes, shapes and tables, as `headrace inspect` prints them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def size(count: float) -> str:
    """A number of bytes."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000 or unit == "GB":
            return f"{count:.0f} {unit}" if unit == "B" or count >= 100 else f"{count:.1f} {unit}"
        count /= 1000
    raise AssertionError


def shape(sizes: Iterable[int | None] | None) -> str:
    if sizes is None:
        return "[...]"
    return "[" + ",".join("?" if s is None or s < 0 else str(s) for s in sizes) + "]"


def columns(rows: Sequence[Sequence[str]], indent: str = "  ") -> list[str]:
    """Rows of cells in columns; the last column is as it is."""
    if not rows:
        return []
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]) - 1)]
    return [
        (indent + "  ".join([*(c.ljust(w) for c, w in zip(row, widths)), row[-1]])).rstrip() for row in rows
    ]


def shortened(lines: list[str], limit: int, indent: str = "  ") -> list[str]:
    """The first lines, and how many there are more."""
    if limit <= 0 or len(lines) <= limit:
        return lines
    return [*lines[:limit], f"{indent}... {len(lines) - limit} more (--all shows them)"]


def counts(numbers: dict[str, int], limit: int) -> str:
    """The most frequent first."""
    ordered = sorted(numbers.items(), key=lambda item: (-item[1], item[0]))
    shown = [f"{name} {count}" for name, count in ordered[: limit or None]]
    rest = len(ordered) - len(shown)
    return ", ".join(shown) + (f", {rest} more kinds" if rest else "")
