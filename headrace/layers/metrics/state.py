"""The variables of metrics, and what every metric does with its result.

A metric is a pair: `value`, computed from the variables as they are, and `update`, which takes the batch
in and gives the value as of then.  The variables are local: they start from zero when
`tf.local_variables_initializer()` runs.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from headrace.functions.array.array import expand_dims, rank, squeeze, zeros
from headrace.functions.control.cond import cond
from headrace.functions.math.confusion import remove_squeezable_dimensions
from headrace.functions.math.math import equal
from headrace.graph.defaults import get_default_graph
from headrace.graph.keys import GraphKeys
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.variables.modes import VariableAggregation, VariableSynchronization
from headrace.variables.variable import Variable

_COLLECTIONS = ("metrics_collections", "updates_collections")


def metric_variable(shape: Any, dtype: Any, validate_shape: bool = True, name: str | None = None) -> Any:
    """A local variable of zeros, in `GraphKeys.METRIC_VARIABLES` too."""
    return Variable(
        lambda: zeros(shape, dtype),
        trainable=False,
        collections=[GraphKeys.LOCAL_VARIABLES, GraphKeys.METRIC_VARIABLES],
        validate_shape=validate_shape,
        synchronization=VariableSynchronization.ON_READ,
        aggregation=VariableAggregation.SUM,
        name=name,
    )


def collected(value: Any, update: Any, metrics_collections: Any, updates_collections: Any) -> tuple[Any, Any]:
    """(value, update), each added to its collections."""
    graph = get_default_graph()
    if metrics_collections:
        graph.add_to_collections(metrics_collections, value)
    if updates_collections:
        graph.add_to_collections(updates_collections, update)
    return value, update


def metric(function: Callable[..., tuple[Any, Any]]) -> Callable[..., tuple[Any, Any]]:
    """A metric from a function that returns (value, update): it takes collections too, before its name.

    `metrics_collections` and `updates_collections` are where value and update are added.
    """
    own = inspect.signature(function)
    *others, name = own.parameters.values()
    more = [inspect.Parameter(key, name.kind, default=None, annotation="Any") for key in _COLLECTIONS]
    signature = own.replace(parameters=[*others, *more, name])

    @functools.wraps(function)
    def measured(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
        given = signature.bind(*args, **kwargs).arguments
        where = [given.pop(key, None) for key in _COLLECTIONS]
        return collected(*function(**given), *where)

    measured.__signature__ = signature  # type: ignore[attr-defined]
    return measured


def aligned(predictions: Any, labels: Any, weights: Any) -> tuple[Any, Any, Any]:
    """The three with ranks that fit: a last dimension of 1 that only one has is dropped or added."""
    predictions = convert_to_tensor(predictions)
    if labels is not None:
        labels, predictions = remove_squeezable_dimensions(labels, predictions)
        predictions.shape.assert_is_compatible_with(labels.shape)
    if weights is None:
        return predictions, labels, None
    weights = convert_to_tensor(weights)
    ranks = weights.shape.rank, predictions.shape.rank
    if ranks[0] == 0:
        return predictions, labels, weights
    if None in ranks:
        return predictions, labels, _aligned_at_run_time(weights, predictions)
    if ranks[0] - ranks[1] == 1:
        weights = squeeze(weights, [-1])
    elif ranks[1] - ranks[0] == 1:
        weights = expand_dims(weights, [-1])
    return predictions, labels, weights


def _aligned_at_run_time(weights: Any, predictions: Any) -> Any:
    found = rank(weights)
    extra = found - rank(predictions)
    squeezable = weights.shape.rank is None or weights.shape.dim(-1) in (None, 1)

    def grown() -> Any:
        return cond(equal(extra, -1), lambda: expand_dims(weights, [-1]), lambda: weights)

    def shrunk() -> Any:
        return squeeze(weights, [-1]) if squeezable else weights

    def fitted() -> Any:
        return cond(equal(extra, 1), shrunk, grown)

    return cond(equal(found, 0), lambda: weights, fitted)
