"""What metrics average: functions of labels and predictions, per example."""

from __future__ import annotations

from typing import Any

from headrace.layers import ops
from headrace.layers.engine.config import floatx


def _same(x: Any, y: Any) -> Any:
    return ops.cast(ops.equal(x, y), floatx())


def accuracy(y_true: Any, y_pred: Any) -> Any:
    """Is it the label?"""
    y_pred.shape.assert_is_compatible_with(y_true.shape)
    return _same(y_true, ops.cast(y_pred, y_true.dtype))


def binary_accuracy(y_true: Any, y_pred: Any, threshold: Any = 0.5) -> Any:
    """How many of the labels are right, where what is above `threshold` is a 1."""
    y_pred = ops.convert_to_tensor(y_pred)
    chosen = ops.cast(y_pred > ops.cast(threshold, y_pred.dtype), y_pred.dtype)
    return ops.reduce_mean(_same(ops.cast(y_true, y_pred.dtype), chosen), axis=-1)


def categorical_accuracy(y_true: Any, y_pred: Any) -> Any:
    """Is the most likely class the right one?"""
    return _same(ops.argmax(y_true, axis=-1), ops.argmax(y_pred, axis=-1))


def _classes(y_true: Any, y_pred: Any) -> tuple[Any, Any]:
    y_true, y_pred = ops.convert_to_tensor(y_true), ops.convert_to_tensor(y_pred)
    ranks = y_true.shape.ndims, y_pred.shape.ndims
    if None not in ranks and ranks[0] == ranks[1]:
        y_true = ops.squeeze(y_true, [-1])
    return y_true, y_pred


def sparse_categorical_accuracy(y_true: Any, y_pred: Any) -> Any:
    """Is the most likely class the right one, which is given by its number?"""
    y_true, y_pred = _classes(y_true, y_pred)
    return _same(y_true, ops.cast(ops.argmax(y_pred, axis=-1), y_true.dtype))


def top_k_categorical_accuracy(y_true: Any, y_pred: Any, k: int = 5) -> Any:
    """Is the right class among the `k` most likely ones?"""
    return ops.cast(ops.in_top_k(y_pred, ops.argmax(y_true, axis=-1), k), floatx())


def sparse_top_k_categorical_accuracy(y_true: Any, y_pred: Any, k: int = 5) -> Any:
    """Is the right class, given by its number, among the `k` most likely ones?"""
    y_true, y_pred = _classes(y_true, y_pred)
    return ops.cast(ops.in_top_k(y_pred, ops.cast(y_true, "int32"), k), floatx())
