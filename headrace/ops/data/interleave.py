"""Elements of datasets that a function gives: one dataset after the other, or several by turns."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from headrace.core.errors import InvalidArgumentError, require
from headrace.ops.data.pipeline.buffered import Buffered
from headrace.ops.data.pipeline.captured import Captured
from headrace.ops.data.pipeline.dataset import Dataset, Element, Iterator, Place, Resized, UnaryIterator
from headrace.ops.data.pipeline.declaring import OF_ELEMENTS, dataset_in, dataset_op, scalar_of
from headrace.ops.data.pipeline.tuning import AUTOTUNE
from headrace.ops.declaration.signature import Function, Types

_MAPPED: dict[str, Any] = {"f": Function(), "Targuments": Types(min=0), **OF_ELEMENTS}


def iterator_of(function: Captured, running: Any, path: str, number: int, element: Element) -> Iterator:
    """An iterator over the dataset that the function gives for an element."""
    results = function(running, element)
    if len(results) != 1 or np.asarray(results[0]).dtype != object or np.ndim(results[0]) != 0:
        raise InvalidArgumentError(None, None, "Function must return a single scalar of dtype DT_VARIANT.")
    return dataset_in(results[0]).iterator(running, f"{path}[{number}]")


class FlatMap(Resized):
    kind = "FlatMap"

    def __init__(self, source: Dataset, types: Any, shapes: Any, function: Captured) -> None:
        super().__init__(source, types, shapes)
        self.function = function
        self.waits |= function.waits


class FlatMapIterator(UnaryIterator, over=FlatMap):
    def __init__(self, dataset: Any, running: Any, path: str) -> None:
        super().__init__(dataset, running, path)
        self.count, self.is_done = 0, False
        self.element: Element = []
        self.inner: Iterator | None = None

    def next(self) -> Element | None:
        while not self.is_done:
            if self.inner is not None:
                found = self.inner.next()
                if found is not None:
                    return found
                self.inner.close()
                self.inner = None
            self.running.check()
            element = self.source.next()
            if element is None:
                self.is_done = True
                break
            self._open(element)
        return None

    def _open(self, element: Element) -> None:
        self.element = element
        number, self.count = self.count, self.count + 1
        self.inner = iterator_of(self.dataset.function, self.running, self.path, number, element)

    def save(self) -> Place:
        if self.is_done:
            return {"done": True}
        inner = None if self.inner is None else self.inner.save()
        element = self.element if self.inner is not None else None
        return {
            "done": False,
            "source": self.source.save(),
            "count": self.count,
            "element": element,
            "inner": inner,
        }

    def restore(self, place: Place) -> None:
        self.is_done = place["done"]
        if self.is_done:
            return
        self.source.restore(place["source"])
        self.count = place["count"]
        if place["element"] is not None:
            self.count -= 1
            self._open(place["element"])
            assert self.inner is not None
            self.inner.restore(place["inner"])

    def close(self) -> None:
        self.source.close()
        if self.inner is not None:
            self.inner.close()


@dataset_op(
    "FlatMapDataset", "input_dataset: variant, other_arguments: Targuments -> handle: variant", attrs=_MAPPED
)
def flat_map_dataset(ctx, input_dataset, other_arguments, *, f, output_types, output_shapes):
    """The elements of the datasets that f gives for every element."""
    function = Captured(ctx, f, other_arguments)
    return FlatMap(dataset_in(input_dataset), output_types, output_shapes, function)


# -- by turns --------------------------------------------------------------------------------------
class Interleave(FlatMap):
    """`calls`: how many of the open datasets are read ahead; None reads each when it is its turn."""

    kind = "Interleave"

    def __init__(
        self,
        source: Dataset,
        types: Any,
        shapes: Any,
        function: Captured,
        cycle: int,
        block: int,
        calls: int | None = None,
        sloppy: bool = False,
        replaces: bool = False,
    ) -> None:
        super().__init__(source, types, shapes, function)
        self.cycle, self.block, self.calls, self.sloppy = cycle, block, calls, sloppy
        self.replaces = replaces  # a dataset that has ended gives its turn to the next one at once
        self.ahead = block
        if calls is not None:
            self.kind = "ParallelInterleave"


class InterleaveIterator(UnaryIterator, over=Interleave):
    """`slots` are the open iterators; each gives `block` elements, then it is the next one's turn."""

    def __init__(self, dataset: Any, running: Any, path: str) -> None:
        super().__init__(dataset, running, path)
        self.slots: list[Iterator | None] = [None] * dataset.cycle
        self.elements: list[Any] = [None] * dataset.cycle
        self.at = self.given = self.open = 0
        self.input_ended = False

    def next(self) -> Element | None:
        parallel = self.dataset.calls is not None
        if parallel:
            self._look_ahead()
        while not self.input_ended or self.open:
            if self.dataset.sloppy:
                self._to_ready()
            inner = self.slots[self.at]
            if inner is not None:
                found = inner.next()
                if found is not None:
                    self.given += 1
                    if self.given == self.dataset.block:
                        self._turn()
                    return found
                self._end_slot(inner)
            elif not self.input_ended:
                self.running.check()
                self._fill(self.at)
            else:
                self._turn()
        return None

    def _end_slot(self, inner: Iterator) -> None:
        inner.close()
        self.slots[self.at] = self.elements[self.at] = None
        self.open -= 1
        if self.dataset.replaces:
            self._fill(self.at)
        self._turn()
        if self.dataset.calls is not None:
            self._look_ahead()

    def _turn(self) -> None:
        self.at, self.given = (self.at + 1) % len(self.slots), 0

    def _fill(self, at: int) -> None:
        if self.input_ended:
            return
        element = self.source.next()
        if element is None:
            self.input_ended = True
            return
        self._open(at, element)

    def _open(self, at: int, element: Element) -> None:
        self.elements[at] = element
        inner = iterator_of(self.dataset.function, self.running, self.path, at, element)
        self.slots[at] = Buffered(inner, self.dataset.ahead) if self.dataset.calls is not None else inner
        self.open += 1

    def _look_ahead(self) -> None:
        """The datasets whose turn comes next are opened and read in the background."""
        calls = self.dataset.calls
        calls = len(self.slots) if calls == AUTOTUNE else min(calls, len(self.slots))
        for i in range(calls):
            at = (self.at + i) % len(self.slots)
            if self.slots[at] is None:
                self._fill(at)
            found = self.slots[at]
            if isinstance(found, Buffered):
                found.ahead()

    def _to_ready(self) -> None:
        """Where order does not matter, a dataset that has an element ready is taken first."""
        for i in range(len(self.slots)):
            at = (self.at + i) % len(self.slots)
            found = self.slots[at]
            if isinstance(found, Buffered) and found.is_ready:
                if i:
                    self.at, self.given = at, 0
                return

    def save(self) -> Place:
        return {
            "source": None if self.input_ended else self.source.save(),
            "at": self.at,
            "given": self.given,
            "elements": list(self.elements),
            "slots": [None if s is None else s.save() for s in self.slots],
        }

    def restore(self, place: Place) -> None:
        self.input_ended = place["source"] is None
        if not self.input_ended:
            self.source.restore(place["source"])
        self.at, self.given, self.open = place["at"], place["given"], 0
        for at, (element, saved) in enumerate(zip(place["elements"], place["slots"])):
            if saved is not None:
                self._open(at, element)
                inner = self.slots[at]
                assert inner is not None
                inner.restore(saved)

    def close(self) -> None:
        self.source.close()
        for inner in self.slots:
            if inner is not None:
                inner.close()


