"""tf.contrib.layers: fully connected layers, dropout, flattening, and functions without variables."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any

from headrace.contrib.framework.arg_scope import add_arg_scope
from headrace.contrib.layers.layer_call import NAMES, applied, layer_scope, shared
from headrace.contrib.layers.named_outputs import collect_named_outputs, last_dimension
from headrace.core import dtypes
from headrace.core.families import takes
from headrace.functions.array.array import reshape, shape
from headrace.functions.array.indexing import one_hot
from headrace.functions.math.cast import cast
from headrace.functions.math.elementwise import sqrt, square
from headrace.functions.math.math import div
from headrace.functions.math.reduce import reduce_max, reduce_sum
from headrace.functions.nn.activation import relu6 as nn_relu6
from headrace.functions.nn.softmax import softmax as nn_softmax
from headrace.functions.values.structure import name_scope
from headrace.layers import core
from headrace.ops.array.tile import tile
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.nn import activation
from headrace.variables.scope import variable_scope
from headrace.variables.scope_defaults import VariableScope


@add_arg_scope
@takes(shared, first="inputs num_outputs")
def fully_connected(inputs: Any, num_outputs: int, scope: Any, **given: Any) -> Any:
    """activation(normalizer(inputs · weights)), or with biases in place of a normalizer.

    Args:
      inputs: a tensor of rank 2 or more.
      num_outputs: size of the last dimension of the result.
      activation_fn: function of the result; None for none.
      normalizer_fn, normalizer_params: function in place of biases, and its arguments.
      weights_initializer, biases_initializer: initializers; None for no biases.
      weights_regularizer, biases_regularizer: functions from a variable to a loss.
      reuse: take the variables of the scope that are there.
      variables_collections: where variables are added: a list, or a dictionary by role.
      outputs_collections: where the result is added.
      trainable: are the variables to be trained?
      scope: name of the variable scope.

    Raises:
      ValueError: `num_outputs` is not an integer.
    """
    if not isinstance(num_outputs, int):
        raise ValueError(f"num_outputs type should be one of {[int]}, got {type(num_outputs)}.")
    with layer_scope(scope, "fully_connected", inputs, given["reuse"], NAMES) as sc:
        return applied(core.Dense, [num_outputs], convert_to_tensor(inputs), sc, given)


relu = functools.partial(fully_connected, activation_fn=activation.relu)
relu6 = functools.partial(fully_connected, activation_fn=nn_relu6)
elu = functools.partial(fully_connected, activation_fn=activation.elu)
linear = functools.partial(fully_connected, activation_fn=None)


@add_arg_scope
def dropout(
    inputs: Any,
    keep_prob: Any = 0.5,
    noise_shape: Any = None,
    is_training: Any = True,
    outputs_collections: str | Iterable[str] | None = None,
    scope: str | VariableScope | None = None,
    seed: int | None = None,
) -> Any:
    """In training, elements set to 0 at random and the others scaled up; else the inputs.

    Args:
      keep_prob: how likely an element is kept.
      is_training: a boolean or a tensor.
      inputs, noise_shape, outputs_collections, scope, seed: as elsewhere.
    """
    with layer_scope(scope, "Dropout", inputs, None) as sc:
        layer = core.Dropout(1 - keep_prob, noise_shape, seed, name=sc.name, _scope=sc)
        outputs = layer(convert_to_tensor(inputs), training=is_training)
        return collect_named_outputs(outputs_collections, sc.name, outputs)


@add_arg_scope
def flatten(inputs: Any, outputs_collections: Any = None, scope: Any = None) -> Any:
    """Everything but the batch in one dimension."""
    with name_scope(scope, "Flatten", [inputs]) as sc:
        outputs = core.flatten(convert_to_tensor(inputs))
        return collect_named_outputs(outputs_collections, sc, outputs)


@add_arg_scope
def one_hot_encoding(
    labels: Any,
    num_classes: Any,
    on_value: float = 1.0,
    off_value: float = 0.0,
    outputs_collections: Any = None,
    scope: Any = None,
) -> Any:
    """`on_value` at the place of each label, `off_value` elsewhere."""
    with name_scope(scope, "OneHotEncoding", [labels, num_classes]) as sc:
        labels = convert_to_tensor(labels)
        if labels.dtype == dtypes.int32:
            labels = cast(labels, dtypes.int64)
        outputs = one_hot(labels, num_classes, on_value=on_value, off_value=off_value)
        return collect_named_outputs(outputs_collections, sc, outputs)


@add_arg_scope
def softmax(logits: Any, scope: Any = None) -> Any:
    """Softmax over the last dimension."""
    with variable_scope(scope, "softmax", [logits]):
        rows = reshape(logits, [-1, last_dimension(logits.shape, min_rank=2)])
        predictions = reshape(nn_softmax(rows), shape(logits))
        predictions.set_shape(logits.shape)
        return predictions


@add_arg_scope
def unit_norm(inputs: Any, dim: int, epsilon: float = 1e-7, scope: Any = None) -> Any:
    """Vectors along `dim`, of length 1.

    Raises:
      ValueError: the rank is unknown, or `dim` is not below it.
    """
    with variable_scope(scope, "UnitNorm", [inputs]):
        rank = inputs.shape.ndims
        if not rank:
            raise ValueError("The input rank must be known.")
        if not 0 <= dim < rank:
            raise ValueError("dim must be positive but smaller than the input rank.")
        lengths = sqrt(epsilon + reduce_sum(square(inputs), dim, True))
        times = [shape(inputs)[i] if i == dim else 1 for i in range(rank)]
        return div(inputs, tile(lengths, times))


@add_arg_scope
def maxout(inputs: Any, num_units: int, axis: int = -1, scope: Any = None) -> Any:
    """The greatest of each group of features: `num_units` groups along `axis`.

    Raises:
      ValueError: the features cannot be cut into so many groups.
    """
    with variable_scope(scope, "MaxOut", [inputs]):
        inputs = convert_to_tensor(inputs)
        sizes: list[Any] = inputs.shape.as_list()
        channels = sizes[axis]
        if channels % num_units:
            raise ValueError(f"number of features({channels}) is not a multiple of num_units({num_units})")
        sizes[axis] = num_units
        known = [shape(inputs)[i] if size is None else size for i, size in enumerate(sizes)]
        return reduce_max(reshape(inputs, [*known, channels // num_units]), -1)
