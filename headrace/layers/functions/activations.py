"""Activations, and their names."""

from __future__ import annotations

from typing import Any

from headrace.layers import ops
from headrace.layers.engine.registry import deserialize_keras_object

elu, selu, softplus, softsign = ops.elu, ops.selu, ops.softplus, ops.softsign


def linear(x: Any) -> Any:
    """`x` itself."""
    return x


def hard_sigmoid(x: Any) -> Any:
    """x / 5 + 1 / 2, cut at 0 and 1."""
    return ops.clip_by_value(x * 0.2 + 0.5, 0.0, 1.0)


def relu(x: Any, alpha: float = 0.0, max_value: Any = None, threshold: float = 0) -> Any:
    """x above the threshold, alpha · (x - threshold) below, at most `max_value`."""
    if alpha == 0.0 and threshold == 0:
        if max_value is None:
            return ops.relu(x)
        if max_value == 6:
            return ops.relu6(x)
    x = ops.convert_to_tensor(x)
    if alpha != 0.0:
        if max_value is None and threshold == 0:
            return ops.leaky_relu(x, alpha=alpha)
        negative = ops.relu(-x + threshold) if threshold != 0 else ops.relu(-x)
    found = x * ops.cast(ops.greater(x, threshold), x.dtype) if threshold != 0 else ops.relu(x)
    if max_value is not None:
        found = ops.clip_by_value(found, ops.cast(0.0, x.dtype), ops.cast(max_value, x.dtype))
    return found - ops.cast(alpha, x.dtype) * negative if alpha != 0.0 else found


def softmax(x: Any, axis: int = -1) -> Any:
    """exp(x) over its sum along an axis."""
    rank = x.shape.ndims
    if rank == 2:
        return ops.softmax(x)
    if rank is not None and rank > 2:
        e = ops.exp(x - ops.reduce_max(x, axis=axis, keepdims=True))
        return e / ops.reduce_sum(e, axis=axis, keepdims=True)
    raise ValueError(f"Cannot apply softmax to a tensor that is 1D. Received input: {x}")


def tanh(x: Any) -> Any:
    """Hyperbolic tangent."""
    return ops.tanh(x)


def sigmoid(x: Any) -> Any:
    """1 / (1 + exp(-x))."""
    return ops.sigmoid(x)


def exponential(x: Any) -> Any:
    """exp(x)."""
    return ops.exp(x)


def swish(x: Any) -> Any:
    """x · sigmoid(x)."""
    return x * ops.sigmoid(x)


def serialize(activation: Any) -> Any:
    """The name of an activation."""
    return getattr(activation, "__name__", activation)


def deserialize(name: Any, custom_objects: Any = None) -> Any:
    """The activation of a name."""
    return deserialize_keras_object(name, globals(), custom_objects, "activation function")


def get(identifier: Any) -> Any:
    """An activation from itself or its name; the identity for None."""
    if identifier is None:
        return linear
    if isinstance(identifier, str):
        return deserialize(identifier)
    if callable(identifier):
        return identifier
    if isinstance(identifier, dict):
        return deserialize_keras_object(identifier, printable_module_name="activation")
    raise TypeError(f"Could not interpret activation function identifier: {identifier!r}")
