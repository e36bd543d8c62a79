"""The confusion matrix, and the squeezing of labels and predictions to one rank."""

from __future__ import annotations

from typing import Any

from headrace.core import dtypes
from headrace.core.dtypes import DTypeLike, as_dtype
from headrace.functions.array.checks import assert_less, assert_non_negative
from headrace.functions.control.cond import cond
from headrace.functions.control.grouping import with_dependencies
from headrace.functions.math.cast import cast
from headrace.functions.math.reduce import reduce_max
from headrace.functions.values.structure import name_scope
from headrace.graph.tensor import Tensor
from headrace.ops.array.constant import pack
from headrace.ops.array.indexing import scatter
from headrace.ops.declaration import array
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.math import arithmetic, comparison


def remove_squeezable_dimensions(
    labels: Any, predictions: Any, expected_rank_diff: int = 0, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """Removes the last dimension of one of two tensors if their ranks then differ as expected.

    Args:
      labels: a `Tensor`.
      predictions: a `Tensor`.
      expected_rank_diff: how much higher the rank of `predictions` should be.
      name: name of the scope.

    Returns:
      Labels and predictions.
    """
    with name_scope(name, "remove_squeezable_dimensions", [labels, predictions]):
        predictions, labels = convert_to_tensor(predictions), convert_to_tensor(labels)
        ranks = predictions.shape.rank, labels.shape.rank
        if None not in ranks:
            difference = ranks[0] - ranks[1]
            if difference == expected_rank_diff + 1:
                predictions = array.squeeze(predictions, [-1])
            elif difference == expected_rank_diff - 1:
                labels = array.squeeze(labels, [-1])
            return labels, predictions
        rank_diff = array.rank_of(predictions) - array.rank_of(labels)
        predictions = _squeeze_if(predictions, rank_diff, expected_rank_diff + 1)
        labels = _squeeze_if(labels, rank_diff, expected_rank_diff - 1)
        return labels, predictions


def _squeeze_if(x: Tensor, rank_diff: Tensor, wanted: int) -> Tensor:
    if x.shape.rank is not None and x.shape.sizes[-1] not in (None, 1):
        return x
    result: Tensor = cond(comparison.equal(wanted, rank_diff), lambda: array.squeeze(x, [-1]), lambda: x)
    return result


def confusion_matrix(
    labels: Any,
    predictions: Any,
    num_classes: Any = None,
    dtype: DTypeLike = dtypes.int32,
    name: str | None = None,
    weights: Any = None,
) -> Tensor:
    """How often a label (row) was predicted as a class (column).

    Args:
      labels: a vector of whole numbers, the true classes.
      predictions: a vector of the predicted ones.
      num_classes: the number of classes; one more than the largest number by default.
      dtype: type of the counts.
      name: name of the scope.
      weights: how much each pair counts, 1 by default.

    Returns:
      A square matrix of `dtype`.

    Raises:
      ValueError: shapes do not fit.

    Example:
      >>> tf.math.confusion_matrix([1, 2, 2], [1, 2, 1])       # 0 0 0, 0 1 0, 0 1 1
    """
    with name_scope(name, "confusion_matrix", [predictions, labels, num_classes, weights]):
        labels, predictions = remove_squeezable_dimensions(
            convert_to_tensor(labels, name="labels"), convert_to_tensor(predictions, name="predictions")
        )
        predictions, labels = cast(predictions, dtypes.int64), cast(labels, dtypes.int64)
        labels = _checked(labels, assert_non_negative, "`labels` contains negative values")
        predictions = _checked(predictions, assert_non_negative, "`predictions` contains negative values")
        if num_classes is None:
            top = arithmetic.maximum(reduce_max(predictions), reduce_max(labels))
            num_classes = top + 1
        else:
            count = cast(num_classes, dtypes.int64)
            labels = _checked(labels, assert_less, "`labels` out of bound", count)
            predictions = _checked(predictions, assert_less, "`predictions` out of bound", count)
        if weights is not None:
            weights = convert_to_tensor(weights, name="weights")
            predictions.shape.assert_is_compatible_with(weights.shape)
            values = cast(weights, dtype)
        else:
            values = cast(array.ones_like(predictions), as_dtype(dtype))
        shape = cast(pack([num_classes, num_classes]), dtypes.int64)
        return scatter.scatter_nd(pack([labels, predictions], axis=1), values, shape)


def _checked(x: Tensor, check: Any, message: str, *bounds: Any) -> Tensor:
    result: Tensor = with_dependencies([check(x, *bounds, message=message)], x)
    return result
