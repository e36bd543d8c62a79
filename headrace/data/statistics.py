"""Statistics of pipelines: aggregators, and transformations that measure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.core import dtypes
from headrace.data.dataset import Dataset
from headrace.data.ordering import same_form
from headrace.ops.data import stats as ops
from headrace.ops.declaration.convert import convert_to_tensor


class StatsAggregator:
    """Gathers what pipelines measure: latencies, sizes, how full buffers are, what filters drop.

    Example:
      >>> aggregator = tf.data.experimental.StatsAggregator()
      >>> dataset = tf.data.Dataset.range(3).apply(tf.data.experimental.latency_stats("latency"))
      >>> options = tf.data.Options()
      >>> options.experimental_stats.aggregator = aggregator
      >>> dataset = dataset.with_options(options)
      >>> tf.add_to_collection(tf.GraphKeys.SUMMARIES, aggregator.get_summary())
    """

    def __init__(self) -> None:
        self._resource = ops.stats_aggregator_handle()

    def get_summary(self) -> Any:
        """A string tensor: everything so far, as a Summary."""
        return ops.stats_aggregator_summary(self._resource)

    def around(self, dataset: Dataset, prefix: str, counter_prefix: str) -> Dataset:
        """The dataset, which tells this aggregator what it measures."""
        variant = ops.set_stats_aggregator_dataset(
            dataset._variant_tensor,
            self._resource,
            convert_to_tensor(prefix, dtypes.string),
            convert_to_tensor(counter_prefix, dtypes.string),
            **dataset._flat_structure,
        )
        return same_form(dataset, variant)


def set_stats_aggregator(
    stats_aggregator: StatsAggregator, prefix: str = "", counter_prefix: str = ""
) -> Callable[[Dataset], Dataset]:
    """A transformation to a dataset that tells an aggregator what it measures.

    Args:
      stats_aggregator: the aggregator.
      prefix: what names begin with.
      counter_prefix: what names of counters begin with; there are none here.
    """
    return lambda dataset: stats_aggregator.around(dataset, prefix, counter_prefix)


def _measuring(op: Any, tag: Any) -> Callable[[Dataset], Dataset]:
    def apply(dataset: Dataset) -> Dataset:
        text = convert_to_tensor(tag, dtypes.string)
        return same_form(dataset, op(dataset._variant_tensor, text, **dataset._flat_structure))

    return apply


def bytes_produced_stats(tag: Any) -> Callable[[Dataset], Dataset]:
    """A transformation that measures how many bytes an element has, under the name `tag`."""
    return _measuring(ops.bytes_produced_stats_dataset, tag)


def latency_stats(tag: Any) -> Callable[[Dataset], Dataset]:
    """A transformation that measures how many microseconds an element takes, under the name `tag`."""
    return _measuring(ops.latency_stats_dataset, tag)
