"""Sources in memory: one element, slices of tensors, rows of a sparse tensor, ranges, random numbers."""

from __future__ import annotations

import secrets
from typing import Any

import numpy as np

from headrace.core.dtypes import int64
from headrace.core.errors import require
from headrace.core.shapes import make_shape
from headrace.ops.data.pipeline.dataset import INFINITE, Dataset, Element, Iterator, Place
from headrace.ops.data.pipeline.declaring import dataset_op, scalar_of
from headrace.ops.data.pipeline.elements import Positions
from headrace.ops.data.pipeline.random_words import Words
from headrace.ops.declaration.resources import keep
from headrace.ops.declaration.signature import Shapes, Type, Types
from headrace.ops.declaration.traits import STATEFUL

_COMPONENTS: dict[str, Any] = {"Toutput_types": Types(min=1), "output_shapes": Shapes(min=1)}


# -- one element -----------------------------------------------------------------------------------
class Tensors(Dataset):
    kind = "Tensor"

    def __init__(self, types: Any, shapes: Any, components: Element) -> None:
        super().__init__(types, shapes)
        self.components = components

    def make(self, running: Any, path: str) -> Iterator:
        return Positions(self, running, path, 1)

    def element(self, position: int) -> Element:
        return list(self.components)

    def cardinality(self) -> int:
        return 1


@dataset_op("TensorDataset", "components: Toutput_types -> handle: variant", [STATEFUL], attrs=_COMPONENTS)
def tensor_dataset(components, *, Toutput_types, output_shapes):
    """The components as the only element."""
    return Tensors(Toutput_types, output_shapes, [keep(c) for c in components])


# -- slices ----------------------------------------------------------------------------------------
class Slices(Dataset):
    """The slices of tensors along their first dimension."""

    kind = "TensorSlice"

    def __init__(self, types: Any, shapes: Any, components: Element) -> None:
        super().__init__(types, shapes)
        self.components, self.count = components, len(components[0])

    def make(self, running: Any, path: str) -> Iterator:
        return Positions(self, running, path, self.count)

    def element(self, position: int) -> Element:
        return [c[position, ...] for c in self.components]

    def rows(self, positions: Any) -> Element:
        """Several elements at once, stacked."""
        return [c[positions] for c in self.components]

    def cardinality(self) -> int:
        return self.count


@dataset_op(
    "TensorSliceDataset", "components: Toutput_types -> handle: variant", [STATEFUL], attrs=_COMPONENTS
)
def tensor_slice_dataset(components, *, Toutput_types, output_shapes):
    """The slices of the components along their first dimension."""
    require(all(np.ndim(c) for c in components), "All components must be at least 1-dimensional")
    sizes = {len(c) for c in components}
    require(len(sizes) == 1, "All components must have the same size in the 0th dimension")
    return Slices(Toutput_types, output_shapes, [keep(c) for c in components])


# -- rows of a sparse tensor -----------------------------------------------------------------------
class SparseRows(Dataset):
    kind = "SparseTensorSlice"

    def __init__(self, dtype: Any, indices: Any, values: Any, dense_shape: Any) -> None:
        rank = len(dense_shape) - 1
        super().__init__(
            (int64, dtype, int64), (make_shape((None, rank)), make_shape((None,)), make_shape((rank,)))
        )
        self.indices, self.values, self.dense_shape = indices, values, dense_shape
        self.starts = np.searchsorted(indices[:, 0], np.arange(int(dense_shape[0]) + 1))

    def make(self, running: Any, path: str) -> Iterator:
        return Positions(self, running, path, int(self.dense_shape[0]))

    def element(self, position: int) -> Element:
        start, stop = self.starts[position], self.starts[position + 1]
        return [self.indices[start:stop, 1:], self.values[start:stop], self.dense_shape[1:]]

    def cardinality(self) -> int:
        return int(self.dense_shape[0])


