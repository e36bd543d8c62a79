"""Counts of right and wrong predictions of a condition, precision and recall.

Each takes `labels` and `predictions` (anything that is true or false), `weights` (a scalar, or of their
rank with each size equal or 1), `metrics_collections` and `updates_collections` (where value and update
are added) and `name` (of the variable scope), and returns (value, update).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.core import dtypes
from headrace.core.families import named
from headrace.functions.array.array import identity, rank
from headrace.functions.array.indexing import where
from headrace.functions.array.rank_checks import assert_rank_in
from headrace.functions.math.cast import cast
from headrace.functions.math.math import div, equal
from headrace.functions.math.reduce import reduce_sum
from headrace.graph.defaults import get_default_graph
from headrace.layers.metrics.state import aligned, metric, metric_variable
from headrace.ops.math.arithmetic import mul
from headrace.ops.math.comparison import greater
from headrace.ops.math.logical import logical_and
from headrace.variables.scope import variable_scope
from headrace.variables.update import assign_add


def _booleans(predictions: Any, labels: Any, weights: Any) -> tuple[Any, Any, Any]:
    return aligned(cast(predictions, dtypes.bool_), cast(labels, dtypes.bool_), weights)


def _counter(counted: str, label: bool, prediction: bool) -> Callable[..., tuple[Any, Any]]:
    @metric
    @named(counted, f"How many predictions are {prediction} where the label is {label}.")
    def count(labels: Any, predictions: Any, weights: Any = None, name: str | None = None) -> tuple[Any, Any]:
        with variable_scope(name, counted, (predictions, labels, weights)):
            predictions, labels, weights = _booleans(predictions, labels, weights)
            hits = logical_and(equal(labels, label), equal(predictions, prediction))
            value, update = _count(hits, weights)
            return value, update

    return count


def _count(hits: Any, weights: Any) -> tuple[Any, Any]:
    count = metric_variable([], dtypes.float32, name="count")
    hits = cast(hits, dtypes.float32)
    if weights is not None:
        fits = assert_rank_in(weights, (0, rank(hits)))
        with get_default_graph().control_dependencies([fits]):
            hits = mul(hits, cast(weights, dtypes.float32))
    return identity(count), assign_add(count, reduce_sum(hits))


true_positives = _counter("true_positives", True, True)
true_negatives = _counter("true_negatives", False, False)
false_positives = _counter("false_positives", False, True)
false_negatives = _counter("false_negatives", True, False)


def _share(scope: str, misses: Callable[..., tuple[Any, Any]], doc: str) -> Callable[..., tuple[Any, Any]]:
    """True positives among themselves and `misses`."""

    @metric
    @named(scope, doc)
    def share(labels: Any, predictions: Any, weights: Any = None, name: str | None = None) -> tuple[Any, Any]:
        with variable_scope(name, scope, (predictions, labels, weights)):
            predictions, labels, weights = _booleans(predictions, labels, weights)
            right, right_update = true_positives(labels, predictions, weights)
            wrong, wrong_update = misses(labels, predictions, weights)
            value = _part(right, wrong, "value")
            update = _part(right_update, wrong_update, "update_op")
            return value, update

    return share


def _part(right: Any, wrong: Any, name: str) -> Any:
    return where(greater(right + wrong, 0), div(right, right + wrong), 0, name)


precision = _share("precision", false_positives, "Which part of what is predicted is right.")
recall = _share("recall", false_negatives, "Which part of what is true is predicted.")
