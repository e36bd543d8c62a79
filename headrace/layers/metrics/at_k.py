"""Precision and recall of the k best predictions, as sets of classes.

Labels are numbers of classes: [..., n] (or [...] for one), dense or sparse.  Predictions are scores
[..., classes], or for `..._at_top_k` the numbers of the best classes, [..., k].
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.core import dtypes
from headrace.core.families import named
from headrace.functions.array.array import expand_dims, fill, rank, shape, size
from headrace.functions.array.sort import top_k
from headrace.functions.array.stacking import concat
from headrace.functions.control.cond import cond
from headrace.functions.math.cast import cast
from headrace.functions.math.math import div, equal
from headrace.functions.math.reduce import reduce_sum
from headrace.functions.sparse.parts import sparse_retain
from headrace.functions.sparse.sets import set_difference, set_intersection, set_size
from headrace.functions.sparse.sparse import sparse_reshape
from headrace.functions.sparse.tensor import SparseTensor, convert_to_tensor_or_sparse_tensor
from headrace.functions.values.structure import name_scope
from headrace.graph.defaults import get_default_graph
from headrace.layers.losses.weights_broadcast import assert_broadcastable
from headrace.layers.metrics.state import metric, metric_variable
from headrace.ops.math.arithmetic import add, mul
from headrace.variables.update import assign_add


def at_k_name(name: str, k: int | None = None, class_id: int | None = None) -> str:
    """The scope of a metric at k, perhaps of one class."""
    name = f"{name}_at_k" if k is None else f"{name}_at_{k:d}"
    return name if class_id is None else f"{name}_class{class_id:d}"


# -- labels and classes ---------------------------------------------------------------------------
def expanded_labels(labels: Any, predictions: Any) -> Any:
    """Labels with a last dimension for several, even if each place has one."""
    with name_scope(None, "expand_labels", (labels, predictions)) as scope:
        labels = convert_to_tensor_or_sparse_tensor(labels)
        if isinstance(labels, SparseTensor):
            more = lambda: sparse_reshape(labels, shape=concat((labels.dense_shape, (1,)), 0), name=scope)
            short = equal(rank(predictions), size(labels.dense_shape) + 1)
            return cond(short, more, lambda: labels)
        ranks = labels.shape.ndims, predictions.shape.ndims
        if None in ranks:
            short = equal(rank(predictions), rank(labels) + 1)
            return cond(short, lambda: expand_dims(labels, -1, name=scope), lambda: labels)
        if ranks[0] == ranks[1]:
            return labels
        if ranks[0] + 1 == ranks[1]:
            return expand_dims(labels, -1, name=scope)
        raise ValueError(f"Unexpected labels shape {labels.shape} for predictions shape {predictions.shape}.")


def _only_class(ids: Any, class_id: Any) -> Any:
    """The occurrences of one class."""
    if class_id is None:
        return ids
    ids = convert_to_tensor_or_sparse_tensor(ids)
    if isinstance(ids, SparseTensor):
        return sparse_retain(ids, equal(ids.values, class_id))
    sizes = shape(ids, out_type=dtypes.int64)
    wanted = fill(concat([sizes[:-1], [1]], 0), cast(class_id, dtypes.int64))
    found = set_intersection(wanted, ids)
    return SparseTensor(indices=found.indices, values=found.values, dense_shape=sizes)


# -- counts ---------------------------------------------------------------------------------------
def _hits(predicted: Any, labels: Any) -> Any:
    return set_intersection(predicted, labels)


def _surplus(predicted: Any, labels: Any) -> Any:
    return set_difference(predicted, labels, aminusb=True)


def _misses(predicted: Any, labels: Any) -> Any:
    return set_difference(predicted, labels, aminusb=False)


_SETS = {"true_positive": _hits, "false_positive": _surplus, "false_negative": _misses}


def count_at_k(
    kind: str, labels: Any, predicted: Any, class_id: Any = None, weights: Any = None, name: str | None = None
) -> Any:
    """How many classes of each row are true positives, false positives or false negatives."""
    with name_scope(name, f"{kind}s", (predicted, labels, weights)):
        labels, predicted = _only_class(labels, class_id), _only_class(predicted, class_id)
        count = cast(set_size(_SETS[kind](predicted, labels)), dtypes.float64)
        if weights is not None:
            fits = assert_broadcastable(weights, count)
            with get_default_graph().control_dependencies([fits]):
                count = mul(count, cast(weights, dtypes.float64))
        return count


def _streamed(kind: str, labels: Any, predicted: Any, k: Any, class_id: Any, weights: Any) -> tuple[Any, Any]:
    """The count over all that was seen: variable and update."""
    with name_scope(None, at_k_name(kind, k, class_id), (predicted, labels, weights)) as scope:
        counts = count_at_k(kind, labels, predicted, class_id, weights)
        total = cast(reduce_sum(counts), dtypes.float64)
        variable = metric_variable([], dtypes.float64, name=scope)
        return variable, assign_add(variable, total, name="update")


_Metric = Callable[..., tuple[Any, Any]]


def _share_at_top_k(share: str, wrong: str, doc: str) -> _Metric:
    """True positives among themselves and what is `wrong`."""

    @metric
    @named(f"{share}_at_top_k", doc)
    def function(
        labels: Any,
        predictions_idx: Any,
        k: int | None = None,
        class_id: int | None = None,
        weights: Any = None,
        name: str | None = None,
    ) -> tuple[Any, Any]:
        values = (predictions_idx, labels, weights)
        with name_scope(name, at_k_name(share, k, class_id), values) as scope:
            labels = expanded_labels(labels, predictions_idx)
            predicted = cast(predictions_idx, dtypes.int64)
            hit, hit_update = _streamed("true_positive", labels, predicted, k, class_id, weights)
            other, other_update = _streamed(wrong, labels, predicted, k, class_id, weights)
            value = div(hit, add(hit, other), name=scope)
            return value, div(hit_update, add(hit_update, other_update), name="update")

    return function


def _share_at_k(share: str, at_top_k: _Metric, doc: str, called: str | None = None) -> _Metric:
    """The same of scores, whose k best are looked for first."""

    @metric
    @named(called or f"{share}_at_k", doc)
    def function(
        labels: Any,
        predictions: Any,
        k: int,
        class_id: int | None = None,
        weights: Any = None,
        name: str | None = None,
    ) -> tuple[Any, Any]:
        values = (predictions, labels, weights)
        with name_scope(name, at_k_name(share, k, class_id), values) as scope:
            _, best = top_k(predictions, k)
            return at_top_k(labels, best, k, class_id, weights, name=scope)

    return function


# -- metrics --------------------------------------------------------------------------------------
_ARGUMENTS = """
      {}
      class_id: look at this class alone.
      weights: a scalar, or one per row.
      metrics_collections, updates_collections: where value and update are added.
      name: name of the scope.

    Returns:
      (value, update).
    """
_SCORES = "predictions: scores [..., classes].\n      k: how many count."
_BEST = "predictions_idx: numbers of the best classes, [..., k].\n      k: used in names only."

precision_at_top_k = _share_at_top_k(
    "precision",
    "false_positive",
    f"""Which part of the best predictions is among the labels.

    Args:
      labels: numbers of classes, dense or sparse.{_ARGUMENTS.format(_BEST)}""",
)
recall_at_top_k = _share_at_top_k(
    "recall",
    "false_negative",
    "Which part of the labels is among the best predictions.  Arguments as `precision_at_top_k`.",
)
precision_at_k = _share_at_k(
    "precision",
    precision_at_top_k,
    f"""Which part of the k best predictions is among the labels.

    Args:
      labels: numbers of classes, dense or sparse.{_ARGUMENTS.format(_SCORES)}""",
)
recall_at_k = _share_at_k(
    "recall",
    recall_at_top_k,
    "Which part of the labels is among the k best predictions.  Arguments as `precision_at_k`.",
)
sparse_precision_at_k = _share_at_k(
    "precision", precision_at_top_k, "The old name of `precision_at_k`.", "sparse_precision_at_k"
)
