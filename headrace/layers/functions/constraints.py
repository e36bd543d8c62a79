"""What the new values of weights must fulfil: functions from a value to one that is allowed."""

from __future__ import annotations

from typing import Any

from headrace.layers import ops
from headrace.layers.engine.config import epsilon
from headrace.layers.engine.registry import Family, serialize_keras_object


class Constraint:
    """A function from a new value to one that is allowed."""

    def __call__(self, w: Any) -> Any:
        return w

    def get_config(self) -> dict[str, Any]:
        """The arguments that make an equal one."""
        return {}


def _norms(w: Any, axis: Any) -> Any:
    return ops.sqrt(ops.reduce_sum(ops.square(w), axis=axis, keepdims=True))


class MaxNorm(Constraint):
    """Vectors are at most so long.

    Args:
      max_value: the greatest length.
      axis: along which they are vectors.
    """

    def __init__(self, max_value: float = 2, axis: Any = 0) -> None:
        self.max_value, self.axis = max_value, axis

    def __call__(self, w: Any) -> Any:
        norms = _norms(w, self.axis)
        return w * (ops.clip_by_value(norms, 0.0, float(self.max_value)) / (epsilon() + norms))

    def get_config(self) -> dict[str, Any]:
        return {"max_value": self.max_value, "axis": self.axis}


class NonNeg(Constraint):
    """Nothing is negative."""

    def __call__(self, w: Any) -> Any:
        return w * ops.cast(ops.greater_equal(w, 0.0), w.dtype.base_dtype)


class UnitNorm(Constraint):
    """Vectors have length 1.

    Args:
      axis: along which they are vectors.
    """

    def __init__(self, axis: Any = 0) -> None:
        self.axis = axis

    def __call__(self, w: Any) -> Any:
        return w / (epsilon() + _norms(w, self.axis))

    def get_config(self) -> dict[str, Any]:
        return {"axis": self.axis}


class MinMaxNorm(Constraint):
    """Vectors have a length between two bounds.

    Args:
      min_value, max_value: the bounds.
      rate: how far towards them a step goes.
      axis: along which they are vectors.
    """

    def __init__(
        self, min_value: float = 0.0, max_value: float = 1.0, rate: float = 1.0, axis: Any = 0
    ) -> None:
        self.min_value, self.max_value, self.rate, self.axis = min_value, max_value, rate, axis

    def __call__(self, w: Any) -> Any:
        norms = _norms(w, self.axis)
        bounded = ops.clip_by_value(norms, float(self.min_value), float(self.max_value))
        wanted = self.rate * bounded + (1 - self.rate) * norms
        return w * (wanted / (epsilon() + norms))

    def get_config(self) -> dict[str, Any]:
        return {
            "min_value": self.min_value,
            "max_value": self.max_value,
            "rate": self.rate,
            "axis": self.axis,
        }


class RadialConstraint(Constraint):
    """Kernels of convolutions depend on the distance from the centre alone."""

    def __call__(self, w: Any) -> Any:
        sizes = w.shape.as_list()
        if len(sizes) != 4:
            raise ValueError(f"The weight tensor must be of rank 4, but is of shape: {w.shape}")
        height, width, channels, kernels = sizes
        flat = ops.reshape(w, (height, width, channels * kernels))
        parts = [self._radial(kernel) for kernel in ops.unstack(flat, axis=-1)]
        return ops.reshape(ops.stack(parts, axis=-1), (height, width, channels, kernels))

    def _radial(self, kernel: Any) -> Any:
        """A square kernel whose rings have the value of one of their elements."""
        size: Any = kernel.shape.as_list()[0]
        start = (size - 1) // 2
        if size % 2:
            ring = ops.reshape(kernel[start, start], (1, 1))
            first = start + 1
        else:
            ring = ops.ones((2, 2)) * kernel[start, start]
            first = start + 2
            start += 1
        for i in range(first, size):
            ring = ops.pad(ring, [[1, 1], [1, 1]])
            width: Any = ring.shape.as_list()[0]
            edge = [[0 < r < width - 1 and 0 < c < width - 1 for c in range(width)] for r in range(width)]
            ring = ops.where(ops.constant(edge), ring, ops.ones((width, width)) * kernel[i, start])
        return ring


max_norm, non_neg, unit_norm = MaxNorm, NonNeg, UnitNorm
min_max_norm, radial_constraint = MinMaxNorm, RadialConstraint
maxnorm, nonneg, unitnorm, minmaxnorm = MaxNorm, NonNeg, UnitNorm, MinMaxNorm
_family = Family("constraint", lambda: globals())


def serialize(constraint: Any) -> Any:
    """A constraint's class and arguments."""
    return serialize_keras_object(constraint)


def deserialize(config: Any, custom_objects: Any = None) -> Any:
    """The constraint that `serialize` described."""
    return _family.deserialize(config, custom_objects)


def get(identifier: Any) -> Any:
    """A constraint from itself, its name or its configuration."""
    return _family.get(identifier)
