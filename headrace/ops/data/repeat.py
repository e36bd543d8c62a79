"""Repeating and shuffling."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np

from headrace.core.errors import require
from headrace.ops.data.pipeline.dataset import (
    INFINITE,
    UNKNOWN_COUNT,
    Dataset,
    Element,
    Iterator,
    NoBlocks,
    Place,
    Unary,
    UnaryIterator,
)
from headrace.ops.data.pipeline.declaring import OF_ELEMENTS, dataset_in, dataset_op, scalar_of
from headrace.ops.data.pipeline.elements import Numbers
from headrace.ops.data.pipeline.random_words import Seeds, Words
from headrace.ops.data.sources import seeds_of


def times(count: int, dataset: Dataset) -> int:
    """How many elements `count` repetitions have."""
    one = dataset.cardinality()
    if count == 0 or one == 0:
        return 0
    if count < 0 or one == INFINITE:
        return INFINITE
    return one if one == UNKNOWN_COUNT else one * count


class Repeat(Unary):
    def __init__(self, source: Dataset, count: int) -> None:
        super().__init__(source)
        self.count = count
        self.kind = "ForeverRepeat" if count < 0 else "FiniteRepeat" if count else "EmptyRepeat"

    def cardinality(self) -> int:
        return times(self.count, self.source)


class RepeatIterator(UnaryIterator, over=Repeat):
    PLACE = ("done", "is_first")
    done, is_first = 0, True

    def next(self) -> Element | None:
        count = self.dataset.count
        while count < 0 or self.done < count:
            element = self.source.next()
            if element is not None:
                self.is_first = False
                return element
            if count < 0 and self.is_first:  # an empty input, repeated for ever, ends
                return None
            self.running.check()
            self._again()
        return None

    def block(self, most: int) -> Element | None:
        """What is left of one repetition; the next one begins with the next block."""
        count = self.dataset.count
        while count < 0 or self.done < count:
            block = self.source.block(most)
            if block is not None:
                self.is_first = False
                return block
            if count < 0 and self.is_first:
                return None
            self.running.check()
            self._again()
        return None

    def _again(self) -> None:
        self.source.close()
        self.done += 1
        # Also after the last time, as TensorFlow does: a shuffled input draws seeds for it.
        self.source, self.is_first = self.dataset.source.iterator(self.running, self.path), True


@dataset_op("RepeatDataset", "input_dataset: variant, count: int64 -> handle: variant")
def repeat_dataset(input_dataset, count, *, output_types, output_shapes):
    """The elements of the input, `count` times; for ever if it is negative."""
    return Repeat(dataset_in(input_dataset), scalar_of(count, "count"))


# -- shuffling -------------------------------------------------------------------------------------
_EPOCHS = 3  # repetitions that may be in the buffer at once


class Shuffle(Unary):
    """Elements in random order: each is drawn from a buffer that is filled up from the input.

    `seeds` None: those of the generator that iterators of one pipeline share.
    """

    kind = "Shuffle"

    def __init__(
        self, source: Dataset, size: int, seeds: tuple[int, int], reshuffles: bool, count: int = 1
    ) -> None:
        super().__init__(source)
        self.size, self.seeds, self.reshuffles, self.count = size, seeds, reshuffles, count
        self.generator: Any = None
        if count != 1:
            self.kind = "ShuffleAndRepeat"

    def cardinality(self) -> int:
        return times(self.count, self.source)


class ShuffleIterator(Iterator, over=Shuffle):
    """TF's: elements of one repetition are drawn before those of the next."""

    def __init__(self, dataset: Any, running: Any, path: str) -> None:
        super().__init__(dataset, running, path)
        self.generator: Seeds | None = dataset.generator
        seeds = dataset.seeds
        if self.generator is None and dataset.reshuffles:
            self.generator = running.once(("seeds", path), lambda: Seeds(seeds))
        self.seeds = seeds if self.generator is None else self.generator.pair()
        self.words = Words(self.seeds)
        # Of what knows each element by its number, numbers are shuffled.
        self.has_numbers = hasattr(dataset.source, "rows")
        self.source: Any = self._input()
        self.epoch = self.held = 0
        self.buffer: dict[int, Any] = {}
        self.slices = deque([[0, 0]])  # [first, end) of each repetition, as places modulo the size
        self.is_first = True

    def _input(self) -> Iterator:
        source = self.dataset.source
        if self.has_numbers:
            return Numbers(source, self.running, self.path)
        made: Iterator = source.iterator(self.running, self.path)
        return made

    def next(self) -> Element | None:
        drawn = self._draw()
        if drawn is None or not self.has_numbers:
            return drawn
        found: Element = self.dataset.source.element(drawn)
        return found

    def block(self, most: int) -> Element | None:
        if not self.has_numbers:
            raise NoBlocks
        found: list[int] = []
        while len(found) < most:
            drawn = self._draw()
            if drawn is None:
                break
            found.append(drawn)
        if not found:
            return None
        rows: Element = self.dataset.source.rows(np.array(found))
        return rows

    def _draw(self) -> Any:
        """The next element, or its number."""
        if self.source is not None and not self._fill():
            return None
        if not self.held:
            return None
        slices = self.slices
        while slices[0][0] == slices[0][1]:
            slices.popleft()
        first, size, buffer = slices[0], self.dataset.size, self.buffer
        offset = self.words.next() % (first[1] - first[0])
        index, start = (first[0] + offset) % size, first[0] % size
        element = buffer[index]
        buffer[index] = buffer[start]
        del buffer[start]
        first[0] += 1
        self.held -= 1
        return element

    def _fill(self) -> bool:
        """Fill the buffer up; False where an endless repetition of nothing is to end."""
        dataset, size, buffer, slices = self.dataset, self.dataset.size, self.buffer, self.slices
        while self.source is not None and self.held < size:
            element = None
            while dataset.count < 0 or self.epoch < dataset.count:
                element = self.source.next()
                if element is not None:
                    self.is_first = False
                    break
                if self.is_first and dataset.count < 0:
                    return False
                self.running.check()
                self.epoch += 1
                end = slices[-1][1]
                slices.append([end, end])
                self.source.close()
                self.source = self._input()
            if element is None:
                self.source.close()
                self.source = None
            else:
                last = slices[-1]
                buffer[last[1] % size] = element
                last[1] += 1
                self.held += 1
            if len(slices) > _EPOCHS:
                break
        return True

    def save(self) -> Place:
        return {
            "drawn": self.words.drawn,
            "seeds": list(self.seeds),
            "generator": -1 if self.generator is None else self.generator.drawn,
            "source": None if self.source is None else self.source.save(),
            "epoch": self.epoch,
            "held": self.held,
            "first": self.is_first,
            "places": list(self.buffer),
            "buffer": list(self.buffer.values()),
            "slices": [list(s) for s in self.slices],
        }

    def restore(self, place: Place) -> None:
        self.seeds = tuple(place["seeds"])
        self.words = Words(self.seeds, drawn=place["drawn"])
        if self.generator is not None:
            self.generator.go_to(place["generator"])
        if place["source"] is None:
            self.source = None
        else:
            self.source = self._input()
            self.source.restore(place["source"])
        self.epoch, self.held, self.is_first = place["epoch"], place["held"], place["first"]
        self.buffer = dict(zip(place["places"], place["buffer"]))
        self.slices = deque([list(s) for s in place["slices"]])

    def close(self) -> None:
        if self.source is not None:
            self.source.close()


