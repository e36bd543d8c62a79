"""Data as batches: arrays that are cut, tensors, datasets, generators.

A source says how many samples or steps an epoch has (`count`, by `mode`), and gives the batches of an epoch:
(size, inputs, targets, weights), lists in the order of the model's.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from headrace.core import log
from headrace.core.errors import OutOfRangeError
from headrace.data.iterators import Iterator as DatasetIterator
from headrace.data.iterators import make_initializable_iterator
from headrace.keras.engine.user_data import as_value, is_tensor
from headrace.keras.utils.data import GeneratorEnqueuer, OrderedEnqueuer, Sequence
from headrace.layers import ops
from headrace.layers.engine.weight_values import session_with_weights
from headrace.layers.ops import nest

Batch = tuple[int, list[Any], list[Any], Any]


class Source:
    """Where batches come from."""

    mode = "steps"
    count: int | None = None
    batch_size: int | None = None
    is_dataset = False

    def epoch(self, shuffle: Any = False) -> Iterator[Batch]:
        """The batches of one epoch."""
        raise NotImplementedError

    def close(self) -> None:
        """No more batches are needed."""


class Arrays(Source):
    """Arrays of as many samples each."""

    mode = "samples"

    def __init__(self, x: list[Any], y: list[Any], weights: Any, batch_size: int | None) -> None:
        self.x, self.y, self.weights = x, y, weights
        self.batch_size = batch_size or 32
        arrays = [a for a in (*x, *y) if a is not None]
        self.count = int(arrays[0].shape[0]) if arrays else 0

    def epoch(self, shuffle: Any = False) -> Iterator[Batch]:
        assert self.count is not None and self.batch_size is not None
        order = np.arange(self.count)
        if shuffle == "batch":
            order = _shuffled_batches(order, self.batch_size)
        elif shuffle:
            np.random.shuffle(order)
        whole = self.count <= self.batch_size
        for start in range(0, self.count, self.batch_size):
            stop = min(start + self.batch_size, self.count)
            if whole:
                parts = [self.x, self.y, self.weights or []]
            else:
                rows = order[start:stop] if shuffle else slice(start, stop)
                parts = [[_rows(a, rows) for a in arrays] for arrays in (self.x, self.y, self.weights or [])]
            x, y, weights = parts
            yield stop - start, x, y, weights if self.weights is not None else None


def _rows(array: Any, rows: Any) -> Any:
    if array is None:
        return None
    if hasattr(array, "tocsr"):
        return array.tocsr()[rows]
    if not isinstance(array, np.ndarray) and isinstance(rows, np.ndarray):  # a file: rows in order
        try:
            return array[rows]
        except TypeError:
            raise TypeError(
                'TypeError while preparing batch. If using HDF5 input data, pass shuffle="batch".'
            ) from None
    return array[rows]


def _shuffled_batches(order: Any, size: int) -> Any:
    count = len(order) // size
    whole = order[: count * size].reshape((count, size))
    np.random.shuffle(whole)
    return np.append(whole.flatten(), order[count * size :])


class Tensors(Source):
    """Tensors of a graph, which give other values at each step; or nothing: the model has its data."""

    def __init__(self, x: list[Any], y: list[Any], weights: Any, steps: int | None) -> None:
        self.x, self.y, self.weights, self.count = x, y, weights, steps

    def epoch(self, shuffle: Any = False) -> Iterator[Batch]:
        tensors = [*self.x, *self.y, *(self.weights or [])]
        assert self.count is not None
        for _ in range(self.count):
            values = session_with_weights().run(tensors) if tensors else []
            x, y = values[: len(self.x)], values[len(self.x) : len(self.x) + len(self.y)]
            yield 1, x, y, values[len(self.x) + len(self.y) :] if self.weights else None


class Elements(Source):
    """A dataset or an iterator over one; `prepared` makes the model's lists of an element."""

    is_dataset = True

    def __init__(self, data: Any, steps: int | None, prepared: Any, steps_name: str, epochs: int = 1) -> None:
        self.data, self.prepared, self.steps_name = data, prepared, steps_name
        self.is_iterator = isinstance(data, DatasetIterator) or hasattr(data, "__next__")
        self.count, self.given = steps, steps
        self.epochs, self.ran_out = epochs, False
        self._values: Any = None

    def epoch(self, shuffle: Any = False) -> Iterator[Batch]:
        if self._values is None or (self.given is None and not self.is_iterator):
            self._values = self._elements()
        step = 0
        while self.given is None or step < self.given:
            try:
                element = next(self._values)
            except StopIteration:
                if self.given is not None:
                    self.ran_out = True
                    log.warning(
                        "Your dataset ran out of data; interrupting training. Make sure that your dataset "
                        "can "
                        f"generate at least `{self.steps_name} * epochs` batches (in this case, "
                        f"{self.given * self.epochs} batches). You may need to use the repeat() function "
                        "when "
                        "building your dataset."
                    )
                else:
                    self.count = step
                return
            yield (1, *self.prepared(element))
            step += 1

    def _elements(self) -> Iterator[Any]:
        """The values of the elements."""
        if ops.executing_eagerly():
            for element in self.data:
                yield nest.map_structure(as_value, element)
            return
        iterator = self.data
        session = session_with_weights()
        if not self.is_iterator:
            iterator = make_initializable_iterator(self.data)
            session.run(iterator.initializer)
        take = session.make_callable(nest.flatten(next_of(iterator)))
        while True:
            try:
                values = take()
            except OutOfRangeError:
                return
            yield nest.pack_sequence_as(next_of(iterator), values)


