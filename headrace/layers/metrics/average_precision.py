"""Average precision of a ranking: the mean of the precision at each place that has a right class."""

from __future__ import annotations

from typing import Any

from headrace.core import dtypes
from headrace.functions.array.array import expand_dims, ones_like, reshape, shape, size, zeros_like
from headrace.functions.array.indexing import where_v2
from headrace.functions.array.slice import slice_
from headrace.functions.array.sort import top_k
from headrace.functions.array.stacking import concat
from headrace.functions.control.cond import cond
from headrace.functions.math.cast import cast
from headrace.functions.math.math import div, div_no_nan
from headrace.functions.math.reduce import reduce_max, reduce_sum
from headrace.functions.math.sums import cumsum
from headrace.functions.sparse.parts import sparse_concat
from headrace.functions.sparse.sets import set_size
from headrace.functions.sparse.sparse import sparse_reshape
from headrace.functions.sparse.tensor import (
    SparseTensor,
    SparseTensorValue,
    convert_to_tensor_or_sparse_tensor,
)
from headrace.functions.values.structure import name_scope
from headrace.layers.losses.weights_broadcast import broadcast_weights
from headrace.layers.metrics.at_k import at_k_name, count_at_k, expanded_labels
from headrace.layers.metrics.state import metric, metric_variable
from headrace.ops.array.tile import tile
from headrace.ops.math.arithmetic import minimum, mul
from headrace.ops.math.comparison import greater_equal
from headrace.variables.update import assign_add


@metric
def average_precision_at_k(
    labels: Any, predictions: Any, k: int, weights: Any = None, name: str | None = None
) -> tuple[Any, Any]:
    """The mean over rows of the average precision of their k best predictions.

    Args:
      labels: numbers of classes, dense or sparse; those that are no class do not count.
      predictions: scores [..., classes].
      k: how many count.
      weights: a scalar, or one per row.
      metrics_collections, updates_collections: where value and update are added.
      name: name of the scope.

    Returns:
      (value, update).

    Raises:
      ValueError: k is below 1.
    """
    if k < 1:
        raise ValueError(f"Invalid k={k}.")
    with name_scope(name, at_k_name("average_precision", k), (predictions, labels, weights)) as scope:
        _, best = top_k(predictions, k)
        labels = _without_strangers(labels, cast(shape(predictions)[-1], dtypes.int64))
        return _streamed(labels, best, weights, scope)


@metric
def sparse_average_precision_at_k(
    labels: Any, predictions: Any, k: int, weights: Any = None, name: str | None = None
) -> tuple[Any, Any]:
    """The old name of `average_precision_at_k`."""
    return average_precision_at_k(labels, predictions, k, weights, name=name)


def _without_strangers(labels: Any, classes: Any) -> Any:
    """Labels, -1 where they are beyond the classes."""
    sparse = isinstance(labels, SparseTensor | SparseTensorValue)
    numbers = labels.values if sparse else labels

    def cleaned() -> Any:
        kept = where_v2(greater_equal(numbers, classes), -1 * ones_like(numbers), numbers)
        return type(labels)(labels.indices, kept, labels.dense_shape) if sparse else kept

    return cond(greater_equal(reduce_max(numbers), classes), cleaned, lambda: labels)


def _streamed(labels: Any, best: Any, weights: Any, name: str) -> tuple[Any, Any]:
    with name_scope(name, "average_precision_at_top_k", (best, labels, weights)) as scope:
        precisions = average_precision(labels, best)
        if weights is not None:
            weights = broadcast_weights(cast(weights, dtypes.float64), precisions)
            precisions = mul(precisions, weights)
        with name_scope(None, "max", (precisions,)) as max_scope:
            most = metric_variable([], dtypes.float64, name=max_scope)
            if weights is None:
                batch_max = cast(size(precisions, name="batch_max"), dtypes.float64)
            else:
                batch_max = reduce_sum(weights, name="batch_max")
            new_most = assign_add(most, batch_max, name="update")
        with name_scope(None, "total", (precisions,)) as total_scope:
            total = metric_variable([], dtypes.float64, name=total_scope)
            batch_total = reduce_sum(precisions, name="batch_total")
            new_total = assign_add(total, batch_total, name="update")
        value = div_no_nan(total, most, name="mean")
        update = div_no_nan(new_total, new_most, name=scope)
        return value, update


def average_precision(labels: Any, predictions_idx: Any) -> Any:
    """For each row, the mean over its labels of the precision at the place where it is found."""
    with name_scope(None, "average_precision", (predictions_idx, labels)) as scope:
        best = cast(predictions_idx, dtypes.int64, name="predictions_idx")
        if best.shape.ndims == 0:
            raise ValueError("The rank of predictions_idx must be at least 1.")
        k = best.shape.as_list()[-1]
        if k is None:
            raise ValueError("The last dimension of predictions_idx must be set.")
        labels = expanded_labels(labels, best)
        best_per_k = expand_dims(best, -1, name="predictions_idx_per_k")
        labels_per_k = _repeated(labels, k, "labels_per_k")
        relevant = count_at_k("true_positive", labels_per_k, best_per_k, name="relevant_per_k")
        hits = cumsum(relevant, axis=-1, name="tp_per_k")
        places = cumsum(ones_like(relevant), axis=-1, name="retrieved_per_k")
        precision = div(hits, places, name="precision_per_k")
        counted = mul(precision, relevant, name="relevant_precision_per_k")
        total = reduce_sum(counted, axis=(-1,), name="precision_sum")
        return div(total, cast(_relevant(labels, k), dtypes.float64), name=scope)


def _relevant(labels: Any, k: int) -> Any:
    """How many labels of each row can be found among k."""
    with name_scope(None, "num_relevant", (labels,)) as scope:
        labels = convert_to_tensor_or_sparse_tensor(labels)
        if isinstance(labels, SparseTensor):
            return minimum(set_size(labels), k, name=scope)
        is_label = where_v2(greater_equal(labels, 0), ones_like(labels), zeros_like(labels))
        return minimum(reduce_sum(is_label, axis=-1), k, name=scope)


def _repeated(labels: Any, times: int, name: str) -> Any:
    """`labels` `times` over, along a new dimension before the last."""
    with name_scope(name, "expand_and_tile", (labels, times)) as scope:
        labels = convert_to_tensor_or_sparse_tensor(labels)
        if isinstance(labels, SparseTensor):
            sizes = labels.dense_shape
            last = reshape(size(sizes) - 1, [1])
            parts = (slice_(sizes, [0], last), [1], slice_(sizes, last, [-1]))
            sparse = sparse_reshape(labels, shape=concat(parts, 0, name="expanded_shape"), name="expand")
            return sparse if times == 1 else sparse_concat(-2, [sparse] * times, name=scope)
        expanded = expand_dims(labels, -2, name="expand")
        if times == 1:
            return expanded
        ones = ones_like(shape(labels))
        multiples = concat((ones[:-1], (times,), ones[-1:]), 0, name="multiples")
        return tile(expanded, multiples, name=scope)
