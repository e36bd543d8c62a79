"""Cross entropy of lists of steps: tf.contrib.legacy_seq2seq.sequence_loss, sequence_loss_by_example."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.functions.array.array import reshape, shape
from headrace.functions.math.cast import cast
from headrace.functions.math.reduce import reduce_sum
from headrace.functions.math.sums import add_n
from headrace.functions.nn.softmax import sparse_softmax_cross_entropy_with_logits
from headrace.functions.values.structure import name_scope
from headrace.graph.tensor import Tensor


def sequence_loss_by_example(
    logits: Any,
    targets: Any,
    weights: Any,
    average_across_timesteps: bool = True,
    softmax_loss_function: Callable[..., Any] | None = None,
    name: str | None = None,
) -> Any:
    """The weighted cross entropy of each member of the batch, over the steps.

    Args:
      logits: a list of [batch, symbols], one for each step.
      targets: a list of [batch] of symbols.
      weights: a list of [batch]; zeros hide padding.
      average_across_timesteps: divide a member's sum by the sum of its weights.
      softmax_loss_function: (labels=, logits=) -> losses, instead of the softmax cross entropy.
      name: of the scope.

    Returns: [batch].

    Raises:
      ValueError: the lists have different lengths.
    """
    if len(targets) != len(logits) or len(weights) != len(logits):
        raise ValueError(
            "Lengths of logits, weights, and targets must be the same "
            f"{len(logits)}, {len(weights)}, {len(targets)}."
        )
    entropy = softmax_loss_function or _cross_entropy
    with name_scope(name, "sequence_loss_by_example", [*logits, *targets, *weights]):
        losses: Any = add_n(
            [
                entropy(labels=target, logits=logit) * weight
                for logit, target, weight in zip(logits, targets, weights)
            ]
        )
        if average_across_timesteps:
            # Where all weights are zero so are the losses, and 0 / 1e-12 is a number.
            losses /= add_n(weights) + 1e-12
    return losses


def _cross_entropy(*, labels: Any, logits: Any) -> Tensor:
    """The softmax cross entropy; a batch of one may come as a scalar."""
    return sparse_softmax_cross_entropy_with_logits(labels=reshape(labels, [-1]), logits=logits)


def sequence_loss(
    logits: Any,
    targets: Any,
    weights: Any,
    average_across_timesteps: bool = True,
    average_across_batch: bool = True,
    softmax_loss_function: Callable[..., Any] | None = None,
    name: str | None = None,
) -> Any:
    """The sum of sequence_loss_by_example over the batch, or its mean.

    Args:
      average_across_batch: divide by the size of the batch.
      logits, targets, weights, average_across_timesteps, softmax_loss_function, name: as there.

    Returns: a scalar.

    Raises:
      ValueError: the lists have different lengths.
    """
    with name_scope(name, "sequence_loss", [*logits, *targets, *weights]):
        loss = reduce_sum(
            sequence_loss_by_example(
                logits,
                targets,
                weights,
                average_across_timesteps=average_across_timesteps,
                softmax_loss_function=softmax_loss_function,
            )
        )
        return loss / cast(shape(targets[0])[0], loss.dtype) if average_across_batch else loss
