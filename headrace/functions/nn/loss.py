"""Losses per element: sigmoid cross entropies, log Poisson; and how often a target is among the best."""

from __future__ import annotations

import math
from typing import Any

from headrace.functions.array.array import ones_like, zeros_like
from headrace.functions.array.indexing import where
from headrace.functions.nn.softmax import check_named
from headrace.functions.values.old_names import renamed
from headrace.functions.values.structure import name_scope
from headrace.graph.tensor import Tensor
from headrace.ops.array.constant import constant
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.math import arithmetic, exponential, logical
from headrace.ops.nn import activation
from headrace.ops.nn import in_top_k as ops


def _alike(logits: Any, labels: Any) -> tuple[Any, Any]:
    """Both as tensors; their shapes must agree."""
    logits = convert_to_tensor(logits, name="logits")
    labels = convert_to_tensor(labels, name="labels")
    if not labels.shape.is_compatible_with(logits.shape):
        raise ValueError(f"logits and labels must have the same shape ({logits.shape} vs {labels.shape})")
    return logits, labels


def sigmoid_cross_entropy_with_logits(
    _sentinel: Any = None, labels: Any = None, logits: Any = None, name: str | None = None
) -> Tensor:
    """The cross entropy of sigmoid(logits) with labels, element by element.

    Args:
      _sentinel: takes no value: labels and logits are given by name.
      labels: floats, 0 to 1.
      logits: floats of that shape.
      name: name of the scope.

    Returns:
      max(x, 0) - x * z + log(1 + exp(-abs(x))) for logits x and labels z.

    Raises:
      ValueError: the shapes differ.
    """
    check_named("sigmoid_cross_entropy_with_logits", _sentinel, labels, logits)
    with name_scope(name, "logistic_loss", [logits, labels]) as scope:
        logits, labels = _alike(logits, labels)
        zeros = zeros_like(logits, dtype=logits.dtype)
        positive = logits >= zeros
        above = where(positive, logits, zeros)
        below = where(positive, -logits, logits)  # minus the absolute value, with its gradient at 0
        return arithmetic.add(above - logits * labels, exponential.log1p(exponential.exp(below)), name=scope)


def weighted_cross_entropy_with_logits(
    labels: Any = None,
    logits: Any = None,
    pos_weight: Any = None,
    name: str | None = None,
    targets: Any = None,
) -> Tensor:
    """`sigmoid_cross_entropy_with_logits` with a weight for positive labels.

    Args:
      labels: floats, 0 to 1.
      logits: floats of that shape.
      pos_weight: what a positive label counts; above 1 for more recall, below 1 for precision.
      name: name of the scope.
      targets: old name of `labels`.

    Raises:
      ValueError: the shapes differ.
    """
    labels = renamed("labels", labels, "targets", targets)
    with name_scope(name, "logistic_loss", [logits, labels]) as scope:
        logits, labels = _alike(logits, labels)
        weight = 1 + (pos_weight - 1) * labels
        return arithmetic.add(
            (1 - labels) * logits,
            weight
            * (exponential.log1p(exponential.exp(-arithmetic.abs_(logits))) + activation.relu(-logits)),
            name=scope,
        )


def log_poisson_loss(
    targets: Any, log_input: Any, compute_full_loss: bool = False, name: str | None = None
) -> Tensor:
    """The negative log likelihood of counts under a Poisson distribution with rate exp(log_input).

    Args:
      targets: the counts, floats.
      log_input: logarithms of the rates.
      compute_full_loss: add the term that depends on the targets alone (Stirling's formula).
      name: name of the scope.

    Raises:
      ValueError: the shapes differ.
    """
    with name_scope(name, "log_poisson_loss", [log_input, targets]):
        log_input = convert_to_tensor(log_input, name="log_input")
        targets = convert_to_tensor(targets, name="targets")
        if not targets.shape.is_compatible_with(log_input.shape):
            raise ValueError(
                f"log_input and targets must have the same shape ({log_input.shape} vs {targets.shape})"
            )
        result: Any = exponential.exp(log_input) - log_input * targets
        if compute_full_loss:
            half = constant(0.5, dtype=targets.dtype)
            turn = constant(2 * math.pi, dtype=targets.dtype)
            stirling = targets * exponential.log(targets) - targets + half * exponential.log(turn * targets)
            zeros, ones = zeros_like(targets), ones_like(targets)
            small = logical.logical_and(targets >= zeros, targets <= ones)
            result += where(small, zeros, stirling)
        found: Tensor = result
        return found


def in_top_k(predictions: Any, targets: Any, k: Any, name: str | None = None) -> Tensor:
    """Is the target class among the k best predictions?

    Args:
      predictions: float32 [batch, classes].
      targets: classes, int32 or int64 [batch].
      k: how many are best.
      name: name of the node.

    Returns:
      bool [batch].  Ties count as in; False where a prediction is not finite.
    """
    with name_scope(name, "in_top_k"):
        return ops.in_top_k_v2(predictions, targets, k, name=name)
