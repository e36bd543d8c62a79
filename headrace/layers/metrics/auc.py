"""Areas under curves over thresholds, and points on them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

from headrace.core import dtypes
from headrace.functions.array.array import ones_like
from headrace.functions.array.indexing import where
from headrace.functions.math.cast import cast
from headrace.functions.math.elementwise import abs_
from headrace.functions.math.math import div, div_no_nan, equal
from headrace.functions.math.reduce import argmax, argmin, reduce_min, reduce_sum
from headrace.functions.math.sums import cumsum
from headrace.layers.metrics.state import collected, metric
from headrace.layers.metrics.thresholds import confusion_at_thresholds, even_thresholds
from headrace.ops.math.arithmetic import maximum, minimum, mul
from headrace.ops.math.exponential import log
from headrace.ops.math.logical import logical_and
from headrace.variables.scope import variable_scope

_EPSILON = 1e-7  # thresholds reach this far beyond [0, 1]
_HEIGHTS: dict[str, Callable[[Any, Any], Any]] = {
    "trapezoidal": lambda a, b: (a + b) / 2.0,
    "careful_interpolation": lambda a, b: (a + b) / 2.0,
    "minoring": minimum,
    "majoring": maximum,
}


def auc(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    num_thresholds: int = 200,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    curve: str = "ROC",
    name: str | None = None,
    summation_method: str = "trapezoidal",
    thresholds: Sequence[float] | None = None,
) -> tuple[Any, Any]:
    """The area under a curve, approximated over thresholds.

    Args:
      labels: what is true or false.
      predictions: probabilities, of the same shape.
      weights: a scalar, or of their rank with each size equal or 1.
      num_thresholds: how many.
      metrics_collections, updates_collections: where value and update are added.
      curve: ROC (recall over the false positive rate) or PR (precision over recall).
      name: name of the variable scope.
      summation_method: trapezoidal, careful_interpolation (for PR), minoring or majoring.
      thresholds: numbers in (0, 1) to use in place of evenly spaced ones.

    Returns:
      (value, update).

    Raises:
      ValueError: an unknown curve or method.
    """
    with variable_scope(name, "auc", (labels, predictions, weights)):
        if curve not in ("ROC", "PR"):
            raise ValueError(f"curve must be either ROC or PR, {curve} unknown")
        if thresholds is None:
            limits = even_thresholds(num_thresholds)
        else:
            limits = [0.0 - _EPSILON, *sorted(thresholds), 1.0 + _EPSILON]
        values, updates = confusion_at_thresholds(labels, predictions, limits, weights)
        value = _area(curve, summation_method, **values, name="value")
        update = _area(curve, summation_method, **updates, name="update_op")
        return collected(value, update, metrics_collections, updates_collections)


def _area(curve: str, method: str, tp: Any, fn: Any, tn: Any, fp: Any, name: str) -> Any:
    if curve == "PR" and method == "careful_interpolation":
        return _interpolated(tp, fp, fn)
    if curve == "PR" and method == "trapezoidal":
        logging.getLogger("headrace").warning(
            "Trapezoidal rule is known to produce incorrect PR-AUCs; please switch to "
            '"careful_interpolation" instead.'
        )
    if method not in _HEIGHTS:
        raise ValueError(f"Invalid summation_method: {method}")
    epsilon = 1.0e-6  # no curve has a hole where nothing was counted
    recall = div(tp + epsilon, tp + fn + epsilon)
    if curve == "ROC":
        x, y = div(fp, fp + tn + epsilon), recall
    else:
        x, y = recall, div(tp + epsilon, tp + fp + epsilon)
    return reduce_sum(mul(x[:-1] - x[1:], _HEIGHTS[method](y[:-1], y[1:])), name=name)


def _interpolated(tp: Any, fp: Any, fn: Any) -> Any:
    """The area under precision over recall, with counts (not ratios) on straight lines between
    thresholds (Davis and Goadrich 2006)."""
    positive = tp + fp
    rise, run = tp[:-1] - tp[1:], positive[:-1] - positive[1:]
    slope = div_no_nan(rise, maximum(run, 0), name="prec_slope")
    intercept = tp[1:] - mul(slope, positive[1:])
    ratio = where(
        logical_and(positive[:-1] > 0, positive[1:] > 0),
        div_no_nan(positive[:-1], maximum(positive[1:], 0), name="recall_relative_ratio"),
        ones_like(positive[1:]),
    )
    pieces = div_no_nan(
        slope * (rise + intercept * log(ratio)), maximum(tp[1:] + fn[1:], 0), name="pr_auc_increment"
    )
    return reduce_sum(pieces, name="interpolate_pr_auc")


def _at_thresholds(
    at: Callable[..., Any], labels: Any, predictions: Any, limits: list[float], weights: Any
) -> tuple[Any, Any]:
    """`at` of the counts tp, fn, tn and fp of all that was seen, and of those with this batch."""
    values, updates = confusion_at_thresholds(labels, predictions, limits, weights)
    return at(**values, name="value"), at(**updates, name="update_op")


@metric
def sensitivity_at_specificity(
    labels: Any,
    predictions: Any,
    specificity: float,
    weights: Any = None,
    num_thresholds: int = 200,
    name: str | None = None,
) -> tuple[Any, Any]:
    """tp / (tp + fn) at the threshold where tn / (tn + fp) is nearest to `specificity`.

    Raises:
      ValueError: `specificity` is not in [0, 1].
    """
    if not 0 <= specificity <= 1:
        raise ValueError("`specificity` must be in the range [0, 1].")

    def at(tp: Any, fn: Any, tn: Any, fp: Any, name: str) -> Any:
        found = div(tn, tn + fp + _EPSILON)
        place = cast(argmin(abs_(found - specificity), 0), dtypes.int32)
        return div(tp[place], tp[place] + fn[place] + _EPSILON, name)

    with variable_scope(name, "sensitivity_at_specificity", (predictions, labels, weights)):
        limits = even_thresholds(num_thresholds)
        return _at_thresholds(at, labels, predictions, limits, weights)


@metric
def specificity_at_sensitivity(
    labels: Any,
    predictions: Any,
    sensitivity: float,
    weights: Any = None,
    num_thresholds: int = 200,
    name: str | None = None,
) -> tuple[Any, Any]:
    """tn / (tn + fp) at the last threshold where tp / (tp + fn) is nearest to `sensitivity`.

    Raises:
      ValueError: `sensitivity` is not in [0, 1].
    """
    if not 0 <= sensitivity <= 1:
        raise ValueError("`sensitivity` must be in the range [0, 1].")

    def at(tp: Any, fn: Any, tn: Any, fp: Any, name: str) -> Any:
        distance = abs_(div(tp, tp + fn + _EPSILON) - sensitivity)
        nearest = cast(equal(distance, reduce_min(distance)), dtypes.int64)
        place = cast(argmax(cumsum(nearest), 0), dtypes.int32)
        return div(tn[place], tn[place] + fp[place] + _EPSILON, name)

    with variable_scope(name, "specificity_at_sensitivity", (predictions, labels, weights)):
        limits = even_thresholds(num_thresholds, last=1.0 - _EPSILON)
        return _at_thresholds(at, labels, predictions, limits, weights)
