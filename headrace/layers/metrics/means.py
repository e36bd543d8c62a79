"""Means: of values, of errors, of what is right.

Each takes `weights` (a scalar, or of the rank of the values with each size equal or 1; None weighs all the
same), `metrics_collections` and `updates_collections` (where value and update are added) and `name` (of
the variable scope), and returns (value, update).
"""

from __future__ import annotations

from typing import Any

from headrace.core import dtypes
from headrace.functions.array.array import ones_like, size, zeros_like
from headrace.functions.array.indexing import where
from headrace.functions.math.cast import cast
from headrace.functions.math.confusion import remove_squeezable_dimensions
from headrace.functions.math.elementwise import abs_, sqrt
from headrace.functions.math.math import div, div_no_nan, equal
from headrace.functions.math.reduce import reduce_sum
from headrace.graph.defaults import get_default_graph
from headrace.layers.losses.weights_broadcast import broadcast_weights
from headrace.layers.metrics.state import aligned, metric, metric_variable
from headrace.ops.math.arithmetic import maximum, mul, squared_difference, sub
from headrace.ops.math.comparison import less
from headrace.variables.scope import variable_scope
from headrace.variables.update import assign_add


@metric
def mean(values: Any, weights: Any = None, name: str | None = None) -> tuple[Any, Any]:
    """The weighted mean of all values seen.

    Args:
      values: a tensor.
      weights, metrics_collections, updates_collections, name: as of every mean.

    Example:
      >>> average, update = tf.metrics.mean(loss)
      >>> sess.run(tf.local_variables_initializer())
      >>> sess.run(update, feed)                     # once for each batch
      >>> sess.run(average)
    """
    with variable_scope(name, "mean", (values, weights)):
        values = cast(values, dtypes.float32)
        total = metric_variable([], dtypes.float32, name="total")
        count = metric_variable([], dtypes.float32, name="count")
        if weights is None:
            seen = cast(size(values), dtypes.float32)
        else:
            values, weights = _weighted(values, weights)
            seen = reduce_sum(weights)
        new_total = assign_add(total, reduce_sum(values))
        with get_default_graph().control_dependencies([values]):
            new_count = assign_add(count, seen)
        value = _ratio(total, count, "value")
        update = _ratio(new_total, new_count, "update_op")
        return value, update


@metric
def mean_tensor(values: Any, weights: Any = None, name: str | None = None) -> tuple[Any, Any]:
    """The weighted mean of the tensors seen, element by element.

    Args:
      values: a tensor of known shape.
      weights, metrics_collections, updates_collections, name: as of every mean.
    """
    with variable_scope(name, "mean", (values, weights)):
        values = cast(values, dtypes.float32)
        total = metric_variable(values.shape, dtypes.float32, name="total_tensor")
        count = metric_variable(values.shape, dtypes.float32, name="count_tensor")
        seen = ones_like(values)
        if weights is not None:
            values, weights = _weighted(values, weights)
            seen = mul(seen, weights)
        new_total = assign_add(total, values)
        with get_default_graph().control_dependencies([values]):
            new_count = assign_add(count, seen)
        value = _ratio(total, count, "value")
        update = _ratio(new_total, new_count, "update_op")
        return value, update


def _weighted(values: Any, weights: Any) -> tuple[Any, Any]:
    values, _, weights = aligned(values, None, weights)
    weights = broadcast_weights(cast(weights, dtypes.float32), values)
    return mul(values, weights), weights


def _ratio(total: Any, count: Any, name: str) -> Any:
    return div_no_nan(total, maximum(count, 0), name=name)


@metric
def accuracy(labels: Any, predictions: Any, weights: Any = None, name: str | None = None) -> tuple[Any, Any]:
    """How often predictions equal labels.

    Args:
      labels: a tensor.
      predictions: a tensor of the same shape.
      weights, metrics_collections, updates_collections, name: as of every mean.
    """
    predictions, labels, weights = aligned(predictions, labels, weights)
    if labels.dtype != predictions.dtype:
        predictions = cast(predictions, labels.dtype)
    right = cast(equal(predictions, labels), dtypes.float32)
    return mean(right, weights, name=name or "accuracy")


@metric
def mean_absolute_error(
    labels: Any, predictions: Any, weights: Any = None, name: str | None = None
) -> tuple[Any, Any]:
    """The mean of |predictions - labels|."""
    predictions, labels, weights = aligned(predictions, labels, weights)
    errors = abs_(predictions - labels)
    name = name or "mean_absolute_error"
    return mean(errors, weights, name=name)


@metric
def mean_squared_error(
    labels: Any, predictions: Any, weights: Any = None, name: str | None = None
) -> tuple[Any, Any]:
    """The mean of (predictions - labels)²."""
    predictions, labels, weights = aligned(predictions, labels, weights)
    errors = squared_difference(labels, predictions)
    name = name or "mean_squared_error"
    return mean(errors, weights, name=name)


@metric
def root_mean_squared_error(
    labels: Any, predictions: Any, weights: Any = None, name: str | None = None
) -> tuple[Any, Any]:
    """The root of the mean of (predictions - labels)²."""
    predictions, labels, weights = aligned(predictions, labels, weights)
    name = name or "root_mean_squared_error"
    value, update = mean_squared_error(labels, predictions, weights, name=name)
    return sqrt(value), sqrt(update)


@metric
def mean_relative_error(
    labels: Any, predictions: Any, normalizer: Any, weights: Any = None, name: str | None = None
) -> tuple[Any, Any]:
    """The mean of |labels - predictions| / normalizer; 0 where that is 0."""
    predictions, labels, weights = aligned(predictions, labels, weights)
    predictions, normalizer = remove_squeezable_dimensions(predictions, normalizer)
    predictions.shape.assert_is_compatible_with(normalizer.shape)
    errors = where(equal(normalizer, 0.0), zeros_like(labels), div(abs_(labels - predictions), normalizer))
    name = name or "mean_relative_error"
    return mean(errors, weights, name=name)


@metric
def mean_cosine_distance(
    labels: Any, predictions: Any, dim: int, weights: Any = None, name: str | None = None
) -> tuple[Any, Any]:
    """The mean of 1 - predictions · labels along `dim`, for vectors of length 1."""
    predictions, labels, weights = aligned(predictions, labels, weights)
    cosines = reduce_sum(mul(predictions, labels), axis=[dim], keepdims=True)
    value, update = mean(cosines, weights, name=name or "mean_cosine_distance")
    return sub(1.0, value), sub(1.0, update)


@metric
def percentage_below(
    values: Any, threshold: Any, weights: Any = None, name: str | None = None
) -> tuple[Any, Any]:
    """How often values are below `threshold`."""
    below = cast(less(values, threshold), dtypes.float32)
    name = name or "percentage_below_threshold"
    return mean(below, weights, name=name)
