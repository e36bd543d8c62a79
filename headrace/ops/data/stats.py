"""Statistics of pipelines: what aggregators gather, and the datasets that measure their input.

A pipeline whose options name an aggregator has a `Stats` in its surroundings (`Running.stats`); iterators
that have something to tell give it numbers under a name.
"""

from __future__ import annotations

import itertools
import threading
import time
from typing import Any

import numpy as np

from headrace.formats import proto
from headrace.ops.data.passing import Passing, PassingIterator
from headrace.ops.data.pipeline.dataset import Dataset, Element, Unary
from headrace.ops.data.pipeline.declaring import dataset_in, dataset_op, scalar_of
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.resources import Handle
from headrace.ops.declaration.shape_rules import none, scalar
from headrace.ops.declaration.traits import HOST, STATEFUL, WRITES
from headrace.ops.io.summary_message import Histogram
from headrace.ops.io.summary_writer import Writer

KIND = "stats aggregator"


class Aggregator:
    """Histograms and last values, by name.  `writer`: gets an event for every number, where there is one."""

    def __init__(self) -> None:
        self.writer: Writer | None = None
        self._histograms: dict[str, Histogram] = {}
        self._scalars: dict[str, float] = {}
        self._lock = threading.Lock()

    def add(self, name: str, value: float, step: int) -> None:
        """One more number of a histogram."""
        with self._lock:
            found = self._histograms.setdefault(name, Histogram())
            found.add(value)
            if self.writer is not None:
                self._tell(proto.Summary.Value(tag=name, histo=found.message()), step)

    def set(self, name: str, value: float, step: int) -> None:
        """The newest value of a number."""
        with self._lock:
            self._scalars[name] = value
            if self.writer is not None:
                self._tell(proto.Summary.Value(tag=name, simple_value=value), step)

    def _tell(self, value: Any, step: int) -> None:
        assert self.writer is not None
        event = proto.Event(step=step, wall_time=time.time(), summary=proto.Summary(value=[value]))
        self.writer.add(event)

    def summary(self) -> Any:
        """All of it, as a Summary."""
        with self._lock:
            values = [proto.Summary.Value(tag=n, histo=h.message()) for n, h in self._histograms.items()]
            values += [proto.Summary.Value(tag=n, simple_value=v) for n, v in self._scalars.items()]
        return proto.Summary(value=values)


class Stats:
    """An aggregator as one pipeline sees it: its names have a prefix, and its datasets numbers."""

    def __init__(self, aggregator: Aggregator, prefix: str) -> None:
        self._aggregator, self._prefix = aggregator, f"{prefix}::" if prefix else ""
        self._numbers: dict[Dataset, int] = {}
        self._steps = itertools.count(1)

    def add(self, name: str, value: float) -> None:
        self._aggregator.add(self._prefix + name, value, next(self._steps))

    def add_of(self, dataset: Dataset, what: str, value: float) -> None:
        self.add(self._name(dataset, what), value)

    def set_of(self, dataset: Dataset, what: str, value: float) -> None:
        name = self._prefix + self._name(dataset, what)
        self._aggregator.set(name, value, next(self._steps))

    def _name(self, dataset: Dataset, what: str) -> str:
        number = self._numbers.setdefault(dataset, len(self._numbers) + 1)
        return f"{dataset.kind}Dataset/_{number}::{what}"


# -- aggregators -----------------------------------------------------------------------------------
def _making(name):
    @op(name, "-> handle: resource", container="", shared_name="", shape=scalar, traits={STATEFUL, HOST})
    def stats_aggregator_handle(ctx, *, container, shared_name):
        """The handle of an aggregator."""
        name = shared_name or ctx.node.name
        made = ctx.resources.get_or_make(container, KIND, name, Aggregator)
        return Handle(container, name, KIND, ctx.node.device, made)

    return stats_aggregator_handle


