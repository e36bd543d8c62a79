"""Layer normalisation: each example by its own moments (Ba and others 2016)."""

from __future__ import annotations

from typing import Any

from headrace.layers import ops
from headrace.layers.keras.roles import RoleLayer


class LayerNormalization(RoleLayer):
    """(x - mean) / sqrt(variance + epsilon) · gamma + beta, with moments of each example.

    Args:
      axis: the axes over which moments are taken.
      epsilon: is added to the variance.
      center: add beta?
      scale: multiply by gamma?
      beta_initializer, gamma_initializer: initializers, or their names.
      beta_regularizer, gamma_regularizer: functions from a variable to a loss.
      beta_constraint, gamma_constraint: functions that optimizers apply to the new value.
      trainable: are gamma and beta to be trained?
      name: name of the layer.
      **kwargs: as of Layer.
    """

    def __init__(
        self,
        axis: Any = -1,
        epsilon: float = 1e-3,
        center: bool = True,
        scale: bool = True,
        beta_initializer: Any = "zeros",
        gamma_initializer: Any = "ones",
        beta_regularizer: Any = None,
        gamma_regularizer: Any = None,
        beta_constraint: Any = None,
        gamma_constraint: Any = None,
        trainable: bool = True,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(name=name, trainable=trainable, **kwargs)
        if not isinstance(axis, int | list | tuple):
            raise ValueError(
                f"Expected an int or a list/tuple of ints for the argument 'axis', but "
                f"received instead: {axis}"
            )
        self.axis: Any = axis if isinstance(axis, int) else list(axis)
        self.epsilon, self.center, self.scale = epsilon, center, scale
        self._set_roles(
            gamma=(gamma_initializer, gamma_regularizer, gamma_constraint),
            beta=(beta_initializer, beta_regularizer, beta_constraint),
        )
        self.supports_masking = True

    def build(self, input_shape: Any) -> None:
        known = ops.as_shape(input_shape).as_list()
        if known is None:
            raise ValueError(f"Input shape {input_shape} has undefined rank.")
        given = [self.axis] if isinstance(self.axis, int) else self.axis
        axes = [axis + len(known) if axis < 0 else axis for axis in given]
        for axis in axes:
            if axis < 0 or axis >= len(known):
                raise ValueError(f"Invalid axis: {axis}")
        if len(axes) != len(set(axes)):
            raise ValueError(f"Duplicate axis: {tuple(axes)}")
        self.axis = axes
        sizes = [known[axis] for axis in axes]
        self.gamma = self._role_weight("gamma", sizes) if self.scale else None
        self.beta = self._role_weight("beta", sizes) if self.center else None
        self.built = True

    def call(self, inputs: Any) -> Any:  # type: ignore[override]
        rank = len(inputs.shape)
        known = inputs.shape.as_list()
        shape = [known[axis] if axis in self.axis else 1 for axis in range(rank)]

        def spread(v: Any) -> Any:
            if v is None or len(v.shape) == rank or self.axis == [rank - 1]:
                return v
            return ops.reshape(v, shape)

        mean, variance = ops.moments(inputs, self.axis, keep_dims=True)
        outputs = ops.batch_normalization(
            inputs, mean, variance, spread(self.beta), spread(self.gamma), self.epsilon
        )
        outputs.set_shape(inputs.shape)
        return outputs

    def compute_output_shape(self, input_shape: Any) -> Any:
        return input_shape

    def get_config(self) -> dict[str, Any]:
        return self._config("axis", "epsilon", "center", "scale")