def next_of(iterator: Any) -> Any:
    """The tensors of an iterator's next element: one set, however often it is asked for."""
    found = getattr(iterator, "_keras_next", None)
    if found is None:
        found = iterator._keras_next = iterator.get_next()
    return found


class Generated(Source):
    """A generator of batches, or a Sequence; a worker makes batches ahead."""

    def __init__(self, data: Any, steps: int | None, prepared: Any, options: dict[str, Any]) -> None:
        self.data, self.prepared, self.options = data, prepared, options
        self.count = len(data) if steps is None and isinstance(data, Sequence) else steps
        self._queue: Any = None
        self._values: Any = None
        self.ran_out = False

    def epoch(self, shuffle: Any = False) -> Iterator[Batch]:
        if self._values is None:
            self._values = self._batches(shuffle)
        step = 0
        while self.count is None or step < self.count:
            try:
                batch = next(self._values)
            except StopIteration:
                if self.count is not None:
                    self.ran_out = True
                    log.warning(
                        "Your dataset iterator ran out of data; interrupting training. Make sure that your "
                        "iterator can generate at least `steps_per_epoch * epochs` batches (in this case, "
                        f"{self.count} batches). You may need touse the repeat() function when building your "
                        "dataset."
                    )
                else:
                    self.count = step
                return
            x, y, weights = self.prepared(_checked(batch))
            yield _size(x), x, y, weights
            step += 1
        if isinstance(self.data, Sequence) and self._queue is None:
            self.data.on_epoch_end()

    def _batches(self, shuffle: Any) -> Iterator[Any]:
        workers = self.options.get("workers", 1)
        if workers < 1:
            return _forever(self.data) if isinstance(self.data, Sequence) else iter(self.data)
        multi = self.options.get("use_multiprocessing", False)
        if isinstance(self.data, Sequence):
            self._queue = OrderedEnqueuer(self.data, use_multiprocessing=multi, shuffle=bool(shuffle))
        else:
            self._queue = GeneratorEnqueuer(self.data, use_multiprocessing=multi)
        self._queue.start(workers=workers, max_queue_size=self.options.get("max_queue_size", 10))
        return self._queue.get()  # type: ignore[no-any-return]

    def close(self) -> None:
        if self._queue is not None:
            self._queue.stop()
            self._queue = None


def _forever(sequence: Sequence) -> Iterator[Any]:
    while True:
        for i in range(len(sequence)):
            yield sequence[i]
        sequence.on_epoch_end()


def _checked(batch: Any) -> Any:
    if isinstance(batch, tuple) and len(batch) not in (1, 2, 3):
        raise ValueError(
            "Output of generator should be a tuple of 1 or 2 or 3 elements: (input,) or (input, target) or "
            f"(input, target, sample_weights). Received {batch}"
        )
    return batch


def _size(x: list[Any]) -> int:
    if not x:
        return 1
    first = nest.flatten(x)[0]
    return int(first.shape[0]) if getattr(first, "shape", ()) else 1


def parts(element: Any) -> tuple[Any, Any, Any]:
    """(inputs, targets, weights) of an element."""
    if not isinstance(element, tuple) or hasattr(element, "_fields"):
        return element, None, None
    x, y, weights = (*element, None, None)[:3]
    return x, y, weights


def any_tensor(data: Any) -> bool:
    return any(is_tensor(x) for x in nest.flatten(data))
