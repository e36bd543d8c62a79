"""Reductions: sums, products, extremes and truths along axes."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np

from headrace.core.dtypes import NUMBERS, float32, int32, int64, uint64
from headrace.core.errors import require
from headrace.core.modules import late
from headrace.core.shapes import make_shape, show
from headrace.ops.array.constant import constant
from headrace.ops.declaration.constants import constant_value
from headrace.ops.declaration.declare import Op, op
from headrace.ops.declaration.emit import Decline
from headrace.ops.declaration.precision import block_sum
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.shape_checks import with_rank_at_most
from headrace.ops.declaration.shape_rules import normalize_axis, reduced
from headrace.ops.declaration.signature import INDEX32, INDEX64

arithmetic = late("headrace.ops.math.arithmetic")
array = late("headrace.ops.declaration.array")
cast = late("headrace.ops.math.cast")
comparison = late("headrace.ops.math.comparison")
complex_ops = late("headrace.ops.math.complex")
cumulative = late("headrace.ops.math.cumulative")
gather = late("headrace.ops.array.indexing.gather")
partition = late("headrace.ops.array.indexing.partition")
sequence = late("headrace.ops.math.sequence")
unique = late("headrace.ops.array.unique")

_TIDX = INDEX32
_HALF = ("float16", "bfloat16")


def _axes(x, indices):
    """The axes to reduce, once each; duplicates count once, as in TF."""
    return tuple(sorted({normalize_axis(int(a), x.ndim) for a in indices.ravel()}))


def reduced_shape(input, reduction_indices, *, keep_dims):
    with_rank_at_most(reduction_indices, 1)
    return reduced(input, reduction_indices, keep_dims=keep_dims)


def reduction(name, doc, *, signature="input: T, reduction_indices: Tidx -> output: T", **attrs):
    """Declares a reduction from its meaning: function(x, axes, keep_dims)."""

    def declare(meaning):
        def reference(input, reduction_indices, *, keep_dims):
            with np.errstate(all="ignore"):
                return meaning(input, _axes(input, reduction_indices), keep_dims)

        reference.__doc__, reference.__module__ = doc, __name__
        types = {"T": NUMBERS} if "T" in signature.split() else attrs
        declared = op(
            name, signature, shape=reduced_shape, attrs={"keep_dims": False, **types, "Tidx": _TIDX}
        )(reference)
        return declared

    return declare


def _wide(x):
    """Half-precision floats are summed as float32."""
    return x.astype(np.float32) if x.dtype.name in _HALF else x


def _lower(kind, finish=None, wide=None):
    def rule(e, x, axes, *, keep_dims):
        if axes.value is None:
            raise Decline("the axes are not known")
        rank = len(x.shape)
        gone = sorted({int(a) % rank for a in axes.value.ravel()})
        if not gone:
            return e.compute(x.shape, lambda *i: x[i])
        extents = [x.shape[a] for a in gone]
        shape = [n for a, n in enumerate(x.shape) if keep_dims or a not in gone]
        if keep_dims:
            shape = [1 if a in gone else n for a, n in enumerate(shape)]

        def element(*index):
            outer = [i for a, i in enumerate(index) if not keep_dims or a not in gone]

            def at(*inner):
                rest, inside = iter(outer), iter(inner)
                value = x[tuple(next(inside) if a in gone else next(rest) for a in range(rank))]
                return value if wide is None else wide(e, value)

            total = e.reduce(kind, extents, at)
            return total if finish is None else finish(e, total, math.prod(extents), x.dtype)

        return e.compute(shape, element)

    return rule


def _reduction_samples(*, of=None, grad=True):
    def samples(rng):
        def values(*shape):
            x = rng.normal(size=shape)
            return x if of is None else of(x)

        for axes in ([0], [1], [0, 1], [-1], [], [2, 0]):
            for keep in (False, True):
                yield Sample(values(2, 3, 4), np.array(axes, np.int32), keep_dims=keep, grad=grad)
        yield Sample(values(3, 2), np.array(1), note="scalar axis", grad=grad)
        yield Sample(values(), np.array([], np.int32), note="scalar", grad=grad)
        yield Sample(values(0, 3), np.array([1], np.int32), note="empty", grad=False)
        yield ErrorSample(values(2, 3), np.array([2], np.int32), raises="Invalid reduction dim")

    return samples


# -- gradients: spread what was summed back over the input --------------------------------------
def kept_shape(shape, axes):
    """`shape` with 1 for the reduced axes: plain sizes where all is known, else a tensor."""
    if isinstance(shape, tuple):
        gone = {int(a) % len(shape) for a in np.ravel(axes)}
        return tuple(1 if a in gone else n for a, n in enumerate(shape))

    shape, axes = cast.cast(shape, DstT=int32), cast.cast(axes, DstT=int32)
    rank = array.size(shape)
    axes = (axes + rank) % rank
    return partition.dynamic_stitch(
        [sequence.range_(0, rank, 1), axes], [shape, array.fill(array.shape(axes), 1)]
    )


def _shape_and_axes(node):
    """The input's shape and the axes: plain where both are known, else tensors."""
    x, axes = node.inputs
    known = constant_value(axes)
    if x.shape.is_full and known is not None:
        return x.shape.sizes, known
    return array.shape(x), axes


