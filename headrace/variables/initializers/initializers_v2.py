"""Initializers in the form of `tf.compat.v2`: no type of their own, stateless with a seed."""

from __future__ import annotations

import math
from typing import Any

from headrace.core import dtypes
from headrace.core.dtypes import as_dtype
from headrace.functions.array import array
from headrace.functions.random import random, random_stateless
from headrace.graph.tensor import Tensor
from headrace.ops.array.constant import constant
from headrace.variables.initializers import initializers as first
from headrace.variables.initializers.initializers import fans, float_type
from headrace.variables.initializers.orthogonal import flat_sizes, orthonormal


class Initializer:
    """A recipe for the first value of a variable: called with a shape and a type."""

    def __call__(self, shape: Any, dtype: Any = None) -> Tensor:
        raise NotImplementedError

    def get_config(self) -> dict[str, Any]:
        """The arguments that make an equal initializer."""
        return {}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        return cls(**{k: v for k, v in config.items() if k != "dtype"})


class _Random(Initializer):
    """Numbers that are the same at every call with a seed, and new ones without."""

    seed: int | None

    def _uniform(self, shape: Any, low: Any, high: Any, dtype: Any) -> Tensor:
        if self.seed is None:
            return random.random_uniform(shape, low, high, dtype)
        return random_stateless.stateless_random_uniform(shape, [self.seed, 0], low, high, dtype)

    def _normal(self, shape: Any, mean: Any, stddev: Any, dtype: Any) -> Tensor:
        if self.seed is None:
            return random.random_normal(shape, mean, stddev, dtype)
        return random_stateless.stateless_random_normal(shape, [self.seed, 0], mean, stddev, dtype)

    def _truncated(self, shape: Any, mean: Any, stddev: Any, dtype: Any) -> Tensor:
        if self.seed is None:
            return random.truncated_normal(shape, mean, stddev, dtype)
        return random_stateless.stateless_truncated_normal(shape, [self.seed, 0], mean, stddev, dtype)


class Zeros(Initializer):
    """All zero."""

    def __call__(self, shape: Any, dtype: Any = dtypes.float32) -> Tensor:
        return array.zeros(shape, as_dtype(dtype))


class Ones(Initializer):
    """All one."""

    def __call__(self, shape: Any, dtype: Any = dtypes.float32) -> Tensor:
        found = as_dtype(dtype)
        if not found.is_numpy_compatible or found is dtypes.string:
            raise ValueError(f"Expected numeric or boolean dtype, got {found}.")
        return array.ones(shape, found)


class Constant(Initializer):
    """A given value."""

    def __init__(self, value: Any = 0) -> None:
        self.value = first.Constant(value).value

    def __call__(self, shape: Any, dtype: Any = None) -> Tensor:
        return constant(self.value, None if dtype is None else as_dtype(dtype), shape)

    def get_config(self) -> dict[str, Any]:
        return {"value": self.value}


class RandomUniform(_Random):
    """Uniform over [minval, maxval)."""

    def __init__(self, minval: Any = -0.05, maxval: Any = 0.05, seed: int | None = None) -> None:
        self.minval, self.maxval, self.seed = minval, maxval, seed

    def __call__(self, shape: Any, dtype: Any = dtypes.float32) -> Tensor:
        found = as_dtype(dtype)
        if not found.is_floating and not found.is_integer:
            raise ValueError(f"Expected float or integer dtype, got {found}.")
        return self._uniform(shape, self.minval, self.maxval, found)

    def get_config(self) -> dict[str, Any]:
        return {"minval": self.minval, "maxval": self.maxval, "seed": self.seed}


class RandomNormal(_Random):
    """Normal."""

    def __init__(self, mean: Any = 0.0, stddev: Any = 0.05, seed: int | None = None) -> None:
        self.mean, self.stddev, self.seed = mean, stddev, seed

    def __call__(self, shape: Any, dtype: Any = dtypes.float32) -> Tensor:
        return self._normal(shape, self.mean, self.stddev, float_type(dtype))

    def get_config(self) -> dict[str, Any]:
        return {"mean": self.mean, "stddev": self.stddev, "seed": self.seed}


