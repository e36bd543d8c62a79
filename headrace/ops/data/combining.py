"""Several datasets as one: side by side, one after the other, by turns that a dataset of numbers says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.core.errors import InvalidArgumentError, require
from headrace.ops.data.pipeline.dataset import INFINITE, UNKNOWN_COUNT, Dataset, Element, Iterator, Place
from headrace.ops.data.pipeline.declaring import OF_ELEMENTS, dataset_in, dataset_op
from headrace.ops.declaration.signature import Int


class Several(Dataset):
    """Datasets whose iterators stand side by side."""


class SeveralIterator(Iterator):
    def __init__(self, dataset: Any, running: Any, path: str) -> None:
        super().__init__(dataset, running, path)
        self.sources = [x.iterator(running, f"{path}[{i}]") for i, x in enumerate(dataset.inputs)]

    def save(self) -> Place:
        return {**self.fields(), "sources": [x.save() for x in self.sources]}

    def restore(self, place: Place) -> None:
        self.set_fields(place)
        for source, saved in zip(self.sources, place["sources"]):
            source.restore(saved)

    def close(self) -> None:
        for source in self.sources:
            source.close()


# -- side by side ----------------------------------------------------------------------------------
class Zip(Several):
    kind = "Zip"

    def cardinality(self) -> int:
        counts = [x.cardinality() for x in self.inputs]
        if UNKNOWN_COUNT in counts:
            return UNKNOWN_COUNT
        finite = [n for n in counts if n != INFINITE]
        return min(finite) if finite else INFINITE


class ZipIterator(SeveralIterator, over=Zip):
    PLACE = ("is_done",)
    is_done = False

    def next(self) -> Element | None:
        if self.is_done:
            return None
        found: Element = []
        failure = None
        for source in self.sources:  # all move on, even if one fails
            try:
                element = source.next()
            except Exception as error:
                failure = failure or error
                continue
            if element is None:
                if failure is None:
                    self.is_done = True
                    return None
                continue
            found += element
        if failure is not None:
            raise failure
        return found


@dataset_op(
    "ZipDataset", "input_datasets: N*variant -> handle: variant", attrs={**OF_ELEMENTS, "N": Int(min=1)}
)
def zip_dataset(input_datasets, *, output_types, output_shapes):
    """The components of the elements at the same place, as long as all have one."""
    return Zip(output_types, output_shapes, [dataset_in(x) for x in input_datasets])


# -- one after the other ---------------------------------------------------------------------------
class Concatenate(Dataset):
    kind = "Concatenate"

    def cardinality(self) -> int:
        first, second = (x.cardinality() for x in self.inputs)
        if INFINITE in (first, second):
            return INFINITE
        return UNKNOWN_COUNT if UNKNOWN_COUNT in (first, second) else first + second


class ConcatenateIterator(Iterator, over=Concatenate):
    def __init__(self, dataset: Any, running: Any, path: str) -> None:
        super().__init__(dataset, running, path)
        self.at = 0
        self.source = dataset.inputs[0].iterator(running, f"{path}[0]")

    def next(self) -> Element | None:
        while self.at < 2:
            element: Element | None = self.source.next()
            if element is not None:
                return element
            self.source.close()
            self._go_to(self.at + 1)
        return None

    def _go_to(self, at: int) -> None:
        self.at = at
        if at < 2:
            self.source = self.dataset.inputs[at].iterator(self.running, f"{self.path}[{at}]")

    def save(self) -> Place:
        return {"at": self.at, "source": self.source.save() if self.at < 2 else None}

    def restore(self, place: Place) -> None:
        self._go_to(place["at"])
        if self.at < 2:
            self.source.restore(place["source"])

    def close(self) -> None:
        self.source.close()


@dataset_op("ConcatenateDataset", "input_dataset: variant, another_dataset: variant -> handle: variant")
def concatenate_dataset(input_dataset, another_dataset, *, output_types, output_shapes):
    """The elements of the first, then those of the second."""
    first, second = dataset_in(input_dataset), dataset_in(another_dataset)
    require(
        first.types == second.types,
        "input dataset and another dataset have different output_types "
        f"{[t.name for t in first.types]} and {[t.name for t in second.types]}",
    )
    return Concatenate(output_types, output_shapes, (first, second))


# -- by turns --------------------------------------------------------------------------------------
class DirectedInterleave(Several):
    kind = "DirectedInterleave"


class DirectedIterator(SeveralIterator, over=DirectedInterleave):
    """The first source says from which of the others the next element comes; one that has ended is passed
    over."""

    def __init__(self, dataset: Any, running: Any, path: str) -> None:
        super().__init__(dataset, running, path)
        self.active = [True] * (len(self.sources) - 1)
        self.is_done = False

    def next(self) -> Element | None:
        selector, *data = self.sources
        while not self.is_done:
            self.running.check()
            chosen = selector.next()
            if chosen is None:
                break
            at = int(chosen[0])
            if not 0 <= at < len(data):
                raise InvalidArgumentError(None, None, f"Selector index out of range: {at} >= {len(data)}")
            if self.active[at]:
                element: Element | None = data[at].next()
                if element is not None:
                    return element
                self.active[at] = False
                self.is_done = not any(self.active)
        self.is_done = True
        return None

    def save(self) -> Place:
        return {"active": list(self.active), "done": self.is_done, **super().save()}

    def restore(self, place: Place) -> None:
        self.active, self.is_done = list(place["active"]), place["done"]
        super().restore(place)


@dataset_op(
    "DirectedInterleaveDataset",
    "selector_input_dataset: variant, data_input_datasets: N*variant -> handle: variant",
    also="ExperimentalDirectedInterleaveDataset",
    attrs={**OF_ELEMENTS, "N": Int(min=1)},
)
def directed_interleave_dataset(selector_input_dataset, data_input_datasets, *, output_types, output_shapes):
    """Elements of several datasets in the order that a dataset of their numbers says."""
    sources = [dataset_in(x) for x in (selector_input_dataset, *data_input_datasets)]
    require(
        len(sources[0].types) == 1 and sources[0].types[0].name == "int64",
        "The selector input must be a dataset of scalar int64 elements.",
    )
    _same_form(sources[1:])
    return DirectedInterleave(output_types, output_shapes, sources)


def _same_form(sources: Sequence[Dataset]) -> None:
    for i, source in enumerate(sources[1:], 1):
        require(
            source.types == sources[0].types,
            f"All inputs must have the same output_types. Input {i} has another type than input 0.",
        )


class Fastest(Dataset):
    """One of several datasets of the same elements."""

    kind = "ChooseFastest"

    def make(self, running: Any, path: str) -> Iterator:
        return self.inputs[0].iterator(running, f"{path}[0]")

    def cardinality(self) -> int:
        return self.inputs[0].cardinality()


@dataset_op(
    "ChooseFastestDataset",
    "input_datasets: N*variant -> handle: variant",
    also="ExperimentalChooseFastestDataset",
    attrs={"N": Int(min=2), "num_experiments": Int(), **OF_ELEMENTS},
)
def choose_fastest_dataset(input_datasets, *, num_experiments, output_types, output_shapes):
    """The elements of the first of datasets that all have the same: which is fastest makes no difference to
    them."""
    return Fastest(output_types, output_shapes, [dataset_in(x) for x in input_datasets])
