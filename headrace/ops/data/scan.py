"""State that goes from element to element: scans, reductions, and the only element."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.core.errors import InvalidArgumentError, OutOfRangeError, require
from headrace.core.shapes import make_shape
from headrace.ops.data.map import ended
from headrace.ops.data.pipeline.captured import Captured
from headrace.ops.data.pipeline.dataset import (
    UNKNOWN_COUNT,
    Dataset,
    Element,
    Iterator,
    Place,
    Unary,
    UnaryIterator,
)
from headrace.ops.data.pipeline.declaring import OF_ELEMENTS, dataset_in, dataset_op
from headrace.ops.data.pipeline.later import answered
from headrace.ops.data.pipeline.running import Running
from headrace.ops.data.pipeline.workers import here
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.signature import Function, Types
from headrace.ops.declaration.traits import DEFERRED, HOST, STATEFUL


class Scan(Unary):
    kind = "Scan"

    def __init__(
        self, source: Dataset, types: Any, shapes: Any, state: Element, function: Captured, preserves: bool
    ) -> None:
        super().__init__(source, types, shapes)
        self.state, self.function, self.preserves = state, function, preserves
        self.waits |= function.waits

    def cardinality(self) -> int:
        return self.source.cardinality() if self.preserves else UNKNOWN_COUNT


class ScanIterator(UnaryIterator, over=Scan):
    def __init__(self, dataset: Any, running: Any, path: str) -> None:
        super().__init__(dataset, running, path)
        self.state = list(dataset.state)

    def next(self) -> Element | None:
        element = self.source.next()
        if element is None:
            return None
        try:
            results = self.dataset.function(self.running, [*self.state, *element])
        except OutOfRangeError as error:
            found = ended(error, self.dataset.preserves)
            if found is not None:
                raise found from error
            return None
        count = len(self.state)
        self.state = results[:count]
        return results[count:]

    def save(self) -> Place:
        return {"state": list(self.state), **super().save()}

    def restore(self, place: Place) -> None:
        self.state = list(place["state"])
        super().restore(place)


_SCANNED = {"f": Function(), "Tstate": Types(min=1), "Targuments": Types(min=0), **OF_ELEMENTS}
_SCAN = "input_dataset: variant, initial_state: Tstate, other_arguments: Targuments"


@dataset_op(
    "ScanDataset",
    f"{_SCAN} -> handle: variant",
    also="ExperimentalScanDataset",
    attrs={**_SCANNED, "preserve_cardinality": False},
)
def scan_dataset(
    ctx,
    input_dataset,
    initial_state,
    other_arguments,
    *,
    f,
    output_types,
    output_shapes,
    preserve_cardinality,
):
    """The elements y of (state, y) = f(state, x) for every element x."""
    function = Captured(ctx, f, other_arguments)
    source = dataset_in(input_dataset)
    return Scan(source, output_types, output_shapes, list(initial_state), function, preserve_cardinality)


# -- to one element --------------------------------------------------------------------------------
def _shapes(*inputs, output_types, output_shapes):
    return list(output_shapes)


def consumed(ctx: Any, dataset: Dataset, work: Any, waits: bool) -> Any:
    """work(running, iterator), in a thread that may wait if that can be."""

    def run() -> Any:
        running = Running(ctx.background())
        running.calling = ctx.step
        before, here.in_background = here.in_background, False
        iterator = None
        try:
            iterator = dataset.iterator(running, "ReduceIterator")
            return work(running, iterator)
        finally:
            here.in_background = before
            running.close()
            if iterator is not None:
                iterator.close()

    if not (waits or dataset.waits) or here.is_worker:
        return run()
    return answered(ctx, run)


@op(
    "ReduceDataset",
    f"{_SCAN} -> components: output_types",
    attrs={**_SCANNED, "use_inter_op_parallelism": True},
    shape=_shapes,
    traits={STATEFUL, HOST, DEFERRED},
)
def reduce_dataset(ctx, input_dataset, initial_state, other_arguments, *, f, output_types, output_shapes):
    """state = f(state, x) for every element x."""
    function = Captured(ctx, f, other_arguments)

    def work(running: Running, iterator: Iterator) -> Element:
        state = list(initial_state)
        while (element := iterator.next()) is not None:
            running.check()
            try:
                results = function(running, [*state, *element])
            except OutOfRangeError:
                break
            require(
                len(results) == len(state),
                "The number of components of the initial state and the reduce function output does not "
                "match. "
                f"(initial_state={len(state)}, output={len(results)}).",
            )
            state = results
        _check(state, output_types, output_shapes)
        return state

    return consumed(ctx, dataset_in(input_dataset), work, function.waits)


def _check(state: Sequence[Any], types: Sequence[Any], shapes: Sequence[Any]) -> None:
    require(
        len(state) == len(types),
        "The number of result elements does not match the size of output types: "
        f"{len(state)} vs. {len(types)}",
    )
    for i, (value, shape) in enumerate(zip(state, shapes)):
        require(
            make_shape(value.shape).is_compatible_with(shape),
            f"The result does not match the expected shape for component {i}. Expected: {shape}. Actual: "
            f"{list(value.shape)}.",
        )


@op(
    "DatasetToSingleElement",
    "dataset: variant -> components: output_types",
    attrs=OF_ELEMENTS,
    shape=_shapes,
    traits={STATEFUL, HOST, DEFERRED},
)
def dataset_to_single_element(ctx, dataset):
    """The only element."""

    def work(running: Running, iterator: Iterator) -> Element:
        element = iterator.next()
        if element is None:
            raise InvalidArgumentError(None, None, "Dataset was empty.")
        if iterator.next() is not None:
            raise InvalidArgumentError(None, None, "Dataset had more than one element.")
        return element

    return consumed(ctx, dataset_in(dataset), work, False)


reduce_dataset.no_gradient()
dataset_to_single_element.no_gradient()
