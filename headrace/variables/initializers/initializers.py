"""Initializers: what a new variable starts from.  Called with a shape (and a type), they return a
tensor.  The nodes are TF 1.15's, so that a graph seed gives the same numbers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.core.dtypes import DType, DTypeLike, as_dtype
from headrace.core.shapes import Shape
from headrace.functions.array import array
from headrace.functions.linalg.linalg import eye
from headrace.functions.random import random
from headrace.graph.tensor import Tensor
from headrace.ops.array.constant import constant
from headrace.ops.array.slices.slice import slice_


class Initializer:
    """A recipe for the first value of a variable."""

    dtype: DType

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
        """A tensor to start from.

        Args:
          shape: shape of the variable.
          dtype: element type; default that of the initializer.
          partition_info: which part of a larger variable this is.
        """
        raise NotImplementedError

    def get_config(self) -> dict[str, Any]:
        """The arguments that make an equal initializer."""
        return {}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        return cls(**config)

    def _type(self, dtype: Any) -> Any:
        return self.dtype if dtype is None else dtype


def float_type(dtype: Any) -> DType:
    found = as_dtype(dtype)
    if not found.is_floating:
        raise ValueError(f"Expected floating point type, got {found}.")
    return found


class Zeros(Initializer):
    """All zero."""

    def __init__(self, dtype: Any = dtypes.float32) -> None:
        self.dtype = as_dtype(dtype)

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
        return array.zeros(shape, self._type(dtype))

    def get_config(self) -> dict[str, Any]:
        return {"dtype": self.dtype.name}


class Ones(Initializer):
    """All one."""

    def __init__(self, dtype: Any = dtypes.float32) -> None:
        self.dtype = as_dtype(dtype)

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
        return array.ones(shape, self._type(dtype))

    def get_config(self) -> dict[str, Any]:
        return {"dtype": self.dtype.name}


class Constant(Initializer):
    """A given value; its last element fills what is missing."""

    def __init__(self, value: Any = 0, dtype: Any = dtypes.float32, verify_shape: bool = False) -> None:
        if not (np.isscalar(value) or isinstance(value, (list, tuple, np.ndarray))):
            raise TypeError(
                f"Invalid type for initial value: {type(value)} (expected Python scalar, list or "
                "tuple of values, or numpy.ndarray)."
            )
        self.value, self.dtype, self._verify_shape = value, as_dtype(dtype), verify_shape

    def __call__(
        self, shape: Any, dtype: Any = None, partition_info: Any = None, verify_shape: bool | None = None
    ) -> Tensor:
        verify = self._verify_shape if verify_shape is None else verify_shape
        return constant(self.value, self._type(dtype), shape, verify_shape=verify)

    def get_config(self) -> dict[str, Any]:
        return {"value": self.value, "dtype": self.dtype.name}


class RandomUniform(Initializer):
    """Uniform over [minval, maxval)."""

    def __init__(
        self, minval: Any = 0, maxval: Any = None, seed: int | None = None, dtype: Any = dtypes.float32
    ) -> None:
        self.minval, self.maxval, self.seed, self.dtype = minval, maxval, seed, as_dtype(dtype)

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
        return random.random_uniform(shape, self.minval, self.maxval, self._type(dtype), seed=self.seed)

    def get_config(self) -> dict[str, Any]:
        return {"minval": self.minval, "maxval": self.maxval, "seed": self.seed, "dtype": self.dtype.name}


class RandomNormal(Initializer):
    """Normal."""

    def __init__(
        self, mean: Any = 0.0, stddev: Any = 1.0, seed: int | None = None, dtype: Any = dtypes.float32
    ) -> None:
        self.mean, self.stddev, self.seed, self.dtype = mean, stddev, seed, float_type(dtype)

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
        return random.random_normal(shape, self.mean, self.stddev, self._type(dtype), seed=self.seed)

    def get_config(self) -> dict[str, Any]:
        return {"mean": self.mean, "stddev": self.stddev, "seed": self.seed, "dtype": self.dtype.name}


class TruncatedNormal(RandomNormal):
    """Normal, within two standard deviations of the mean."""

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
        return random.truncated_normal(shape, self.mean, self.stddev, self._type(dtype), seed=self.seed)


class UniformUnitScaling(Initializer):
    """Uniform, with a range that keeps the scale of activations constant (old; VarianceScaling)."""

    def __init__(self, factor: float = 1.0, seed: int | None = None, dtype: Any = dtypes.float32) -> None:
        self.factor, self.seed, self.dtype = factor, seed, float_type(dtype)

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
        inputs = max(math.prod(float(n) for n in full_shape(shape, partition_info)[:-1]), 1.0)
        limit = math.sqrt(3 / inputs) * self.factor
        return random.random_uniform(shape, -limit, limit, self._type(dtype), seed=self.seed)

    def get_config(self) -> dict[str, Any]:
        return {"factor": self.factor, "seed": self.seed, "dtype": self.dtype.name}


def full_shape(shape: Any, partition_info: Any) -> Any:
    return shape if partition_info is None else partition_info.full_shape


def fans(shape: Sequence[Any]) -> tuple[int, int]:
    """Inputs and outputs of one unit, for a matrix or a stack of filters."""
    if len(shape) < 1:
        return 1, 1
    if len(shape) == 1:
        return int(shape[0]), int(shape[0])
    field = math.prod(int(n) for n in shape[:-2])
    return int(shape[-2]) * field, int(shape[-1]) * field


# The standard deviation of a normal distribution cut off at two of its own.
TRUNCATED_STDDEV = 0.87962566103423978


class VarianceScaling(Initializer):
    """Random numbers whose variance is scale / n, where n counts inputs, outputs or their mean.

    Args:
      scale: positive factor.
      mode: "fan_in", "fan_out" or "fan_avg": what n counts.
      distribution: "truncated_normal" (also called "normal"), "untruncated_normal" or "uniform".
      seed: seed of the op.
      dtype: a float type.

    Raises:
      ValueError: an argument is not one of these.
    """

    def __init__(
        self,
        scale: float = 1.0,
        mode: str = "fan_in",
        distribution: str = "truncated_normal",
        seed: int | None = None,
        dtype: DTypeLike = dtypes.float32,
    ) -> None:
        if scale <= 0.0:
            raise ValueError("`scale` must be positive float.")
        if mode not in ("fan_in", "fan_out", "fan_avg"):
            raise ValueError("Invalid `mode` argument:", mode)
        distribution = distribution.lower()
        if distribution not in ("normal", "uniform", "truncated_normal", "untruncated_normal"):
            raise ValueError("Invalid `distribution` argument:", distribution)
        self.scale, self.mode, self.distribution = scale, mode, distribution
        self.seed, self.dtype = seed, float_type(dtype)

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
        dtype = self._type(dtype)
        fan_in, fan_out = fans(full_shape(shape, partition_info))
        count = {"fan_in": fan_in, "fan_out": fan_out, "fan_avg": (fan_in + fan_out) / 2.0}
        scale = self.scale / max(1.0, count[self.mode])
        if self.distribution == "uniform":
            limit = math.sqrt(3.0 * scale)
            return random.random_uniform(shape, -limit, limit, dtype, seed=self.seed)
        stddev = math.sqrt(scale)
        if self.distribution == "untruncated_normal":
            return random.random_normal(shape, 0.0, stddev, dtype, seed=self.seed)
        return random.truncated_normal(shape, 0.0, stddev / TRUNCATED_STDDEV, dtype, seed=self.seed)

    def get_config(self) -> dict[str, Any]:
        return {
            "scale": self.scale,
            "mode": self.mode,
            "distribution": self.distribution,
            "seed": self.seed,
            "dtype": self.dtype.name,
        }


class GlorotUniform(VarianceScaling):
    """Uniform over [-x, x], x = sqrt(6 / (inputs + outputs))."""

    def __init__(self, seed: int | None = None, dtype: Any = dtypes.float32) -> None:
        super().__init__(1.0, "fan_avg", "uniform", seed, dtype)

    def get_config(self) -> dict[str, Any]:
        return {"seed": self.seed, "dtype": self.dtype.name}


class GlorotNormal(VarianceScaling):
    """Truncated normal with variance 2 / (inputs + outputs)."""

    def __init__(self, seed: int | None = None, dtype: Any = dtypes.float32) -> None:
        super().__init__(1.0, "fan_avg", "truncated_normal", seed, dtype)

    def get_config(self) -> dict[str, Any]:
        return {"seed": self.seed, "dtype": self.dtype.name}


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


class Identity(Initializer):
    """The identity matrix, times `gain`."""

    def __init__(self, gain: float = 1.0, dtype: Any = dtypes.float32) -> None:
        self.gain, self.dtype = gain, float_type(dtype)

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
        whole = full_shape(shape, partition_info)
        if len(whole) != 2:
            raise ValueError("Identity matrix initializer can only be used for 2D matrices.")
        if isinstance(whole, Shape):
            whole = whole.as_list()
        matrix = eye(whole[0], whole[1], dtype=self._type(dtype))
        if partition_info is not None:
            matrix = slice_(matrix, partition_info.var_offset, shape)
        return self.gain * matrix

    def get_config(self) -> dict[str, Any]:
        return {"gain": self.gain, "dtype": self.dtype.name}