class TruncatedNormal(RandomNormal):
    """Normal, within two standard deviations of the mean."""

    def __call__(self, shape: Any, dtype: Any = dtypes.float32) -> Tensor:
        return self._truncated(shape, self.mean, self.stddev, float_type(dtype))


class VarianceScaling(_Random):
    """Random numbers whose variance is scale / n, where n counts inputs, outputs or their mean."""

    def __init__(
        self,
        scale: float = 1.0,
        mode: str = "fan_in",
        distribution: str = "truncated_normal",
        seed: int | None = None,
    ) -> None:
        checked = first.VarianceScaling(scale, mode, distribution)
        self.scale, self.mode, self.seed = scale, mode, seed
        self.distribution = checked.distribution
        if self.distribution == "normal":
            self.distribution = "truncated_normal"

    def __call__(self, shape: Any, dtype: Any = dtypes.float32) -> Tensor:
        found = float_type(dtype)
        inputs, outputs = fans(shape)
        count = {"fan_in": inputs, "fan_out": outputs, "fan_avg": (inputs + outputs) / 2.0}
        scale = self.scale / max(1.0, count[self.mode])
        if self.distribution == "uniform":
            limit = math.sqrt(3.0 * scale)
            return self._uniform(shape, -limit, limit, found)
        if self.distribution == "untruncated_normal":
            return self._normal(shape, 0.0, math.sqrt(scale), found)
        return self._truncated(shape, 0.0, math.sqrt(scale) / first.TRUNCATED_STDDEV, found)

    def get_config(self) -> dict[str, Any]:
        return {"scale": self.scale, "mode": self.mode, "distribution": self.distribution, "seed": self.seed}


class GlorotUniform(VarianceScaling):
    """Uniform over [-x, x], x = sqrt(6 / (inputs + outputs))."""

    def __init__(self, seed: int | None = None) -> None:
        super().__init__(1.0, "fan_avg", "uniform", seed)

    def get_config(self) -> dict[str, Any]:
        return {"seed": self.seed}


class GlorotNormal(VarianceScaling):
    """Truncated normal with variance 2 / (inputs + outputs)."""

    def __init__(self, seed: int | None = None) -> None:
        super().__init__(1.0, "fan_avg", "truncated_normal", seed)

    def get_config(self) -> dict[str, Any]:
        return {"seed": self.seed}


class Orthogonal(_Random):
    """A matrix with orthonormal rows or columns; more dimensions are flattened first."""

    def __init__(self, gain: float = 1.0, seed: int | None = None) -> None:
        self.gain, self.seed = gain, seed

    def __call__(self, shape: Any, dtype: Any = dtypes.float32) -> Any:
        rows, columns = flat_sizes(shape)
        sizes = (max(rows, columns), min(rows, columns))
        q = orthonormal(self._normal(sizes, 0.0, 1.0, float_type(dtype)))
        if rows < columns:
            q = array.matrix_transpose(q)
        return self.gain * array.reshape(q, shape)

    def get_config(self) -> dict[str, Any]:
        return {"gain": self.gain, "seed": self.seed}


class Identity(Initializer):
    """The identity matrix, times `gain`."""

    def __init__(self, gain: float = 1.0) -> None:
        self.gain = gain

    def __call__(self, shape: Any, dtype: Any = dtypes.float32) -> Any:
        return first.Identity(self.gain)(shape, float_type(dtype))

    def get_config(self) -> dict[str, Any]:
        return {"gain": self.gain}


def lecun_normal(seed: int | None = None) -> VarianceScaling:
    """Truncated normal with variance 1 / inputs."""
    return VarianceScaling(1.0, "fan_in", "truncated_normal", seed)


def lecun_uniform(seed: int | None = None) -> VarianceScaling:
    """Uniform over [-x, x], x = sqrt(3 / inputs)."""
    return VarianceScaling(1.0, "fan_in", "uniform", seed)


def he_normal(seed: int | None = None) -> VarianceScaling:
    """Truncated normal with variance 2 / inputs."""
    return VarianceScaling(2.0, "fan_in", "truncated_normal", seed)


def he_uniform(seed: int | None = None) -> VarianceScaling:
    """Uniform over [-x, x], x = sqrt(6 / inputs)."""
    return VarianceScaling(2.0, "fan_in", "uniform", seed)
