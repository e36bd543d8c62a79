"""Cross entropy of sequences: tf.contrib.seq2seq.sequence_loss."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.functions.array.array import reshape, shape
from headrace.functions.math.cast import cast
from headrace.functions.math.math import div_no_nan
from headrace.functions.math.reduce import count_nonzero, reduce_sum
from headrace.functions.nn.softmax import sparse_softmax_cross_entropy_with_logits
from headrace.functions.values.structure import name_scope
from headrace.graph.tensor import Tensor


def sequence_loss(
    logits: Any,
    targets: Any,
    weights: Any,
    average_across_timesteps: bool = True,
    average_across_batch: bool = True,
    sum_over_timesteps: bool = False,
    sum_over_batch: bool = False,
    softmax_loss_function: Callable[..., Any] | None = None,
    name: str | None = None,
) -> Tensor:
    """The weighted cross entropy of each target, averaged as asked.

    An axis that is averaged over is divided by the sum of its weights; an axis that is summed over,
    by the number of weights that are not zero.

    Args:
      logits: [batch, time, symbols].
      targets: [batch, time] of symbols.
      weights: [batch, time]; zeros hide padding.
      average_across_timesteps: average over time.
      average_across_batch: average over the batch.
      sum_over_timesteps: sum over time.
      sum_over_batch: sum over the batch.
      softmax_loss_function: (labels=, logits=) -> losses, instead of the softmax cross entropy.
      name: of the scope.

    Returns: a scalar, a vector, or [batch, time].

    Raises:
      ValueError: a rank is wrong, or an axis is to be both averaged and summed over.
    """
    if len(logits.shape) != 3:
        raise ValueError("Logits must be a [batch_size x sequence_length x logits] tensor")
    if len(targets.shape) != 2:
        raise ValueError("Targets must be a [batch_size x sequence_length] tensor")
    if len(weights.shape) != 2:
        raise ValueError("Weights must be a [batch_size x sequence_length] tensor")
    for average, total, word in (
        (average_across_timesteps, sum_over_timesteps, "timesteps"),
        (average_across_batch, sum_over_batch, "batch"),
    ):
        if average and total:
            raise ValueError(f"average_across_{word} and sum_over_{word} cannot be set to True at same time.")
    with name_scope(name, "sequence_loss", [logits, targets, weights]):
        sizes = shape(logits)
        entropy = softmax_loss_function or sparse_softmax_cross_entropy_with_logits
        losses = entropy(labels=reshape(targets, [-1]), logits=reshape(logits, [-1, sizes[2]]))
        losses = losses * reshape(weights, [-1])
        if average_across_timesteps and average_across_batch:
            return div_no_nan(reduce_sum(losses), reduce_sum(weights))
        if sum_over_timesteps and sum_over_batch:
            return div_no_nan(reduce_sum(losses), cast(count_nonzero(weights), losses.dtype))
        losses = reshape(losses, sizes[0:2])
        if average_across_timesteps or average_across_batch:
            axis = [0] if average_across_batch else [1]
            return div_no_nan(reduce_sum(losses, axis=axis), reduce_sum(weights, axis=axis))
        if sum_over_timesteps or sum_over_batch:
            axis = [0] if sum_over_batch else [1]
            count = cast(count_nonzero(weights, axis=axis), losses.dtype)
            return div_no_nan(reduce_sum(losses, axis=axis), count)
        return losses


class SequenceLoss:
    """sequence_loss as an object, called with targets, logits and weights.

    Args:
      average_across_timesteps: average over time.
      average_across_batch: average over the batch.
      sum_over_timesteps: sum over time.
      sum_over_batch: sum over the batch.
      softmax_loss_function: as of sequence_loss.
      name: of the scope.
    """

    def __init__(
        self,
        average_across_timesteps: bool = False,
        average_across_batch: bool = False,
        sum_over_timesteps: bool = True,
        sum_over_batch: bool = True,
        softmax_loss_function: Callable[..., Any] | None = None,
        name: str | None = None,
    ) -> None:
        self.average_across_timesteps = average_across_timesteps
        self.average_across_batch = average_across_batch
        self.sum_over_timesteps = sum_over_timesteps
        self.sum_over_batch = sum_over_batch
        self.softmax_loss_function = softmax_loss_function
        self.name = name

    def __call__(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Tensor:
        """The loss of logits `y_pred`, where `y_true` are the targets."""
        return sequence_loss(
            y_pred,
            y_true,
            sample_weight,
            average_across_timesteps=self.average_across_timesteps,
            average_across_batch=self.average_across_batch,
            sum_over_timesteps=self.sum_over_timesteps,
            sum_over_batch=self.sum_over_batch,
            softmax_loss_function=self.softmax_loss_function,
            name=self.name,
        )
