"""Some of the elements: the first, the others, every n-th, those for which a function says so."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.core.dtypes import int32, int64, string
from headrace.core.errors import InvalidArgumentError, OpError, OutOfRangeError, require
from headrace.ops.data.pipeline.captured import Captured
from headrace.ops.data.pipeline.dataset import (
    INFINITE,
    Dataset,
    Element,
    Place,
    Resized,
    Unary,
    UnaryIterator,
)
from headrace.ops.data.pipeline.declaring import OF_ELEMENTS, dataset_in, dataset_op, scalar_of
from headrace.ops.data.pipeline.random_words import Words
from headrace.ops.data.sources import seeds_of
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.shape_rules import scalar
from headrace.ops.declaration.signature import Function, Types
from headrace.ops.declaration.traits import HOST
from headrace.ops.random.sampling import floats32


# -- by number -------------------------------------------------------------------------------------
class Take(Unary):
    def __init__(self, source: Dataset, count: int) -> None:
        super().__init__(source)
        self.count = count
        self.kind = "FiniteTake" if count else "EmptyTake"

    def cardinality(self) -> int:
        have = self.source.cardinality()
        if self.count < 0:
            return have
        return self.count if have == INFINITE else have if have < 0 else min(have, self.count)


class TakeIterator(UnaryIterator, over=Take):
    PLACE = ("at",)
    at = 0

    def next(self) -> Element | None:
        count = self.dataset.count
        if 0 <= count <= self.at:
            return None
        self.at += 1
        return self.source.next()


@dataset_op("TakeDataset", "input_dataset: variant, count: int64 -> handle: variant")
def take_dataset(input_dataset, count, *, output_types, output_shapes):
    """The first `count` elements; all, if it is -1."""
    return Take(dataset_in(input_dataset), scalar_of(count, "count"))


class Skip(Unary):
    def __init__(self, source: Dataset, count: int) -> None:
        super().__init__(source)
        self.count = count
        self.kind = "EmptySkip" if count < 0 else "FiniteSkip"

    def cardinality(self) -> int:
        have = self.source.cardinality()
        if self.count < 0:
            return 0
        return have if have < 0 else max(0, have - self.count)


class SkipIterator(UnaryIterator, over=Skip):
    PLACE = ("at",)
    at = 0

    def next(self) -> Element | None:
        count = self.dataset.count
        if count < 0:
            return None
        while self.at < count:
            self.running.check()
            if self.source.next() is None:
                return None
            self.at += 1
        return self.source.next()


@dataset_op("SkipDataset", "input_dataset: variant, count: int64 -> handle: variant")
def skip_dataset(input_dataset, count, *, output_types, output_shapes):
    """All but the first `count` elements; none, if it is -1."""
    return Skip(dataset_in(input_dataset), scalar_of(count, "count"))


class Shard(Unary):
    kind = "Shard"

    def __init__(self, source: Dataset, shards: int, index: int, fills: bool) -> None:
        super().__init__(source)
        self.shards, self.index, self.fills = shards, index, fills

    def cardinality(self) -> int:
        have = self.source.cardinality()
        return have if have < 0 else have // self.shards + (self.index < have % self.shards)


class ShardIterator(UnaryIterator, over=Shard):
    PLACE = ("at",)
    at = 0

    def next(self) -> Element | None:
        shards, index = self.dataset.shards, self.dataset.index
        while True:
            element = self.source.next()
            if element is None:
                return None
            at = self.at
            self.at += 1
            if at % shards == index:
                if self.dataset.fills and at < shards:
                    self._fill(shards)
                return element
            if at % 1024 == 0:
                self.running.check()

    def _fill(self, shards: int) -> None:
        """The other shards have to have an element too."""
        while self.at < shards:
            if self.source.next() is None:
                raise InvalidArgumentError(
                    None,
                    None,
                    "There aren't enough elements in this dataset for each shard to have at least one "
                    f"element (# elems = {self.at}, # shards = {shards}). If you are using datasets with "
                    "distribution strategy, consider turning dataset autosharding off with "
                    "`tf.data.Options`.",
                )
            self.at += 1


@dataset_op(
    "ShardDataset",
    "input_dataset: variant, num_shards: int64, index: int64 -> handle: variant",
    attrs={"require_non_empty": False, **OF_ELEMENTS},
)
def shard_dataset(input_dataset, num_shards, index, *, require_non_empty, output_types, output_shapes):
    """Every `num_shards`-th element, from the one at `index`."""
    shards, at = scalar_of(num_shards, "num_shards"), scalar_of(index, "index")
    require(shards > 0, f"Number of shards must be greater than zero (currently num_shards = {shards}).")
    require(0 <= at < shards, f"Index must be between 0 and {shards - 1} (currently index = {at}).")
    return Shard(dataset_in(input_dataset), shards, at, require_non_empty)


# -- by a function ---------------------------------------------------------------------------------
_CHOSEN: dict[str, Any] = {"predicate": Function(), "Targuments": Types(min=0), **OF_ELEMENTS}


class Filter(Resized):
    kind = "Filter"

    def __init__(self, source: Dataset, predicate: Captured) -> None:
        super().__init__(source)
        self.predicate = predicate
        self.waits |= predicate.waits


class FilterIterator(UnaryIterator, over=Filter):
    """`counts`: how many elements were kept, and how many were not."""

    def __init__(self, dataset: Any, running: Any, path: str) -> None:
        super().__init__(dataset, running, path)
        self.counts = {True: 0, False: 0}

    def next(self) -> Element | None:
        while True:
            self.running.check()
            element = self.source.next()
            if element is None:
                return None
            is_kept = self.dataset.predicate.truth(self.running, element)
            if self.running.stats is not None:
                self.counts[is_kept] += 1
                what = "filtered_elements" if is_kept else "dropped_elements"
                self.running.stats.set_of(self.dataset, what, self.counts[is_kept])
            if is_kept:
                return element


@dataset_op(
    "FilterDataset", "input_dataset: variant, other_arguments: Targuments -> handle: variant", attrs=_CHOSEN
)
def filter_dataset(ctx, input_dataset, other_arguments, *, predicate, output_types, output_shapes):
    """The elements for which `predicate` is true."""
    return Filter(dataset_in(input_dataset), Captured(ctx, predicate, other_arguments))


class TakeWhile(Filter):
    kind = "TakeWhile"


class TakeWhileIterator(UnaryIterator, over=TakeWhile):
    PLACE = ("is_done",)
    is_done = False

    def next(self) -> Element | None:
        element = None if self.is_done else self.source.next()
        if element is None:
            return None
        if self.dataset.predicate.truth(self.running, element):
            return element
        self.is_done = True
        return None


@dataset_op(
    "TakeWhileDataset",
    "input_dataset: variant, other_arguments: Targuments -> handle: variant",
    also="ExperimentalTakeWhileDataset",
    attrs=_CHOSEN,
)
def take_while_dataset(ctx, input_dataset, other_arguments, *, predicate, output_types, output_shapes):
    """The elements before the first one for which `predicate` is false."""
    return TakeWhile(dataset_in(input_dataset), Captured(ctx, predicate, other_arguments))


class FilterByLast(Resized):
    kind = "FilterByLastComponent"


class FilterByLastIterator(UnaryIterator, over=FilterByLast):
    def next(self) -> Element | None:
        while True:
            self.running.check()
            element = self.source.next()
            if element is None:
                return None
            require(np.ndim(element[-1]) == 0, "Last component must be a bool scalar.")
            if element[-1]:
                return element[:-1]


@op(
    "FilterByLastComponentDataset",
    "input_dataset: variant -> output: variant",
    attrs=OF_ELEMENTS,
    shape=scalar,
    traits={HOST},
)
def filter_by_last_component_dataset(ctx, input_dataset, *, output_types, output_shapes):
    """The elements whose last component is true, without it."""
    return FilterByLast(dataset_in(input_dataset), output_types, output_shapes)


# -- by chance, and by what went before ------------------------------------------------------------
class Sampling(Resized):
    kind = "Sampling"

    def __init__(self, source: Dataset, rate: float, seeds: tuple[int, int]) -> None:
        super().__init__(source)
        self.rate, self.seeds = rate, seeds


class SamplingIterator(UnaryIterator, over=Sampling):
    def __init__(self, dataset: Any, running: Any, path: str) -> None:
        super().__init__(dataset, running, path)
        self.words = Words(dataset.seeds)

    def next(self) -> Element | None:
        while True:
            self.running.check()
            element = self.source.next()
            drawn = floats32(np.array([self.words.next()], np.uint32))[0]
            if element is None or drawn < self.dataset.rate:
                return element

    def save(self) -> Place:
        return {"drawn": self.words.drawn, **super().save()}

    def restore(self, place: Place) -> None:
        self.words = Words(self.dataset.seeds, drawn=place["drawn"])
        super().restore(place)


@dataset_op(
    "SamplingDataset", "input_dataset: variant, rate: float32, seed: int64, seed2: int64 -> handle: variant"
)
def sampling_dataset(input_dataset, rate, seed, seed2, *, output_types, output_shapes):
    """Each element with probability `rate`."""
    return Sampling(dataset_in(input_dataset), scalar_of(rate, "rate"), seeds_of(seed, seed2))


class Unique(Resized):
    kind = "Unique"


class UniqueIterator(UnaryIterator, over=Unique):
    def __init__(self, dataset: Any, running: Any, path: str) -> None:
        super().__init__(dataset, running, path)
        self.seen: set[Any] = set()

    def next(self) -> Element | None:
        while True:
            self.running.check()
            element = self.source.next()
            if element is None:
                self.seen.clear()
                return None
            value = element[0]
            key = tuple(value.reshape(-1).tolist()) if value.dtype.kind == "O" else value.tobytes()
            if (value.shape, key) not in self.seen:
                self.seen.add((value.shape, key))
                return element

    def save(self) -> Place:
        return {"seen": [list(s) for s in self.seen], **super().save()}

    def restore(self, place: Place) -> None:
        self.seen = {tuple(s) for s in place["seen"]}
        super().restore(place)


@dataset_op("UniqueDataset", "input_dataset: variant -> handle: variant", also="ExperimentalUniqueDataset")
def unique_dataset(input_dataset, *, output_types, output_shapes):
    """Every element once, where it comes first."""
    require(
        len(output_types) == 1 and output_types[0] in (int32, int64, string),
        "UniqueDataset only supports inputs with a single `tf.int32`, `tf.int64`, or `tf.string` component.",
    )
    return Unique(dataset_in(input_dataset))


class IgnoreErrors(Resized):
    kind = "IgnoreErrors"


class IgnoreErrorsIterator(UnaryIterator, over=IgnoreErrors):
    def next(self) -> Element | None:
        while True:
            self.running.check()
            try:
                return self.source.next()
            except OutOfRangeError:
                return None
            except OpError:
                self.running.check()  # an error that means the end of the step is not ignored


@dataset_op(
    "IgnoreErrorsDataset", "input_dataset: variant -> handle: variant", also="ExperimentalIgnoreErrorsDataset"
)
def ignore_errors_dataset(input_dataset, *, output_types, output_shapes):
    """The elements that can be had; those that fail are left out."""
    return IgnoreErrors(dataset_in(input_dataset))
