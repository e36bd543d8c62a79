"""tf.contrib.metrics: the first form of tf.metrics (predictions before labels), and metrics by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.core import dtypes
from headrace.functions.math.cast import cast
from headrace.functions.math.math import div, equal
from headrace.functions.math.reduce import reduce_mean, reduce_sum
from headrace.functions.values.structure import name_scope
from headrace.layers.metrics import auc, counts, means, per_class, thresholds
from headrace.ops.math.arithmetic import mul


def accuracy(predictions: Any, labels: Any, weights: Any = None, name: str | None = None) -> Any:
    """How often predictions equal labels in this batch.

    Raises:
      ValueError: types or shapes differ.
    """
    if not (labels.dtype.is_integer or labels.dtype in (dtypes.bool_, dtypes.string)):
        raise ValueError(f"Labels should have bool, integer, or string dtype, not {labels.dtype}")
    if not labels.dtype.is_compatible_with(predictions.dtype):
        raise ValueError(
            f"Dtypes of predictions and labels should match. Given: predictions "
            f"({predictions.dtype}) and labels ({labels.dtype})"
        )
    with name_scope(name, "accuracy", values=[predictions, labels]):
        right = cast(equal(predictions, labels), dtypes.float32)
        if weights is None:
            return reduce_mean(right)
        right = mul(right, weights)
        seen = mul(weights, cast(equal(labels, labels), dtypes.float32))
        return div(reduce_sum(right), reduce_sum(seen))


def _swapped(metric: Callable[..., Any]) -> Callable[..., Any]:
    """The metric, with predictions before labels."""

    def swapped(predictions: Any, labels: Any, *args: Any, **kwargs: Any) -> Any:
        return metric(labels, predictions, *args, **kwargs)

    name = getattr(metric, "__name__", "metric")
    swapped.__name__ = swapped.__qualname__ = f"streaming_{name}"
    swapped.__doc__ = f"`tf.metrics.{name}`, with predictions before labels."
    return swapped


streaming_mean = means.mean
streaming_mean_tensor = means.mean_tensor
streaming_percentage_less = means.percentage_below
streaming_accuracy = _swapped(means.accuracy)
streaming_mean_absolute_error = _swapped(means.mean_absolute_error)
streaming_mean_squared_error = _swapped(means.mean_squared_error)
streaming_root_mean_squared_error = _swapped(means.root_mean_squared_error)
streaming_mean_relative_error = _swapped(means.mean_relative_error)
streaming_mean_cosine_distance = _swapped(means.mean_cosine_distance)
streaming_mean_iou = _swapped(per_class.mean_iou)
streaming_true_positives = _swapped(counts.true_positives)
streaming_true_negatives = _swapped(counts.true_negatives)
streaming_false_positives = _swapped(counts.false_positives)
streaming_false_negatives = _swapped(counts.false_negatives)
streaming_precision = _swapped(counts.precision)
streaming_recall = _swapped(counts.recall)
streaming_true_positives_at_thresholds = _swapped(thresholds.true_positives_at_thresholds)
streaming_true_negatives_at_thresholds = _swapped(thresholds.true_negatives_at_thresholds)
streaming_false_positives_at_thresholds = _swapped(thresholds.false_positives_at_thresholds)
streaming_false_negatives_at_thresholds = _swapped(thresholds.false_negatives_at_thresholds)
streaming_precision_at_thresholds = _swapped(thresholds.precision_at_thresholds)
streaming_recall_at_thresholds = _swapped(thresholds.recall_at_thresholds)
streaming_auc = _swapped(auc.auc)
streaming_sensitivity_at_specificity = _swapped(auc.sensitivity_at_specificity)
streaming_specificity_at_sensitivity = _swapped(auc.specificity_at_sensitivity)


def aggregate_metrics(*value_update_tuples: Any) -> tuple[list[Any], list[Any]]:
    """Pairs (value, update) as a list of values and one of updates.

    Raises:
      ValueError: there are none.
    """
    if not value_update_tuples:
        raise ValueError("Expected at least one value_tensor/update_op pair")
    values, updates = zip(*value_update_tuples, strict=True)
    return list(values), list(updates)


def aggregate_metric_map(names_to_tuples: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Pairs (value, update) by name as values by name and updates by name.

    Example:
      >>> values, updates = aggregate_metric_map({"accuracy": streaming_accuracy(y, labels)})
    """
    values, updates = zip(*names_to_tuples.values(), strict=True)
    return dict(zip(names_to_tuples, values)), dict(zip(names_to_tuples, updates))
