"""Cast: numbers in another type.  Bitcast: the same bits in another type."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np

from headrace.core.dtypes import (
    COMPLEX,
    FLOATS,
    INDEX,
    QUANTIZED,
    complex64,
    float32,
    float64,
    int8,
    int32,
    named,
    uint8,
    uint16,
)
from headrace.core.errors import UnimplementedError, require
from headrace.core.shapes import UNKNOWN, make_shape, show
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.emit import Decline
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.shape_rules import same
from headrace.ops.declaration.signature import Type
from headrace.ops.declaration.traits import ELEMENTWISE, STATIC


def cast_array(x, to, truncate=False):
    """The array `x` in the type `to`, as TF casts."""
    source, target = x.dtype, to.numpy
    if target == source:
        return x
    if source.kind == "c" and target.kind != "c":
        x = x.real
    with np.errstate(all="ignore"):
        if target.kind == "b":
            return x != 0
        if truncate:
            x = _without_low_bits(x, target)
        return x.astype(target)


_MANTISSA = {np.dtype(t): ml_dtypes.finfo(t).nmant for t in (np.float16, np.float32, np.float64)}
_MANTISSA[np.dtype(ml_dtypes.bfloat16)] = 7
_BITS = {4: np.uint32, 8: np.uint64}


def _without_low_bits(x, target):
    """Clear the mantissa bits that `target` lacks, so that the cast rounds towards zero."""
    if x.dtype == np.complex128 and target == np.complex64:
        parts = np.ascontiguousarray(x)[..., np.newaxis].view(np.float64)
        return _without_low_bits(parts, np.dtype(np.float32)).view(np.complex128)[..., 0]
    extra = _MANTISSA.get(x.dtype, 0) - _MANTISSA.get(target, 64)
    if extra <= 0 or x.dtype.itemsize not in _BITS:
        return x
    bits = np.ascontiguousarray(x).view(_BITS[x.dtype.itemsize])
    cleared = ((bits >> extra) << extra).view(x.dtype)
    return np.where(np.isnan(x), x, cleared)


@op(
    "Cast",
    "x: SrcT -> y: DstT",
    SrcT=Type(),
    DstT=Type(),
    Truncate=False,
    shape=same,
    traits={ELEMENTWISE, STATIC},
)
def cast(x, *, SrcT, DstT, Truncate):
    """x in the type DstT.  Floats lose their fraction on the way to integers; a complex number its
    imaginary part on the way to a real one; whatever is not zero is true.  Truncate: round towards
    zero instead of to the nearest where DstT has fewer digits."""
    if SrcT is not DstT and (SrcT.kind in "srv" or DstT.kind in "srv"):
        raise UnimplementedError(None, None, f"Cast {SrcT.name} to {DstT.name} is not supported")
    return cast_array(x, DstT, Truncate)


@cast.gradient
def _(node, dy):
    source, target = node.inputs[0].dtype.base, dy.dtype.base
    if source.kind in "fc" and target.kind in "fc":
        return cast(dy, DstT=source)
    return None


@cast.known
def _(node, known):
    return known(node.inputs[0])


@cast.lower
def _(e, x, *, DstT, Truncate):
    if Truncate:
        raise Decline("a cast that truncates the mantissa")
    return e.cast(x, DstT)


@cast.samples
def _(rng):
    values = np.array([-2.7, -1.0, 0.0, 0.5, 1.5, 100.25])
    for target in (float32, int32, int8, complex64):
        yield Sample(values, DstT=target, grad=False)
    yield Sample(np.array([0, 1, 255, 256, -1]), DstT=uint8, note="wraps")
    yield Sample(np.array([1 + 2j, 0 + 1j]), DstT=float32)
    yield Sample(np.array([True, False]), DstT=float64)
    yield Sample(np.array([1.999, -1.999]), DstT=float32, Truncate=True, grad=False)
    yield Sample(values, DstT=float64, note="itself")
    yield Sample(np.zeros((0, 3)), DstT=int32, note="empty")
    yield ErrorSample(np.array([b"1"], dtype=object), DstT=int32, raises="is not supported")


CASTABLE = (*FLOATS, *INDEX, *named("uint8 uint16 uint32 uint64 int8 int16"), *COMPLEX, *QUANTIZED)


def bitcast_shape(input, *, T, type):
    if input.rank is None:
        return UNKNOWN
    sizes, from_size, to_size = input.sizes, T.size, type.size
    if from_size == to_size:
        return make_shape(sizes)
    if from_size > to_size:
        return make_shape((*sizes, from_size // to_size))
    require(sizes, f"Shape must be at least rank 1 but is rank 0: {show(input)}")
    last, ratio = sizes[-1], to_size // from_size
    require(last in (None, ratio), f"Cannot bitcast due to shape. {last} does not match {ratio}")
    return make_shape(sizes[:-1])


@op("Bitcast", "input: T -> output: type", shape=bitcast_shape, attrs={"T": CASTABLE, "type": CASTABLE})
def bitcast(input, *, T, type):
    """The bits of the input as elements of another type.  A smaller one adds a dimension at the
    end, a larger one takes it away."""
    from_size, to_size = T.size, type.size
    shape = input.shape
    if from_size < to_size:
        ratio = to_size // from_size
        require(
            shape and shape[-1] == ratio,
            f"Cannot bitcast from {T.name} to {type.name} because of the shape {list(shape)}: "
            f"the last dimension must be {ratio}",
        )
        out = shape[:-1]
    else:
        out = shape if from_size == to_size else (*shape, from_size // to_size)
    raw = np.ascontiguousarray(input).tobytes()
    return np.frombuffer(raw, type.numpy, count=math.prod(out)).reshape(out)


@bitcast.samples
def _(rng):
    yield Sample(np.array([1.0, -2.0], np.float32), type=int32, dtypes=False)
    yield Sample(np.array([[1.0, -2.0]]), type=uint16, dtypes=False)
    yield Sample(np.arange(8, dtype=np.uint8).reshape(2, 4), type=float32, dtypes=False)
    yield Sample(np.zeros((0, 4), np.uint8), type=int32, dtypes=False)
    yield ErrorSample(np.arange(6, dtype=np.uint8).reshape(2, 3), type=int32, raises="Cannot bitcast")
