"""Cross entropies, of probabilities or logits.  Where probabilities were just made of logits, those are used:
they lose nothing."""

from __future__ import annotations

import builtins
from typing import Any

from headrace.layers import ops
from headrace.layers.engine.config import epsilon
from headrace.layers.engine.model_graph import home_of
from headrace.ops.math.exponential import sigmoid
from headrace.ops.nn.softmax import softmax


def _logits(output: Any, made_by: Any) -> Any:
    """What probabilities were made of by this op, if that is known."""
    if isinstance(output, ops.Variable) or output.graph.runs_at_once or output.op.declaration is not made_by:
        return None
    return output.op.inputs[0]


def _bounded(output: Any) -> Any:
    small = ops.constant(epsilon(), output.dtype.base_dtype)
    return ops.clip_by_value(output, small, 1.0 - small)


def categorical_crossentropy(target: Any, output: Any, from_logits: bool = False, axis: int = -1) -> Any:
    """Cross entropy between distributions.

    Args:
      target: probabilities.
      output: predicted probabilities, or logits.
      from_logits: are they logits?
      axis: where the classes stand.
    """
    if not from_logits:
        logits = _logits(output, softmax)
        if logits is None:
            output = _bounded(output / ops.reduce_sum(output, axis, True))
            return -ops.reduce_sum(target * ops.log(output), axis)
        output = logits
    return ops.softmax_cross_entropy_with_logits_v2(labels=target, logits=output, axis=axis)


def sparse_categorical_crossentropy(
    target: Any, output: Any, from_logits: bool = False, axis: int = -1
) -> Any:
    """Cross entropy, with classes given by number.

    Args:
      target: numbers of classes.
      output: predicted probabilities, or logits.
      from_logits: are they logits?
      axis: where the classes stand.
    """
    if not from_logits:
        logits = _logits(output, softmax)
        output = ops.log(_bounded(output)) if logits is None else logits
    rank = output.shape.ndims
    if rank is not None:
        axis %= rank
        if axis != rank - 1:
            others = [i for i in builtins.range(rank) if i != axis]
            output = ops.transpose(output, [*others, axis])
    elif axis != -1:
        raise ValueError(
            f"Cannot compute sparse categorical crossentropy with `axis={axis}` on an output tensor with "
            "unknown rank"
        )
    target = ops.cast(target, "int64")
    shape = ops.shape(output)
    apart = None not in (target.shape.ndims, rank) and target.shape.ndims != rank - 1
    if apart:
        target = ops.reshape(target, [-1])
        output = ops.reshape(output, [-1, shape[-1]])
    with home_of(target, output):
        losses = ops.sparse_softmax_cross_entropy_with_logits(labels=target, logits=output)
    return ops.reshape(losses, shape[:-1]) if apart and rank >= 3 else losses


def binary_crossentropy(target: Any, output: Any, from_logits: bool = False) -> Any:
    """Cross entropy of yes and no, element by element.

    Args:
      target: 0 or 1.
      output: predicted probabilities, or logits.
      from_logits: are they logits?
    """
    if not from_logits:
        logits = _logits(output, sigmoid)
        if logits is None:
            output = _bounded(output)
            found = target * ops.log(output + epsilon())
            return -(found + (1 - target) * ops.log(1 - output + epsilon()))
        output = logits
    return ops.sigmoid_cross_entropy_with_logits(labels=target, logits=output)
