"""Layers by name."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

from headrace.layers.engine.layer import Layer
from headrace.layers.engine.registry import Family, serialize_keras_object

_MODULES = (
    "headrace.layers.keras.core",
    "headrace.layers.keras.convolutional",
    "headrace.layers.keras.convolution_transpose",
    "headrace.layers.keras.separable",
    "headrace.layers.keras.pooling",
    "headrace.layers.keras.normalization",
    "headrace.keras.layers.shaping",
    "headrace.keras.layers.depthwise",
    "headrace.keras.layers.layer_normalization",
    "headrace.keras.layers.advanced_activations",
    "headrace.keras.layers.noise",
    "headrace.keras.layers.merge",
    "headrace.keras.layers.windows",
    "headrace.keras.layers.global_pooling",
    "headrace.keras.layers.local",
    "headrace.keras.layers.attention",
    "headrace.keras.layers.embeddings",
    "headrace.keras.layers.rnn",
    "headrace.keras.layers.stacked_cells",
    "headrace.keras.layers.cells",
    "headrace.keras.layers.recurrent",
    "headrace.keras.layers.wrappers",
    "headrace.layers.engine.op_layer",
    "headrace.keras.engine.added",
    "headrace.keras.engine.input_layer",
    "headrace.keras.engine.model",
    "headrace.keras.engine.sequential",
    "headrace.keras.engine.network",
)


def _layers() -> Mapping[str, Any]:
    found: dict[str, Any] = {}
    for name in _MODULES:
        for key, value in vars(importlib.import_module(name)).items():
            if isinstance(value, type) and issubclass(value, Layer):
                found[key] = value
    found["Functional"] = found["Model"]
    return found


_family = Family("layer", _layers)


def serialize(layer: Any) -> Any:
    """A layer's class and arguments."""
    return serialize_keras_object(layer)


def deserialize(config: Any, custom_objects: Any = None) -> Any:
    """The layer that `serialize` described."""
    return _family.deserialize(config, custom_objects)
