"""Windows of elements, as datasets."""

from __future__ import annotations

from collections import deque
from typing import Any

from headrace.core.errors import OpError, require
from headrace.ops.data.pipeline.dataset import Dataset, Element, Place, Unary, UnaryIterator
from headrace.ops.data.pipeline.declaring import boxed, dataset_in, dataset_op, scalar_of
from headrace.ops.data.pipeline.elements import Elements
from headrace.ops.data.pipeline.errors_kept import kept_error, restored_error
from headrace.ops.data.pipeline.stacking import stacked


class Window(Unary):
    kind = "Window"

    def __init__(
        self, source: Dataset, types: Any, shapes: Any, size: int, shift: int, stride: int, drops: bool
    ) -> None:
        super().__init__(source, types, shapes)
        self.size, self.shift, self.stride, self.drops = size, shift, stride, drops

    def cardinality(self) -> int:
        have = self.source.cardinality()
        if have < 0:
            return have
        if not self.drops:
            return -(-have // self.shift)
        reach = (self.size - 1) * self.stride + 1
        return 0 if have < reach else (have - reach) // self.shift + 1


class WindowIterator(UnaryIterator, over=Window):
    """`buffer` has the elements from the window's first on, or the errors that stand in their places."""

    def __init__(self, dataset: Any, running: Any, path: str) -> None:
        super().__init__(dataset, running, path)
        self.buffer: deque[Any] = deque()
        self.input_ended = False

    def next(self) -> Element | None:
        found = self.gathered()
        if found is None:
            return None
        source = self.dataset.source
        return [
            boxed(Elements(source.types[i : i + 1], source.shapes[i : i + 1], [e[i : i + 1] for e in found]))
            for i in range(len(source.types))
        ]

    def gathered(self) -> list[Element] | None:
        """The elements of the next window."""
        dataset, buffer = self.dataset, self.buffer
        reach = (dataset.size - 1) * dataset.stride + 1
        while not self.input_ended and len(buffer) < reach:
            element = self._input()
            if element is not None:
                buffer.append(element)
        if not buffer or (dataset.drops and len(buffer) < reach):
            return None
        found = list(buffer)[:: dataset.stride]
        for _ in range(max(0, dataset.shift - len(buffer))):
            if self.input_ended:
                break
            self._input()
        for _ in range(min(dataset.shift, len(buffer))):
            buffer.popleft()
        for element in found:
            if isinstance(element, OpError):
                raise element
        return found

    def _input(self) -> Any:
        self.running.check()
        try:
            element = self.source.next()
        except OpError as error:
            self.running.check()
            return error
        self.input_ended = element is None
        return element

    def save(self) -> Place:
        return {
            "source": None if self.input_ended else self.source.save(),
            "buffer": [None if isinstance(x, OpError) else x for x in self.buffer],
            "errors": [kept_error(x) if isinstance(x, OpError) else None for x in self.buffer],
        }

    def restore(self, place: Place) -> None:
        self.input_ended = place["source"] is None
        if not self.input_ended:
            self.source.restore(place["source"])
        pairs = zip(place["buffer"], place["errors"])
        self.buffer = deque(x if e is None else restored_error(e) for x, e in pairs)


@dataset_op(
    "WindowDataset",
    "input_dataset: variant, size: int64, shift: int64, stride: int64, drop_remainder: bool "
    "-> handle: variant",
)
def window_dataset(input_dataset, size, shift, stride, drop_remainder, *, output_types, output_shapes):
    """Datasets of `size` elements each, one for every component."""
    numbers = [scalar_of(v, n) for v, n in ((size, "size"), (shift, "shift"), (stride, "stride"))]
    for name, number in zip(("size", "shift", "stride"), numbers):
        require(number > 0, f"Window {name} must be greater than zero.")
    drops = scalar_of(drop_remainder, "drop_remainder")
    return Window(dataset_in(input_dataset), output_types, output_shapes, *numbers, drops)


class SlidingWindow(Window):
    """Windows as batches; the last ones are left out unless they are whole."""

    kind = "SlidingWindow"


class SlidingIterator(WindowIterator, over=SlidingWindow):
    def next(self) -> Element | None:
        found = self.gathered()
        return None if found is None else stacked(found)


@dataset_op(
    "SlidingWindowDataset",
    "input_dataset: variant, window_size: int64, window_shift: int64, window_stride: int64 "
    "-> handle: variant",
    also="ExperimentalSlidingWindowDataset",
)
def sliding_window_dataset(
    input_dataset, window_size, window_shift, window_stride, *, output_types, output_shapes
):
    """Batches of elements that overlap."""
    given = (window_size, "size"), (window_shift, "shift"), (window_stride, "stride")
    numbers = [scalar_of(value, name) for value, name in given]
    for (_, name), number in zip(given, numbers):
        require(number > 0, f"Window {name} must be greater than zero.")
    return SlidingWindow(dataset_in(input_dataset), output_types, output_shapes, *numbers, True)
