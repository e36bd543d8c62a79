"""tf.contrib.losses: the first form of tf.losses: predictions before labels, weights of whole rows."""

from __future__ import annotations

from typing import Any

from headrace.contrib.framework.arg_scope import add_arg_scope
from headrace.core import dtypes
from headrace.functions.array.array import expand_dims, ones_like, reshape, shape, squeeze, zeros_like
from headrace.functions.array.indexing import where
from headrace.functions.math.cast import cast
from headrace.functions.math.elementwise import square
from headrace.functions.math.math import div_no_nan, not_equal
from headrace.functions.math.reduce import reduce_sum
from headrace.functions.values.old_names import renamed
from headrace.functions.values.structure import name_scope
from headrace.graph.keys import GraphKeys
from headrace.layers.losses import loss_reduction, losses
from headrace.layers.losses.loss_reduction import Reduction
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.math.arithmetic import mul, sub
from headrace.ops.nn.activation import relu


@add_arg_scope
def add_loss(loss: Any, loss_collection: str | None = GraphKeys.LOSSES) -> None:
    """Add a loss to a collection of the graph."""
    loss_reduction.add_loss(loss, loss_collection)


def get_losses(scope: str | None = None, loss_collection: str = GraphKeys.LOSSES) -> list[Any]:
    """The losses of the graph."""
    return loss_reduction.get_losses(scope, loss_collection)


def get_regularization_losses(scope: str | None = None) -> list[Any]:
    """The losses that weights add."""
    return loss_reduction.get_regularization_losses(scope)


def get_total_loss(add_regularization_losses: bool = True, name: str = "total_loss") -> Any:
    """The sum of all losses."""
    return loss_reduction.get_total_loss(add_regularization_losses, name)


def compute_weighted_loss(losses: Any, weights: Any = 1.0, scope: str | None = None) -> Any:
    """The mean of losses with a weight that is not 0.

    Args:
      losses: a tensor of known rank.
      weights: a scalar, or with the first dimensions of `losses` (and perhaps one of 1 behind).
      scope: name of the scope.

    Raises:
      ValueError: a rank is unknown.
    """
    losses = convert_to_tensor(losses)
    weights = cast(convert_to_tensor(weights), dtypes.float32)
    for name, tensor in (("losses", losses), ("weights", weights)):
        if tensor.shape.ndims is None:
            raise ValueError(f"{name}.get_shape().ndims cannot be None")
    if weights.shape.ndims > 1 and weights.shape.dim(-1) in (None, 1):
        weights = squeeze(weights, [-1])
    if weights.shape.ndims > 0:
        for _ in range(losses.shape.ndims - weights.shape.ndims):
            weights = expand_dims(weights, -1)
    loss = loss_reduction.compute_weighted_loss(losses, weights, scope, loss_collection=None)
    add_loss(loss)
    return loss


def _weighted(loss: Any, scope: str, values: Any, weights: Any, given: str | None) -> Any:
    """`loss()`, a loss per element, weighted."""
    with name_scope(given, scope, values) as name:
        return compute_weighted_loss(loss(), weights, scope=name)


def _each(function: Any, *args: Any, **kwargs: Any) -> Any:
    """A function of tf.losses, per element and in no collection."""
    return lambda: function(*args, scope="each", loss_collection=None, reduction=Reduction.NONE, **kwargs)


def absolute_difference(
    predictions: Any, labels: Any = None, weights: Any = 1.0, scope: str | None = None
) -> Any:
    """|predictions - labels|."""
    values = [predictions, labels, weights]
    loss = _each(losses.absolute_difference, labels, predictions)
    return _weighted(loss, "absolute_difference", values, weights, scope)


def mean_squared_error(
    predictions: Any, labels: Any = None, weights: Any = 1.0, scope: str | None = None
) -> Any:
    """(predictions - labels)²."""
    values = [predictions, labels, weights]
    loss = _each(losses.mean_squared_error, labels, predictions)
    return _weighted(loss, "mean_squared_error", values, weights, scope)


def log_loss(
    predictions: Any, labels: Any = None, weights: Any = 1.0, epsilon: float = 1e-7, scope: str | None = None
) -> Any:
    """-label · log(prediction) - (1 - label) · log(1 - prediction), for probabilities."""
    values = [predictions, labels, weights]
    loss = _each(losses.log_loss, labels, predictions, epsilon=epsilon)
    return _weighted(loss, "log_loss", values, weights, scope)


