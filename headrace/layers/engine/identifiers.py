"""Initializers, regularizers, constraints and activations that are given by name ("relu"), value or
configuration."""

from __future__ import annotations

from typing import Any

from headrace.core.modules import late
from headrace.layers.engine.registry import serialize_keras_object

# These are made of ops, and most programs name none of them.
activations = late("headrace.layers.functions.activations")
initializers = late("headrace.layers.functions.initializers")
regularizers = late("headrace.layers.functions.regularizers")
constraints = late("headrace.layers.functions.constraints")


def get_initializer(identifier: Any) -> Any:
    """An initializer from itself, its class, its name, or a configuration; None stays None."""
    return initializers.get(identifier)


def get_activation(identifier: Any) -> Any:
    """A function of a tensor, by itself or by name; the identity for None."""
    return activations.get(identifier)


def get_regularizer(identifier: Any) -> Any:
    """A function from a variable to a loss, or None."""
    return regularizers.get(identifier)


def get_constraint(identifier: Any) -> Any:
    """A function from a new value to one that is allowed, or None."""
    return constraints.get(identifier)


def serialize(x: Any) -> Any:
    """What `get_...` makes `x` from again: a name, or class and arguments."""
    if x is None or hasattr(x, "get_config"):
        return serialize_keras_object(x)
    return getattr(x, "__name__", x)