def _size(buffer_size):
    size = scalar_of(buffer_size, "buffer_size")
    require(size > 0, "buffer_size must be greater than zero.")
    return size


_SHUFFLED = "input_dataset: variant, buffer_size: int64, seed: int64, seed2: int64"


@dataset_op(
    "ShuffleDataset",
    f"{_SHUFFLED} -> handle: variant",
    attrs={"reshuffle_each_iteration": True, **OF_ELEMENTS},
)
def shuffle_dataset(
    input_dataset, buffer_size, seed, seed2, *, reshuffle_each_iteration, output_types, output_shapes
):
    """The elements in random order."""
    return Shuffle(
        dataset_in(input_dataset), _size(buffer_size), seeds_of(seed, seed2), reshuffle_each_iteration
    )


@dataset_op("ShuffleAndRepeatDataset", f"{_SHUFFLED}, count: int64 -> handle: variant")
def shuffle_and_repeat_dataset(
    input_dataset, buffer_size, seed, seed2, count, *, output_types, output_shapes
):
    """The elements `count` times, each time in another random order."""
    size, number = _size(buffer_size), scalar_of(count, "count")
    require(number > 0 or number == -1, "count must be greater than zero or equal to -1.")
    return Shuffle(dataset_in(input_dataset), size, seeds_of(seed, seed2), False, number)
