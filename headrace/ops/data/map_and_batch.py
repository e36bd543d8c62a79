"""Batches of what a function gives for elements, several calls at once."""

from __future__ import annotations

from typing import Any

from headrace.core.errors import require
from headrace.ops.data.batch import Batch, BatchIterator, batches, size_of
from headrace.ops.data.map import ParallelMap
from headrace.ops.data.pipeline.captured import Captured
from headrace.ops.data.pipeline.dataset import Iterator
from headrace.ops.data.pipeline.declaring import OF_ELEMENTS, dataset_in, dataset_op, scalar_of
from headrace.ops.data.pipeline.tuning import AUTOTUNE
from headrace.ops.declaration.signature import Function, Types


class MapAndBatch(Batch):
    kind = "MapAndBatch"

    def make(self, running: Any, path: str) -> Iterator:
        return BatchIterator(self, running, path)

    def cardinality(self) -> int:
        return batches(self.source.cardinality(), self.size, self.drops)


def _map_and_batch(
    ctx, input_dataset, other_arguments, batch_size, calls, drop_remainder, f, types, shapes, preserves
):
    source, size = dataset_in(input_dataset), size_of(batch_size)
    require(calls > 0 or calls == AUTOTUNE, "num_parallel_calls must be greater than zero.")
    function = Captured(ctx, f, other_arguments)
    inner = [s[1:] if s.rank else s for s in shapes]
    mapped = ParallelMap(source, types, inner, function, preserves, calls, False)
    return MapAndBatch(mapped, types, shapes, size, scalar_of(drop_remainder, "drop_remainder"))


_MAPPED = {"f": Function(), "Targuments": Types(min=0), **OF_ELEMENTS, "preserve_cardinality": False}
_INPUTS = "input_dataset: variant, other_arguments: Targuments, batch_size: int64"


@dataset_op(
    "MapAndBatchDataset",
    f"{_INPUTS}, num_parallel_calls: int64, drop_remainder: bool -> handle: variant",
    also="ExperimentalMapAndBatchDataset",
    attrs=_MAPPED,
)
def map_and_batch_dataset(
    ctx, input_dataset, other_arguments, batch_size, num_parallel_calls, drop_remainder, *, f, output_types,
    output_shapes, preserve_cardinality,
):  # fmt: skip
    """Batches of f of every element."""
    calls = scalar_of(num_parallel_calls, "num_parallel_calls")
    form = f, output_types, output_shapes, preserve_cardinality
    return _map_and_batch(ctx, input_dataset, other_arguments, batch_size, calls, drop_remainder, *form)
