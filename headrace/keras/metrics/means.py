"""The mean metrics of functions: accuracies, and losses as metrics."""

from __future__ import annotations

from typing import Any

from headrace.keras.losses import functions as losses
from headrace.keras.metrics import functions
from headrace.keras.metrics.averages import MeanMetricWrapper


class _Of(MeanMetricWrapper):
    """What metrics without arguments of their own share: the function and the name follow from the class."""

    _function: Any
    _default = ""

    def __init__(self, name: str | None = None, dtype: Any = None) -> None:
        super().__init__(type(self)._function, name or self._default, dtype)

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        return cls(**config)


class Accuracy(_Of):
    """How often predictions are the labels."""

    _function, _default = functions.accuracy, "accuracy"


class CategoricalAccuracy(_Of):
    """How often the most likely class is the right one."""

    _function, _default = functions.categorical_accuracy, "categorical_accuracy"


class SparseCategoricalAccuracy(_Of):
    """The same, with right classes given by number."""

    _function, _default = functions.sparse_categorical_accuracy, "sparse_categorical_accuracy"


class MeanAbsoluteError(_Of):
    """The mean of |y_pred - y_true|."""

    _function, _default = losses.mean_absolute_error, "mean_absolute_error"


class MeanAbsolutePercentageError(_Of):
    """100 times the mean of |y_true - y_pred| / |y_true|."""

    _function, _default = losses.mean_absolute_percentage_error, "mean_absolute_percentage_error"


class MeanSquaredError(_Of):
    """The mean of (y_pred - y_true)²."""

    _function, _default = losses.mean_squared_error, "mean_squared_error"


class MeanSquaredLogarithmicError(_Of):
    """The mean of (log(y_pred + 1) - log(y_true + 1))²."""

    _function, _default = losses.mean_squared_logarithmic_error, "mean_squared_logarithmic_error"


class Hinge(_Of):
    """The mean of max(1 - y_true · y_pred, 0)."""

    _function, _default = losses.hinge, "hinge"


class SquaredHinge(_Of):
    """The mean of max(1 - y_true · y_pred, 0)²."""

    _function, _default = losses.squared_hinge, "squared_hinge"


class CategoricalHinge(_Of):
    """How far the right class is from being ahead of all others by 1."""

    _function, _default = losses.categorical_hinge, "categorical_hinge"


class LogCoshError(_Of):
    """The mean of log(cosh(y_pred - y_true))."""

    _function, _default = losses.logcosh, "logcosh"


class Poisson(_Of):
    """The mean of y_pred - y_true · log(y_pred)."""

    _function, _default = losses.poisson, "poisson"


class KLDivergence(_Of):
    """The sum of y_true · log(y_true / y_pred)."""

    _function, _default = losses.kullback_leibler_divergence, "kullback_leibler_divergence"


class BinaryAccuracy(MeanMetricWrapper):
    """How often binary labels are right.

    Args:
      name: its name.
      dtype: type of the result.
      threshold: above it, a prediction is a 1.
    """

    def __init__(self, name: str = "binary_accuracy", dtype: Any = None, threshold: float = 0.5) -> None:
        super().__init__(functions.binary_accuracy, name, dtype, threshold=threshold)


class TopKCategoricalAccuracy(MeanMetricWrapper):
    """How often the right class is among the `k` most likely ones.

    Args:
      k: how many.
      name: its name.
      dtype: type of the result.
    """

    def __init__(self, k: int = 5, name: str = "top_k_categorical_accuracy", dtype: Any = None) -> None:
        super().__init__(functions.top_k_categorical_accuracy, name, dtype, k=k)


class SparseTopKCategoricalAccuracy(MeanMetricWrapper):
    """The same, with right classes given by number.

    Args:
      k: how many.
      name: its name.
      dtype: type of the result.
    """

    def __init__(
        self, k: int = 5, name: str = "sparse_top_k_categorical_accuracy", dtype: Any = None
    ) -> None:
        super().__init__(functions.sparse_top_k_categorical_accuracy, name, dtype, k=k)


class CosineSimilarity(MeanMetricWrapper):
    """The mean cosine of the angle between labels and predictions.

    Args:
      name: its name.
      dtype: type of the result.
      axis: along which they are vectors.
    """

    def __init__(self, name: str = "cosine_similarity", dtype: Any = None, axis: int = -1) -> None:
        super().__init__(losses.cosine_similarity, name, dtype, axis=axis)


class BinaryCrossentropy(MeanMetricWrapper):
    """The mean cross entropy of yes and no.

    Args:
      name: its name.
      dtype: type of the result.
      from_logits: are predictions logits?
      label_smoothing: how far labels are moved towards 1 / 2.
    """

    def __init__(
        self,
        name: str = "binary_crossentropy",
        dtype: Any = None,
        from_logits: bool = False,
        label_smoothing: Any = 0,
    ) -> None:
        super().__init__(
            losses.binary_crossentropy, name, dtype, from_logits=from_logits, label_smoothing=label_smoothing
        )


class CategoricalCrossentropy(MeanMetricWrapper):
    """The mean cross entropy between distributions over classes.

    Args:
      name: its name.
      dtype: type of the result.
      from_logits: are predictions logits?
      label_smoothing: how far labels are moved towards 1 / classes.
    """

    def __init__(
        self,
        name: str = "categorical_crossentropy",
        dtype: Any = None,
        from_logits: bool = False,
        label_smoothing: Any = 0,
    ) -> None:
        super().__init__(
            losses.categorical_crossentropy,
            name,
            dtype,
            from_logits=from_logits,
            label_smoothing=label_smoothing,
        )


class SparseCategoricalCrossentropy(MeanMetricWrapper):
    """The mean cross entropy, with right classes given by number.

    Args:
      name: its name.
      dtype: type of the result.
      from_logits: are predictions logits?
      axis: where the classes stand.
    """

    def __init__(
        self,
        name: str = "sparse_categorical_crossentropy",
        dtype: Any = None,
        from_logits: bool = False,
        axis: int = -1,
    ) -> None:
        super().__init__(
            losses.sparse_categorical_crossentropy, name, dtype, from_logits=from_logits, axis=axis
        )
