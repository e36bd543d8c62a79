"""Metrics by name."""

from __future__ import annotations

from typing import Any

from headrace.keras.losses import functions as losses
from headrace.keras.metrics import averages, confusion, curves, functions, means
from headrace.layers.engine.registry import Family, serialize_keras_object

_MODULES = (losses, functions, averages, confusion, curves, means)
_family = Family("metric function", lambda: {k: v for m in _MODULES for k, v in vars(m).items()})


def serialize(metric: Any) -> Any:
    """A name, or class and arguments, of a metric."""
    return serialize_keras_object(metric)


def deserialize(config: Any, custom_objects: Any = None) -> Any:
    """The metric that `serialize` described."""
    return _family.deserialize(config, custom_objects)


def get(identifier: Any) -> Any:
    """A metric from itself, its name or its configuration."""
    if isinstance(identifier, str | dict):
        return _family.deserialize(identifier)
    if callable(identifier):
        return identifier
    raise ValueError(f"Could not interpret metric function identifier: {identifier}")
