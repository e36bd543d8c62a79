"""tf.contrib.layers: the same layer several times."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.ops.declaration.convert import convert_to_tensor
from headrace.variables.scope import variable_scope


def _scope_of(layer: Any, default: str) -> str:
    named = getattr(layer, "func", layer)  # a functools.partial has a func
    name: str = getattr(layer, "__name__", getattr(named, "__name__", default))
    return name


def repeat(inputs: Any, repetitions: int, layer: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """layer(layer(inputs)), and so on.

    Args:
      inputs: a tensor.
      repetitions: how often.
      layer: a function with an argument `scope`.
      *args, **kwargs: its other arguments; `scope` names the whole.

    Example:
      >>> net = repeat(net, 3, conv2d, 256, [3, 3], scope="conv3")   # conv3/conv3_1, ...
    """
    scope = kwargs.pop("scope", None)
    with variable_scope(scope, "Repeat", [inputs]):
        outputs = convert_to_tensor(inputs)
        name = _scope_of(layer, "repeat") if scope is None else scope
        for i in range(repetitions):
            outputs = layer(outputs, *args, **(kwargs | {"scope": f"{name}_{i + 1}"}))
        return outputs


def stack(inputs: Any, layer: Callable[..., Any], stack_args: Any, **kwargs: Any) -> Any:
    """The layer once for each entry of `stack_args`, with these arguments.

    Args:
      inputs: a tensor.
      layer: a function with an argument `scope`.
      stack_args: a list of arguments, or of lists of them.
      **kwargs: arguments for all; `scope` names the whole.

    Raises:
      ValueError: `stack_args` is no list.

    Example:
      >>> net = stack(net, fully_connected, [32, 64, 128], scope="fc")
    """
    scope = kwargs.pop("scope", None)
    if not isinstance(stack_args, list | tuple):
        raise ValueError("stack_args need to be a list or tuple")
    with variable_scope(scope, "Stack", [inputs]):
        outputs = convert_to_tensor(inputs)
        name = _scope_of(layer, "stack") if scope is None else scope
        for i, given in enumerate(stack_args):
            args = given if isinstance(given, list | tuple) else [given]
            outputs = layer(outputs, *args, **(kwargs | {"scope": f"{name}_{i + 1}"}))
        return outputs