def sigmoid_cross_entropy(
    logits: Any,
    multi_class_labels: Any,
    weights: Any = 1.0,
    label_smoothing: float = 0,
    scope: str | None = None,
) -> Any:
    """Cross entropy between labels and the sigmoid of logits, each class by itself."""
    values = [logits, multi_class_labels, weights]
    loss = _each(losses.sigmoid_cross_entropy, multi_class_labels, logits, label_smoothing=label_smoothing)
    return _weighted(loss, "sigmoid_cross_entropy_loss", values, weights, scope)


def softmax_cross_entropy(
    logits: Any, onehot_labels: Any, weights: Any = 1.0, label_smoothing: Any = 0, scope: str | None = None
) -> Any:
    """Cross entropy between distributions over classes and the softmax of logits."""
    values = [logits, onehot_labels, weights]
    loss = _each(losses.softmax_cross_entropy, onehot_labels, logits, label_smoothing=label_smoothing)
    return _weighted(loss, "softmax_cross_entropy_loss", values, weights, scope)


def sparse_softmax_cross_entropy(
    logits: Any, labels: Any, weights: Any = 1.0, scope: str | None = None
) -> Any:
    """Cross entropy between classes, given by number, and the softmax of logits."""

    def loss() -> Any:
        flat = reshape(labels, [shape(labels)[0]])
        return _each(losses.sparse_softmax_cross_entropy, flat, logits)()

    values = [logits, labels, weights]
    return _weighted(loss, "sparse_softmax_cross_entropy_loss", values, weights, scope)


def hinge_loss(logits: Any, labels: Any = None, scope: str | None = None) -> Any:
    """max(0, 1 - label · logit) per element, with labels 0 and 1 standing for -1 and 1."""
    with name_scope(scope, "hinge_loss", [logits, labels]):
        logits.shape.assert_is_compatible_with(labels.shape)
        labels = cast(labels, dtypes.float32)
        ones = ones_like(labels)
        return relu(sub(ones, mul(sub(2 * labels, ones), logits)))


def cosine_distance(
    predictions: Any,
    labels: Any = None,
    axis: Any = None,
    weights: Any = 1.0,
    scope: str | None = None,
    dim: Any = None,
) -> Any:
    """1 - predictions · labels along `axis`, for vectors of length 1.

    Raises:
      ValueError: `axis` is missing.
    """
    axis = renamed("axis", axis, "dim", dim)
    if axis is None:
        raise ValueError("You must specify 'axis'.")

    def loss() -> Any:
        predictions.shape.assert_is_compatible_with(labels.shape)
        both = mul(cast(predictions, dtypes.float32), cast(labels, dtypes.float32))
        return 1 - reduce_sum(both, axis=[axis])

    values = [predictions, labels, weights]
    return _weighted(loss, "cosine_distance_loss", values, weights, scope)


def mean_pairwise_squared_error(
    predictions: Any, labels: Any = None, weights: Any = 1.0, scope: str | None = None
) -> Any:
    """Mean square of (p_i - p_j) - (l_i - l_j) over all ordered pairs of elements of a row, pairs of
    an element with itself among them.

    Raises:
      ValueError: a rank is unknown.
    """
    with name_scope(scope, "mean_pairwise_squared_error", [predictions, labels, weights]):
        predictions.shape.assert_is_compatible_with(labels.shape)
        errors = sub(cast(predictions, dtypes.float32), cast(labels, dtypes.float32))
        weights = cast(convert_to_tensor(weights), dtypes.float32)
        for name, tensor in (("diffs", errors), ("weights", weights)):
            if tensor.shape.ndims is None:
                raise ValueError(f"{name}.get_shape().ndims cannot be None")
        axes = list(range(1, len(errors.shape.as_list())))
        count = _present(errors, weights, axes)
        squares = 2.0 * div_no_nan(reduce_sum(square(errors), axes), count, name="value")
        total = square(reduce_sum(errors, axes))
        rest = 2.0 * div_no_nan(total, square(count), name="value")
        rows = weights if weights.shape.ndims < 2 else reshape(weights, [-1])
        loss = reduce_sum((squares - rest) * rows)
        loss = where(reduce_sum(count) > 0, loss, zeros_like(loss), name="value")
        add_loss(loss)
        return loss


def _present(errors: Any, weights: Any, axes: list[int]) -> Any:
    """How many elements of each row have a weight that is not 0."""
    ones = ones_like(errors)
    while 0 < weights.shape.ndims < errors.shape.ndims:
        weights = expand_dims(weights, -1)
    return reduce_sum(ones * cast(not_equal(weights, 0), dtypes.float32), axes)
