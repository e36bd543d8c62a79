"""tf.layers: Dense, Dropout, Flatten, and their functions."""

from __future__ import annotations

from typing import Any

from headrace.core.families import arguments_of
from headrace.layers.engine.base import Layer
from headrace.layers.engine.functional import function_of
from headrace.layers.keras import core
from headrace.variables.initializers.initializers import Zeros


@arguments_of(core.Dense, kernel_initializer=None, bias_initializer=Zeros(), trainable=True, name=None)
class Dense(core.Dense, Layer):
    """activation(inputs · kernel + bias), over the last dimension.

    Args:
      units: size of the last dimension of the output.
      activation: function of the output.
      use_bias: add a bias?
      kernel_initializer: default that of the variable scope, else Glorot's.
      bias_initializer: an initializer.
      kernel_regularizer, bias_regularizer: functions from a variable to a loss.
      activity_regularizer: function from the output to a loss.
      kernel_constraint, bias_constraint: functions that optimizers apply to the new value.
      trainable: are the variables to be trained?
      name: name of the variable scope.
      **kwargs: as of Layer.

    Example:
      >>> x = tf.placeholder(tf.float32, [None, 784])
      >>> hidden = tf.layers.Dense(128, tf.nn.relu)(x)
    """


@arguments_of(core.Dropout, rate=0.5, name=None)
class Dropout(core.Dropout, Layer):
    """In training, elements set to 0 at random and the others scaled up; else the inputs.

    Args:
      rate: how likely an element is dropped.
      noise_shape: shape of what is drawn; None stands for the size of the inputs.
      seed: seed of the op.
      name: name of the layer.
      **kwargs: as of Layer.
    """

    def call(self, inputs: Any, training: Any = False) -> Any:  # type: ignore[override]
        return super().call(inputs, training=training)


class Flatten(core.Flatten, Layer):
    """Everything but the batch in one dimension.

    Args:
      data_format: channels_last, or channels_first: channels are put last, then flattened.
      **kwargs: as of Layer.
    """


dense = function_of(Dense, "dense")


dropout = function_of(
    Dropout,
    "dropout",
    shares=False,
    order="inputs rate noise_shape seed training name",
    training=False,
    doc="""In training, elements set to 0 at random and the others scaled up; else the inputs.

    Args:
      inputs: a tensor of floats.
      rate: how likely an element is dropped.
      noise_shape: shape of what is drawn; None stands for the size of the inputs.
      seed: seed of the op.
      training: a boolean, or a tensor.
      name: name of the layer.
    """,
)


def flatten(inputs: Any, name: Any = None, data_format: str = "channels_last") -> Any:
    """Everything but the batch in one dimension.

    Args:
      inputs: a tensor.
      name: name of the layer.
      data_format: channels_last, or channels_first: channels are put last, then flattened.
    """
    return Flatten(name=name, data_format=data_format)(inputs)
