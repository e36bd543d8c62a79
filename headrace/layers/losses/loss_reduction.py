"""From losses per element to one: weights, ways to reduce, and the collection of losses."""

from __future__ import annotations

from typing import Any

from headrace.core import dtypes
from headrace.functions.array.array import ones_like, rank, size, zeros_like
from headrace.functions.array.indexing import where
from headrace.functions.math.cast import cast
from headrace.functions.math.math import div_no_nan, equal, range_
from headrace.functions.math.reduce import reduce_sum
from headrace.functions.math.sums import add_n
from headrace.functions.values.structure import name_scope
from headrace.graph.defaults import get_default_graph
from headrace.graph.keys import GraphKeys
from headrace.layers.losses.weights_broadcast import assert_broadcastable, broadcast_weights
from headrace.ops.array.constant import constant
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.math.arithmetic import mul


class Reduction:
    """How losses per element become one."""

    NONE = "none"  # they do not
    SUM = "weighted_sum"
    SUM_OVER_BATCH_SIZE = "weighted_sum_over_batch_size"  # by the number of elements
    MEAN = "weighted_mean"  # by the sum of the weights
    SUM_BY_NONZERO_WEIGHTS = "weighted_sum_by_nonzero_weights"  # by how many weights are not 0
    SUM_OVER_NONZERO_WEIGHTS = SUM_BY_NONZERO_WEIGHTS

    @classmethod
    def all(cls) -> tuple[str, ...]:
        """All of them."""
        return (
            cls.NONE,
            cls.SUM,
            cls.MEAN,
            cls.SUM_OVER_BATCH_SIZE,
            cls.SUM_OVER_NONZERO_WEIGHTS,
            cls.SUM_BY_NONZERO_WEIGHTS,
        )

    @classmethod
    def validate(cls, key: str) -> None:
        """Refuse what is not one of them."""
        if key not in cls.all():
            raise ValueError(f"Invalid Reduction Key {key}.")


def compute_weighted_loss(
    losses: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Any:
    """Losses times weights, reduced.

    Args:
      losses: a tensor.
      weights: a scalar, or of the rank of `losses` with each size equal or 1.
      scope: name of the scope.
      loss_collection: the collection that the loss is added to.
      reduction: one of `tf.losses.Reduction`.

    Returns:
      A scalar of the type of `losses`; with `Reduction.NONE`, a tensor of their shape.

    Raises:
      ValueError: the weights do not fit, or the reduction is unknown.
    """
    Reduction.validate(reduction)
    with name_scope(scope, "weighted_loss", (losses, weights)):
        with get_default_graph().control_dependencies([assert_broadcastable(weights, losses)]):
            losses = convert_to_tensor(losses)
            kind = losses.dtype
            losses, weights = cast(losses, dtypes.float32), cast(weights, dtypes.float32)
            loss = _reduced(mul(losses, weights), losses, weights, reduction)
            loss = cast(loss, kind)
            add_loss(loss, loss_collection)
            return loss


def _reduced(weighted: Any, losses: Any, weights: Any, reduction: str) -> Any:
    if reduction == Reduction.NONE:
        return weighted
    total = reduce_sum(weighted)
    if reduction == Reduction.MEAN:
        return safe_mean(total, reduce_sum(ones_like(losses) * weights))
    if reduction == Reduction.SUM_BY_NONZERO_WEIGHTS:
        return safe_mean(total, num_present(losses, weights))
    if reduction == Reduction.SUM_OVER_BATCH_SIZE:
        return safe_mean(total, _num_elements(losses))
    return total


def safe_mean(losses: Any, count: Any) -> Any:
    """The sum over `count`; 0 where that is 0."""
    return div_no_nan(reduce_sum(losses), count, name="value")


def _num_elements(losses: Any) -> Any:
    with name_scope(None, "num_elements", [losses]) as scope:
        return cast(size(losses, name=scope), losses.dtype)


def num_present(losses: Any, weights: Any, per_batch: bool = False) -> Any:
    """How many elements have a weight that is not 0, in all or in each row of the batch."""
    if isinstance(weights, float) and weights != 0.0:
        return _num_elements(losses)
    with name_scope(None, "num_present", (losses, weights)) as scope:
        weights = cast(weights, dtypes.float32)
        present = where(equal(weights, 0.0), zeros_like(weights), ones_like(weights))
        present = broadcast_weights(present, losses)
        if per_batch:
            axes = range_(1, rank(present))
            return reduce_sum(present, axis=axes, keepdims=True, name=scope)
        return reduce_sum(present, name=scope)


# -- the collection -------------------------------------------------------------------------------
def add_loss(loss: Any, loss_collection: str | None = GraphKeys.LOSSES) -> None:
    """Add a loss to a collection of the graph.

    Args:
      loss: a tensor.
      loss_collection: key of the collection; None adds it nowhere.
    """
    if loss_collection:
        get_default_graph().add_to_collection(loss_collection, loss)


def get_losses(scope: str | None = None, loss_collection: str = GraphKeys.LOSSES) -> list[Any]:
    """The losses of the graph; with `scope`, those whose names begin with it."""
    return get_default_graph().get_collection(loss_collection, scope)


def get_regularization_losses(scope: str | None = None) -> list[Any]:
    """The losses that weights add; with `scope`, those whose names begin with it."""
    return get_default_graph().get_collection(GraphKeys.REGULARIZATION_LOSSES, scope)


def get_regularization_loss(scope: str | None = None, name: str = "total_regularization_loss") -> Any:
    """The sum of the losses that weights add; 0 without any.

    Args:
      scope: only those whose names begin with it.
      name: name of the sum.
    """
    losses = get_regularization_losses(scope)
    return add_n(losses, name=name) if losses else constant(0.0)


def get_total_loss(
    add_regularization_losses: bool = True, name: str = "total_loss", scope: str | None = None
) -> Any:
    """The sum of all losses.

    Args:
      add_regularization_losses: with those that weights add?
      name: name of the sum.
      scope: only those whose names begin with it.

    Raises:
      ValueError: there are none.
    """
    losses = get_losses(scope=scope)
    if add_regularization_losses:
        losses = losses + get_regularization_losses(scope=scope)
    return add_n(losses, name=name)
