"""Initializers with Keras' defaults, and their names."""

from __future__ import annotations

import inspect
from typing import Any

from headrace.core.dtypes import float32
from headrace.layers.engine.registry import deserialize_keras_object, serialize_keras_object
from headrace.variables.initializers import initializers
from headrace.variables.initializers import orthogonal as orthogonal_matrices

Initializer, Zeros, Ones = initializers.Initializer, initializers.Zeros, initializers.Ones
VarianceScaling, Constant = initializers.VarianceScaling, initializers.Constant
Orthogonal, Identity = orthogonal_matrices.Orthogonal, initializers.Identity
zeros, ones, constant, orthogonal, identity = Zeros, Ones, Constant, Orthogonal, Identity


class RandomNormal(initializers.RandomNormal):
    """Normal.

    Args:
      mean, stddev: of the distribution.
      seed: seed of the op.
      dtype: element type.
    """

    def __init__(self, mean: Any = 0.0, stddev: Any = 0.05, seed: Any = None, dtype: Any = float32) -> None:
        super().__init__(mean, stddev, seed, dtype)


class RandomUniform(initializers.RandomUniform):
    """Uniform over [minval, maxval).

    Args:
      minval, maxval: the bounds.
      seed: seed of the op.
      dtype: element type.
    """

    def __init__(
        self, minval: Any = -0.05, maxval: Any = 0.05, seed: Any = None, dtype: Any = float32
    ) -> None:
        super().__init__(minval, maxval, seed, dtype)


class TruncatedNormal(initializers.TruncatedNormal):
    """Normal, within two standard deviations of the mean.

    Args:
      mean, stddev: of the distribution.
      seed: seed of the op.
      dtype: element type.
    """

    def __init__(self, mean: Any = 0.0, stddev: Any = 0.05, seed: Any = None, dtype: Any = float32) -> None:
        super().__init__(mean, stddev, seed, dtype)


normal = random_normal = RandomNormal
uniform = random_uniform = RandomUniform
truncated_normal = TruncatedNormal
glorot_uniform, glorot_normal = initializers.GlorotUniform, initializers.GlorotNormal
lecun_uniform, lecun_normal = initializers.lecun_uniform, initializers.lecun_normal
he_uniform, he_normal = initializers.he_uniform, initializers.he_normal


def serialize(initializer: Any) -> Any:
    """An initializer's class and arguments."""
    return serialize_keras_object(initializer)


zero, one, GlorotUniform, GlorotNormal = Zeros, Ones, glorot_uniform, glorot_normal


def deserialize(config: Any, custom_objects: Any = None) -> Any:
    """The initializer that `serialize` described."""
    return deserialize_keras_object(config, globals(), custom_objects, "initializer")


def get(identifier: Any) -> Any:
    """An initializer from itself, its class, its name or its configuration."""
    if identifier is None:
        return None
    if isinstance(identifier, str | dict):
        found = deserialize(identifier)
        return found() if inspect.isfunction(found) else found
    if callable(identifier):
        return identifier() if inspect.isclass(identifier) else identifier
    raise ValueError(f"Could not interpret initializer identifier: {identifier}")
