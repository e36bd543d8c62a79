"""Several datasets as one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from headrace.core import dtypes
from headrace.data import sources
from headrace.data.dataset import Dataset
from headrace.data.values import nest, structure
from headrace.functions.values.tensor_spec import TensorSpec
from headrace.ops.data import combining as ops

_MOST = 2**63 - 1


def zip_(datasets: Any) -> Dataset:
    for found in nest.flatten(datasets):
        if not isinstance(found, Dataset):
            if isinstance(found, list):
                raise TypeError(
                    "The argument to `Dataset.zip()` must be a nested structure of `Dataset` objects. Nested "
                    "structures do not support Python lists; please use a tuple instead."
                )
            raise TypeError(
                "The argument to `Dataset.zip()` must be a nested structure of `Dataset` objects."
            )
    inputs = nest.flatten(datasets)
    spec = nest.pack_sequence_as(datasets, [d.element_spec for d in inputs])
    variant = ops.zip_dataset([d._variant_tensor for d in inputs], **structure.flat_structure(spec))
    return Dataset(variant, spec, inputs)


def merged_spec(first: Any, second: Any) -> Any:
    """What describes elements of both."""
    return nest.map_structure(lambda a, b: a.most_specific_compatible_type(b), first, second)


def concatenate(dataset: Dataset, other: Dataset) -> Dataset:
    for what in ("types", "classes"):
        mine, theirs = getattr(dataset, f"output_{what}"), getattr(other, f"output_{what}")
        if mine != theirs:
            raise TypeError(f"Two datasets to concatenate have different {what} {mine} and {theirs}")
    spec = merged_spec(dataset.element_spec, other.element_spec)
    variant = ops.concatenate_dataset(
        dataset._variant_tensor, other._variant_tensor, **structure.flat_structure(spec)
    )
    return Dataset(variant, spec, [dataset, other])


def enumerate_(dataset: Dataset, start: Any) -> Dataset:
    return zip_((sources.range_(start, _MOST), dataset))


def enumerate_dataset(start: Any = 0) -> Callable[[Dataset], Dataset]:
    """A transformation that gives pairs of a number, counted from `start`, and an element."""
    return lambda dataset: enumerate_(dataset, start)


def directed_interleave(selector: Dataset, datasets: Sequence[Dataset]) -> Dataset:
    """Elements in the order that the numbers of `selector` say."""
    first = datasets[0]
    spec = first.element_spec
    for other in datasets[1:]:
        if first.output_types != other.output_types or first.output_classes != other.output_classes:
            raise TypeError(
                f"All datasets must have the same type and class. dataset 0 ({first.output_types}) and "
                f"another ({other.output_types})"
            )
        spec = merged_spec(spec, other.element_spec)
    variant = ops.directed_interleave_dataset(
        selector._variant_tensor, [d._variant_tensor for d in datasets], **structure.flat_structure(spec)
    )
    return Dataset(variant, spec, [selector, *datasets])


def choose_from_datasets(datasets: Sequence[Dataset], choice_dataset: Dataset) -> Dataset:
    """Elements of several datasets in the order that another one says.

    Args:
      datasets: a list of datasets of elements of one form.
      choice_dataset: scalar int64 numbers of datasets in the list.
    """
    if not structure.are_compatible(choice_dataset.element_spec, TensorSpec([], dtypes.int64)):
        raise TypeError("`choice_dataset` must be a dataset of scalar `tf.int64` tensors.")
    return directed_interleave(choice_dataset, datasets)
