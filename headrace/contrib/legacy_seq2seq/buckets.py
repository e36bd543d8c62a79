"""One model for sequences of several lengths: tf.contrib.legacy_seq2seq.model_with_buckets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.contrib.legacy_seq2seq.losses import sequence_loss, sequence_loss_by_example
from headrace.functions.values.structure import name_scope
from headrace.variables.scope import get_variable_scope, variable_scope


def model_with_buckets(
    encoder_inputs: Any,
    decoder_inputs: Any,
    targets: Any,
    weights: Any,
    buckets: Any,
    seq2seq: Callable[[Any, Any], Any],
    softmax_loss_function: Callable[..., Any] | None = None,
    per_example_loss: bool = False,
    name: str | None = None,
) -> tuple[list[Any], list[Any]]:
    """A model unrolled once for each bucket, over the first steps of the same inputs; all share the
    variables of the first.

    Args:
      encoder_inputs: a list with one tensor for every step that is read.
      decoder_inputs: a list with one tensor for every step that is written.
      targets: a list of [batch] of symbols.
      weights: a list of [batch]; zeros hide padding.
      buckets: pairs (steps to read, steps to write); the last is the largest.
      seq2seq: (encoder inputs, decoder inputs) -> (outputs, state).
      softmax_loss_function: (labels=, logits=) -> losses, instead of the softmax cross entropy.
      per_example_loss: a loss for each member of the batch; else their mean.
      name: of the scope.

    Returns: for each bucket the list of outputs, and for each bucket the loss.

    Raises:
      ValueError: inputs, targets or weights have fewer steps than the last bucket.

    Example:
      >>> outputs, losses = model_with_buckets(
      ...     read, written, targets, weights, [(5, 10), (20, 25)],
      ...     lambda x, y: basic_rnn_seq2seq(x, y, tf.nn.rnn_cell.GRUCell(24)))
    """
    most_read, most_written = buckets[-1]
    for given, steps, word in (
        (encoder_inputs, most_read, "encoder_inputs"),
        (targets, most_written, "targets"),
        (weights, most_written, "weights"),
    ):
        if len(given) < steps:
            raise ValueError(
                f"Length of {word} ({len(given)}) must be at least that of last bucket ({steps})."
            )
    loss_of = sequence_loss_by_example if per_example_loss else sequence_loss
    outputs, losses = [], []
    everything = [*encoder_inputs, *decoder_inputs, *targets, *weights]
    with name_scope(name, "model_with_buckets", everything):
        for i, (read, written) in enumerate(buckets):
            with variable_scope(get_variable_scope(), reuse=True if i else None):
                found, _ = seq2seq(encoder_inputs[:read], decoder_inputs[:written])
                loss = loss_of(
                    found, targets[:written], weights[:written], softmax_loss_function=softmax_loss_function
                )
            outputs.append(found)
            losses.append(loss)
    return outputs, losses
