"""Cross: the product of vectors in space that is perpendicular to both."""

from __future__ import annotations

import numpy as np

from headrace.core.dtypes import REALS
from headrace.core.errors import FailedPreconditionError, require
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.precision import widen
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.shape_checks import merge
from headrace.ops.linalg.matrix_shape import at_least


def cross_shape(a, b):
    at_least(a, 1)
    at_least(b, 1)
    out = merge(a, b)
    require(out.rank is None or out.dim(-1) in (None, 3), f"Dimension must be 3 but is {out.dim(-1)}")
    return out


@op("Cross", "a: T, b: T -> product: T", T=REALS, shape=cross_shape)
def cross(a, b):
    """The cross products of the vectors in the last dimension, which has size 3."""
    require(a.shape == b.shape, f"Both inputs must be of same shape: {list(a.shape)} vs. {list(b.shape)}")
    require(a.ndim >= 1, f"Input must be at least 1D{list(a.shape)}")
    if a.shape[-1] != 3:
        raise FailedPreconditionError(None, None, "Cross-products are only defined for 3-element vectors.")
    a, b = widen(a), widen(b)
    with np.errstate(all="ignore"):
        ahead, behind = [1, 2, 0], [2, 0, 1]
        return a[..., ahead] * b[..., behind] - a[..., behind] * b[..., ahead]


@cross.gradient
def _(node, dy):
    a, b = node.inputs
    return cross(b, dy), cross(dy, a)


@cross.lower
def _(e, a, b):
    last = len(a.shape) - 1

    def element(*i):
        ahead, behind = (i[last] + 1) % 3, (i[last] + 2) % 3
        p, q = (*i[:last], ahead), (*i[:last], behind)
        return a[p] * b[q] - a[q] * b[p]

    return e.compute(a.shape, element)


@cross.samples
def _(rng):
    yield Sample(rng.normal(size=3), rng.normal(size=3))
    yield Sample(rng.normal(size=(2, 4, 3)), rng.normal(size=(2, 4, 3)))
    yield Sample(np.arange(3), np.arange(3)[::-1].copy(), note="integers")
    yield Sample(np.zeros((0, 3)), np.zeros((0, 3)), note="empty")
    yield ErrorSample(np.ones(2), np.ones(2), raises="must be 3|3-element")
    yield ErrorSample(np.ones(3), np.ones((1, 3)), raises="must be equal rank|same shape")
