"""Initializers, regularizers, constraints and activations that are given by name ("relu") or value."""

from __future__ import annotations

import importlib
import inspect
from typing import Any

from headrace.functions.math.clip import clip_by_value

# name: (module, attribute, arguments that Keras fixes)
_INITIALIZERS: dict[str, tuple[str, dict[str, Any]]] = {
    "zeros": ("Zeros", {}),
    "ones": ("Ones", {}),
    "constant": ("Constant", {}),
    "random_uniform": ("RandomUniform", {"minval": -0.05, "maxval": 0.05}),
    "random_normal": ("RandomNormal", {"stddev": 0.05}),
    "truncated_normal": ("TruncatedNormal", {"stddev": 0.05}),
    "identity": ("Identity", {}),
    "orthogonal": ("Orthogonal", {}),
    "variance_scaling": ("VarianceScaling", {}),
    "glorot_uniform": ("GlorotUniform", {}),
    "glorot_normal": ("GlorotNormal", {}),
    "lecun_uniform": ("lecun_uniform", {}),
    "lecun_normal": ("lecun_normal", {}),
    "he_uniform": ("he_uniform", {}),
    "he_normal": ("he_normal", {}),
}
_SAME = {
    "zero": "zeros", "one": "ones", "uniform": "random_uniform", "normal": "random_normal",
    "Zeros": "zeros", "Ones": "ones", "Constant": "constant", "RandomUniform": "random_uniform",
    "RandomNormal": "random_normal", "TruncatedNormal": "truncated_normal",
    "Identity": "identity", "Orthogonal": "orthogonal", "VarianceScaling": "variance_scaling",
    "GlorotUniform": "glorot_uniform", "GlorotNormal": "glorot_normal",
    "glorot_uniform_v2": "glorot_uniform",
}  # fmt: skip
_ACTIVATIONS = {
    "relu": "headrace.ops.nn.activation",
    "elu": "headrace.ops.nn.activation",
    "selu": "headrace.ops.nn.activation",
    "softplus": "headrace.ops.nn.activation",
    "softsign": "headrace.ops.nn.activation",
    "tanh": "headrace.functions.math.elementwise",
    "sigmoid": "headrace.functions.math.math",
    "exp": "headrace.ops.math.exponential",
    "softmax": "headrace.functions.nn.softmax",
}


def get_initializer(identifier: Any) -> Any:
    """An initializer from itself, its class, its name, or a configuration; None stays None."""
    if isinstance(identifier, dict):
        return _named_initializer(identifier["class_name"], identifier.get("config", {}))
    if isinstance(identifier, str):
        return _named_initializer(identifier, {})
    return identifier() if inspect.isclass(identifier) else identifier


def _named_initializer(name: str, config: dict[str, Any]) -> Any:
    known = _INITIALIZERS.get(_SAME.get(name, name))
    if known is None:
        raise ValueError(f"Unknown initializer: {name}")
    attribute, fixed = known
    home = "orthogonal" if attribute == "Orthogonal" else "initializers"
    make = getattr(importlib.import_module(f"headrace.variables.initializers.{home}"), attribute)
    return make(**(fixed | config))


def get_activation(identifier: Any) -> Any:
    """A function of a tensor, by itself or by name; the identity for None."""
    if identifier is None or identifier == "linear":
        return linear
    if callable(identifier):
        return identifier
    if identifier == "hard_sigmoid":
        return hard_sigmoid
    if identifier not in _ACTIVATIONS:
        raise ValueError(f"Unknown activation function:{identifier}")
    return getattr(importlib.import_module(_ACTIVATIONS[identifier]), identifier)


def get_regularizer(identifier: Any) -> Any:
    """A function from a variable to a loss, or None."""
    return _function(identifier, "regularizer")


def get_constraint(identifier: Any) -> Any:
    """A function from a new value to one that is allowed, or None."""
    return _function(identifier, "constraint")


def _function(identifier: Any, kind: str) -> Any:
    if identifier is None or callable(identifier):
        return identifier
    raise ValueError(f"Could not interpret {kind} identifier: {identifier}")


def serialize(x: Any) -> Any:
    """What `get_...` makes `x` from again: a name, or class and arguments."""
    if x is None or not hasattr(x, "get_config"):
        return getattr(x, "__name__", x)
    return {"class_name": type(x).__name__, "config": x.get_config()}


def linear(x: Any) -> Any:
    """`x` itself."""
    return x


def hard_sigmoid(x: Any) -> Any:
    """x / 5 + 1 / 2, cut at 0 and 1."""
    return clip_by_value(x * 0.2 + 0.5, 0.0, 1.0)
