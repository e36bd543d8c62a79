"""The spec of a slice: which places along each dimension it takes, known ones or, in compiled rules, computed
ones."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from headrace.core.errors import require
from headrace.core.shapes import Dim
from headrace.core.sizes import is_whole
from headrace.ops.declaration.emit import Decline


class Entry(NamedTuple):
    """What happens to one dimension of the input (axis None: a new dimension of size 1)."""

    axis: int | None
    begin: Any  # an int; None while the graph is built, an expression of a kernel where not known
    end: Any
    stride: int
    open_begin: bool = False
    open_end: bool = False
    shrink: bool = False


def entries(begin: Any, end: Any, strides: Any, rank: int, masks: dict[str, int]) -> list[Entry]:
    """The spec, one entry per dimension: the ellipsis (or the end) stands for what is not named."""
    count = len(strides)
    # Bits behind the spec say nothing, but a second one is refused there too, as in TF.
    mask = masks["ellipsis_mask"]
    require(mask & (mask - 1) == 0, "Multiple ellipses in slice spec not allowed")
    ellipsis = [i for i in range(count) if masks["ellipsis_mask"] >> i & 1]
    at = ellipsis[0] if ellipsis else count
    named = [i for i in range(count) if i != at]
    consuming = [i for i in named if not masks["new_axis_mask"] >> i & 1]
    # New axes before the ellipsis win over a shrink of the same bit, as in TF.
    require(len(consuming) <= rank, f"Index out of range using input dim {rank}; input has only {rank} dims")
    out: list[Entry] = []
    axis = 0

    def whole(upto: int) -> None:
        nonlocal axis
        for _ in range(upto):
            out.append(Entry(axis, 0, 0, 1, True, True))
            axis += 1

    for i in range(count):
        if i == at:
            whole(rank - len(consuming))
        elif masks["new_axis_mask"] >> i & 1:
            out.append(Entry(None, 0, 0, 1))
        else:
            bits = [bool(masks[m] >> i & 1) for m in ("begin_mask", "end_mask", "shrink_axis_mask")]
            first, last = _bound(begin, i), _bound(end, i)
            out.append(Entry(axis, first, last, int(strides[i]), *bits))
            axis += 1
    whole(rank - axis)
    return out


def _bound(bounds: Any, i: int) -> Any:
    value = None if bounds is None else bounds[i]
    return int(value) if isinstance(value, np.integer) else value


class Places(NamedTuple):
    """Places along a dimension: as `range`, but sizes may be open, and in compiled rules the start an
    expression."""

    start: Any
    many: Any
    step: int = 1


def places_of(entry: Entry, size: int) -> Places:
    """The places along a dimension of `size` that an entry with known bounds takes."""
    begin, end, stride = entry.begin, entry.end, entry.stride
    if entry.shrink:
        require(-size <= begin < size, f"slice index {begin} of dimension {entry.axis} out of bounds.")
        return Places(begin % size, 1)
    low, high = (0, size) if stride > 0 else (-1, size - 1)
    start = (low if stride > 0 else high) if entry.open_begin else _within(begin, size, low, high)
    stop = (high if stride > 0 else low) if entry.open_end else _within(end, size, low, high)
    distance = stop - start if stride > 0 else start - stop
    return Places(start, -(-distance // abs(stride)) if distance > 0 else 0, stride)


def _within(bound: Any, size: Any, low: Any, high: Any) -> Any:
    """A bound of a slice, counted from the end if it is negative, and cut at both ends."""
    if bound < 0:
        bound = bound + size
    return low if bound < low else high if bound > high else bound


def check_stride(entry: Entry) -> None:
    require(entry.stride != 0, f"strides[{entry.axis}] must be non-zero")
    require(entry.stride > 0 or not entry.shrink, "only stride 1 allowed on non-range indexing.")


def extent(entry: Entry, size: Dim) -> Dim:
    """The size that an entry leaves of a dimension, where it follows."""
    if size is None:
        return None
    if entry.open_begin and entry.open_end:
        return -(-size // abs(entry.stride))
    if entry.begin is None or entry.end is None:
        return None
    return places_of(entry, size).many


# -- compiled rules ----------------------------------------------------------------------------------
def lowered_entries(e, begin, end, strides, shape, masks):
    if strides.value is None:
        raise Decline("the strides are not known")
    return entries(e.numbers(begin), e.numbers(end), strides.value, len(shape), masks)


def lowered_places(e, entry: Entry, size: int, count: int | None = None) -> Places:
    """The places that an entry takes; of one whose bounds are not known there must be `count`."""
    begin, end = entry.begin, entry.end
    message = f"slice index {{value}} of dimension {entry.axis} out of bounds."
    if entry.shrink:
        if is_whole(begin):
            return places_of(entry, size)
        place = e.select(begin < 0, begin + size, begin)
        return Places(e.checked(place, size, message), 1)
    is_known = is_whole(begin) or entry.open_begin
    if is_known and (is_whole(end) or entry.open_end):
        return places_of(entry, size)
    if (
        entry.open_begin
        or entry.open_end
        or entry.stride != 1
        or any(is_whole(bound) for bound in (begin, end))
    ):
        raise Decline("the bounds are not known")
    if count is None:
        count = e.distance(begin, end)
    else:
        e.checked(end - begin - count, 1, message)
    if count is None or not 0 <= count <= size:
        raise Decline("the bounds are not known")
    # Where it reaches outside, it is cut: then the reference does the step.
    return Places(e.checked(begin, size - count + 1, message), count)


def place_in(places: Places, k: Any) -> Any:
    if k is None:
        return places.start
    if places.step == 1:
        return k + places.start
    return k * places.step + places.start


def source_of(places: Places, k: Any) -> tuple[Any, list[Any]]:
    """Where in a slice element k of the whole stands, and what must hold for that."""
    if places.step == 1:
        return k - places.start, [k >= places.start, k < places.start + places.many]
    step, ahead = abs(places.step), k - places.start if places.step > 0 else places.start - k
    tests = [ahead >= 0, ahead < places.many * step]
    if step == 1:
        return ahead, tests
    return ahead // step, [*tests, ahead % step == 0]
