"""Batches of elements, and batches taken apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from headrace.core.errors import InvalidArgumentError, require
from headrace.ops.data.pipeline.dataset import (
    INFINITE,
    UNKNOWN_COUNT,
    Dataset,
    Element,
    NoBlocks,
    Place,
    Resized,
    Unary,
    UnaryIterator,
)
from headrace.ops.data.pipeline.declaring import OF_ELEMENTS, dataset_in, dataset_op, scalar_of
from headrace.ops.data.pipeline.stacking import stacked


def batches(count: int, size: int, drops: bool) -> int:
    if count in (INFINITE, UNKNOWN_COUNT):
        return count
    return count // size if drops else -(-count // size)


class Batch(Unary):
    kind = "Batch"

    def __init__(self, source: Dataset, types: Any, shapes: Any, size: int, drops: bool) -> None:
        super().__init__(source, types, shapes)
        self.size, self.drops = size, drops

    def cardinality(self) -> int:
        return batches(self.source.cardinality(), self.size, self.drops)


class BatchIterator(UnaryIterator, over=Batch):
    def __init__(self, dataset: Any, running: Any, path: str) -> None:
        super().__init__(dataset, running, path)
        self.is_done = False
        self.takes_blocks = True

    def next(self) -> Element | None:
        parts: list[Element] = []
        if self.takes_blocks and not self.is_done:
            parts = self._blocks()
            if parts and (self.takes_blocks or len(parts[0][0]) == self.dataset.size):
                count = sum(len(p[0]) for p in parts)
                if count < self.dataset.size and self.dataset.drops:
                    return None
                if len(parts) == 1:
                    return parts[0]
                return [np.concatenate(columns) for columns in zip(*parts)]
        found = self.gathered([[c[i, ...] for c in p] for p in parts for i in range(len(p[0]))])
        return None if found is None else stacked(found)

    def _blocks(self) -> list[Element]:
        """Stacked elements of the next batch, as far as they come so."""
        parts: list[Element] = []
        missing = self.dataset.size
        while missing:
            try:
                block = self.source.block(missing)
            except NoBlocks:
                self.takes_blocks = False
                break
            if block is None:
                self.is_done = True
                break
            parts.append(block)
            missing -= len(block[0])
        return parts

    def gathered(self, begun: Sequence[Element] = ()) -> list[Element] | None:
        """The elements of the next batch, of which some may be there already."""
        found = list(begun)
        if self.is_done and not found:
            return None
        ask, size = self.source.next, self.dataset.size
        while len(found) < size and not self.is_done:
            element = ask()
            if element is None:
                self.is_done = True
                break
            found.append(element)
        if not found or (len(found) < size and self.dataset.drops):
            return None
        return found

    def save(self) -> Place:
        return {"done": self.is_done, "source": None if self.is_done else self.source.save()}

    def restore(self, place: Place) -> None:
        self.is_done = place["done"]
        if not self.is_done:
            self.source.restore(place["source"])


def size_of(batch_size: Any) -> int:
    size: int = scalar_of(batch_size, "batch_size")
    require(size > 0, "Batch size must be greater than zero.")
    return size


@dataset_op("BatchDataset", "input_dataset: variant, batch_size: int64 -> handle: variant")
def batch_dataset(input_dataset, batch_size, *, output_types, output_shapes):
    """`batch_size` elements each, stacked; the last batch may be smaller."""
    return Batch(dataset_in(input_dataset), output_types, output_shapes, size_of(batch_size), False)


@dataset_op(
    "BatchDatasetV2",
    "input_dataset: variant, batch_size: int64, drop_remainder: bool -> handle: variant",
    attrs={"parallel_copy": False, **OF_ELEMENTS},
)
def batch_dataset_v2(input_dataset, batch_size, drop_remainder, *, output_types, output_shapes):
    """`batch_size` elements each, stacked; a smaller last batch may be dropped."""
    drops = scalar_of(drop_remainder, "drop_remainder")
    return Batch(dataset_in(input_dataset), output_types, output_shapes, size_of(batch_size), drops)


# -- the reverse -----------------------------------------------------------------------------------
class Unbatch(Resized):
    kind = "Unbatch"


class UnbatchIterator(UnaryIterator, over=Unbatch):
    PLACE = ("batch", "at", "count")
    batch: Element | None = None
    at = count = 0

    def next(self) -> Element | None:
        while self.at >= self.count:
            self.running.check()
            self.batch, self.at, self.count = self.source.next(), 0, 0
            if self.batch is None:
                return None
            self.count = self._length(self.batch)
        at = self.at
        self.at = at + 1
        assert self.batch is not None
        return [c[at, ...] for c in self.batch]

    def _length(self, batch: Element) -> int:
        require(all(np.ndim(c) for c in batch), "Cannot unbatch an element with scalar components.")
        length = len(batch[0])
        for i, component in enumerate(batch):
            if len(component) != length:
                raise InvalidArgumentError(
                    None, None, f"Input element must have the same batch size in each component. "
                    f"Component 0 had size {length} but component {i} had size, {len(component)}.",
                )  # fmt: skip
        return length


@dataset_op("UnbatchDataset", "input_dataset: variant -> handle: variant", also="ExperimentalUnbatchDataset")
def unbatch_dataset(input_dataset, *, output_types, output_shapes):
    """The slices of every element along the first dimension."""
    return Unbatch(dataset_in(input_dataset), output_types, output_shapes)
