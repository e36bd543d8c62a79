"""InTopK: is the target among the k best predictions?"""

from __future__ import annotations

import numpy as np

from headrace.core.errors import require
from headrace.core.shapes import make_shape
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.emit import Decline
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.shape_checks import merge_sizes, with_rank
from headrace.ops.declaration.signature import INDEX32, Int


def in_top_k_shape(predictions, targets, *k):
    for one in k:
        with_rank(one, 0)
    rows = merge_sizes(with_rank(predictions, 2).dim(0), with_rank(targets, 1).dim(0))
    return make_shape((rows,))


@op("InTopK", "predictions: float32, targets: T -> precision: bool", k=Int(), T=INDEX32, shape=in_top_k_shape)
def in_top_k(predictions, targets, *, k):
    """Per row: do fewer than k classes have a larger prediction than the target?  False where a
    prediction is not finite or the target is no class."""
    require(predictions.ndim == 2, "predictions must be 2-dimensional")
    require(targets.ndim == 1, "targets must be 1-dimensional")
    require(
        len(predictions) == len(targets),
        f"First dimension of predictions {len(predictions)} must match length of targets {len(targets)}",
    )
    classes = predictions.shape[1]
    valid = (targets >= 0) & (targets < classes) & np.isfinite(predictions).all(axis=1)
    at = np.where(valid, targets, 0)[:, None]
    if not classes:
        return valid
    better = (predictions > np.take_along_axis(predictions, at, 1)).sum(axis=1)
    return valid & (better < k)


@op("InTopKV2", "predictions: float32, targets: T, k: T -> precision: bool", T=INDEX32, shape=in_top_k_shape)
def in_top_k_v2(predictions, targets, k):
    """InTopK with k as an input."""
    require(k.ndim == 0, f"k must be 0-D, got shape {list(k.shape)}")
    return in_top_k.reference(predictions, targets, k=int(k))


def lowered(e, predictions, targets, k):
    rows, classes = predictions.shape

    def row(r):
        at = targets[r]
        wanted = predictions[(r, at)]
        better = e.reduce("sum", classes, lambda c: e.cast(predictions[(r, c)] > wanted, targets.dtype))
        finite = e.reduce("all", classes, lambda c: e.is_finite(predictions[(r, c)]))
        return (at >= 0) & (at < classes) & finite & (better < k)

    if not classes:
        raise Decline("there are no classes")
    return e.compute((rows,), row)


@in_top_k.lower
def _(e, predictions, targets, *, k):
    return lowered(e, predictions, targets, e.const(k, targets.dtype))


@in_top_k_v2.lower
def _(e, predictions, targets, k):
    return lowered(e, predictions, targets, k[()])


in_top_k.no_gradient()
in_top_k_v2.no_gradient()


def cases(rng):
    scores = rng.normal(size=(4, 5)).astype(np.float32)
    scores[1, 2], scores[2, 0] = np.nan, np.inf
    for k in (0, 2, 9):
        yield scores, np.array([0, 1, 2, 4]), k
    yield scores, np.array([5, 1, -1, 4]), 3
    yield np.array([[0.5, 0.5, 0.1]] * 2, np.float32), np.array([1, 2]), 1  # ties count
    yield np.zeros((0, 5), np.float32), np.zeros(0, np.int64), 1


@in_top_k.samples
def _(rng):
    for scores, targets, k in cases(rng):
        yield Sample(scores, targets, k=k)
    yield ErrorSample(np.ones((3, 2), np.float32), np.array([1]), k=1, raises="must be equal")


@in_top_k_v2.samples
def _(rng):
    for scores, targets, k in cases(rng):
        yield Sample(scores, targets, np.int64(k))
