"""tf.layers: batch normalisation, and its function."""

from __future__ import annotations

from typing import Any

from headrace.core.families import arguments_of
from headrace.layers.engine.base import Layer
from headrace.layers.engine.functional import function_of
from headrace.layers.keras import normalization
from headrace.variables.initializers.initializers import Ones, Zeros


@arguments_of(
    normalization.BatchNormalization,
    beta_initializer=Zeros(),
    gamma_initializer=Ones(),
    moving_mean_initializer=Zeros(),
    moving_variance_initializer=Ones(),
)
class BatchNormalization(normalization.BatchNormalization, Layer):
    """(x - mean) / sqrt(variance + epsilon) · gamma + beta, with moments over the batch in training
    and moving averages of them otherwise.  The updates of the averages are in
    `GraphKeys.UPDATE_OPS`, to be run with the training op.

    Args:
      axis: the axis or axes with statistics of their own, usually the channels.
      momentum: how much of a moving average is kept at an update.
      epsilon: is added to the variance.
      center: add beta?
      scale: multiply by gamma?
      beta_initializer, gamma_initializer, moving_mean_initializer, moving_variance_initializer:
        initializers.
      beta_regularizer, gamma_regularizer: functions from a variable to a loss.
      beta_constraint, gamma_constraint: functions that optimizers apply to the new value.
      renorm: batch renormalisation (Ioffe 2017)?
      renorm_clipping: dictionary with limits `rmax`, `rmin`, `dmax` of its corrections.
      renorm_momentum: as `momentum`, for the averages that it uses in training.
      fused: one op for all where possible; None is the same, False never.
      trainable: are gamma and beta to be trained?
      virtual_batch_size: normalise parts of this size separately.
      adjustment: function of the shape that returns (scale, bias), applied in training.
      name: name of the variable scope.
      **kwargs: as of Layer.
    """

    def call(self, inputs: Any, training: Any = False) -> Any:  # type: ignore[override]
        return super().call(inputs, training=training)


batch_normalization = function_of(
    BatchNormalization,
    "batch_normalization",
    order="inputs axis momentum epsilon center scale beta_initializer gamma_initializer "
    "moving_mean_initializer moving_variance_initializer beta_regularizer gamma_regularizer beta_constraint "
    "gamma_constraint training trainable name reuse renorm renorm_clipping renorm_momentum fused "
    "virtual_batch_size adjustment",
    training=False,
    doc="""Apply a new `BatchNormalization` layer to `inputs`.

    Args:
      inputs: a tensor.
      training: normalise with the batch's moments and update the averages?  A boolean or a tensor.
      reuse: take the variables of the layer of this name.
      axis, momentum, ...: as of the layer.

    Example:
      >>> x = tf.layers.batch_normalization(x, training=True)
      >>> with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
      ...     train = optimizer.minimize(loss)
    """,
)
