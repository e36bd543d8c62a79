"""Some of the elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.core import dtypes
from headrace.data.dataset import Dataset
from headrace.data.ordering import same_form
from headrace.data.values import nest, structure
from headrace.data.values.function import StructuredFunction
from headrace.functions.values.tensor_spec import TensorSpec
from headrace.ops.data import choosing as ops
from headrace.ops.declaration.convert import convert_to_tensor


def take(dataset: Dataset, count: Any) -> Dataset:
    number = convert_to_tensor(count, dtypes.int64, name="count")
    return same_form(dataset, ops.take_dataset(dataset._variant_tensor, number, **dataset._flat_structure))


def skip(dataset: Dataset, count: Any) -> Dataset:
    number = convert_to_tensor(count, dtypes.int64, name="count")
    return same_form(dataset, ops.skip_dataset(dataset._variant_tensor, number, **dataset._flat_structure))


def shard(dataset: Dataset, num_shards: Any, index: Any) -> Dataset:
    shards = convert_to_tensor(num_shards, dtypes.int64, name="num_shards")
    at = convert_to_tensor(index, dtypes.int64, name="index")
    return same_form(
        dataset, ops.shard_dataset(dataset._variant_tensor, shards, at, **dataset._flat_structure)
    )


def _predicate(dataset: Dataset, function: Any, what: str, is_legacy: bool = False) -> StructuredFunction:
    """A function whose result is one bool.

    Raises:
      ValueError: it is another thing.
    """
    made = StructuredFunction(function, what, dataset.element_spec, is_legacy)
    wanted = TensorSpec([], dtypes.bool_)
    if not structure.are_compatible(made.output_structure, wanted):
        raise ValueError(
            f"`predicate` must return a scalar boolean tensor, but its return value is "
            f"{made.output_structure}."
        )
    return made


def filter_(dataset: Dataset, predicate: Callable[..., Any], is_legacy: bool = False) -> Dataset:
    made = _predicate(dataset, predicate, "Dataset.filter()", is_legacy)
    variant = ops.filter_dataset(
        dataset._variant_tensor, made.captured, predicate=made.function, **dataset._flat_structure
    )
    return Dataset(variant, dataset.element_spec, [dataset], [made])


def take_while(predicate: Callable[..., Any]) -> Callable[[Dataset], Dataset]:
    """A transformation that stops before the first element for which `predicate` is false."""

    def apply(dataset: Dataset) -> Dataset:
        made = _predicate(dataset, predicate, "tf.data.experimental.take_while()")
        variant = ops.take_while_dataset(
            dataset._variant_tensor, made.captured, predicate=made.function, **dataset._flat_structure
        )
        return Dataset(variant, dataset.element_spec, [dataset], [made])

    return apply


def unique() -> Callable[[Dataset], Dataset]:
    """A transformation that gives every element once."""

    def apply(dataset: Dataset) -> Dataset:
        types = [s.dtype for s in nest.flatten(dataset.element_spec)]
        if len(types) != 1 or types[0] not in (dtypes.int32, dtypes.int64, dtypes.string):
            raise TypeError(
                "`tf.data.experimental.unique()` only supports inputs with a single `tf.int32`, `tf.int64`, "
                "or `tf.string` component."
            )
        return same_form(dataset, ops.unique_dataset(dataset._variant_tensor, **dataset._flat_structure))

    return apply


def ignore_errors() -> Callable[[Dataset], Dataset]:
    """A transformation that leaves out the elements that fail."""

    def apply(dataset: Dataset) -> Dataset:
        variant = ops.ignore_errors_dataset(dataset._variant_tensor, **dataset._flat_structure)
        return same_form(dataset, variant)

    return apply
