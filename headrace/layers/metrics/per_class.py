"""Means over classes: intersection over union, accuracy."""

from __future__ import annotations

from typing import Any

from headrace.core import dtypes
from headrace.core.families import documented
from headrace.functions.array.array import ones, ones_like, reshape, size
from headrace.functions.array.indexing import where
from headrace.functions.math.cast import cast
from headrace.functions.math.confusion import confusion_matrix
from headrace.functions.math.math import div, div_no_nan, equal, not_equal
from headrace.functions.math.reduce import reduce_mean, reduce_sum
from headrace.layers.metrics.state import metric, metric_variable
from headrace.ops.array.diagonals.diagonal import diag_part
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.math.arithmetic import maximum
from headrace.ops.math.comparison import greater
from headrace.variables.scope import variable_scope
from headrace.variables.update import assign_add, scatter_add


def _flat(x: Any) -> Any:
    return reshape(x, [-1]) if x is not None and x.shape.ndims > 1 else x


_CLASSES = """
    Args:
      labels: numbers of classes.
      predictions: numbers of classes, of the same shape.
      num_classes: how many there are.
      weights: a tensor of the same shape.
      metrics_collections, updates_collections: where value and update are added.
      name: name of the variable scope.

    Returns:
      (value, update); the update is the {update}.
    """


@documented(_CLASSES, update="confusion matrix")
@metric
def mean_iou(
    labels: Any, predictions: Any, num_classes: int, weights: Any = None, name: str | None = None
) -> tuple[Any, Any]:
    """The mean over classes of tp / (tp + fp + fn); classes that never occur do not count."""
    with variable_scope(name, "mean_iou", (predictions, labels, weights)):
        labels, predictions = convert_to_tensor(labels), convert_to_tensor(predictions)
        predictions.shape.assert_is_compatible_with(labels.shape)
        matrix, update = _confusion(labels, predictions, num_classes, weights)
        columns = cast(reduce_sum(matrix, 0), dtypes.float32)
        rows = cast(reduce_sum(matrix, 1), dtypes.float32)
        right = cast(diag_part(matrix), dtypes.float32)
        union = columns + rows - right
        occurring = reduce_sum(cast(not_equal(union, 0), dtypes.float32))
        union = where(greater(union, 0), union, ones_like(union))
        total = reduce_sum(div(right, union), name="mean_iou")
        value = where(greater(occurring, 0), total / occurring, 0)
        return value, update


def _confusion(labels: Any, predictions: Any, count: Any, weights: Any) -> tuple[Any, Any]:
    """The confusion matrix of all that was seen, and its update."""
    total = metric_variable([count, count], dtypes.float64, name="total_confusion_matrix")
    predictions = _flat(cast(predictions, dtypes.int64))
    labels = _flat(cast(labels, dtypes.int64))
    count = cast(count, dtypes.int64)
    weights = None if weights is None else _flat(convert_to_tensor(weights))
    current = confusion_matrix(labels, predictions, count, weights=weights, dtype=dtypes.float64)
    return total, assign_add(total, current)


@documented(_CLASSES, update="accuracy of each class")
@metric
def mean_per_class_accuracy(
    labels: Any, predictions: Any, num_classes: int, weights: Any = None, name: str | None = None
) -> tuple[Any, Any]:
    """The mean over classes of how often they are predicted where they are true."""
    with variable_scope(name, "mean_accuracy", (predictions, labels, weights)):
        labels, predictions = _flat(cast(labels, dtypes.int64)), _flat(predictions)
        predictions.shape.assert_is_compatible_with(labels.shape)
        total = metric_variable([num_classes], dtypes.float32, name="total")
        count = metric_variable([num_classes], dtypes.float32, name="count")
        seen = ones([size(labels)], dtypes.float32)
        if labels.dtype != predictions.dtype:
            predictions = cast(predictions, labels.dtype)
        right = cast(equal(predictions, labels), dtypes.float32)
        if weights is not None:
            weights = cast(_flat(convert_to_tensor(weights)), dtypes.float32)
            right *= weights
            seen *= weights
        new_total = scatter_add(total, labels, seen)
        new_count = scatter_add(count, labels, right)
        each = div_no_nan(count, maximum(total, 0))
        value = reduce_mean(each, name="mean_accuracy")
        update = div_no_nan(new_count, maximum(new_total, 0), name="update_op")
        return value, update
