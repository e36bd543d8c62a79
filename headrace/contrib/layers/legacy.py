"""tf.contrib.layers: the first form of fully connected layers."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from headrace.contrib.layers.initializers import xavier_initializer
from headrace.functions.array.array import reshape, shape
from headrace.functions.array.stacking import stack, unstack
from headrace.functions.linalg.linalg import matmul
from headrace.functions.nn.activation import bias_add
from headrace.graph.defaults import get_default_graph
from headrace.graph.keys import GraphKeys
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.nn.activation import relu
from headrace.variables.initializers.initializers import Zeros
from headrace.variables.scope import get_variable, variable_scope


def legacy_fully_connected(
    x: Any,
    num_output_units: int,
    activation_fn: Callable[..., Any] | None = None,
    weight_init: Any = xavier_initializer(),
    bias_init: Any = Zeros(),
    name: str | None = None,
    weight_collections: Any = (GraphKeys.WEIGHTS,),
    bias_collections: Any = (GraphKeys.BIASES,),
    output_collections: Any = (GraphKeys.ACTIVATIONS,),
    trainable: bool = True,
    weight_regularizer: Any = None,
    bias_regularizer: Callable[..., Any] | None = None,
) -> Any:
    """activation(x · weights + bias), over the last dimension.

    Args:
      x: a tensor of rank 2 or more.
      num_output_units: size of the last dimension of the result.
      activation_fn: function of the result.
      weight_init, bias_init: initializers; None for no bias.
      name: name of the variable scope.
      weight_collections, bias_collections, output_collections: where they are added.
      trainable: are the variables to be trained?
      weight_regularizer, bias_regularizer: functions from a variable to a loss.

    Raises:
      ValueError: the rank is below 2, or the last size is unknown.
    """
    with variable_scope(name, "fully_connected", [x]):
        x = convert_to_tensor(x)
        rank = x.shape.ndims
        if rank is None:
            raise ValueError("dims of x must be known but is None")
        if rank < 2:
            raise ValueError(f"rank of x must be at least 2 not: {rank}")
        sizes = x.shape.as_list()
        if sizes[-1] is None:
            raise ValueError("last dimension of x must be known but is None")

        def make(role: str, size: Any, initializer: Any, keys: Any, regularizer: Any) -> Any:
            return get_variable(
                role,
                shape=size,
                dtype=x.dtype.base_dtype,
                initializer=initializer,
                collections=list(dict.fromkeys([*(keys or ()), GraphKeys.GLOBAL_VARIABLES])),
                regularizer=regularizer,
                trainable=trainable,
            )

        size = [sizes[-1], num_output_units]
        weights = make("weights", size, weight_init, weight_collections, weight_regularizer)
        y = matmul(x if rank == 2 else reshape(x, [-1, sizes[-1]]), weights)
        if bias_init is not None:
            bias = make("bias", size[1:], bias_init, bias_collections, bias_regularizer)
            y = bias_add(y, bias)
        if rank > 2:
            y = reshape(y, stack([*unstack(shape(x))[:-1], num_output_units]))
            y.set_shape([*sizes[:-1], num_output_units])
        if activation_fn is not None:
            y = activation_fn(y)
        keys = [*(output_collections or ()), GraphKeys.ACTIVATIONS]
        get_default_graph().add_to_collections(keys, y)
        return y


legacy_relu = functools.partial(legacy_fully_connected, activation_fn=relu)
legacy_linear = functools.partial(legacy_fully_connected, activation_fn=None)
