"""tf.losses: what a prediction costs, against labels.

Each takes `weights` (a scalar, or of the rank of the labels with each size equal or 1), `scope` (name of
the scope), `loss_collection` (where the loss is added; `GraphKeys.LOSSES`) and `reduction` (how one
number comes out; see `Reduction`), and returns a scalar, or with `Reduction.NONE` a loss per element.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from headrace.core import dtypes
from headrace.core.families import bound
from headrace.functions.array.array import ones_like, rank, shape, squeeze, zeros_like
from headrace.functions.array.indexing import where
from headrace.functions.control.cond import cond
from headrace.functions.math.cast import cast
from headrace.functions.math.confusion import remove_squeezable_dimensions
from headrace.functions.math.elementwise import abs_, square
from headrace.functions.math.math import div_no_nan, equal, range_
from headrace.functions.math.reduce import reduce_sum
from headrace.functions.nn.loss import sigmoid_cross_entropy_with_logits
from headrace.functions.nn.softmax import (
    softmax_cross_entropy_with_logits_v2,
    sparse_softmax_cross_entropy_with_logits,
)
from headrace.functions.values.old_names import renamed
from headrace.functions.values.structure import name_scope
from headrace.graph.defaults import get_default_graph
from headrace.graph.keys import GraphKeys
from headrace.layers.losses.loss_reduction import Reduction, add_loss, compute_weighted_loss, num_present
from headrace.layers.losses.weights_broadcast import assert_broadcastable
from headrace.ops.array.source import stop_gradient
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.math.arithmetic import add, maximum, minimum, mul, squared_difference, sub
from headrace.ops.math.exponential import log
from headrace.ops.nn.activation import relu


def _given(**arguments: Any) -> None:
    for name, value in arguments.items():
        if value is None:
            raise ValueError(f"{name} must not be None.")


def _floats(predictions: Any, labels: Any) -> tuple[Any, Any]:
    """Both as float32, of one shape."""
    predictions, labels = cast(predictions, dtypes.float32), cast(labels, dtypes.float32)
    predictions.shape.assert_is_compatible_with(labels.shape)
    return predictions, labels


def _loss(default: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator for a function of labels, predictions and options that returns losses, one per element.

    What it makes of it takes weights and the arguments of `compute_weighted_loss`, and returns what that
    does; its name scope is called `default`.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        own = inspect.signature(function)
        labels, predictions, *options = own.parameters.values()
        _, weights, *ends = inspect.signature(compute_weighted_loss).parameters.values()
        signature = own.replace(parameters=[labels, predictions, weights, *options, *ends])

        @functools.wraps(function)
        def reduced(*args: Any, **kwargs: Any) -> Any:
            given = bound(function.__name__, signature, *args, **kwargs).arguments
            weighing = {p.name: given.pop(p.name) for p in (weights, *ends)}
            right, found = (given[p.name] for p in (labels, predictions))
            _given(**{labels.name: right, predictions.name: found})
            values = (found, right, weighing["weights"])
            with name_scope(weighing["scope"], default, values) as weighing["scope"]:
                return compute_weighted_loss(function(**given), **weighing)

        reduced.__signature__ = signature  # type: ignore[attr-defined]
        return reduced

    return decorate


@_loss("absolute_difference")
def absolute_difference(labels: Any, predictions: Any) -> Any:
    """|predictions - labels|.

    Raises:
      ValueError: an argument is None, or shapes do not match.
    """
    predictions, labels = _floats(predictions, labels)
    return abs_(sub(predictions, labels))


def cosine_distance(
    labels: Any,
    predictions: Any,
    axis: Any = None,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
    dim: Any = None,
) -> Any:
    """1 - predictions · labels along `axis`, for vectors of length 1.

    Args:
      axis: the dimension of the vectors.
      dim: the old name of `axis`.

    Raises:
      ValueError: `axis` or an argument is None, or shapes do not match.
    """
    axis = renamed("axis", axis, "dim", dim)
    if axis is None:
        raise ValueError("You must specify 'axis'.")
    _given(labels=labels, predictions=predictions)
    with name_scope(scope, "cosine_distance_loss", (predictions, labels, weights)) as scope:
        predictions, labels = _floats(predictions, labels)
        losses = 1 - reduce_sum(mul(predictions, labels), axis=(axis,), keepdims=True)
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


@_loss("hinge_loss")
def hinge_loss(labels: Any, logits: Any) -> Any:
    """max(0, 1 - label · logit), with labels 0 and 1 standing for -1 and 1.

    Raises:
      ValueError: an argument is None, or shapes do not match.
    """
    logits, labels = _floats(logits, labels)
    ones = ones_like(labels)
    return relu(sub(ones, mul(sub(2 * labels, ones), logits)))


@_loss("huber_loss")
def huber_loss(labels: Any, predictions: Any, delta: Any = 1.0) -> Any:
    """Half the squared error up to `delta`, from there on a straight line.

    Args:
      delta: where the line begins.

    Raises:
      ValueError: an argument is None, or shapes do not match.
    """
    predictions, labels = _floats(predictions, labels)
    error = abs_(sub(predictions, labels))
    curved = minimum(error, delta)
    # As maximum(error - delta, 0), but its gradient at delta is 0: the curve has it already.
    straight = sub(error, curved)
    half = convert_to_tensor(0.5, dtype=curved.dtype)
    return add(mul(half, mul(curved, curved)), mul(delta, straight))


@_loss("log_loss")
def log_loss(labels: Any, predictions: Any, epsilon: Any = 1e-7) -> Any:
    """-label · log(prediction) - (1 - label) · log(1 - prediction), for probabilities.

    Args:
      epsilon: is added inside the logarithms.

    Raises:
      ValueError: an argument is None, or shapes do not match.
    """
    predictions, labels = _floats(predictions, labels)
    return -mul(labels, log(predictions + epsilon)) - mul(1 - labels, log(1 - predictions + epsilon))


def mean_pairwise_squared_error(
    labels: Any,
    predictions: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
) -> Any:
    """Mean square of (p_i - p_j) - (l_i - l_j) over all pairs i, j of elements of a row.

    Args:
      labels: a tensor with a batch in front.
      predictions: the same.
      weights: a scalar, or one per row: [batch, 1, ...].

    Raises:
      ValueError: an argument is None, or shapes do not match.
    """
    _given(labels=labels, predictions=predictions)
    with name_scope(scope, "mean_pairwise_squared_error", (predictions, labels, weights)):
        weights, labels = cast(weights, dtypes.float32), cast(labels, dtypes.float32)
        with get_default_graph().control_dependencies([assert_broadcastable(weights, labels)]):
            predictions, labels = _floats(predictions, labels)
            errors = sub(predictions, labels)
            axes = range_(1, rank(errors))
            squares = reduce_sum(square(errors), axis=axes, keepdims=True)
            count = num_present(errors, weights, per_batch=True)
            first = 2.0 * div_no_nan(squares, maximum(count - 1, 0), name="value")
            total = reduce_sum(errors, axis=axes, keepdims=True)
            pairs = maximum(mul(count, count - 1), 0)
            second = 2.0 * div_no_nan(square(total), pairs, name="value")
            loss = reduce_sum(mul(first - second, weights))
            loss = where(reduce_sum(count) > 0, loss, zeros_like(loss), name="value")
            add_loss(loss, loss_collection)
            return loss


@_loss("mean_squared_error")
def mean_squared_error(labels: Any, predictions: Any) -> Any:
    """(predictions - labels)².

    Raises:
      ValueError: an argument is None, or shapes do not match.

    Example:
      >>> loss = tf.losses.mean_squared_error(labels=y, predictions=model(x))
    """
    predictions, labels = _floats(predictions, labels)
    return squared_difference(predictions, labels)


def _like_logits(logits: Any, labels: Any) -> tuple[Any, Any]:
    logits = convert_to_tensor(logits)
    labels = cast(labels, logits.dtype)
    logits.shape.assert_is_compatible_with(labels.shape)
    return logits, labels


@_loss("sigmoid_cross_entropy_loss")
def sigmoid_cross_entropy(multi_class_labels: Any, logits: Any, label_smoothing: Any = 0) -> Any:
    """Cross entropy between labels and the sigmoid of logits, each class by itself.

    Args:
      multi_class_labels: [batch, classes], 0 or 1.
      logits: [batch, classes].
      label_smoothing: how far labels are moved towards 1/2.

    Raises:
      ValueError: an argument is None, or shapes do not match.
    """
    logits, labels = _like_logits(logits, multi_class_labels)
    if label_smoothing > 0:
        labels = labels * (1 - label_smoothing) + 0.5 * label_smoothing
    return sigmoid_cross_entropy_with_logits(labels=labels, logits=logits, name="xentropy")


@_loss("softmax_cross_entropy_loss")
def softmax_cross_entropy(onehot_labels: Any, logits: Any, label_smoothing: Any = 0) -> Any:
    """Cross entropy between distributions over classes and the softmax of logits.

    Args:
      onehot_labels: [batch, classes]; no gradient flows into them.
      logits: [batch, classes].
      label_smoothing: how far labels are moved towards 1/classes.

    Raises:
      ValueError: an argument is None, or shapes do not match.
    """
    logits, labels = _like_logits(logits, onehot_labels)
    if label_smoothing > 0:
        classes = cast(shape(labels)[-1], logits.dtype)
        labels = labels * (1.0 - label_smoothing) + label_smoothing / classes
    labels = stop_gradient(labels, name="labels_stop_gradient")
    return softmax_cross_entropy_with_logits_v2(labels=labels, logits=logits, name="xentropy")


def sparse_softmax_cross_entropy(
    labels: Any,
    logits: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Any:
    """Cross entropy between classes, given by number, and the softmax of logits.

    Args:
      labels: numbers of classes, [batch] or [batch, 1].
      logits: [batch, classes].

    Raises:
      ValueError: an argument is None, or shapes do not match.
    """
    _given(labels=labels, logits=logits)
    values = (logits, labels, weights)
    with name_scope(scope, "sparse_softmax_cross_entropy_loss", values) as scope:
        labels, logits = remove_squeezable_dimensions(labels, logits, expected_rank_diff=1)
        weights = _squeezed(convert_to_tensor(weights), labels)
        losses = sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits, name="xentropy")
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


def _squeezed(weights: Any, labels: Any) -> Any:
    """`weights`, without a last dimension of 1 that the labels do not have."""
    ranks = weights.shape.rank, labels.shape.rank
    if None not in ranks:
        return squeeze(weights, [-1]) if ranks[0] - ranks[1] == 1 else weights
    if ranks[0] is not None and (ranks[0] == 0 or weights.shape.dim(-1) not in (None, 1)):
        return weights
    extra = rank(weights) - rank(labels)
    return cond(equal(1, extra), lambda: squeeze(weights, [-1]), lambda: weights)
