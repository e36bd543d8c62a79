"""Losses per example, of labels and predictions."""

from __future__ import annotations

from typing import Any

from headrace.keras.backend import crossentropy
from headrace.layers import ops
from headrace.layers.engine.config import epsilon, floatx


def _pair(y_true: Any, y_pred: Any) -> tuple[Any, Any]:
    y_pred = ops.convert_to_tensor(y_pred)
    return ops.cast(y_true, y_pred.dtype), y_pred


def _mean(x: Any) -> Any:
    return ops.reduce_mean(x, axis=-1)


def _at_least(x: Any, least: float) -> Any:
    return ops.maximum(x, ops.cast(least, x.dtype))


def mean_squared_error(y_true: Any, y_pred: Any) -> Any:
    """The mean of (y_pred - y_true)²."""
    y_true, y_pred = _pair(y_true, y_pred)
    return _mean(ops.squared_difference(y_pred, y_true))


def mean_absolute_error(y_true: Any, y_pred: Any) -> Any:
    """The mean of |y_pred - y_true|."""
    y_true, y_pred = _pair(y_true, y_pred)
    return _mean(ops.abs(y_pred - y_true))


def mean_absolute_percentage_error(y_true: Any, y_pred: Any) -> Any:
    """100 times the mean of |y_true - y_pred| / |y_true|."""
    y_true, y_pred = _pair(y_true, y_pred)
    return 100.0 * _mean(ops.abs((y_true - y_pred) / _at_least(ops.abs(y_true), epsilon())))


def mean_squared_logarithmic_error(y_true: Any, y_pred: Any) -> Any:
    """The mean of (log(y_pred + 1) - log(y_true + 1))²."""
    y_true, y_pred = _pair(y_true, y_pred)
    logs = [ops.log(_at_least(x, epsilon()) + 1.0) for x in (y_pred, y_true)]
    return _mean(ops.squared_difference(*logs))


def _signs(y_true: Any) -> Any:
    """Labels -1 and 1, also where 0 and 1 were given."""
    binary = ops.reduce_all(ops.logical_or(ops.equal(y_true, 0), ops.equal(y_true, 1)))
    return ops.smart_cond(binary, lambda: 2.0 * y_true - 1.0, lambda: y_true)


def squared_hinge(y_true: Any, y_pred: Any) -> Any:
    """The mean of max(1 - y_true · y_pred, 0)²."""
    y_true, y_pred = _pair(y_true, y_pred)
    return _mean(ops.square(ops.maximum(1.0 - _signs(y_true) * y_pred, 0.0)))


def hinge(y_true: Any, y_pred: Any) -> Any:
    """The mean of max(1 - y_true · y_pred, 0)."""
    y_true, y_pred = _pair(y_true, y_pred)
    return _mean(ops.maximum(1.0 - _signs(y_true) * y_pred, 0.0))


def categorical_hinge(y_true: Any, y_pred: Any) -> Any:
    """How far the right class is from being ahead of all others by 1."""
    y_true, y_pred = _pair(y_true, y_pred)
    right = ops.reduce_sum(y_true * y_pred, axis=-1)
    wrong = ops.reduce_max((1.0 - y_true) * y_pred, axis=-1)
    return ops.maximum(0.0, wrong - right + 1.0)


def huber_loss(y_true: Any, y_pred: Any, delta: Any = 1.0) -> Any:
    """Quadratic up to `delta`, then linear."""
    y_pred, y_true = ops.cast(y_pred, floatx()), ops.cast(y_true, floatx())
    error = ops.abs(y_pred - y_true)
    quadratic = ops.minimum(error, delta)
    return 0.5 * quadratic * quadratic + delta * (error - quadratic)


def logcosh(y_true: Any, y_pred: Any) -> Any:
    """The mean of log(cosh(y_pred - y_true))."""
    y_true, y_pred = _pair(y_true, y_pred)
    x = y_pred - y_true
    return _mean(x + ops.softplus(-2.0 * x) - ops.log(ops.cast(2.0, x.dtype)))


def _smooth(y_true: Any, label_smoothing: Any, toward: Any) -> Any:
    """Labels moved a part of the way towards `toward()`."""
    if isinstance(label_smoothing, int | float):
        return y_true * (1.0 - label_smoothing) + toward() * label_smoothing if label_smoothing else y_true
    part = ops.convert_to_tensor(label_smoothing, dtype=floatx())
    moved = lambda: y_true * (1.0 - part) + toward() * part
    return ops.smart_cond(ops.cast(part, ops.dtypes.bool_), moved, lambda: y_true)


def categorical_crossentropy(
    y_true: Any, y_pred: Any, from_logits: Any = False, label_smoothing: Any = 0
) -> Any:
    """Cross entropy between distributions over classes.

    Args:
      y_true: probabilities of the classes, usually one of them 1.
      y_pred: predicted probabilities, or logits.
      from_logits: are predictions logits?
      label_smoothing: how far labels are moved towards 1 / classes.
    """
    y_true, y_pred = _pair(y_true, y_pred)
    even = lambda: 1.0 / ops.cast(ops.shape(y_true)[1], y_pred.dtype)
    y_true = _smooth(y_true, label_smoothing, even)
    return crossentropy.categorical_crossentropy(y_true, y_pred, from_logits=from_logits)


def sparse_categorical_crossentropy(
    y_true: Any, y_pred: Any, from_logits: Any = False, axis: int = -1
) -> Any:
    """Cross entropy, with the right class given by its number."""
    y_pred = ops.convert_to_tensor(y_pred)
    return crossentropy.sparse_categorical_crossentropy(y_true, y_pred, from_logits=from_logits, axis=axis)


def binary_crossentropy(y_true: Any, y_pred: Any, from_logits: Any = False, label_smoothing: Any = 0) -> Any:
    """The mean cross entropy of yes and no.

    Args:
      y_true: 0 or 1.
      y_pred: predicted probabilities, or logits.
      from_logits: are predictions logits?
      label_smoothing: how far labels are moved towards 1 / 2.
    """
    y_true, y_pred = _pair(y_true, y_pred)
    y_true = _smooth(y_true, label_smoothing, lambda: 0.5)
    return _mean(crossentropy.binary_crossentropy(y_true, y_pred, from_logits=from_logits))


def kullback_leibler_divergence(y_true: Any, y_pred: Any) -> Any:
    """The sum of y_true · log(y_true / y_pred)."""
    y_true, y_pred = (ops.clip_by_value(x, epsilon(), 1.0) for x in _pair(y_true, y_pred))
    return ops.reduce_sum(y_true * ops.log(y_true / y_pred), axis=-1)


def poisson(y_true: Any, y_pred: Any) -> Any:
    """The mean of y_pred - y_true · log(y_pred)."""
    y_true, y_pred = _pair(y_true, y_pred)
    return _mean(y_pred - y_true * ops.log(y_pred + epsilon()))


def cosine_similarity(y_true: Any, y_pred: Any, axis: int = -1) -> Any:
    """The cosine of the angle between labels and predictions."""
    y_true, y_pred = (ops.l2_normalize(x, axis=axis) for x in (y_true, y_pred))
    return ops.reduce_sum(y_true * y_pred, axis=axis)


cosine_proximity = cosine_similarity
mse = MSE = mean_squared_error
mae = MAE = mean_absolute_error
mape = MAPE = mean_absolute_percentage_error
msle = MSLE = mean_squared_logarithmic_error
kld = KLD = kullback_leibler_divergence
