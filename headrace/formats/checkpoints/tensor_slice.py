"""Parts of tensors, as checkpoints name them: "10 4 0,5:-" is rows 0 to 4 of a [10, 4] tensor."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from headrace.core.errors import InvalidArgumentError
from headrace.formats import proto
from headrace.formats.coding import Extent

Array = np.ndarray[Any, np.dtype[Any]]

FULL: Extent = (0, -1)


@dataclass(frozen=True)
class TensorSlice:
    """A box in a tensor: start and length per dimension, (0, -1) where it is all of it."""

    extents: tuple[Extent, ...]

    @property
    def is_full(self) -> bool:
        return all(extent == FULL for extent in self.extents)

    def bounds(self, shape: Sequence[int]) -> list[tuple[int, int]]:
        """First index and the one after the last, per dimension; refuses what lies outside."""
        if len(shape) != len(self.extents):
            raise _bad(f"Expected the slice {self} to have rank {len(shape)}: shape {list(shape)}")
        out = []
        for size, (start, length) in zip(shape, self.extents):
            end = size if length < 0 else start + length
            if start < 0 or end > size:
                raise _bad(f"Extent {start},{length} of slice {self} is outside of {list(shape)}")
            out.append((start, end))
        return out

    def shape(self, full: Sequence[int]) -> tuple[int, ...]:
        """The shape of the part."""
        return tuple(end - start for start, end in self.bounds(full))

    def __str__(self) -> str:
        return ":".join(_text(extent) for extent in self.extents)


def _text(extent: Extent) -> str:
    return "-" if extent[1] < 0 else f"{extent[0]},{extent[1]}"


def _bad(message: str) -> InvalidArgumentError:
    return InvalidArgumentError(None, None, message)


def full_slice(rank: int) -> TensorSlice:
    return TensorSlice((FULL,) * rank)


def parse_slice(text: str) -> TensorSlice:
    """The slice that "0,5:-" stands for."""
    if not text:
        return TensorSlice(())
    extents = []
    for word in text.split(":"):
        if word == "-":
            extents.append(FULL)
            continue
        start, comma, length = word.partition(",")
        if not (comma and _is_count(start) and _is_count(length)):
            raise _bad(f"Expected a pair of numbers or '-' but got '{word}': string = {text}")
        if int(length) == 0:
            raise _bad(
                "Expected non-negative start and positive length but got "
                f"start = {start}, length = {length}: string = {text}"
            )
        extents.append((int(start), int(length)))
    return TensorSlice(tuple(extents))


def parse_shape_and_slice(text: str) -> tuple[tuple[int, ...], TensorSlice]:
    """The shape of the whole and the slice in "10 4 0,5:-"."""
    words = text.split(" ")
    if len(words) < 2:
        raise _bad(f"Need least two elements in shape_and_slice specification: {text}")
    *sizes, part = words
    if not all(_is_count(size) for size in sizes):
        raise _bad(f"Non numerical dimension in shape_and_slice: {text}")
    shape = tuple(int(size) for size in sizes)
    found = parse_slice(part)
    found.bounds(shape)
    return shape, found


def _is_count(word: str) -> bool:
    return word.isascii() and word.isdigit() and len(word) < 19


def to_proto(part: TensorSlice) -> Any:
    message = proto.TensorSliceProto()
    for start, length in part.extents:
        extent = message.extent.add()
        if length >= 0:
            extent.start, extent.length = start, length
    return message


def from_proto(message: Any) -> TensorSlice:
    """Raises InvalidArgumentError for an extent that can not be."""
    extents = []
    for extent in message.extent:
        start, length = extent.start, extent.length if extent.HasField("length") else -1
        if (start, length) != FULL and (start < 0 or length <= 0 or start + length >= 2**63):
            raise _bad(
                f"Expected non-negative start and positive length but got start = {start}, length = {length}"
            )
        extents.append((start, length))
    return TensorSlice(tuple(extents))


# -- assembling ----------------------------------------------------------------------------------
Box = list[tuple[int, int]]  # first index and the one after the last, per dimension


def shared_boxes(
    shape: Sequence[int], stored: Sequence[TensorSlice], part: TensorSlice
) -> list[tuple[TensorSlice, Box]] | None:
    """Which of the stored slices hold which box of `part`; None where they do not hold all of it."""
    wanted = part.bounds(shape)
    boxes = [(one, _overlap(one.bounds(shape), wanted)) for one in stored]
    boxes = [(one, box) for one, box in boxes if _volume(box) > 0]
    return boxes if sum(_volume(box) for _, box in boxes) == _volume(wanted) else None


def assembled(
    shape: Sequence[int], part: TensorSlice, pieces: Iterable[tuple[TensorSlice, Box, Array]]
) -> Array | None:
    """`part` of a tensor from slices that hold it; None where they overlap."""
    wanted, out = part.bounds(shape), None
    covered = np.zeros(part.shape(shape), bool)
    for one, box, value in pieces:
        if out is None:
            out = np.empty(covered.shape, value.dtype)
        target = _within(box, wanted)
        if covered[target].any():
            return None
        covered[target] = True
        out[target] = value[_within(box, one.bounds(shape))]
    return out


def _overlap(a: Box, b: Box) -> Box:
    return [(max(a0, b0), min(a1, b1)) for (a0, a1), (b0, b1) in zip(a, b)]


def _volume(box: Box) -> int:
    return math.prod(max(end - start, 0) for start, end in box)


def _within(box: Box, outer: Box) -> tuple[slice, ...]:
    """The box as indices into an array that holds `outer`."""
    return tuple(slice(start - o, end - o) for (start, end), (o, _) in zip(box, outer))