stats_aggregator_handle = _making("StatsAggregatorHandle")
experimental_stats_aggregator_handle = _making("ExperimentalStatsAggregatorHandle")
stats_aggregator_handle_v2 = _making("StatsAggregatorHandleV2")


def _summing(name):
    @op(name, "iterator: resource -> summary: string", shape=scalar, traits={STATEFUL, HOST})
    def stats_aggregator_summary(iterator):
        """What was gathered, as a Summary."""
        return np.array(iterator.get(Aggregator).summary().SerializeToString(), object)

    return stats_aggregator_summary


stats_aggregator_summary = _summing("StatsAggregatorSummary")
experimental_stats_aggregator_summary = _summing("ExperimentalStatsAggregatorSummary")


@op(
    "StatsAggregatorSetSummaryWriter",
    "stats_aggregator: resource, summary: resource ->",
    shape=none,
    traits={STATEFUL, HOST, WRITES},
)
def stats_aggregator_set_summary_writer(stats_aggregator, summary):
    """Let a writer have every number that is gathered."""
    stats_aggregator.get(Aggregator).writer = summary.get(Writer)
    return ()


# -- datasets --------------------------------------------------------------------------------------
def _text(value: Any, name: str) -> str:
    return str(scalar_of(value, name).decode("utf-8", "replace"))


@dataset_op(
    "SetStatsAggregatorDataset",
    "input_dataset: variant, stats_aggregator: resource, tag: string, counter_prefix: string "
    "-> handle: variant",
    [STATEFUL],
    also="ExperimentalSetStatsAggregatorDataset",
)
def set_stats_aggregator_dataset(
    input_dataset, stats_aggregator, tag, counter_prefix, *, output_types, output_shapes
):
    """The input, which tells an aggregator what it measures."""
    aggregator, prefix = stats_aggregator.get(Aggregator), _text(tag, "tag")

    def prepare(running: Any) -> None:
        running.stats = Stats(aggregator, prefix)

    return Passing(dataset_in(input_dataset), "SetStatsAggregator", prepare)


class Measured(Unary):
    """The input, of whose elements something is measured."""

    def __init__(self, source: Dataset, tag: str) -> None:
        super().__init__(source)
        self.tag = tag


class Latency(Measured):
    kind = "LatencyStats"


class LatencyIterator(PassingIterator, over=Latency):
    def next(self) -> Element | None:
        begun = time.perf_counter()
        element = self.source.next()
        if element is not None and self.running.stats is not None:
            self.running.stats.add(self.dataset.tag, (time.perf_counter() - begun) * 1e6)
        return element


class BytesProduced(Measured):
    kind = "BytesProducedStats"


class BytesProducedIterator(PassingIterator, over=BytesProduced):
    def next(self) -> Element | None:
        element = self.source.next()
        if element is not None and self.running.stats is not None:
            self.running.stats.add(self.dataset.tag, sum(map(_size, element)))
        return element


_STRING_HEAD = 24  # bytes that TensorFlow counts for a string beside its text


def _size(value: Any) -> int:
    array = np.asarray(value)
    if array.dtype != object:
        return int(array.nbytes)
    return sum(len(x) + _STRING_HEAD if isinstance(x, bytes) else _STRING_HEAD for x in array.reshape(-1))


@dataset_op(
    "LatencyStatsDataset",
    "input_dataset: variant, tag: string -> handle: variant",
    also="ExperimentalLatencyStatsDataset",
)
def latency_stats_dataset(input_dataset, tag, *, output_types, output_shapes):
    """The input; how many microseconds an element takes is measured."""
    return Latency(dataset_in(input_dataset), _text(tag, "tag"))


@dataset_op(
    "BytesProducedStatsDataset",
    "input_dataset: variant, tag: string -> handle: variant",
    also="ExperimentalBytesProducedStatsDataset",
)
def bytes_produced_stats_dataset(input_dataset, tag, *, output_types, output_shapes):
    """The input; how many bytes an element has is measured."""
    return BytesProduced(dataset_in(input_dataset), _text(tag, "tag"))
