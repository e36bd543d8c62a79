"""A function of every element: one after the other, or several at once."""

from __future__ import annotations

import threading
import time
from collections import deque
from typing import Any

from headrace.core.errors import InvalidArgumentError, OpError, OutOfRangeError, require
from headrace.ops.data.pipeline.captured import Captured
from headrace.ops.data.pipeline.dataset import (
    UNKNOWN_COUNT,
    Dataset,
    Element,
    NoBlocks,
    Place,
    Unary,
    UnaryIterator,
)
from headrace.ops.data.pipeline.declaring import OF_ELEMENTS, dataset_in, dataset_op, scalar_of
from headrace.ops.data.pipeline.errors_kept import kept_error, restored_error
from headrace.ops.data.pipeline.tuning import AUTOTUNE, Parallelism
from headrace.ops.data.pipeline.workers import WORKERS, Task
from headrace.ops.declaration.signature import Function, Types


class Map(Unary):
    kind = "Map"

    def __init__(self, source: Dataset, types: Any, shapes: Any, function: Captured, preserves: bool) -> None:
        super().__init__(source, types, shapes)
        self.function, self.preserves = function, preserves
        self.waits |= function.waits

    def cardinality(self) -> int:
        return self.source.cardinality() if self.preserves else UNKNOWN_COUNT


def ended(error: OutOfRangeError, preserves: bool) -> OpError | None:
    """What it means that a function is out of range: the end, or an error where the number of elements is
    known to be that of the input."""
    if not preserves:
        return None
    message = f"Function invocation produced OutOfRangeError: {error.message}"
    return InvalidArgumentError(error._node_def, error._op, message)


def mapped_block(iterator: Any, most: int) -> Element | None:
    """The results for the next elements at once.  Where they can not be had so, the elements are left to be
    mapped one by one, from now on."""
    columns = iterator.source.block(most)
    if columns is None:
        return None
    try:
        results: Element | None = iterator.dataset.function.rows(iterator.running, columns)
    except OpError:
        iterator.running.check()
        results = None  # for one of the elements the function fails
    if results is None:
        iterator.takes_blocks = False
        iterator.left.extend([c[i, ...] for c in columns] for i in range(len(columns[0])))
        raise NoBlocks
    return results


class MapIterator(UnaryIterator, over=Map):
    """`left`: elements of a block for which the function has to be called one by one."""

    def __init__(self, dataset: Any, running: Any, path: str) -> None:
        super().__init__(dataset, running, path)
        self.left: deque[Element] = deque()
        self.takes_blocks = True

    def block(self, most: int) -> Element | None:
        if not self.takes_blocks or self.left:
            raise NoBlocks
        return mapped_block(self, most)

    def next(self) -> Element | None:
        element = self.left.popleft() if self.left else self.source.next()
        if element is None:
            return None
        try:
            result: Element = self.dataset.function(self.running, element)
            return result
        except OutOfRangeError as error:
            found = ended(error, self.dataset.preserves)
            if found is not None:
                raise found from error
            return None

    def save(self) -> Place:
        return {"left": list(self.left), **super().save()}

    def restore(self, place: Place) -> None:
        self.left = deque(place["left"])
        super().restore(place)


_MAPPED: dict[str, Any] = {"f": Function(), "Targuments": Types(min=0), **OF_ELEMENTS}
_INTER: dict[str, Any] = {**_MAPPED, "use_inter_op_parallelism": True}


@dataset_op(
    "MapDataset",
    "input_dataset: variant, other_arguments: Targuments -> handle: variant",
    also="ExperimentalMapDataset",
    attrs={**_INTER, "preserve_cardinality": False},
)
def map_dataset(ctx, input_dataset, other_arguments, *, f, output_types, output_shapes, preserve_cardinality):
    """f of every element."""
    function = Captured(ctx, f, other_arguments)
    return Map(dataset_in(input_dataset), output_types, output_shapes, function, preserve_cardinality)


# -- several at once -------------------------------------------------------------------------------
class ParallelMap(Map):
    kind = "ParallelMap"

    def __init__(
        self,
        source: Dataset,
        types: Any,
        shapes: Any,
        function: Captured,
        preserves: bool,
        calls: int,
        sloppy: bool,
    ) -> None:
        super().__init__(source, types, shapes, function, preserves)
        self.calls, self.sloppy = calls, sloppy


class Call:
    """One call of the function: the task that makes it, and what came of it."""

    __slots__ = ("element", "task", "done", "result", "error")

    def __init__(self, element: Element) -> None:
        self.element = element
        self.task: Task | None = None
        self.done = False
        self.result: Element | None = None
        self.error: BaseException | None = None


