"""Losses as objects: a function per example, weights, and a way to reduce."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.keras.losses import functions
from headrace.keras.losses.reduction import Reduction, compute_weighted_loss
from headrace.layers import ops
from headrace.layers.engine.model_graph import home_of
from headrace.layers.engine.registry import Family, serialize_keras_object
from headrace.layers.engine.weight_values import read_tensors

AUTO = Reduction.AUTO


class Loss:
    """A loss; subclasses say in `call(y_true, y_pred)` what it is per example.

    Args:
      reduction: one of `tf.keras.losses.Reduction`.
      name: its name.
    """

    def __init__(self, reduction: str = AUTO, name: str | None = None) -> None:
        Reduction.validate(reduction)
        self.reduction, self.name = reduction, name

    def __call__(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:
        """The loss of labels and predictions.

        Args:
          y_true: labels.
          y_pred: predictions.
          sample_weight: what each example counts.
        """
        scope = "lambda" if self.name == "<lambda>" else self.name
        with home_of(y_true, y_pred, sample_weight), ops.name_scope(scope or type(self).__name__):
            return compute_weighted_loss(self.call(y_true, y_pred), sample_weight, self._reduction())

    def _reduction(self) -> str:
        return Reduction.SUM_OVER_BATCH_SIZE if self.reduction == AUTO else self.reduction

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        """A loss from what `get_config` returned."""
        return cls(**config)

    def get_config(self) -> dict[str, Any]:
        """The arguments that make an equal one."""
        return {"reduction": self.reduction, "name": self.name}

    def call(self, y_true: Any, y_pred: Any) -> Any:
        """The loss of each example."""
        raise NotImplementedError("Must be implemented in subclasses.")


class LossFunctionWrapper(Loss):
    """A loss from a function of labels and predictions.

    Args:
      fn: the function.
      reduction: one of `tf.keras.losses.Reduction`.
      name: its name.
      **kwargs: other arguments of the function.
    """

    def __init__(
        self, fn: Callable[..., Any], reduction: str = AUTO, name: str | None = None, **kwargs: Any
    ) -> None:
        super().__init__(reduction, name)
        self.fn, self._fn_kwargs = fn, kwargs

    def call(self, y_true: Any, y_pred: Any) -> Any:
        return self.fn(y_true, y_pred, **self._fn_kwargs)

    def get_config(self) -> dict[str, Any]:
        values = {k: read_tensors([v])[0] if hasattr(v, "graph") else v for k, v in self._fn_kwargs.items()}
        return super().get_config() | values


class _Plain(LossFunctionWrapper):
    """What losses without arguments of their own share: the function and the name follow from the class."""

    _function: Callable[..., Any]
    _name = ""

    def __init__(self, reduction: str = AUTO, name: str | None = None) -> None:
        super().__init__(type(self)._function, reduction, name or self._name)


class MeanSquaredError(_Plain):
    """The mean of (y_pred - y_true)²."""

    _function, _name = functions.mean_squared_error, "mean_squared_error"


class MeanAbsoluteError(_Plain):
    """The mean of |y_pred - y_true|."""

    _function, _name = functions.mean_absolute_error, "mean_absolute_error"


class MeanAbsolutePercentageError(_Plain):
    """100 times the mean of |y_true - y_pred| / |y_true|."""

    _function, _name = functions.mean_absolute_percentage_error, "mean_absolute_percentage_error"


class MeanSquaredLogarithmicError(_Plain):
    """The mean of (log(y_pred + 1) - log(y_true + 1))²."""

    _function, _name = functions.mean_squared_logarithmic_error, "mean_squared_logarithmic_error"


class Hinge(_Plain):
    """The mean of max(1 - y_true · y_pred, 0)."""

    _function, _name = functions.hinge, "hinge"


class SquaredHinge(_Plain):
    """The mean of max(1 - y_true · y_pred, 0)²."""

    _function, _name = functions.squared_hinge, "squared_hinge"


class CategoricalHinge(_Plain):
    """How far the right class is from being ahead of all others by 1."""

    _function, _name = functions.categorical_hinge, "categorical_hinge"


class Poisson(_Plain):
    """The mean of y_pred - y_true · log(y_pred)."""

    _function, _name = functions.poisson, "poisson"


class LogCosh(_Plain):
    """The mean of log(cosh(y_pred - y_true))."""

    _function, _name = functions.logcosh, "logcosh"


class KLDivergence(_Plain):
    """The sum of y_true · log(y_true / y_pred)."""

    _function, _name = functions.kullback_leibler_divergence, "kullback_leibler_divergence"


class BinaryCrossentropy(LossFunctionWrapper):
    """The mean cross entropy of yes and no.

    Args:
      from_logits: are predictions logits?
      label_smoothing: how far labels are moved towards 1 / 2.
      reduction: one of `tf.keras.losses.Reduction`.
      name: its name.
    """

    def __init__(
        self,
        from_logits: bool = False,
        label_smoothing: Any = 0,
        reduction: str = AUTO,
        name: str = "binary_crossentropy",
    ) -> None:
        super().__init__(
            functions.binary_crossentropy,
            reduction,
            name,
            from_logits=from_logits,
            label_smoothing=label_smoothing,
        )
        self.from_logits = from_logits


class CategoricalCrossentropy(LossFunctionWrapper):
    """Cross entropy between distributions over classes.

    Args:
      from_logits: are predictions logits?
      label_smoothing: how far labels are moved towards 1 / classes.
      reduction: one of `tf.keras.losses.Reduction`.
      name: its name.
    """

    def __init__(
        self,
        from_logits: bool = False,
        label_smoothing: Any = 0,
        reduction: str = AUTO,
        name: str = "categorical_crossentropy",
    ) -> None:
        super().__init__(
            functions.categorical_crossentropy,
            reduction,
            name,
            from_logits=from_logits,
            label_smoothing=label_smoothing,
        )


class SparseCategoricalCrossentropy(LossFunctionWrapper):
    """Cross entropy, with the right class given by its number.

    Args:
      from_logits: are predictions logits?
      reduction: one of `tf.keras.losses.Reduction`.
      name: its name.
    """

    def __init__(
        self,
        from_logits: bool = False,
        reduction: str = AUTO,
        name: str | None = "sparse_categorical_crossentropy",
    ) -> None:
        super().__init__(functions.sparse_categorical_crossentropy, reduction, name, from_logits=from_logits)


class Huber(LossFunctionWrapper):
    """Quadratic for small errors, linear for large ones.

    Args:
      delta: where the one becomes the other.
      reduction: one of `tf.keras.losses.Reduction`.
      name: its name.
    """

    def __init__(self, delta: float = 1.0, reduction: str = AUTO, name: str = "huber_loss") -> None:
        super().__init__(functions.huber_loss, reduction, name, delta=delta)


class CosineSimilarity(LossFunctionWrapper):
    """The cosine of the angle between labels and predictions.

    Args:
      axis: along which they are vectors.
      reduction: one of `tf.keras.losses.Reduction`.
      name: its name.
    """

    def __init__(self, axis: int = -1, reduction: str = AUTO, name: str = "cosine_similarity") -> None:
        super().__init__(functions.cosine_similarity, reduction, name, axis=axis)


_family = Family("loss function", lambda: {**vars(functions), **globals()})


def serialize(loss: Any) -> Any:
    """A name, or class and arguments, of a loss."""
    return serialize_keras_object(loss)


def deserialize(name: Any, custom_objects: Any = None) -> Any:
    """The loss that `serialize` described."""
    return _family.deserialize(name, custom_objects)


def get(identifier: Any) -> Any:
    """A loss from itself, its name or its configuration."""
    if identifier is None or (callable(identifier) and not isinstance(identifier, str | dict)):
        return identifier
    return _family.get(identifier)


def is_categorical_crossentropy(loss: Any) -> bool:
    function = functions.categorical_crossentropy
    return (
        isinstance(loss, CategoricalCrossentropy)
        or getattr(loss, "fn", None) is function
        or getattr(loss, "__name__", loss) == "categorical_crossentropy"
    )
