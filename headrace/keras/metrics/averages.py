"""Metrics that are sums and means of values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from headrace.core import hooks
from headrace.functions.array.diagonal import matrix_diag_part
from headrace.functions.math.confusion import confusion_matrix
from headrace.keras.losses.reduction import fitted, squeezed
from headrace.keras.metrics.base import Metric
from headrace.layers import ops
from headrace.layers.engine.weight_values import initialise, load_weights, read_tensors, session_of_weights
from headrace.layers.losses.weights_broadcast import broadcast_weights

SUM, SUM_OVER_BATCH_SIZE, WEIGHTED_MEAN = "sum", "sum_over_batch_size", "weighted_mean"


class Reduce(Metric):
    """A sum, or a mean.

    Args:
      reduction: sum, sum_over_batch_size (by the number of values) or weighted_mean (by their weights).
      name: its name.
      dtype: type of the result.
    """

    def __init__(self, reduction: str, name: str | None, dtype: Any = None) -> None:
        super().__init__(name=name, dtype=dtype)
        self.reduction = reduction
        with ops.init_scope():
            self.total = self.add_weight("total", initializer="zeros")
            if reduction != SUM:
                self.count = self.add_weight("count", initializer="zeros")

    def update_state(self, values: Any, sample_weight: Any = None) -> Any:
        """Take in values, with weights."""
        values, weights = weighted(values, sample_weight, self.dtype, self.reduction)
        total = self.total.assign_add(ops.reduce_sum(values))
        if self.reduction == SUM:
            return total
        if self.reduction == WEIGHTED_MEAN and weights is not None:
            count = ops.reduce_sum(weights)
        else:
            count = ops.cast(ops.size(values), self.dtype)
        with ops.control_dependencies([total]):
            return self.count.assign_add(count)

    def result(self) -> Any:
        if self.reduction == SUM:
            return ops.identity(self.total)
        return ops.div_no_nan(self.total, self.count)


def weighted(values: Any, sample_weight: Any, dtype: Any, reduction: str) -> tuple[Any, Any]:
    """Values times their weights, and the weights."""
    values = ops.cast(flat(values), dtype)
    if sample_weight is None:
        return values, None
    values, _, weights = fitted(values, sample_weight=ops.cast(flat(sample_weight), dtype))
    try:
        weights = broadcast_weights(weights, values)
    except ValueError:  # weights of whole examples
        axes = list(range(weights.shape.ndims, values.shape.ndims))
        reduce = ops.reduce_sum if reduction == SUM else ops.reduce_mean
        values = reduce(values, axis=axes)
    return values * weights, weights


def flat(x: Any) -> Any:
    """The values of a ragged tensor; others are themselves."""
    return ops.expand_dims(x.flat_values, -1) if isinstance(x, ops.RaggedTensor) else x


class Sum(Reduce):
    """The sum of values.

    Args:
      name: its name.
      dtype: type of the result.
    """

    def __init__(self, name: str = "sum", dtype: Any = None) -> None:
        super().__init__(SUM, name, dtype)


class Mean(Reduce):
    """The mean of values, by their weights.

    Args:
      name: its name.
      dtype: type of the result.
    """

    def __init__(self, name: str | None = "mean", dtype: Any = None) -> None:
        super().__init__(WEIGHTED_MEAN, name, dtype)


hooks.mean_metric.value = Mean


class SumOverBatchSize(Reduce):
    """The sum of weighted values, over their number."""

    def __init__(self, name: str = "sum_over_batch_size", dtype: Any = None) -> None:
        super().__init__(SUM_OVER_BATCH_SIZE, name, dtype)


def _fitted_pair(metric: Metric, y_true: Any, y_pred: Any) -> tuple[Any, Any]:
    y_true, y_pred = (ops.cast(flat(x), metric.dtype) for x in (y_true, y_pred))
    y_pred, y_true, _ = fitted(y_pred, y_true)
    return y_true, y_pred


class MeanMetricWrapper(Mean):
    """The mean of a function of labels and predictions.

    Args:
      fn: the function.
      name: its name.
      dtype: type of the result.
      **kwargs: other arguments of the function.
    """

    def __init__(
        self, fn: Callable[..., Any], name: str | None = None, dtype: Any = None, **kwargs: Any
    ) -> None:
        super().__init__(name=name, dtype=dtype)
        self._fn, self._fn_kwargs = fn, kwargs

    def update_state(  # type: ignore[override]
        self, y_true: Any, y_pred: Any, sample_weight: Any = None
    ) -> Any:
        """Take in labels and predictions."""
        y_true, y_pred = _fitted_pair(self, y_true, y_pred)
        return super().update_state(self._fn(y_true, y_pred, **self._fn_kwargs), sample_weight)

    def get_config(self) -> dict[str, Any]:
        values = {k: read_tensors([v])[0] if hasattr(v, "graph") else v for k, v in self._fn_kwargs.items()}
        return super().get_config() | values


class SumOverBatchSizeMetricWrapper(SumOverBatchSize):
    """The same, over the number of values."""

    def __init__(
        self, fn: Callable[..., Any], name: str | None = None, dtype: Any = None, **kwargs: Any
    ) -> None:
        super().__init__(name=name or "sum_over_batch_size", dtype=dtype)
        self._fn, self._fn_kwargs = fn, kwargs

    def update_state(  # type: ignore[override]
        self, y_true: Any, y_pred: Any, sample_weight: Any = None
    ) -> Any:
        """Take in labels and predictions."""
        y_true, y_pred = _fitted_pair(self, y_true, y_pred)
        return super().update_state(self._fn(y_true, y_pred, **self._fn_kwargs), sample_weight)


class MeanRelativeError(Mean):
    """The mean of |y_true - y_pred| / normalizer.

    Args:
      normalizer: what errors are divided by.
      name: its name.
      dtype: type of the result.
    """

    def __init__(self, normalizer: Any, name: str | None = None, dtype: Any = None) -> None:
        super().__init__(name=name, dtype=dtype)
        self.normalizer = ops.cast(normalizer, self.dtype)

    def update_state(  # type: ignore[override]
        self, y_true: Any, y_pred: Any, sample_weight: Any = None
    ) -> Any:
        """Take in labels and predictions."""
        y_true, y_pred = _fitted_pair(self, y_true, y_pred)
        self.normalizer, y_pred = squeezed(self.normalizer, y_pred)
        y_pred.shape.assert_is_compatible_with(y_true.shape)
        return super().update_state(ops.div_no_nan(ops.abs(y_true - y_pred), self.normalizer), sample_weight)

    def get_config(self) -> dict[str, Any]:
        return super().get_config() | {"normalizer": read_tensors([self.normalizer])[0]}


class RootMeanSquaredError(Mean):
    """The root of the mean of (y_pred - y_true)².

    Args:
      name: its name.
      dtype: type of the result.
    """

    def __init__(self, name: str = "root_mean_squared_error", dtype: Any = None) -> None:
        super().__init__(name, dtype=dtype)

    def update_state(  # type: ignore[override]
        self, y_true: Any, y_pred: Any, sample_weight: Any = None
    ) -> Any:
        """Take in labels and predictions."""
        y_true, y_pred = _fitted_pair(self, y_true, y_pred)
        return super().update_state(ops.squared_difference(y_pred, y_true), sample_weight)

    def result(self) -> Any:
        return ops.sqrt(ops.div_no_nan(self.total, self.count))


class MeanTensor(Metric):
    """The mean of tensors of one shape, element by element.

    Args:
      name: its name.
      dtype: type of the result.
    """

    def __init__(self, name: str = "mean_tensor", dtype: Any = None) -> None:
        super().__init__(name=name, dtype=dtype)
        self._shape: Any = None
        self.total: Any = None
        self.count: Any = None

    def update_state(self, values: Any, sample_weight: Any = None) -> Any:
        """Take in values, with weights."""
        values = ops.cast(values, self.dtype)
        if self._shape is None:
            self._make(values.shape)
        elif values.shape != self._shape:
            raise ValueError(
                "MeanTensor input values must always have the same shape. Expected shape (set during the "
                "first "
                f"call): {self._shape}. Got: {values.shape}"
            )
        values, weights = weighted(values, sample_weight, self.dtype, WEIGHTED_MEAN)
        counts = ops.ones_like(values) if weights is None else ops.ones_like(values) * weights
        total = self.total.assign_add(values)
        with ops.control_dependencies([total]):
            return self.count.assign_add(counts)

    def _make(self, shape: Any) -> None:
        self._shape = shape
        with ops.init_scope():
            self._add_states(shape, "total", "count")
            if not ops.executing_eagerly():
                initialise(session_of_weights(), self.weights)

    def result(self) -> Any:
        if self._shape is None:
            raise ValueError(
                "MeanTensor does not have any result yet. Please call the MeanTensor instance or use "
                "`.update_state(value)` before retrieving the result."
            )
        return ops.div_no_nan(self.total, self.count)


class MeanIoU(Metric):
    """The mean over classes of intersection over union.

    Args:
      num_classes: how many classes there are.
      name: its name.
      dtype: type of the result.
    """

    def __init__(self, num_classes: int, name: str | None = None, dtype: Any = None) -> None:
        super().__init__(name=name, dtype=dtype)
        self.num_classes = num_classes
        self.total_cm = self.add_weight(
            "total_confusion_matrix",
            shape=(num_classes, num_classes),
            initializer="zeros",
            dtype=ops.dtypes.float64,
        )

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:
        """Take in classes and predicted classes."""
        y_true, y_pred = (ops.reshape(ops.cast(x, self.dtype), [-1]) for x in (y_true, y_pred))
        if sample_weight is not None:
            sample_weight = ops.reshape(ops.cast(sample_weight, self.dtype), [-1])
        found = confusion_matrix(
            y_true, y_pred, self.num_classes, weights=sample_weight, dtype=ops.dtypes.float64
        )
        return self.total_cm.assign_add(found)

    def result(self) -> Any:
        sums = [ops.cast(ops.reduce_sum(self.total_cm, axis=axis), self.dtype) for axis in (0, 1)]
        both = ops.cast(matrix_diag_part(self.total_cm), self.dtype)
        either = sums[0] + sums[1] - both
        known = ops.reduce_sum(ops.cast(ops.not_equal(either, 0), self.dtype))
        return ops.div_no_nan(ops.reduce_sum(ops.div_no_nan(both, either), name="mean_iou"), known)

    def reset_states(self) -> None:
        load_weights([self.total_cm], [np.zeros((self.num_classes, self.num_classes))])

    def get_config(self) -> dict[str, Any]:
        return super().get_config() | {"num_classes": self.num_classes}