def _times(shape, kept):
    if isinstance(shape, tuple):
        return tuple(n // max(k, 1) for n, k in zip(shape, kept))

    return shape // arithmetic.maximum(kept, 1)


def _spread(node, dy):
    x = node.inputs[0]
    known = constant_value(node.inputs[1])
    if x.shape.rank is not None and known is not None:
        if np.array_equal(known, np.arange(x.shape.rank)):  # the whole tensor
            one = array.reshape(dy, [1] * x.shape.rank)
            shape = constant(x.shape.as_list(), int32) if x.shape.is_full else array.shape(x)
            return array.tile(one, shape)
    shape, axes = _shape_and_axes(node)
    kept = kept_shape(shape, axes)
    return array.tile(array.reshape(dy, kept), _times(shape, kept))


def _sum_gradient(node, dy):
    return _spread(node, dy), None


def _mean_gradient(node, dy):
    total = _spread(node, dy)
    x, y = node.inputs[0], node.outputs[0]
    if x.shape.is_full and y.shape.is_full:
        count = x.shape.num_elements() // max(y.shape.num_elements(), 1)
        return total / constant(count, total.dtype), None
    counts = [prod(array.shape(t), np.array([0], np.int32)) for t in (x, y)]
    return total / cast.cast(_times(*counts), DstT=total.dtype.base), None


def _extreme_gradient(node, dy):
    shape, axes = _shape_and_axes(node)
    kept = kept_shape(shape, axes)
    y, dy = array.reshape(node.outputs[0], kept), array.reshape(dy, kept)
    chosen = cast.cast(comparison.equal(y, node.inputs[0]), DstT=dy.dtype.base)
    ties = array.reshape(sum_(chosen, node.inputs[1]), kept)
    return chosen / ties * dy, None


def _prod_gradient(node, dy):
    """The product of all others, without division, since an entry may be zero: the product of those
    before times the product of those behind."""
    shape = array.shape(node.inputs[0])
    kept = kept_shape(shape, node.inputs[1])
    dy = array.tile(array.reshape(dy, kept), _times(shape, kept))
    order, rows, columns = _reduced_first(node, shape)
    moved = array.transpose(node.inputs[0], order)
    table = array.reshape(moved, [rows, columns])
    before = cumulative.cumprod(table, 0, exclusive=True)
    behind = cumulative.cumprod(table, 0, exclusive=True, reverse=True)
    others = array.reshape(complex_ops.conjugate(before) * complex_ops.conjugate(behind), array.shape(moved))
    back = array.transpose(others, array.invert_permutation(order))
    return array.reshape(dy * back, shape), None


def _reduced_first(node, shape):
    """The order of axes that puts the reduced ones first, and the sizes of both groups."""
    x, axes = node.inputs
    rank = array.rank(x)
    flat = array.reshape(axes, [-1])
    first = cast.cast(
        (flat + cast.cast(rank, DstT=axes.dtype.base)) % cast.cast(rank, DstT=axes.dtype.base), DstT=int32
    )
    rest = unique.list_diff(sequence.range_(0, rank, 1), first)[0]
    sizes = [prod(gather.gather_v2(shape, part, 0), [0]) for part in (first, rest)]
    return array.concat_v2([first, rest], 0), *sizes


# -- the ops ------------------------------------------------------------------------------------
@reduction("Sum", "The sum along axes.")
def sum_(x, axes, keep_dims):
    return block_sum(_wide(x), axes, keep_dims)


sum_.gradient(_sum_gradient)
sum_.lower(_lower("sum"))
sum_.samples(_reduction_samples())


@reduction("Mean", "The mean along axes; for integers rounded towards zero.")
def mean(x, axes, keep_dims):
    x = _wide(x)
    count = math.prod([x.shape[a] for a in axes])
    if x.dtype.kind not in "iu":
        return np.divide(block_sum(x, axes, keep_dims), x.dtype.type(count))
    # The sum of small integers needs more room than their mean.
    whole = x.sum(axes, keepdims=keep_dims, dtype=np.uint64 if x.dtype.kind == "u" else np.int64)
    return np.sign(whole) * (np.abs(whole) // whole.dtype.type(max(count, 1)))


def _mean_of(e, total, count, dtype):
    size = e.size(count, total.dtype)
    mean = total / size if dtype.kind in "fc" else e.truncate_div(total, size)
    return e.cast(mean, dtype)


def _room(e, x):
    if x.dtype.kind in "fc":
        return e.cast(x, float32) if x.dtype.size == 2 else x
    return e.cast(x, uint64 if x.dtype.kind == "u" else int64)


mean.gradient(_mean_gradient)
mean.lower(_lower("sum", _mean_of, _room))


@mean.samples
def _(rng):
    yield from _reduction_samples()(rng)
    yield Sample(np.full((3, 4), 100, np.int8), np.array([0], np.int32), note="needs room")
    yield Sample(np.full(4, 6e4, np.float16), np.array([0], np.int32), note="half needs room")
    yield Sample(np.array([[-7, 2], [3, 1]]), np.array([0, 1], np.int32), note="integers")


@reduction("Prod", "The product along axes.")
def prod(x, axes, keep_dims):
    return _wide(x).prod(axes, keepdims=keep_dims, dtype=_wide(x).dtype)


prod.gradient(_prod_gradient)
prod.lower(_lower("prod"))
prod.samples(_reduction_samples())


def _bound(dtype, sign):
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return info.min if sign < 0 else info.max
    return dtype.type(sign * np.inf)


@reduction("Max", "The largest along axes; of nothing, the smallest number of the type.")
def max_(x, axes, keep_dims):
    return np.max(x, axes, keepdims=keep_dims, initial=_bound(x.dtype, -1))


max_.gradient(_extreme_gradient)
max_.lower(_lower("max"))
max_.samples(_reduction_samples())


@reduction("Min", "The smallest along axes; of nothing, the largest number of the type.")
def min_(x, axes, keep_dims):
    return np.min(x, axes, keepdims=keep_dims, initial=_bound(x.dtype, 1))


min_.gradient(_extreme_gradient)
min_.lower(_lower("min"))
min_.samples(_reduction_samples())

_TRUTH = "input: bool, reduction_indices: Tidx -> output: bool"


@reduction("All", "Are all true along axes?", signature=_TRUTH)
def all_(x, axes, keep_dims):
    return x.all(axes, keepdims=keep_dims)


all_.no_gradient()
all_.lower(_lower("all"))
all_.samples(_reduction_samples(of=lambda x: x > -0.5, grad=False))


@reduction("Any", "Is any true along axes?", signature=_TRUTH)
def any_(x, axes, keep_dims):
    return x.any(axes, keepdims=keep_dims)


any_.no_gradient()
any_.lower(_lower("any"))
any_.samples(_reduction_samples(of=lambda x: x > 0.5, grad=False))


@reduction("EuclideanNorm", "The square root of the sum of squared magnitudes along axes.")
def euclidean_norm(x, axes, keep_dims):
    x = _wide(x)
    return np.sqrt(block_sum(x * np.conj(x), axes, keep_dims)).astype(x.dtype)


euclidean_norm.no_gradient()
euclidean_norm.samples(_reduction_samples(grad=False))


# -- where the extreme is -----------------------------------------------------------------------
def arg_shape(input, dimension):
    require(dimension.rank in (None, 0), "Dimension must be a scalar")
    if input.rank is None:
        return make_shape(None)
    axis = dimension.value
    if axis is None:
        return make_shape((None,) * max(input.rank - 1, 0))
    axis = int(axis)
    require(
        -input.rank <= axis < input.rank or input.rank == axis == 0,
        f"Dimension ({axis}) must be in the range [{-input.rank}, {input.rank}), where "
        f"{input.rank} is the number of dimensions in the input.",
    )
    axis %= max(input.rank, 1)
    return make_shape(input.sizes[:axis] + input.sizes[axis + 1 :])


def _arg(choose, x, dimension, output_type):
    axis = int(dimension)
    require(
        -x.ndim <= axis < x.ndim, f"Expected dimension in the range [{-x.ndim}, {x.ndim}), but got {axis}"
    )
    require(x.shape[axis] > 0, f"Reduction axis {axis} is empty in shape {show(x.shape)}")
    return choose(x, axis).astype(output_type.numpy)


def _first_best(x, axis, sign):
    """Where the largest (times sign) element is.  Eigen's reducers start with the farthest finite number
    at place 0 and go on to what is beyond: a NaN never is, nor an infinity on the other side."""
    if x.dtype.kind in "fV":
        far = -sign * ml_dtypes.finfo(x.dtype).max
        x = np.where((x > far) if sign > 0 else (x < far), x, far)
    return np.argmax(x, axis) if sign > 0 else np.argmin(x, axis)


def _arg_op(name, choose, doc, kind) -> Op:
    @op(
        name,
        "input: T, dimension: Tidx -> output: output_type",
        T=NUMBERS,
        Tidx=_TIDX,
        output_type=INDEX64,
        shape=arg_shape,
    )
    def reference(input, dimension, *, output_type):
        return _arg(choose, input, dimension, output_type)

    reference.reference.__doc__ = reference.__doc__ = doc
    reference.gradient(lambda node, dy: (None, None))

    @reference.lower
    def _(e, x, dimension, *, output_type):
        if dimension.value is None or not x.shape:
            raise Decline("the axis is not known")
        axis = int(dimension.value) % len(x.shape)
        if not x.shape[axis]:
            raise Decline("there is nothing to choose from")
        shape = [*x.shape[:axis], *x.shape[axis + 1 :]]

        def element(*i):
            def at(r):
                index = (*i[:axis], r, *i[axis:])
                return x[index]

            return e.cast(e.reduce(kind, x.shape[axis], at), output_type)

        return e.compute(shape, element)

    @reference.samples
    def _(rng):
        for axis in (0, 1, -1):
            yield Sample(rng.normal(size=(2, 3, 4)), np.array(axis, np.int32), grad=False)
        yield Sample(np.array([1, 3, 3]), np.array(0), output_type=int32, note="ties")
        yield Sample(np.zeros((0, 3)), np.array(1), note="empty", grad=False)
        yield ErrorSample(np.zeros((2, 0)), np.array(1), raises="is empty")
        yield ErrorSample(np.zeros((0, 0)), np.array(1), raises="is empty")
        yield ErrorSample(np.zeros((2, 3)), np.array(2), raises="in the range")
        yield ErrorSample(np.zeros(()), np.array(0), raises="in the range")

    return reference


argmax = _arg_op(
    "ArgMax",
    lambda x, axis: _first_best(x, axis, 1),
    "The index of the largest along an axis; NaN does not count.",
    "argmax",
)
argmin = _arg_op(
    "ArgMin",
    lambda x, axis: _first_best(x, axis, -1),
    "The index of the smallest along an axis; NaN does not count.",
    "argmin",
)
