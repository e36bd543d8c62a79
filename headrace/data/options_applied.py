"""Options become the last datasets of a pipeline, when an iterator is made."""

from __future__ import annotations

import warnings
from typing import Any

from headrace.core import dtypes
from headrace.data.dataset import Dataset
from headrace.data.ordering import same_form
from headrace.ops.data import passing as ops
from headrace.ops.declaration.convert import convert_to_tensor

HILL_CLIMB = 0


def apply_options(dataset: Dataset) -> Dataset:
    """The dataset with what its options ask for around it."""
    options = dataset.options()
    found = _with_threads(dataset, options.experimental_threading)
    optimizations = options._static_optimizations()
    if optimizations:
        if dataset._has_captured_ref():
            warnings.warn(
                "tf.data static optimizations are not compatible with tf.Variable. The following "
                f"optimizations will be disabled: {', '.join(optimizations)}. To enable optimizations, use "
                "resource variables instead by calling `tf.enable_resource_variables()` at the start of the "
                "program.",
                stacklevel=4,
            )
        else:
            variant = ops.optimize_dataset(
                found._variant_tensor,
                convert_to_tensor(optimizations, dtypes.string, name="optimizations"),
                optimization_configs=options._static_optimization_configs(),
                **found._flat_structure,
            )
            found = same_form(found, variant)
    found = _tuned(found, options.experimental_optimization)
    stats = options.experimental_stats
    if stats and stats.aggregator:
        found = stats.aggregator.around(found, stats.prefix, stats.counter_prefix)
    return found


def _with_threads(dataset: Dataset, threads: Any) -> Dataset:
    if threads is None:
        return dataset
    if threads.max_intra_op_parallelism is not None:
        number = convert_to_tensor(threads.max_intra_op_parallelism, dtypes.int64)
        variant = ops.max_intra_op_parallelism_dataset(
            dataset._variant_tensor, number, **dataset._flat_structure
        )
        dataset = same_form(dataset, variant)
    if threads.private_threadpool_size is not None:
        number = convert_to_tensor(threads.private_threadpool_size, dtypes.int64)
        variant = ops.private_thread_pool_dataset(dataset._variant_tensor, number, **dataset._flat_structure)
        dataset = same_form(dataset, variant)
    return dataset


def _tuned(dataset: Dataset, optimization: Any) -> Dataset:
    algorithm, budget = HILL_CLIMB, 0
    if optimization is not None:
        if optimization.autotune is False:
            return dataset
        algorithm = optimization.autotune_algorithm or algorithm
        budget = optimization.autotune_cpu_budget or budget
    variant = ops.model_dataset(
        dataset._variant_tensor, algorithm=algorithm, cpu_budget=budget, **dataset._flat_structure
    )
    return same_form(dataset, variant)
