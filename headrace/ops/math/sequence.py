"""Numbers in a row: from start in steps, or evenly between two ends."""

from __future__ import annotations

import math

import numpy as np

from headrace.core.dtypes import INDEX, bfloat16, float32, float64, int32
from headrace.core.errors import ResourceExhaustedError, require
from headrace.core.shapes import Shape
from headrace.core.sizes import is_whole, whole
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.emit import Decline
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.shape_rules import require_rank
from headrace.ops.declaration.signature import INDEX32, Type
from headrace.ops.declaration.traits import STATIC

_MOST = 1 << 48


def _count(start, limit, delta):
    """How many numbers start, start + delta, ... stay before limit."""
    require(delta != 0, f"Requires delta != 0: {delta}")
    if delta > 0:
        require(start <= limit, f"Requires start <= limit when delta > 0: {start}/{limit}")
    else:
        require(start >= limit, f"Requires start >= limit when delta < 0: {start}/{limit}")
    if is_whole(start):
        return max(0, -((start - limit) // delta))
    return math.ceil(abs((limit - start) / delta))


def _number(x):
    return whole(x.item()) if x.dtype.kind in "iuO" else float(x)


def range_shape(start, limit, delta):
    for name, x in (("start", start), ("limit", limit), ("delta", delta)):
        require(x.rank in (None, 0), f"Shape must be rank 0 but is rank {x.rank} for '{name}'")
    values = [x.value for x in (start, limit, delta)]
    if any(v is None for v in values):
        return Shape.of(None)
    return Shape.of(_count(*map(_number, values)))


@op(
    "Range",
    "start: Tidx, limit: Tidx, delta: Tidx -> output: Tidx",
    shape=range_shape,
    Tidx=Type((bfloat16, float32, float64, *INDEX), default=int32),
    traits={STATIC},
)
def range_(start, limit, delta):
    """start, start + delta, ... up to but without limit."""
    for name, x in (("start", start), ("limit", limit), ("delta", delta)):
        require(x.ndim == 0, f"{name} must be a scalar, not shape {list(x.shape)}")
    count = _count(*map(_number, (start, limit, delta)))
    if count > _MOST:  # np.arange overflows to an empty array
        raise ResourceExhaustedError(
            None, None, f"OOM when allocating tensor with shape[{count}] and type {start.dtype}"
        )
    if start.dtype.kind == "i":
        found = np.arange(count, dtype=start.dtype)  # changed in place: it may fill half of the memory
        found *= delta
        found += start
        return found
    # The sum of float steps drifts; a product does not.
    steps = np.arange(count, dtype=np.float64)
    return (float(start) + steps * float(delta)).astype(start.dtype)


range_.no_gradient()


@range_.lower
def _(e, start, limit, delta):
    if start.value is None or limit.value is None or delta.value is None:
        raise Decline("the bounds are not known")
    if not start.dtype.is_integer:
        raise Decline("a range of floats")
    count = _count(*map(_number, (start.value, limit.value, delta.value)))
    return e.compute((count,), lambda i: e.cast(i * _number(delta.value) + _number(start.value), start.dtype))


@range_.samples
def _(rng):
    for bounds in ((0, 5, 1), (10, 0, -3), (3, 3, 1), (-1, 7, 2)):
        yield Sample(*(np.array(b, np.int32) for b in bounds))
    yield Sample(np.array(0.0), np.array(1.0), np.array(0.25))
    yield ErrorSample(np.array(0), np.array(5), np.array(0), raises="Requires delta != 0")
    yield ErrorSample(np.array(5), np.array(0), np.array(1), raises="Requires start <= limit")


def lin_space_shape(start, stop, num):
    for x in (start, stop, num):
        require_rank(x, 0)
    count = num.value
    if count is None:
        return Shape.of(None)
    require(count > 0, f"Requires num > 0: {int(count)}")
    return Shape.of(int(count))


@op(
    "LinSpace",
    "start: T, stop: T, num: Tidx -> output: T",
    shape=lin_space_shape,
    T=(bfloat16, float32, float64),
    Tidx=INDEX32,
)
def lin_space(start, stop, num):
    """`num` numbers from start to stop, both included, evenly spaced."""
    for name, x in (("start", start), ("stop", stop), ("num", num)):
        require(x.ndim == 0, f"{name} must be a scalar, not shape {list(x.shape)}")
    require(num > 0, f"Requires num > 0: {int(num)}")
    return np.linspace(start, stop, int(num)).astype(start.dtype)


lin_space.no_gradient()


@lin_space.samples
def _(rng):
    yield Sample(np.array(1.0), np.array(5.0), np.array(4, np.int32), grad=False)
    yield Sample(np.array(-1.0), np.array(-5.0), np.array(1), grad=False)
    yield ErrorSample(np.array(1.0), np.array(5.0), np.array(0), raises="Requires num > 0")
