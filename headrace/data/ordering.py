"""Order and repetition, caches and prefetching."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.core import dtypes
from headrace.data.dataset import Dataset
from headrace.data.values.seeds import get_seed
from headrace.ops.data import cache as caches
from headrace.ops.data import prefetch as prefetching
from headrace.ops.data import repeat as ops
from headrace.ops.declaration.convert import convert_to_tensor


def same_form(dataset: Dataset, variant: Any) -> Dataset:
    """A dataset of elements of the same form, made of `dataset`."""
    return Dataset(variant, dataset.element_spec, [dataset])


def repeat(dataset: Dataset, count: Any) -> Dataset:
    number = convert_to_tensor(-1 if count is None else count, dtypes.int64, name="count")
    return same_form(dataset, ops.repeat_dataset(dataset._variant_tensor, number, **dataset._flat_structure))


def shuffle(dataset: Dataset, buffer_size: Any, seed: Any, reshuffle_each_iteration: Any) -> Dataset:
    size = convert_to_tensor(buffer_size, dtypes.int64, name="buffer_size")
    reshuffles = True if reshuffle_each_iteration is None else reshuffle_each_iteration
    variant = ops.shuffle_dataset(
        dataset._variant_tensor,
        size,
        *get_seed(seed),
        reshuffle_each_iteration=reshuffles,
        **dataset._flat_structure,
    )
    return same_form(dataset, variant)


def prefetch(dataset: Dataset, buffer_size: Any) -> Dataset:
    size = convert_to_tensor(-1 if buffer_size is None else buffer_size, dtypes.int64, name="buffer_size")
    variant = prefetching.prefetch_dataset(dataset._variant_tensor, size, **dataset._flat_structure)
    return same_form(dataset, variant)


def shuffle_and_repeat(buffer_size: Any, count: Any = None, seed: Any = None) -> Callable[[Dataset], Dataset]:
    """A transformation: the elements `count` times, each time in another random order."""

    def apply(dataset: Dataset) -> Dataset:
        size = convert_to_tensor(buffer_size, dtypes.int64, name="buffer_size")
        number = convert_to_tensor(-1 if count is None else count, dtypes.int64, name="count")
        variant = ops.shuffle_and_repeat_dataset(
            dataset._variant_tensor, size, *get_seed(seed), number, **dataset._flat_structure
        )
        return same_form(dataset, variant)

    return apply


def cache(dataset: Dataset, filename: Any) -> Dataset:
    name = convert_to_tensor(filename, dtypes.string, name="filename")
    return same_form(dataset, caches.cache_dataset(dataset._variant_tensor, name, **dataset._flat_structure))
