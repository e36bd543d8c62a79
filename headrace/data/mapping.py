"""Functions of elements."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from headrace.core import dtypes
from headrace.data.dataset import Dataset
from headrace.data.values import structure
from headrace.data.values.function import StructuredFunction
from headrace.data.values.spec import DatasetSpec
from headrace.ops.data import interleave as turns
from headrace.ops.data import map as ops
from headrace.ops.declaration.convert import convert_to_tensor


def map_(
    dataset: Dataset,
    map_func: Callable[..., Any],
    num_parallel_calls: Any,
    is_legacy: bool = False,
    preserve_cardinality: bool = False,
) -> Dataset:
    function = StructuredFunction(map_func, "Dataset.map()", dataset.element_spec, is_legacy)
    spec = function.output_structure
    given = {
        "f": function.function,
        "preserve_cardinality": preserve_cardinality,
        **structure.flat_structure(spec),
    }
    if num_parallel_calls is None:
        variant = ops.map_dataset(dataset._variant_tensor, function.captured, **given)
    else:
        calls = convert_to_tensor(num_parallel_calls, dtypes.int32, name="num_parallel_calls")
        variant = ops.parallel_map_dataset(dataset._variant_tensor, function.captured, calls, **given)
    return Dataset(variant, spec, [dataset], [function])


def flat_map(dataset: Dataset, map_func: Callable[..., Any]) -> Dataset:
    function, spec = _to_datasets(dataset, map_func, "Dataset.flat_map()")
    variant = turns.flat_map_dataset(
        dataset._variant_tensor, function.captured, f=function.function, **structure.flat_structure(spec)
    )
    return Dataset(variant, spec, [dataset], [function])


def _to_datasets(dataset: Dataset, map_func: Any, what: str) -> tuple[StructuredFunction, Any]:
    """A function from elements to datasets, and the description of these datasets' elements.

    Raises:
      TypeError: it does not give datasets.
    """
    function = StructuredFunction(map_func, what, dataset.element_spec)
    found = function.output_structure
    if not isinstance(found, DatasetSpec):
        raise TypeError("`map_func` must return a `Dataset` object.")
    return function, found._element_spec


def interleave(
    dataset: Dataset,
    map_func: Callable[..., Any],
    cycle_length: Any,
    block_length: Any,
    num_parallel_calls: Any = None,
) -> Dataset:
    what = "Dataset.interleave()"
    function, spec = _to_datasets(dataset, map_func, what)
    if isinstance(cycle_length, int) and cycle_length == -1:
        cycle_length = os.cpu_count() or 1
    cycle = convert_to_tensor(cycle_length, dtypes.int64, name="cycle_length")
    block = convert_to_tensor(block_length, dtypes.int64, name="block_length")
    given = {"f": function.function, **structure.flat_structure(spec)}
    if num_parallel_calls is None:
        variant = turns.interleave_dataset(dataset._variant_tensor, function.captured, cycle, block, **given)
    else:
        calls = convert_to_tensor(num_parallel_calls, dtypes.int64, name="num_parallel_calls")
        variant = turns.parallel_interleave_dataset_v2(
            dataset._variant_tensor, function.captured, cycle, block, calls, **given
        )
    return Dataset(variant, spec, [dataset], [function])


def parallel_interleave(
    map_func: Callable[..., Any],
    cycle_length: Any,
    block_length: Any = 1,
    sloppy: Any = False,
    buffer_output_elements: Any = None,
    prefetch_input_elements: Any = None,
) -> Callable[[Dataset], Dataset]:
    """A transformation to the elements of several datasets by turns, which are read at once.

    Args:
      map_func: a function from an element to a dataset.
      cycle_length: how many datasets are open.
      block_length: how many elements come from a dataset in its turn.
      sloppy: whether one that has no element ready is passed over.
      buffer_output_elements: how many elements are made ahead; default 2 * block_length.
      prefetch_input_elements: how many datasets are opened ahead; default 2 * cycle_length.
    """

    def apply(dataset: Dataset) -> Dataset:
        what = "tf.data.experimental.parallel_interleave()"
        function, spec = _to_datasets(dataset, map_func, what)
        ahead = 2 * block_length if buffer_output_elements is None else buffer_output_elements
        opened = 2 * cycle_length if prefetch_input_elements is None else prefetch_input_elements
        variant = turns.parallel_interleave_dataset(
            dataset._variant_tensor,
            function.captured,
            convert_to_tensor(cycle_length, dtypes.int64, name="cycle_length"),
            convert_to_tensor(block_length, dtypes.int64, name="block_length"),
            convert_to_tensor(sloppy, dtypes.bool_, name="sloppy"),
            convert_to_tensor(ahead, dtypes.int64, name="buffer_output_elements"),
            convert_to_tensor(opened, dtypes.int64, name="prefetch_input_elements"),
            f=function.function,
            **structure.flat_structure(spec),
        )
        return Dataset(variant, spec, [dataset], [function])

    return apply
