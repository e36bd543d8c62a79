"""A layer of tf.layers called as one of tf.contrib.layers: other names of variables, collections, a
normalizer and an activation behind it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from headrace.contrib.framework.variables import model_variable
from headrace.contrib.layers.initializers import xavier_initializer
from headrace.contrib.layers.named_outputs import collect_named_outputs, get_variable_collections
from headrace.graph.defaults import get_default_graph
from headrace.ops.nn.activation import relu
from headrace.variables.initializers.initializers import Zeros
from headrace.variables.partitioned import PartitionedVariable
from headrace.variables.scope import variable_scope
from headrace.variables.scope_defaults import VariableScope

NAMES = {"bias": "biases", "kernel": "weights"}


def shared(
    activation_fn: Any = relu,
    normalizer_fn: Callable[..., Any] | None = None,
    normalizer_params: Mapping[str, Any] | None = None,
    weights_initializer: Callable[..., Any] = xavier_initializer(),
    weights_regularizer: Callable[..., Any] | None = None,
    biases_initializer: Callable[..., Any] | None = Zeros(),
    biases_regularizer: Callable[..., Any] | None = None,
    reuse: Any = None,
    variables_collections: Iterable[str] | Mapping[str, Any] | None = None,
    outputs_collections: str | Iterable[str] | None = None,
    trainable: bool = True,
    scope: str | VariableScope | None = None,
) -> None:
    """The arguments that layers with weights and biases take after their own."""


def applied(layer_class: Any, sizes: Any, inputs: Any, sc: VariableScope, given: Any, **options: Any) -> Any:
    """A new layer with weights and biases applied to `inputs`.

    Args:
      layer_class: the layer of tf.layers.
      sizes: its arguments by position.
      inputs: a tensor.
      sc: the variable scope of the layer.
      given: the shared arguments.
      **options: its other arguments.
    """
    layer = layer_class(
        *sizes,
        use_bias=not given["normalizer_fn"] and given["biases_initializer"] is not None,
        kernel_initializer=given["weights_initializer"],
        bias_initializer=given["biases_initializer"],
        kernel_regularizer=given["weights_regularizer"],
        bias_regularizer=given["biases_regularizer"],
        trainable=given["trainable"],
        name=sc.name,
        dtype=inputs.dtype.base_dtype,
        _scope=sc,
        _reuse=given["reuse"],
        **options,
    )
    outputs = layer(inputs)
    add_to_collections(layer.kernel, given["variables_collections"], "weights")
    if layer.bias is not None:
        add_to_collections(layer.bias, given["variables_collections"], "biases")
    keys = ("outputs_collections", "activation_fn", "normalizer_fn", "normalizer_params")
    return finished(outputs, sc, *(given[key] for key in keys))


def model_variable_getter(rename: dict[str, str] | None = None) -> Callable[..., Any]:
    """A custom getter that makes model variables, some under other names."""

    def get(getter: Any, name: str, **kwargs: Any) -> Any:
        *scope, short = name.split("/")
        name = "/".join([*scope, (rename or {}).get(short, short)])
        for key in ("reuse", "validate_shape", "constraint"):
            kwargs.pop(key, None)
        return model_variable(name, custom_getter=getter, **kwargs)

    return get


@contextmanager
def layer_scope(
    scope: Any, default: str, inputs: Any, reuse: Any, rename: dict[str, str] | None = None
) -> Iterator[VariableScope]:
    """The variable scope of a layer, whose variables are model variables."""
    with variable_scope(
        scope, default, [inputs], reuse=reuse, custom_getter=model_variable_getter(rename)
    ) as found:
        yield found


def add_to_collections(variable: Any, variables_collections: Any, role: str) -> None:
    """Add a variable (or its parts) to the collections for its role, once."""
    graph = get_default_graph()
    parts = list(variable) if isinstance(variable, PartitionedVariable) else [variable]
    for key in get_variable_collections(variables_collections, role) or ():
        known = {id(x) for x in graph.get_collection(key)}
        for part in parts:
            if id(part) not in known:
                graph.add_to_collection(key, part)


def finished(
    outputs: Any,
    scope: VariableScope,
    outputs_collections: str | Iterable[str] | None,
    activation_fn: Callable[..., Any] | None,
    normalizer_fn: Callable[..., Any] | None = None,
    normalizer_params: Mapping[str, Any] | None = None,
) -> Any:
    """Outputs normalised, activated, and collected under the name of the scope."""
    if normalizer_fn is not None:
        outputs = normalizer_fn(outputs, **(normalizer_params or {}))
    if activation_fn is not None:
        outputs = activation_fn(outputs)
    return collect_named_outputs(outputs_collections, scope.name, outputs)