class ParallelMapIterator(UnaryIterator, over=ParallelMap):
    """Calls are begun in the order of the elements, and answered in that order unless it is sloppy."""

    def __init__(self, dataset: Any, running: Any, path: str) -> None:
        super().__init__(dataset, running, path)
        self.calls: deque[Call] = deque()
        self.changed = threading.Condition()
        self.source_ended = False
        self.parallelism = Parallelism(dataset.calls, running)
        self.left: deque[Element] = deque()  # of a block for which calls are made one by one
        self.takes_blocks = True

    def block(self, most: int) -> Element | None:
        """One call for many elements is faster than many calls at once."""
        if not self.takes_blocks or self.left or self.calls or self.source_ended:
            raise NoBlocks
        return mapped_block(self, most)

    def next(self) -> Element | None:
        while True:
            self._begin()
            if not self.calls:
                return None
            call = self._finished()
            self.parallelism.delivered()
            if call.error is None:
                return call.result
            if not isinstance(call.error, OutOfRangeError):
                raise call.error
            found = ended(call.error, self.dataset.preserves)
            if found is not None:
                raise found from call.error
            self.source_ended = True
            return None

    def _begin(self) -> None:
        """As many calls as may run at once."""
        while not self.source_ended and len(self.calls) < self.parallelism.limit:
            self.running.check()
            try:
                element = self.left.popleft() if self.left else self.source.next()
            except BaseException as error:
                if not self.calls or not isinstance(error, Exception):
                    raise
                call = Call([])  # comes out when it is its turn
                call.done, call.error = True, error
                self.calls.append(call)
                return
            if element is None:
                self.source_ended = True
                self.source.close()
                return
            call = Call(element)
            self.calls.append(call)
            call.task = WORKERS.submit(lambda call=call: self._work(call))  # type: ignore[misc]

    def _work(self, call: Call) -> None:
        begun = time.perf_counter()
        try:
            call.result = self.dataset.function(self.running, call.element)
        except BaseException as error:
            call.error = error
        self.parallelism.called(time.perf_counter() - begun)
        call.element = []
        with self.changed:
            call.done = True
            self.changed.notify_all()

    def _finished(self) -> Call:
        """The call whose turn it is.  If nobody has begun it, this thread makes it."""
        first = self.calls[0]
        if not first.done and not self._any_done():
            if first.task is not None and first.task.claim():
                first.task.run_here()
        with self.changed:
            while True:
                if self.dataset.sloppy:
                    for call in self.calls:
                        if call.done:
                            self.calls.remove(call)
                            return call
                elif first.done:
                    return self.calls.popleft()
                self.running.wait(self.changed)

    def _any_done(self) -> bool:
        return bool(self.dataset.sloppy) and any(call.done for call in self.calls)

    def save(self) -> Place:
        """What has been begun is finished first; it is part of the place."""
        with self.changed:
            while not all(call.done for call in self.calls):
                waiting = next((c for c in self.calls if c.task is not None and c.task.claim()), None)
                if waiting is not None:
                    self.changed.release()
                    try:
                        waiting.task.run_here()  # type: ignore[union-attr]
                    finally:
                        self.changed.acquire()
                else:
                    self.running.wait(self.changed)
        for call in self.calls:
            if call.error is not None and not isinstance(call.error, OpError):
                raise call.error
        return {
            "left": list(self.left),
            "source": None if self.source_ended else self.source.save(),
            "results": [call.result for call in self.calls],
            "errors": [kept_error(c.error) if isinstance(c.error, OpError) else None for c in self.calls],
        }

    def restore(self, place: Place) -> None:
        self.source_ended = place["source"] is None
        if not self.source_ended:
            self.source.restore(place["source"])
        self.left = deque(place["left"])
        self.calls.clear()
        for result, error in zip(place["results"], place["errors"]):
            call = Call([])
            call.done, call.result = True, result
            if error is not None:
                call.error = restored_error(error)
            self.calls.append(call)


@dataset_op(
    "ParallelMapDataset",
    "input_dataset: variant, other_arguments: Targuments, num_parallel_calls: int32 -> handle: variant",
    attrs={**_INTER, "sloppy": False, "preserve_cardinality": False},
)
def parallel_map_dataset(
    ctx, input_dataset, other_arguments, num_parallel_calls, *, f, output_types, output_shapes, sloppy,
    preserve_cardinality,
):  # fmt: skip
    """f of every element, several calls at once."""
    calls = scalar_of(num_parallel_calls, "num_parallel_calls")
    require(calls > 0 or calls == AUTOTUNE, "num_parallel_calls must be greater than zero.")
    return ParallelMap(
        dataset_in(input_dataset),
        output_types,
        output_shapes,
        Captured(ctx, f, other_arguments),
        preserve_cardinality,
        calls,
        sloppy,
    )
