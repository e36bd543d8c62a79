"""Compiled rules of whole variables, on some of their rows.

A rule of `update_rule` is element-wise: given operands that show rows where it expects variables, and
an emitter that puts back what it assigns, it is the rule of the sparse op too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.ops.array.indexing.rows import OUTSIDE
from headrace.ops.declaration.emit import Decline


class RowsOf:
    """The rows of an operand at `place(k)`, for k below `count`."""

    def __init__(self, whole: Any, place: Callable[[Any], Any], count: int) -> None:
        self.whole, self.place = whole, place
        self.shape, self.dtype = (count, *whole.shape[1:]), whole.dtype

    def __getitem__(self, index: Any) -> Any:
        row, *rest = index
        return self.whole[(self.place(row), *rest)]


class RowEmitter:
    """An emitter whose variables are rows: an assignment changes those, and no others."""

    def __init__(self, e: Any) -> None:
        self._emitter = e
        self.changed: dict[RowsOf, Any] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._emitter, name)

    def assign(self, rows: RowsOf, rule: Any) -> Any:
        e = self._emitter
        new = e.compute(rows.shape, rule) if callable(rule) else rule
        changed = e.scatter(
            "set", rows.whole, rows.shape, lambda k, *i: (rows.place(k), *i), lambda *i: new[i]
        )
        self.changed[rows] = e.assign(rows.whole, changed)
        return new


def apply_to_rows(
    e: Any,
    rule: Callable[..., Any],
    states: list[Any],
    others: list[Any],
    gradient: int,
    attrs: dict[str, Any],
) -> Any:
    """The new variable.  `others` holds the indices right after the gradient.  Rows that occur twice
    are left to the reference, unless their gradients were added up already."""
    indices = others.pop(gradient + 1)
    if len(indices.shape) != 1 or not states[0].shape:
        raise Decline("a variable without rows, or indices that are no vector")
    (count,), rows = indices.shape, states[0].shape[0]

    def place(k: Any) -> Any:
        return e.checked(indices[k], rows, OUTSIDE)

    leaders = e.leaders(indices)
    if leaders is None:
        leaders = _all_different(e, indices, place, rows)
    else:
        others[gradient] = RowsOf(others[gradient], lambda k: e.checked(leaders[k], count, OUTSIDE), count)
    emitter = RowEmitter(e)
    shown = [RowsOf(s, place, count) for s in states]
    rule(emitter, *shown, *others, **attrs)
    return emitter.changed[shown[0]]


def _all_different(e: Any, indices: Any, place: Callable[[Any], Any], rows: int) -> Any:
    last = e.scatter("set", e.unwritten((rows,), "int64"), indices.shape, place, lambda k: e.cast(k, "int64"))

    def leader(k: Any) -> Any:
        e.require(last[place(k)] == e.cast(k, "int64"), "a row occurs twice")
        return last[place(k)]

    return e.compute(indices.shape, leader)
