"""Activations that have arguments or weights."""

from __future__ import annotations

from typing import Any

from headrace.layers import ops
from headrace.layers.engine.config import floatx
from headrace.layers.engine.input_spec import InputSpec
from headrace.layers.engine.layer import Layer
from headrace.layers.functions import activations
from headrace.layers.keras.roles import RoleLayer


class _Function(Layer):
    """A function of each element, with numbers that it keeps."""

    _names: tuple[str, ...] = ()

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.supports_masking = True

    def compute_output_shape(self, input_shape: Any) -> Any:
        return input_shape

    def get_config(self) -> dict[str, Any]:
        own = {name: getattr(self, name) for name in self._names}
        return super().get_config() | {
            k: float(v) if k != "axis" and v is not None else v for k, v in own.items()
        }


class LeakyReLU(_Function):
    """x, or alpha · x where that is negative.

    Args:
      alpha: the slope there.
      **kwargs: as of Layer.
    """

    _names = ("alpha",)

    def __init__(self, alpha: float = 0.3, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.alpha = alpha

    def call(self, inputs: Any) -> Any:  # type: ignore[override]
        return ops.leaky_relu(inputs, alpha=float(self.alpha))


class ELU(_Function):
    """x, or alpha · (exp(x) - 1) where that is negative.

    Args:
      alpha: the limit there.
      **kwargs: as of Layer.
    """

    _names = ("alpha",)

    def __init__(self, alpha: float = 1.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.alpha = alpha

    def call(self, inputs: Any) -> Any:  # type: ignore[override]
        found = ops.elu(inputs)
        return found if self.alpha == 1 else ops.where(inputs > 0, found, self.alpha * found)


class ThresholdedReLU(_Function):
    """x above the threshold, 0 below.

    Args:
      theta: the threshold.
      **kwargs: as of Layer.
    """

    _names = ("theta",)

    def __init__(self, theta: float = 1.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.theta = theta

    def call(self, inputs: Any) -> Any:  # type: ignore[override]
        return inputs * ops.cast(ops.greater(inputs, ops.cast(self.theta, inputs.dtype)), inputs.dtype)


class Softmax(_Function):
    """exp(x) over its sum.

    Args:
      axis: along which.
      **kwargs: as of Layer.
    """

    _names = ("axis",)

    def __init__(self, axis: int = -1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.axis = axis

    def call(self, inputs: Any) -> Any:  # type: ignore[override]
        return activations.softmax(inputs, axis=self.axis)


class ReLU(_Function):
    """x above the threshold, with a slope below, and a limit.

    Args:
      max_value: the limit.
      negative_slope: the slope below.
      threshold: the threshold.
      **kwargs: as of Layer.
    """

    _names = ("max_value", "negative_slope", "threshold")

    def __init__(
        self, max_value: float | None = None, negative_slope: float = 0, threshold: float = 0, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        if max_value is not None and max_value < 0.0:
            raise ValueError(f"max_value of Relu layer cannot be negative value: {max_value}")
        if negative_slope < 0.0:
            raise ValueError(f"negative_slope of Relu layer cannot be negative value: {negative_slope}")
        self.max_value, self.negative_slope, self.threshold = max_value, negative_slope, threshold

    def call(self, inputs: Any) -> Any:  # type: ignore[override]
        return activations.relu(inputs, float(self.negative_slope), self.max_value, self.threshold)


class PReLU(RoleLayer):
    """x, or alpha · x where that is negative, with alpha learnt for each place.

    Args:
      alpha_initializer: what alpha starts from.
      alpha_regularizer: function from alpha to a loss.
      alpha_constraint: function that optimizers apply to the new value.
      shared_axes: axes along which alpha is the same.
      **kwargs: as of Layer.
    """

    def __init__(
        self,
        alpha_initializer: Any = "zeros",
        alpha_regularizer: Any = None,
        alpha_constraint: Any = None,
        shared_axes: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.supports_masking = True
        self._set_roles(alpha=(alpha_initializer, alpha_regularizer, alpha_constraint))
        self.shared_axes = list(shared_axes) if isinstance(shared_axes, list | tuple) else shared_axes
        if isinstance(shared_axes, int):
            self.shared_axes = [shared_axes]

    def build(self, input_shape: Any) -> None:
        sizes = ops.as_shape(input_shape).as_list()
        own = sizes[1:]
        for axis in self.shared_axes or ():
            own[axis - 1] = 1
        self.alpha = self._role_weight("alpha", own, dtype=self.dtype or floatx())
        axes = {i: sizes[i] for i in range(1, len(sizes)) if i not in (self.shared_axes or ())}
        self.input_spec = InputSpec(ndim=len(sizes), axes=axes if self.shared_axes else {})
        self.built = True

    def call(self, inputs: Any) -> Any:  # type: ignore[override]
        return ops.relu(inputs) - self.alpha * ops.relu(-inputs)

    def compute_output_shape(self, input_shape: Any) -> Any:
        return input_shape

    def get_config(self) -> dict[str, Any]:
        return self._config("shared_axes")
