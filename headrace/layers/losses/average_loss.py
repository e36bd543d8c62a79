"""Losses per example -> one loss, as an average over a batch or a sum.

TF divides by the number of replicas as well; here a graph is built once, so that number is 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from headrace.core import dtypes
from headrace.functions.array.array import expand_dims, rank, shape, squeeze
from headrace.functions.array.checks import assert_greater_equal
from headrace.functions.control.cond import cond
from headrace.functions.math.cast import cast
from headrace.functions.math.math import equal
from headrace.functions.math.reduce import reduce_sum
from headrace.graph.defaults import get_default_graph
from headrace.graph.tensor import Tensor
from headrace.layers.losses.weights_broadcast import broadcast_weights
from headrace.ops.declaration.convert import convert_to_tensor


def compute_average_loss(
    per_example_loss: Any, sample_weight: Any = None, global_batch_size: Any = None
) -> Tensor:
    """The sum of the losses of examples, over the number of examples.

    Args:
      per_example_loss: losses, the first dimension being the examples.
      sample_weight: what to multiply each loss with: a scalar, or one per loss; a last dimension
        of size 1 may be missing or too many.
      global_batch_size: the number to divide by; the first size of `per_example_loss` if None.

    Returns:
      A scalar of the type of the losses.

    Raises:
      ValueError: the losses are a scalar, or the weights do not fit.
    """
    losses = convert_to_tensor(per_example_loss)
    dtype = losses.dtype
    with _checked_rank(losses):
        if sample_weight is not None:
            losses = _weighted(cast(losses, dtypes.float32), cast(sample_weight, dtypes.float32))
        losses = cast(losses, dtype)
        if global_batch_size is None:
            global_batch_size = cast(shape(losses)[0], dtype)
        result: Tensor = reduce_sum(losses) / global_batch_size
        return result


def scale_regularization_loss(regularization_loss: Any) -> Tensor:
    """The sum of regularization losses.

    Args:
      regularization_loss: numbers.
    """
    return reduce_sum(regularization_loss) / 1


@contextmanager
def _checked_rank(losses: Tensor) -> Iterator[None]:
    fault = "Invalid value passed for `per_example_loss`. Expected a tensor with at least rank 1"
    if losses.shape.rank is not None:
        if losses.shape.rank == 0:
            raise ValueError(f"{fault}, received: {losses}")
        yield
        return
    check = assert_greater_equal(rank(losses), 1, message=f"{fault}.")
    with get_default_graph().control_dependencies([check]):
        yield


def _weighted(losses: Tensor, weights: Tensor) -> Tensor:
    result: Tensor = losses * broadcast_weights(_same_rank(weights, losses), losses)
    return result


def _same_rank(weights: Tensor, losses: Tensor) -> Any:
    """The weights, less or more by a last dimension of size 1 where that is what they lack."""
    ours, theirs = weights.shape.rank, losses.shape.rank
    if ours == 0:
        return weights
    if ours is not None and theirs is not None:
        if ours - theirs == 1:
            return squeeze(weights, [-1])
        return expand_dims(weights, [-1]) if ours - theirs == -1 else weights
    more = rank(weights) - rank(losses)

    def adjusted() -> Any:
        return cond(equal(more, 1), lambda: squeeze(weights, [-1]), expanded)

    def expanded() -> Any:
        return cond(equal(more, -1), lambda: expand_dims(weights, [-1]), lambda: weights)

    return cond(equal(rank(weights), 0), lambda: weights, adjusted)
