"""Counts of right and wrong predictions, where a prediction is a probability above one of several
thresholds; precision and recall by threshold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from headrace.core import dtypes
from headrace.core.families import named
from headrace.functions.array.array import expand_dims, identity, reshape, shape, transpose
from headrace.functions.array.checks import assert_greater_equal, assert_less_equal
from headrace.functions.array.stacking import stack
from headrace.functions.math.cast import cast
from headrace.functions.math.math import div
from headrace.functions.math.reduce import reduce_sum
from headrace.graph.defaults import get_default_graph
from headrace.layers.losses.weights_broadcast import broadcast_weights
from headrace.layers.metrics.state import aligned, metric, metric_variable
from headrace.ops.array.constant import constant
from headrace.ops.array.tile import tile
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.math.comparison import greater
from headrace.ops.math.logical import logical_and, logical_not
from headrace.variables.scope import variable_scope
from headrace.variables.update import assign_add

# key: (name of the variable, label, prediction)
_KINDS = {
    "tp": ("true_positives", True, True),
    "fn": ("false_negatives", True, False),
    "tn": ("true_negatives", False, False),
    "fp": ("false_positives", False, True),
}
_EPSILON = 1e-7  # keeps a ratio of nothing at 0


def confusion_at_thresholds(
    labels: Any,
    predictions: Any,
    thresholds: Sequence[float],
    weights: Any = None,
    includes: Sequence[str] = tuple(_KINDS),
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Counts by threshold: ({key: variable}, {key: update}) for keys tp, fn, tn, fp."""
    predictions, labels, weights = _checked(labels, predictions, weights)
    count = len(thresholds)
    column = reshape(predictions, [-1, 1])
    seen: Any = column.shape.as_list()[0]
    if seen is None:
        seen = shape(column)[0]
    limits = tile(expand_dims(constant(thresholds), [1]), stack([1, seen]))
    # Rows are thresholds, columns are predictions.
    positive = greater(tile(transpose(column), [count, 1]), limits)
    row = reshape(cast(labels, dtypes.bool_), [1, -1])
    true = tile(row, [count, 1])
    if weights is not None:
        weights = broadcast_weights(cast(weights, dtypes.float32), predictions)
        weights = tile(reshape(weights, [1, -1]), [count, 1])
        limits.shape.assert_is_compatible_with(weights.shape)
    sides = {True: (true, positive)}
    sides[False] = (logical_not(true), logical_not(positive))
    values, updates = {}, {}
    for key in includes:
        name, label, prediction = _KINDS[key]
        values[key] = metric_variable([count], dtypes.float32, name=name)
        hits = cast(logical_and(sides[label][0], sides[prediction][1]), dtypes.float32)
        if weights is not None:
            hits *= weights
        updates[key] = assign_add(values[key], reduce_sum(hits, 1))
    return values, updates


def _checked(labels: Any, predictions: Any, weights: Any) -> tuple[Any, Any, Any]:
    predictions = convert_to_tensor(predictions)
    message = "predictions must be in [0, 1]"
    bounds = [cast(bound, predictions.dtype) for bound in (0.0, 1.0)]
    checks = [
        assert_greater_equal(predictions, bounds[0], message=message),
        assert_less_equal(predictions, bounds[1], message=message),
    ]
    with get_default_graph().control_dependencies(checks):
        return aligned(cast(predictions, dtypes.float32), cast(labels, dtypes.bool_), weights)


def even_thresholds(count: int, last: float = 1.0 + _EPSILON) -> list[float]:
    """`count` thresholds from just below 0 to just above 1 (or to `last`)."""
    inner = [(i + 1) * 1.0 / (count - 1) for i in range(count - 2)]
    return [0.0 - _EPSILON, *inner, last]


def _counter(key: str) -> Callable[..., tuple[Any, Any]]:
    counted, label, prediction = _KINDS[key]

    side = "above" if prediction else "not above"
    doc = f"How many predictions are {side} each threshold where the label is {label}."

    @metric
    @named(f"{counted}_at_thresholds", doc)
    def count(
        labels: Any, predictions: Any, thresholds: Any, weights: Any = None, name: str | None = None
    ) -> tuple[Any, Any]:
        with variable_scope(name, counted, (predictions, labels, weights)):
            values, updates = confusion_at_thresholds(
                labels, predictions, thresholds, weights, includes=(key,)
            )
            value = identity(values[key])
            return value, updates[key]

    return count


true_positives_at_thresholds = _counter("tp")
true_negatives_at_thresholds = _counter("tn")
false_positives_at_thresholds = _counter("fp")
false_negatives_at_thresholds = _counter("fn")


def _share(scope: str, misses: str, doc: str) -> Callable[..., tuple[Any, Any]]:
    @metric
    @named(f"{scope}_at_thresholds", doc)
    def share(
        labels: Any, predictions: Any, thresholds: Any, weights: Any = None, name: str | None = None
    ) -> tuple[Any, Any]:
        with variable_scope(name, f"{scope}_at_thresholds", (predictions, labels, weights)):
            values, updates = confusion_at_thresholds(
                labels, predictions, thresholds, weights, includes=("tp", misses)
            )
            value, update = (
                div(found["tp"], _EPSILON + found["tp"] + found[misses], name=f"{scope}_{role}")
                for found, role in ((values, "value"), (updates, "update_op"))
            )
            return value, update

    return share


precision_at_thresholds = _share("precision", "fp", "Which part of what is above each threshold is right.")
recall_at_thresholds = _share("recall", "fn", "Which part of what is true is above each threshold.")
