"""What a model is, without its weights: configurations, JSON, YAML; and how it was compiled."""

from __future__ import annotations

import importlib
import json
from typing import Any

from headrace.core import log
from headrace.keras.layers import serialization
from headrace.keras.losses import classes as losses
from headrace.keras.metrics import named as metrics
from headrace.keras.optimizers import named as optimizers
from headrace.keras.optimizers.native import TFOptimizer
from headrace.layers.engine.registry import serialize_keras_object

VERSION = "2.2.4-tf"


def metadata(model: Any, include_optimizer: bool = True) -> dict[str, Any]:
    """Versions, architecture, and how the model was compiled."""
    config = {"class_name": type(model).__name__, "config": model.get_config()}
    found: dict[str, Any] = {"keras_version": VERSION, "backend": "tensorflow", "model_config": config}
    if not (model.optimizer and include_optimizer):
        return found
    if isinstance(model.optimizer, TFOptimizer):
        log.warning(
            "TensorFlow optimizers do not make it possible to access optimizer attributes or optimizer "
            "state after "
            "instantiation. As a result, we cannot save the optimizer as part of the model save file. You "
            "will have "
            "to compile your model again after loading it. Prefer using a Keras optimizer instead (see "
            "keras.io/optimizers)."
        )
        return found
    given = model._training.given
    found["training_config"] = {
        "loss": _plain(model.loss),
        "metrics": _plain(given["metrics"] or []),
        "weighted_metrics": _plain(given["weighted_metrics"]),
        "sample_weight_mode": given["sample_weight_mode"],
        "loss_weights": given["loss_weights"],
        "optimizer_config": serialize_keras_object(model.optimizer),
    }
    return found


def _plain(value: Any) -> Any:
    """Losses and metrics as names and configurations."""
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    return value if value is None or isinstance(value, str | int | float) else serialize_keras_object(value)


def training_arguments(config: dict[str, Any], custom_objects: Any = None) -> dict[str, Any]:
    """The arguments of `compile` from what `metadata` kept."""
    custom = custom_objects or {}

    def made(kept: Any, deserialize: Any) -> Any:
        if isinstance(kept, dict) and "class_name" in kept:
            return deserialize(kept, custom)
        if isinstance(kept, dict):
            return {k: made(v, deserialize) for k, v in kept.items()}
        if isinstance(kept, list):
            return [made(v, deserialize) for v in kept]
        return custom.get(kept, kept) if isinstance(kept, str) else kept

    return {
        "optimizer": optimizers.deserialize(config["optimizer_config"], custom_objects=custom),
        "loss": made(config["loss"], losses.deserialize) or None,
        "metrics": made(config["metrics"], metrics.deserialize),
        "weighted_metrics": made(config.get("weighted_metrics"), metrics.deserialize),
        "sample_weight_mode": config["sample_weight_mode"],
        "loss_weights": config["loss_weights"],
    }


def model_config(model: Any) -> dict[str, Any]:
    """Class and configuration of a model, with the version."""
    return {
        "class_name": type(model).__name__,
        "config": model.get_config(),
        "keras_version": VERSION,
        "backend": "tensorflow",
    }


def from_config(config: Any, custom_objects: Any = None) -> Any:
    """The model of a configuration."""
    if isinstance(config, list):
        raise TypeError(
            "`model_from_config` expects a dictionary, not a list. Maybe you meant to use "
            "`Sequential.from_config(config)`?"
        )
    return serialization.deserialize(config, custom_objects=custom_objects)


model_from_config = from_config


def model_from_json(json_string: str, custom_objects: Any = None) -> Any:
    """The model that `to_json` described."""
    return from_config(json.loads(json_string), custom_objects)


def yaml(what: str) -> Any:
    """PyYAML, or an error that says what needs it."""
    try:
        return importlib.import_module("yaml")
    except ImportError:
        raise ImportError(f"Requires yaml module installed ({what}): `pip install pyyaml`.") from None


def model_from_yaml(yaml_string: str, custom_objects: Any = None) -> Any:
    """The model that `to_yaml` described."""
    library = yaml("model_from_yaml")
    return from_config(library.load(yaml_string, Loader=library.SafeLoader), custom_objects)