@dataset_op(
    "SparseTensorSliceDataset",
    "indices: int64, values: Tvalues, dense_shape: int64 -> handle: variant",
    [STATEFUL],
    attrs={"Tvalues": Type()},
)
def sparse_tensor_slice_dataset(indices, values, dense_shape, *, Tvalues):
    """The rows of a sparse tensor whose indices are in order."""
    require(
        np.ndim(indices) == 2,
        f"Input indices should be a matrix but received shape {list(np.shape(indices))}",
    )
    require(
        np.ndim(values) == 1, f"Input values should be a vector but received shape {list(np.shape(values))}"
    )
    require(
        np.ndim(dense_shape) == 1,
        f"Input shape should be a vector but received shape {list(np.shape(dense_shape))}",
    )
    require(len(dense_shape) >= 1, "Input shape should have at least one dimension")
    require(
        len(indices) == len(values) and indices.shape[1] == len(dense_shape),
        "Number of values and rank must match those of indices",
    )
    rows = indices[:, 0] if len(indices) else np.zeros(0, np.int64)
    # The message is TensorFlow's; only the rows' order matters.
    require(
        not len(rows) or bool(np.all(np.diff(rows) >= 0)),
        "The SparseTensor must be ordered in the batch dimension; handling arbitrarily ordered input "
        "is not currently supported.",
    )
    require(
        not len(indices) or bool(np.all((indices >= 0) & (indices < dense_shape))),
        "indices are out of bounds of the dense shape",
    )
    return SparseRows(Tvalues, keep(indices), keep(values), keep(dense_shape))


# -- ranges ----------------------------------------------------------------------------------------
class Range(Dataset):
    kind = "Range"

    def __init__(self, types: Any, shapes: Any, start: int, stop: int, step: int) -> None:
        super().__init__(types, shapes)
        self.numbers = range(start, stop, step)

    def make(self, running: Any, path: str) -> Iterator:
        return Positions(self, running, path, self.cardinality())

    def element(self, position: int) -> Element:
        return [np.array(self.numbers[position], np.int64)]

    def rows(self, positions: Any) -> Element:
        if isinstance(positions, slice):
            positions = np.arange(positions.start, positions.stop)
        return [self.numbers.start + np.asarray(positions, np.int64) * self.numbers.step]

    def cardinality(self) -> int:
        numbers = self.numbers
        return max(0, -((numbers.start - numbers.stop) // numbers.step))


@dataset_op("RangeDataset", "start: int64, stop: int64, step: int64 -> handle: variant", [STATEFUL])
def range_dataset(start, stop, step, *, output_types, output_shapes):
    """start, start + step, ... as long as they are before stop."""
    first, last, by = (scalar_of(v, n) for v, n in ((start, "start"), (stop, "stop"), (step, "step")))
    require(by != 0, "step must be a non-zero integer.")
    return Range(output_types, output_shapes, first, last, by)


# -- random numbers --------------------------------------------------------------------------------
class Random(Dataset):
    kind = "Random"

    def __init__(self, types: Any, shapes: Any, seeds: tuple[int, int]) -> None:
        super().__init__(types, shapes)
        self.seeds = seeds

    def cardinality(self) -> int:
        return INFINITE


class RandomIterator(Iterator, over=Random):
    def __init__(self, dataset: Any, running: Any, path: str) -> None:
        super().__init__(dataset, running, path)
        self.words = Words(dataset.seeds)

    def next(self) -> Element:
        return [np.array(self.words.next(), np.int64)]

    def save(self) -> Place:
        return {"drawn": self.words.drawn}

    def restore(self, place: Place) -> None:
        self.words = Words(self.dataset.seeds, drawn=place["drawn"])


def seeds_of(seed: Any, seed2: Any) -> tuple[int, int]:
    """Two zeros mean: different each time."""
    first, second = scalar_of(seed, "seed"), scalar_of(seed2, "seed2")
    if first == 0 and second == 0:
        return secrets.randbits(63), secrets.randbits(63)
    return first, second


@dataset_op(
    "RandomDataset", "seed: int64, seed2: int64 -> handle: variant", [STATEFUL], "ExperimentalRandomDataset"
)
def random_dataset(seed, seed2, *, output_types, output_shapes):
    """Random 32-bit numbers, without end."""
    return Random(output_types, output_shapes, seeds_of(seed, seed2))
