"""Layers that change their inputs at random, in training."""

from __future__ import annotations

import math
from typing import Any

from headrace.layers import ops
from headrace.layers.engine.config import image_data_format
from headrace.layers.engine.input_spec import InputSpec
from headrace.layers.engine.layer import Layer
from headrace.layers.engine.learning_phase import learning_phase
from headrace.layers.keras.core import Dropout


def in_training(training: Any, changed: Any, inputs: Any) -> Any:
    """What `changed` makes, in training; else the inputs."""
    training = learning_phase() if training is None else training
    if isinstance(training, int):
        training = bool(training)
    return ops.smart_cond(training, changed, lambda: ops.identity(inputs))


class _Noise(Layer):
    _name_of_number = ""

    def __init__(self, number: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.supports_masking = True
        setattr(self, self._name_of_number, number)

    def compute_output_shape(self, input_shape: Any) -> Any:
        return input_shape

    def get_config(self) -> dict[str, Any]:
        return super().get_config() | {self._name_of_number: getattr(self, self._name_of_number)}


class GaussianNoise(_Noise):
    """Adds normal numbers.

    Args:
      stddev: their standard deviation.
      **kwargs: as of Layer.
    """

    _name_of_number = "stddev"

    def __init__(self, stddev: float, **kwargs: Any) -> None:
        super().__init__(stddev, **kwargs)

    def call(self, inputs: Any, training: Any = None) -> Any:  # type: ignore[override]
        def noised() -> Any:
            return inputs + ops.random_normal(ops.shape(inputs), 0.0, self.stddev, dtype=inputs.dtype)

        return in_training(training, noised, inputs)


class GaussianDropout(_Noise):
    """Multiplies with normal numbers around 1.

    Args:
      rate: of the dropout with as much noise.
      **kwargs: as of Layer.
    """

    _name_of_number = "rate"

    def __init__(self, rate: float, **kwargs: Any) -> None:
        super().__init__(rate, **kwargs)

    def call(self, inputs: Any, training: Any = None) -> Any:  # type: ignore[override]
        if not 0 < self.rate < 1:
            return inputs
        stddev = math.sqrt(self.rate / (1.0 - self.rate))

        def noised() -> Any:
            return inputs * ops.random_normal(ops.shape(inputs), 1.0, stddev, dtype=inputs.dtype)

        return in_training(training, noised, inputs)


_ALPHA, _SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946


class AlphaDropout(_Noise):
    """Dropout that keeps mean and variance of what SELU gives (Klambauer and others 2017).

    Args:
      rate: how likely an element is dropped.
      noise_shape: shape of what is drawn.
      seed: seed of the op.
      **kwargs: as of Layer.
    """

    _name_of_number = "rate"

    def __init__(self, rate: float, noise_shape: Any = None, seed: int | None = None, **kwargs: Any) -> None:
        super().__init__(rate, **kwargs)
        self.noise_shape, self.seed = noise_shape, seed

    def call(self, inputs: Any, training: Any = None) -> Any:  # type: ignore[override]
        if not 0.0 < self.rate < 1.0:
            return inputs
        low = -_ALPHA * _SCALE

        def dropped() -> Any:
            shape = self.noise_shape or ops.shape(inputs)
            drawn = ops.random_uniform(shape, seed=self.seed)
            kept = ops.cast(ops.greater_equal(drawn, self.rate), inputs.dtype)
            a = ((1 - self.rate) * (1 + self.rate * low**2)) ** -0.5
            return a * (inputs * kept + low * (1 - kept)) - a * low * self.rate

        return in_training(training, dropped, inputs)


class _SpatialDropout(Dropout):
    """Dropout of whole channels."""

    _rank = 0

    def __init__(self, rate: float, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(rate, **kwargs)
        self.data_format = data_format or image_data_format()
        if self.data_format not in ("channels_last", "channels_first"):
            raise ValueError('data_format must be in {"channels_last", "channels_first"}')
        self.input_spec = InputSpec(ndim=self._rank + 2)

    def _get_noise_shape(self, inputs: Any) -> Any:
        sizes = ops.shape(inputs)
        ones = [1] * self._rank
        if self.data_format == "channels_first":
            return ops.stack([sizes[0], sizes[1], *ones])
        return ops.stack([sizes[0], *ones, sizes[self._rank + 1]])


class SpatialDropout1D(_SpatialDropout):
    """Drops whole channels of sequences.

    Args:
      rate: how likely a channel is dropped.
      **kwargs: as of Layer.
    """

    _rank = 1

    def __init__(self, rate: float, **kwargs: Any) -> None:
        super().__init__(rate, "channels_last", **kwargs)


class SpatialDropout2D(_SpatialDropout):
    """Drops whole channels of images.

    Args:
      rate: how likely a channel is dropped.
      data_format: channels_last or channels_first.
      **kwargs: as of Layer.
    """

    _rank = 2


class SpatialDropout3D(_SpatialDropout):
    """Drops whole channels of volumes.

    Args:
      rate: how likely a channel is dropped.
      data_format: channels_last or channels_first.
      **kwargs: as of Layer.
    """

    _rank = 3
