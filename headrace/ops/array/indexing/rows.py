"""Rows of an array at given places, where a place may occur twice: what gathers, scatters and
segment reductions share.  It is vectorised: places are sorted once, groups reduced at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from headrace.core.errors import require
from headrace.core.shapes import show
from headrace.ops.declaration.precision import widest


def show_index(shape: Sequence[int], flat: int) -> str:
    """The index of the flat element of an array of this shape, as messages show it: [0,3]."""
    if not shape:
        return ""
    return show(np.unravel_index(flat, tuple(shape)))


def first_bad(places: Any, count: int) -> int | None:
    """The flat position of the first place outside [0, count), or None."""
    if places.size == 0:
        return None
    if count > 0 and places.min() >= 0 and places.max() < count:
        return None
    return int(np.flatnonzero((places < 0) | (places >= count))[0])


OUTSIDE = "indices{at} = {value} is not in [0, {extent})"  # also what compiled rules say


def check_places(places: Any, count: int) -> None:
    bad = first_bad(places, count)
    if bad is not None:
        at, value = show_index(places.shape, bad), places.flat[bad]
        require(False, OUTSIDE.format(at=at, value=value, extent=count))


def flat_places(indices: Any, shape: Sequence[int], what: str) -> Any:
    """Row numbers from index vectors (the last axis) into an array of this shape."""
    depth = indices.shape[-1]
    if depth == 0:
        return np.zeros(indices.shape[:-1], np.int64)
    bounds = np.array(shape[:depth], indices.dtype)
    outside = ((indices < 0) | (indices >= bounds)).any(axis=-1)
    if outside.any():
        bad = int(np.flatnonzero(outside)[0])
        values = ", ".join(str(v) for v in indices.reshape(-1, depth)[bad])
        where = show_index(outside.shape, bad)
        require(False, f"indices{where} = [{values}] does not index into {what} {show(shape)}")
    steps = np.ones(depth, np.int64)
    for i in reversed(range(depth - 1)):
        steps[i] = steps[i + 1] * shape[i + 1]
    return (indices.astype(np.int64) * steps).sum(axis=-1)


def grouped(ufunc: Any, rows: Any, places: Any) -> tuple[Any, Any]:
    """(places without repetition, rows of equal places reduced by `ufunc` in their order); sums are in the
    widest type."""
    if ufunc is np.add:
        rows = widest(rows)
    order = np.argsort(places, kind="stable")
    in_order = places[order]
    starts = np.flatnonzero(np.concatenate(([True], in_order[1:] != in_order[:-1])))
    with np.errstate(all="ignore"):
        return in_order[starts], ufunc.reduceat(rows[order], starts, axis=0)


def combine(ufunc: Any, target: Any, places: Any, rows: Any) -> None:
    """target[p] = ufunc(target[p], row) for every place and its row, in order, in place."""
    if places.size == 0 or rows.size == 0:
        return
    if ufunc in (np.add, np.subtract) and rows.dtype != object:
        chosen, total = grouped(np.add, rows, places)
        with np.errstate(all="ignore"):
            target[chosen] = ufunc(widest(target[chosen]), total).astype(target.dtype)
        return
    if rows.ndim == 1 and rows.dtype != object:
        ufunc.at(target, places, rows)
        return
    chosen, reduced = grouped(ufunc, rows, places)
    target[chosen] = ufunc(target[chosen], reduced)


def added_at(target: Any, index: Any, values: Any) -> None:
    """target[index] += values, in place, also where an index occurs often: the sums are rounded once."""
    total = np.zeros(target.shape, widest(target[:0]).dtype)
    np.add.at(total, index, values)
    with np.errstate(all="ignore"):
        target[...] = (widest(target) + total).astype(target.dtype)
