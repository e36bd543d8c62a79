"""Batches of elements of different sizes: padded, or as sparse tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from headrace.core.dtypes import int64 as INT64
from headrace.core.errors import DataLossError, InvalidArgumentError, require
from headrace.ops.data.batch import Batch, BatchIterator, batches, size_of
from headrace.ops.data.pipeline.dataset import Dataset, Element
from headrace.ops.data.pipeline.declaring import OF_ELEMENTS, dataset_in, dataset_op, scalar_of
from headrace.ops.declaration.signature import Int, Shapes, Types
from headrace.ops.declaration.text import strings
from headrace.ops.declaration.variant import TensorVariant


class PaddedBatch(Batch):
    kind = "PaddedBatch"

    def __init__(
        self,
        source: Dataset,
        types: Any,
        shapes: Any,
        size: int,
        drops: bool,
        padded: Sequence[Sequence[int]],
        values: Sequence[Any],
    ) -> None:
        super().__init__(source, types, shapes, size, drops)
        self.padded, self.values = padded, values


class PaddedIterator(BatchIterator, over=PaddedBatch):
    def next(self) -> Element | None:
        found = self.gathered()
        if found is None:
            return None
        parts = zip(self.dataset.padded, self.dataset.values)
        return [padded(i, [e[i] for e in found], sizes, v) for i, (sizes, v) in enumerate(parts)]


def padded(component: int, values: Sequence[Any], sizes: Sequence[int], filler: Any) -> Any:
    """Stacked, filled up to `sizes`; -1: to the largest."""
    rank = len(sizes)
    for value in values:
        if value.ndim != rank:
            raise InvalidArgumentError(
                None,
                None,
                "All elements in a batch must have the same rank as the padded shape for component"
                f"{component}: expected rank {rank} but got element with rank {value.ndim}",
            )
        for have, wanted in zip(value.shape, sizes):
            if 0 <= wanted < have:
                raise DataLossError(None, None, "Attempted to pad to a smaller size than the input element.")
    shape = [
        max(v.shape[axis] for v in values) if wanted < 0 else wanted for axis, wanted in enumerate(sizes)
    ]
    out: Any = np.empty((len(values), *shape), values[0].dtype)
    out[...] = filler
    for i, value in enumerate(values):
        out[(i, *(slice(n) for n in value.shape), ...)] = value
    return out


def _padded(input_dataset, batch_size, padded_shapes, padding_values, drops, types, shapes):
    source, size = dataset_in(input_dataset), size_of(batch_size)
    count = len(source.types)
    require(
        len(padded_shapes) == count,
        f"Number of padded shapes ({len(padded_shapes)}) must match the number of components in the input "
        f"dataset's elements ({count})",
    )
    require(all(np.ndim(s) == 1 for s in padded_shapes), "All padded shapes must be vectors")
    require(
        len(padding_values) == count,
        f"Number of padding values ({len(padding_values)}) must match the number of components in the input "
        f"dataset's elements ({count})",
    )
    require(all(np.ndim(v) == 0 for v in padding_values), "All padding values must be scalars")
    for i, (have, wanted) in enumerate(zip(types, source.types)):
        require(
            have == wanted,
            f"Mismatched type between padding value {i} and input dataset's component {i}: {have.name} vs. "
            f"{wanted.name}",
        )
    sizes = [s.tolist() for s in padded_shapes]
    return PaddedBatch(source, types, shapes, size, drops, sizes, [v[()] for v in padding_values])


_PADDED = {"Toutput_types": Types(min=1), "output_shapes": Shapes(min=1), "N": Int(min=1)}
_INPUTS = "input_dataset: variant, batch_size: int64, padded_shapes: N*int64, padding_values: Toutput_types"


@dataset_op("PaddedBatchDataset", f"{_INPUTS} -> handle: variant", attrs=_PADDED)
def padded_batch_dataset(
    input_dataset, batch_size, padded_shapes, padding_values, *, Toutput_types, output_shapes
):
    """Batches of elements that are filled up to one size."""
    given = input_dataset, batch_size, padded_shapes, padding_values
    return _padded(*given, False, Toutput_types, output_shapes)


@dataset_op(
    "PaddedBatchDatasetV2",
    f"{_INPUTS}, drop_remainder: bool -> handle: variant",
    attrs={"parallel_copy": False, **_PADDED},
)
def padded_batch_dataset_v2(
    input_dataset, batch_size, padded_shapes, padding_values, drop_remainder, *, Toutput_types, output_shapes
):
    """Batches of elements that are filled up to one size; a smaller last batch may be dropped."""
    given = input_dataset, batch_size, padded_shapes, padding_values
    return _padded(*given, scalar_of(drop_remainder, "drop_remainder"), Toutput_types, output_shapes)


# -- as sparse tensors -----------------------------------------------------------------------------
class SparseBatch(Batch):
    """Each batch is a sparse tensor, as a vector of three variants."""

    kind = "DenseToSparseBatch"

    def __init__(self, source: Dataset, types: Any, shapes: Any, size: int, row: Sequence[int]) -> None:
        super().__init__(source, types, shapes, size, False)
        self.row = row

    def cardinality(self) -> int:
        return batches(self.source.cardinality(), self.size, False)


class SparseBatchIterator(BatchIterator, over=SparseBatch):
    def next(self) -> Element | None:
        found = self.gathered()
        if found is None:
            return None
        row, rank = self.dataset.row, len(self.dataset.row)
        values = [e[0] for e in found]
        for value in values:
            if value.ndim != rank:
                raise InvalidArgumentError(
                    None, None, f"Input element had shape ({list(value.shape)}) that is incompatible with "
                    f"the row shape ({list(row)}).",
                )  # fmt: skip
            for axis, (have, wanted) in enumerate(zip(value.shape, row)):
                if 0 <= wanted < have:
                    raise DataLossError(
                        None, None, f"Input element had larger size in dimension {axis} than the row shape "
                        f"({have} vs. {wanted}).",
                    )  # fmt: skip
        shape = [max(v.shape[i] for v in values) if n < 0 else n for i, n in enumerate(row)]
        inner = [np.argwhere(np.ones(v.shape, bool)).astype(np.int64).reshape(-1, rank) for v in values]
        rows = np.repeat(np.arange(len(values)), [len(i) for i in inner])
        indices = np.column_stack([rows[:, None], np.concatenate(inner)]).astype(np.int64)
        flat = np.concatenate([v.reshape(-1) for v in values])
        dtype = self.dataset.source.types[0]
        parts = (indices, INT64), (flat, dtype), (np.array([len(values), *shape], np.int64), INT64)
        return [strings([TensorVariant(part, kind) for part, kind in parts])]


@dataset_op(
    "DenseToSparseBatchDataset",
    "input_dataset: variant, batch_size: int64, row_shape: int64 -> handle: variant",
    also="ExperimentalDenseToSparseBatchDataset",
    attrs=OF_ELEMENTS,
)
def dense_to_sparse_batch_dataset(input_dataset, batch_size, row_shape, *, output_types, output_shapes):
    """Batches of elements of different sizes, as sparse tensors."""
    source = dataset_in(input_dataset)
    require(len(source.types) == 1, "DenseToSparseBatchDataset only supports inputs with a single component.")
    require(np.ndim(row_shape) == 1, "row_shape must be a vector")
    return SparseBatch(source, output_types, output_shapes, size_of(batch_size), row_shape.tolist())