def _turns(cycle_length: Any, block_length: Any) -> tuple[int, int]:
    cycle, block = scalar_of(cycle_length, "cycle_length"), scalar_of(block_length, "block_length")
    if cycle == AUTOTUNE:
        cycle = os.cpu_count() or 1
    require(cycle > 0, "cycle_length must be greater than zero.")
    require(block > 0, "block_length must be greater than zero.")
    return cycle, block


_TURNS = "input_dataset: variant, other_arguments: Targuments, cycle_length: int64, block_length: int64"


@dataset_op("InterleaveDataset", f"{_TURNS} -> handle: variant", attrs=_MAPPED)
def interleave_dataset(
    ctx, input_dataset, other_arguments, cycle_length, block_length, *, f, output_types, output_shapes
):
    """The elements of the datasets that f gives, several datasets by turns."""
    function = Captured(ctx, f, other_arguments)
    turns = _turns(cycle_length, block_length)
    return Interleave(dataset_in(input_dataset), output_types, output_shapes, function, *turns)


@dataset_op(
    "ParallelInterleaveDatasetV2",
    f"{_TURNS}, num_parallel_calls: int64 -> handle: variant",
    attrs={**_MAPPED, "sloppy": False},
)
def parallel_interleave_dataset_v2(
    ctx, input_dataset, other_arguments, cycle_length, block_length, num_parallel_calls, *, f, output_types,
    output_shapes, sloppy,
):  # fmt: skip
    """The same; several of the datasets are read at once."""
    cycle, block = _turns(cycle_length, block_length)
    calls = scalar_of(num_parallel_calls, "num_parallel_calls")
    require(calls > 0 or calls == AUTOTUNE, "num_parallel_calls must be greater than zero.")
    require(
        calls <= cycle,
        f"num_parallel_calls must less than or equal to cycle_length. num_parallel_calls: "
        f"{calls} cycle_length: {cycle}",
    )
    function, source = Captured(ctx, f, other_arguments), dataset_in(input_dataset)
    return Interleave(source, output_types, output_shapes, function, cycle, block, calls, sloppy)


@dataset_op(
    "ParallelInterleaveDataset",
    f"{_TURNS}, sloppy: bool, buffer_output_elements: int64, prefetch_input_elements: int64 "
    "-> handle: variant",
    also="ExperimentalParallelInterleaveDataset",
    attrs=_MAPPED,
)
def parallel_interleave_dataset(
    ctx, input_dataset, other_arguments, cycle_length, block_length, sloppy, buffer_output_elements,
    prefetch_input_elements, *, f, output_types, output_shapes,
):  # fmt: skip
    """The same; a dataset that has ended gives its place to the next one at once."""
    cycle, block = scalar_of(cycle_length, "cycle_length"), scalar_of(block_length, "block_length")
    ahead = scalar_of(buffer_output_elements, "buffer_output_elements")
    opened = scalar_of(prefetch_input_elements, "prefetch_input_elements")
    require(cycle > 0, "`cycle_length` must be > 0")
    require(block > 0, "`block_length` must be > 0")
    require(ahead > 0, "`buffer_output_elements` must be > 0")
    require(opened >= 0, "`prefetch_input_elements` must be >= 0")
    function, source = Captured(ctx, f, other_arguments), dataset_in(input_dataset)
    is_sloppy = scalar_of(sloppy, "sloppy")
    made = Interleave(
        source, output_types, output_shapes, function, cycle, block, cycle, is_sloppy, replaces=True
    )
    made.ahead = ahead
    return made
