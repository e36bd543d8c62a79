"""OneHot: vectors with one value at a place and another elsewhere."""

from __future__ import annotations

import numpy as np

from headrace.core import dtypes
from headrace.core.dtypes import int32, int64
from headrace.core.errors import require
from headrace.core.shapes import UNKNOWN, make_shape
from headrace.core.sizes import whole
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.emit import Decline
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.shape_checks import scalar_size
from headrace.ops.declaration.signature import Type


def one_hot_shape(indices, depth, on_value, off_value, *, axis):
    require(axis >= -1, "axis must be >= -1")
    size = scalar_size(depth, 1)
    if indices.rank is None:
        return UNKNOWN
    require(
        axis <= indices.rank,
        f"Expected axis to be -1 or between [0, {indices.rank + 1}).  But received: {axis}",
    )
    sizes = list(indices.sizes)
    sizes.insert(indices.rank if axis == -1 else axis, size)
    return make_shape(sizes)


@op(
    "OneHot",
    "indices: TI, depth: int32, on_value: T, off_value: T -> output: T",
    axis=-1,
    T=Type(),
    TI=Type((dtypes.uint8, int32, int64), default=int64),
    shape=one_hot_shape,
)
def one_hot(indices, depth, on_value, off_value, *, axis):
    """Vectors of length `depth` along `axis`: `on_value` at the index, `off_value` elsewhere."""
    require(
        -1 <= axis <= indices.ndim,
        f"Expected axis to be -1 or between [0, {indices.ndim + 1}).  But received: {axis}",
    )
    for what, value in (("depth", depth), ("on_value", on_value), ("off_value", off_value)):
        require(value.ndim == 0, f"{what} must be a scalar, but got: {list(value.shape)}")
    require(depth >= 0, f"depth must be non-negative, got: {depth}")
    at = indices.ndim if axis == -1 else axis
    # The result first: what no memory holds is refused before anything else is computed.
    out = np.empty((*indices.shape[:at], int(depth), *indices.shape[at:]), on_value.dtype)
    out[...] = off_value
    places = np.arange(int(depth)).reshape((-1,) + (1,) * (indices.ndim - at))
    chosen = np.expand_dims(indices, at) == places
    out[chosen] = on_value
    return out


one_hot.no_gradient()


@one_hot.lower
def _(e, indices, depth, on_value, off_value, *, axis):
    if depth.value is None or on_value.shape or off_value.shape:
        raise Decline("the depth is not known, or values that are no scalars")
    at = len(indices.shape) if axis == -1 else axis
    shape = [*indices.shape[:at], whole(depth.value.item()), *indices.shape[at:]]

    def element(*i):
        index = (*i[:at], *i[at + 1 :])
        place = indices[index]
        return e.select(place == e.cast(i[at], place.dtype), on_value[()], off_value[()])

    return e.compute(shape, element)


@one_hot.samples
def _(rng):
    for axis in (-1, 0, 1):
        yield Sample(
            np.array([[0, 2], [-1, 1]]),
            np.array(3, np.int32),
            np.array(5.0),
            np.array(-1.0),
            axis=axis,
            grad=False,
        )
    yield Sample(
        np.array(1, np.int32),
        np.array(0, np.int32),
        np.array(True),
        np.array(False),
        note="empty",
        grad=False,
    )
    yield Sample(
        np.array([1], np.uint8),
        np.array(2, np.int32),
        np.array(b"on", object),
        np.array(b"off", object),
        note="text",
        grad=False,
    )
    yield ErrorSample(
        np.array([1]), np.array(-1, np.int32), np.array(1.0), np.array(0.0), raises="must be non-negative"
    )
    yield ErrorSample(
        np.array([1]),
        np.array(2, np.int32),
        np.array(1.0),
        np.array(0.0),
        axis=2,
        raises="Expected axis to be -1 or between",
    )
