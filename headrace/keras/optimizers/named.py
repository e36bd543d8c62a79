"""Optimizers by name."""

from __future__ import annotations

from typing import Any

from headrace.keras.optimizers import adaptive, descent
from headrace.keras.optimizers.base import Optimizer
from headrace.keras.optimizers.native import TFOptimizer
from headrace.layers.engine.registry import deserialize_keras_object, serialize_keras_object
from headrace.train.optimizers.base import Optimizer as NativeOptimizer

_CLASSES = {
    "adadelta": descent.Adadelta,
    "adagrad": descent.Adagrad,
    "adam": adaptive.Adam,
    "adamax": adaptive.Adamax,
    "nadam": adaptive.Nadam,
    "rmsprop": descent.RMSprop,
    "sgd": descent.SGD,
    "ftrl": descent.Ftrl,
}


def serialize(optimizer: Any) -> Any:
    """An optimizer's class and arguments."""
    return serialize_keras_object(optimizer)


def deserialize(config: Any, custom_objects: Any = None) -> Any:
    """The optimizer that `serialize` described."""
    if config["class_name"].lower() in _CLASSES:
        config = config | {"class_name": config["class_name"].lower()}
    return deserialize_keras_object(config, _CLASSES, custom_objects, "optimizer")


def get(identifier: Any) -> Any:
    """An optimizer from itself, its name or its configuration."""
    if isinstance(identifier, Optimizer | TFOptimizer):
        return identifier
    if isinstance(identifier, NativeOptimizer):
        return TFOptimizer(identifier)
    if isinstance(identifier, dict):
        return deserialize(identifier)
    if isinstance(identifier, str):
        return deserialize({"class_name": str(identifier), "config": {}})
    if hasattr(identifier, "get_updates"):
        return identifier
    raise ValueError(f"Could not interpret optimizer identifier: {identifier}")
