"""From losses per example to one: weights, ways to reduce."""

from __future__ import annotations

from typing import Any

from headrace.layers import ops
from headrace.layers.losses.weights_broadcast import broadcast_weights


class Reduction:
    """How losses per example become one."""

    AUTO = "auto"  # over the size of the batch
    NONE = "none"
    SUM = "sum"
    SUM_OVER_BATCH_SIZE = "sum_over_batch_size"

    @classmethod
    def all(cls) -> tuple[str, ...]:
        """All of them."""
        return (cls.AUTO, cls.NONE, cls.SUM, cls.SUM_OVER_BATCH_SIZE)

    @classmethod
    def validate(cls, key: str) -> None:
        """Refuse what is not one of them."""
        if key not in cls.all():
            raise ValueError(f"Invalid Reduction Key {key}.")


def reduced(losses: Any, reduction: str) -> Any:
    """One loss of weighted ones."""
    if reduction == Reduction.NONE:
        return losses
    total = ops.reduce_sum(losses)
    if reduction == Reduction.SUM:
        return total
    with ops.name_scope("num_elements") as scope:
        count = ops.cast(ops.size(losses, name=scope), losses.dtype)
    return ops.div_no_nan(total, count, name="value")


def compute_weighted_loss(
    losses: Any,
    sample_weight: Any = None,
    reduction: str = Reduction.SUM_OVER_BATCH_SIZE,
    name: str | None = None,
) -> Any:
    """Losses times weights, reduced."""
    Reduction.validate(reduction)
    if sample_weight is None:
        sample_weight = 1.0
    with ops.name_scope(name or "weighted_loss"):
        losses = ops.convert_to_tensor(losses)
        weighted = scaled(losses, sample_weight)
        return ops.cast(reduced(weighted, reduction), losses.dtype)


def scaled(losses: Any, sample_weight: Any) -> Any:
    """Losses times weights, which may lack the last dimension or have one too many."""
    losses = ops.cast(losses, ops.dtypes.float32)
    weights = ops.cast(sample_weight, ops.dtypes.float32)
    losses, _, weights = fitted(losses, None, weights)
    return losses * broadcast_weights(weights, losses)


def fitted(y_pred: Any, y_true: Any = None, sample_weight: Any = None) -> tuple[Any, Any, Any]:
    """(predictions, labels, weights), less or more by a last dimension of size 1 where they differ by it."""
    ranks = y_pred.shape.ndims, None if y_true is None else y_true.shape.ndims
    if y_true is not None:
        if None in ranks:
            y_pred, y_true = _fitted_at_run_time(y_pred, y_true)
        elif ranks[0] - ranks[1] != 1 or y_pred.shape.as_list()[-1] == 1:
            y_true, y_pred = squeezed(y_true, y_pred)
    if sample_weight is None:
        return y_pred, y_true, None
    weights = ops.convert_to_tensor(sample_weight)
    extra = weights.shape.ndims, y_pred.shape.ndims
    if extra[0] == 0:
        return y_pred, y_true, weights
    if None not in extra:
        if extra[0] - extra[1] == 1:
            weights = ops.squeeze(weights, [-1])
        elif extra[1] - extra[0] == 1:
            weights = ops.expand_dims(weights, -1)
        return y_pred, y_true, weights
    return y_pred, y_true, _weights_at_run_time(weights, y_pred)


def squeezed(labels: Any, predictions: Any) -> tuple[Any, Any]:
    """The one that has a last dimension more than the other, without it, if its size is 1."""
    more = predictions.shape.ndims - labels.shape.ndims
    if more == 1 and predictions.shape.as_list()[-1] in (1, None):
        predictions = ops.squeeze(predictions, [-1])
    elif more == -1 and labels.shape.as_list()[-1] in (1, None):
        labels = ops.squeeze(labels, [-1])
    return labels, predictions


def _fitted_at_run_time(y_pred: Any, y_true: Any) -> tuple[Any, Any]:
    more = ops.rank(y_pred) - ops.rank(y_true)
    last = ops.equal(1, ops.shape(y_pred)[-1])
    y_pred = ops.cond(
        ops.logical_and(ops.equal(more, 1), last), lambda: ops.squeeze(y_pred, [-1]), lambda: y_pred
    )
    y_true = ops.cond(ops.equal(more, -1), lambda: ops.squeeze(y_true, [-1]), lambda: y_true)
    return y_pred, y_true


def _weights_at_run_time(weights: Any, y_pred: Any) -> Any:
    more = ops.rank(weights) - ops.rank(y_pred)

    def longer() -> Any:
        return ops.cond(ops.equal(more, -1), lambda: ops.expand_dims(weights, -1), lambda: weights)

    def adjusted() -> Any:
        return ops.cond(ops.equal(more, 1), lambda: ops.squeeze(weights, [-1]), longer)

    return ops.cond(ops.equal(ops.rank(weights), 0), lambda: weights, adjusted)
