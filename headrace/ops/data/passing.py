"""Datasets that give their input's elements as they are: options, optimizations, wrappers."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from headrace.core.errors import InvalidArgumentError, require
from headrace.core.shapes import SCALAR
from headrace.ops.data.optimizing import optimized
from headrace.ops.data.pipeline.dataset import Dataset, Element, Iterator, Unary, UnaryIterator
from headrace.ops.data.pipeline.declaring import OF_ELEMENTS, boxed, dataset_in, dataset_op, scalar_of
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.signature import Strings
from headrace.ops.declaration.traits import HOST


class Passing(Unary):
    """The input under another name."""

    def __init__(self, source: Dataset, kind: str, prepare: Any = None) -> None:
        super().__init__(source)
        self.kind, self.prepare = kind, prepare

    def make(self, running: Any, path: str) -> Iterator:
        if self.prepare is not None:
            self.prepare(running)
        return PassingIterator(self, running, path)


class PassingIterator(UnaryIterator):
    def next(self) -> Element | None:
        return self.source.next()


@dataset_op(
    "ModelDataset",
    "input_dataset: variant -> handle: variant",
    attrs={"algorithm": 0, "cpu_budget": 0, **OF_ELEMENTS},
)
def model_dataset(input_dataset, *, output_types, output_shapes):
    """The input; what says AUTOTUNE in it is tuned where it stands."""
    return Passing(dataset_in(input_dataset), "Model")


@dataset_op(
    "OptimizeDataset",
    "input_dataset: variant, optimizations: string -> handle: variant",
    attrs={**OF_ELEMENTS, "optimization_configs": Strings(default=[])},
)
def optimize_dataset(input_dataset, optimizations, *, output_types, output_shapes, optimization_configs):
    """The input, changed to what gives the same elements in less time."""
    asked = [name.decode() for name in optimizations.reshape(-1)]
    return Passing(optimized(dataset_in(input_dataset), asked, optimization_configs), "Optimize")


@dataset_op(
    "MaxIntraOpParallelismDataset",
    "input_dataset: variant, max_intra_op_parallelism: int64 -> handle: variant",
    also="ExperimentalMaxIntraOpParallelismDataset",
)
def max_intra_op_parallelism_dataset(input_dataset, max_intra_op_parallelism, *, output_types, output_shapes):
    """The input; an op in its functions uses so many threads."""
    number = scalar_of(max_intra_op_parallelism, "max_intra_op_parallelism")
    require(number >= 0, "`max_intra_op_parallelism` must be >= 0")

    def prepare(running: Any) -> None:
        running.intra_op = number

    return Passing(dataset_in(input_dataset), "MaxIntraOpParallelism", prepare)


@dataset_op(
    "PrivateThreadPoolDataset",
    "input_dataset: variant, num_threads: int64 -> handle: variant",
    also="ExperimentalPrivateThreadPoolDataset",
)
def private_thread_pool_dataset(input_dataset, num_threads, *, output_types, output_shapes):
    """The input; so many of its calls run at once."""
    number = scalar_of(num_threads, "num_threads")
    require(number >= 0, "`num_threads` must be >= 0")

    def prepare(running: Any) -> None:
        running.threads = number or None

    return Passing(dataset_in(input_dataset), "PrivateThreadPool", prepare)


@dataset_op(
    "NonSerializableDataset",
    "input_dataset: variant -> handle: variant",
    also="ExperimentalNonSerializableDataset",
)
def non_serializable_dataset(input_dataset, *, output_types, output_shapes):
    """The input, whose position can not be saved."""
    return NonSerializable(dataset_in(input_dataset))


class NonSerializable(Unary):
    kind = "NonSerializable"


class NonSerializableIterator(PassingIterator, over=NonSerializable):
    def save(self) -> Any:
        raise InvalidArgumentError(None, None, "the position in a NonSerializableDataset can not be saved")


@dataset_op(
    "AssertNextDataset",
    "input_dataset: variant, transformations: string -> handle: variant",
    also="ExperimentalAssertNextDataset",
)
def assert_next_dataset(input_dataset, transformations, *, output_types, output_shapes):
    """The input, which must be made of these transformations."""
    found, wanted = dataset_in(input_dataset), [t.decode() for t in transformations.reshape(-1)]

    def prepare(running: Any) -> None:
        chain, at = [], found
        while at.inputs:
            chain.append(at.kind)
            at = at.inputs[0]
        for i, name in enumerate(wanted):
            have = chain[i] if i < len(chain) else None
            require(
                have == name,
                f"Asserted {name} transformation at offset {i} but encountered {have} transformation "
                "instead.",
            )

    return Passing(found, "AssertNext", prepare)


class Sleep(Unary):
    kind = "Sleep"

    def __init__(self, source: Dataset, seconds: float) -> None:
        super().__init__(source)
        self.seconds, self.waits = seconds, True


class SleepIterator(UnaryIterator, over=Sleep):
    def next(self) -> Element | None:
        until = time.monotonic() + self.dataset.seconds
        while (left := until - time.monotonic()) > 0:
            self.running.check()
            time.sleep(min(left, 0.05))
        return self.source.next()


@dataset_op(
    "SleepDataset",
    "input_dataset: variant, sleep_microseconds: int64 -> handle: variant",
    also="ExperimentalSleepDataset",
)
def sleep_dataset(input_dataset, sleep_microseconds, *, output_types, output_shapes):
    """The input, with a pause before every element."""
    return Sleep(dataset_in(input_dataset), scalar_of(sleep_microseconds, "sleep_microseconds") / 1e6)


# -- variants in variants --------------------------------------------------------------------------
class Wrapped:
    """A dataset as the content of another variant."""

    __slots__ = ("wrapped",)

    def __init__(self, wrapped: Dataset) -> None:
        self.wrapped = wrapped


@op(
    "WrapDatasetVariant",
    "input_handle: variant -> output_handle: variant",
    shape=lambda x: SCALAR,
    traits={HOST},
)
def wrap_dataset_variant(ctx, input_handle):
    """A dataset inside of a variant."""
    require(np.ndim(input_handle) == 0, "Wrapper tensor must be a scalar")
    return boxed(Wrapped(dataset_in(input_handle)))


@op(
    "UnwrapDatasetVariant",
    "input_handle: variant -> output_handle: variant",
    shape=lambda x: SCALAR,
    traits={HOST},
)
def unwrap_dataset_variant(ctx, input_handle):
    """The dataset that is inside of a variant."""
    return boxed(dataset_in(input_handle))
