"""Order: TopK, TopKV2, NthElement; places in sorted rows: LowerBound, UpperBound."""

from __future__ import annotations

import numpy as np

from headrace.core.dtypes import REALS
from headrace.core.errors import require
from headrace.core.families import named
from headrace.core.modules import late
from headrace.core.shapes import UNKNOWN, make_shape, show
from headrace.ops.array import constant, reshape
from headrace.ops.array.indexing import scatter
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.emit import Decline
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.shape_checks import merge_sizes, scalar_size, with_rank, with_rank_at_least
from headrace.ops.declaration.signature import INDEX32, Int, Type

cast = late("headrace.ops.math.cast")
comparison = late("headrace.ops.math.comparison")
reduce = late("headrace.ops.math.reduce")
sequence = late("headrace.ops.math.sequence")


# -- TopK ---------------------------------------------------------------------------------------
def _top_shape(input, k):
    input = with_rank_at_least(input, 1)
    if input.rank is None:
        return [UNKNOWN, UNKNOWN]
    last = input.sizes[-1]
    require(None in (last, k) or last >= k, f"input must have last dimension >= k = {k} but is {last}")
    return [make_shape((*input.sizes[:-1], k))] * 2


def top_k_shape(input, *, k):
    return _top_shape(input, k)


def top_k_v2_shape(input, k):
    return _top_shape(input, scalar_size(k, 1))


def _largest(input, k):
    """The k largest of each row, largest first; of equal ones that with the lower index."""
    require(k >= 0, f"Need k >= 0, got {k}")
    require(input.ndim > 0, f"input must be >= 1-D, got shape {show(make_shape(input.shape))}")
    size = input.shape[-1]
    require(size >= k, f"input must have at least k columns. Had {size}, needed {k}")
    keys = _descending(input)
    if 0 < k < size // 8 and not np.isnan(keys).any():
        places = _first_few(keys, k)
    else:
        places = np.argsort(keys, axis=-1, kind="stable")[..., :k]
    return np.take_along_axis(input, places, axis=-1), places.astype(np.int32)


def _first_few(keys, k):
    """The places of the k smallest keys, in order, without sorting the rest of a row."""
    bound = np.partition(keys, k - 1, axis=-1)[..., k - 1 : k]
    below, equal = keys < bound, keys == bound
    missing = k - below.sum(axis=-1, keepdims=True)
    chosen = below | (equal & (np.cumsum(equal, axis=-1) <= missing))
    places = np.nonzero(chosen)[-1].reshape(*keys.shape[:-1], k)
    order = np.argsort(np.take_along_axis(keys, places, axis=-1), axis=-1, kind="stable")
    return np.take_along_axis(places, order, axis=-1)


def _descending(x):
    """Numbers whose ascending order is the descending order of `x`."""
    if x.dtype.kind == "u":
        return np.iinfo(x.dtype).max - x
    if x.dtype.kind == "i":
        return ~x  # never overflows
    return -(x.astype(np.float32) if x.dtype.itemsize == 2 else x)


def _gradient(node, dy, *_):
    """Zeros with dy at the places that were chosen."""
    x, places = node.inputs[0], node.outputs[1]
    sizes = reshape.shape_of(x)
    last, k = sizes[-1], reshape.shape_of(places)[-1]

    flat = reshape.reshape(places, constant.pack([-1, k]))
    starts = reshape.expand_dims(sequence.range_(0, reshape.shape_of(flat)[0], 1) * last, 1)
    at = reshape.reshape(flat + starts, [-1, 1])
    size = reshape.reshape(reshape.size_of(x), [1])
    return reshape.reshape(scatter.scatter_nd(at, reshape.reshape(dy, [-1]), size), sizes)


@op("TopKV2", "input: T, k: int32 -> values: T, indices: int32", sorted=True, T=REALS, shape=top_k_v2_shape)
def top_k_v2(input, k):
    """The k largest elements of each row, in falling order, and their places."""
    require(k.ndim == 0, f"k must be scalar, got shape {show(make_shape(k.shape))}")
    return _largest(input, int(k))


@top_k_v2.gradient
def _(node, dy, _):
    return _gradient(node, dy), None


FEW = 16  # largest elements that are found one after the other


def _lowered(e, x, k):
    """One after the other: the largest of those after the last one, in falling order."""
    *rows, n = x.shape
    if not 0 < k <= min(n, FEW):
        raise Decline(f"the {k} largest of {n}")
    is_float = x.dtype.is_floating
    if is_float:
        e.compute(x.shape, lambda *i: _refuse_nan(e, x[i]))
    lowest = -np.inf if is_float else x.dtype.min
    values, places = [], []

    def is_left(i, j):
        """Not found yet."""
        if not values:
            return None
        best, at = values[-1][i], places[-1][i]
        element, here = x[(*i, j)], e.cast(j, "int64")
        return (element < best) | ((element == best) & (here > at))

    def candidate(i, j):
        left = is_left(i, j)
        return x[(*i, j)] if left is None else e.select(left, x[(*i, j)], lowest)

    for _ in range(k):
        top = e.compute(rows, lambda *i: e.reduce("max", n, lambda j: candidate(i, j)))

        def place(*i, top=top):
            def here(j):
                left, same = is_left(i, j), x[(*i, j)] == top[i]
                mine = same if left is None else left & same
                return e.select(mine, e.cast(j, "int64"), n)

            return e.reduce("min", n, here)

        found = e.compute(rows, place)
        values.append(top)
        places.append(found)
    return _stacked(e, values), _stacked(e, places, "int32")


def _refuse_nan(e, x):
    e.require(~e.is_nan(x), "NaN has its own order")
    return x


def _stacked(e, parts, dtype=None):
    """Operands side by side in a new last dimension."""
    rows = parts[0].shape

    def column(part):
        if dtype is not None:
            part = e.compute(rows, lambda *i: e.cast(part[i], dtype))
        return e.view(part, (*rows, 1))

    shape, zeros = (*rows, len(parts)), (0,) * len(rows)
    return e.assemble(shape, [((*zeros, k), column(p)) for k, p in enumerate(parts)])


@top_k_v2.lower
def _(e, x, k):
    if k.value is None:
        raise Decline("how many is not known")
    return _lowered(e, x, int(k.value))


@top_k_v2.samples
def _(rng):
    yield Sample(rng.normal(size=(2, 5)), np.array(3, np.int32))
    yield Sample(rng.permutation(100).astype(float), np.array(3, np.int32), note="few of many")
    yield Sample(np.array([1, 3, 3, 2]), np.array(2, np.int32), note="equal", grad=False)
    yield Sample(np.array([0, 255, 7], np.uint8), np.array(3, np.int32), grad=False)
    yield Sample(np.zeros((2, 5)), np.array(0, np.int32), note="none")
    yield ErrorSample(np.ones(3), np.array(4, np.int32), raises="k = 4 but is 3|at least k col")
    yield ErrorSample(np.ones(3), np.array(-4, np.int32), raises="Need k >= 0, got -4|but is -4")


@op(
    "TopK",
    "input: T -> values: T, indices: int32",
    k=Int(min=0),
    sorted=True,
    T=REALS,
    deprecated=(7, "Use TopKV2 instead"),
    shape=top_k_shape,
)
def top_k(input, *, k):
    """The k largest elements of each row, in falling order, and their places."""
    return _largest(input, k)


@top_k.gradient
def _(node, dy, _):
    return _gradient(node, dy)


@top_k.lower
def _(e, x, *, k):
    return _lowered(e, x, k)


@top_k.samples
def _(rng):
    yield Sample(rng.normal(size=(2, 5)), k=3)


# -- NthElement ---------------------------------------------------------------------------------
def nth_shape(input, n):
    input, place = with_rank_at_least(input, 1), scalar_size(n, 1)
    if input.rank is None:
        return UNKNOWN
    last = input.sizes[-1]
    require(
        None in (last, place) or last > place, f"Input must have last dimension > n = {place} but is {last}"
    )
    return make_shape(input.sizes[:-1])


@op("NthElement", "input: T, n: int32 -> values: T", reverse=False, T=REALS, shape=nth_shape)
def nth_element(input, n, *, reverse):
    """The n-th smallest element of each row (counted from 0); the n-th largest if `reverse`."""
    require(n.ndim == 0, f"N must be scalar, got shape {show(make_shape(n.shape))}")
    require(n >= 0, f"Need n >= 0, got {n}")
    require(input.ndim > 0, f"Input must be >= 1-D, got shape {show(make_shape(input.shape))}")
    size = input.shape[-1]
    require(size > n, "Input must have at least n+1 columns")
    place = size - 1 - int(n) if reverse else int(n)
    if input.dtype.kind == "V":  # NumPy does not partition bfloat16
        wide = np.partition(input.astype(np.float32), place, axis=-1)
    else:
        wide = np.partition(input, place, axis=-1)
    return np.asarray(wide[..., place]).astype(input.dtype, copy=False)


@nth_element.gradient
def _(node, dy):
    """Shared evenly among the elements that have the value."""
    x, value = node.inputs[0], reshape.expand_dims(node.outputs[0], -1)
    chosen = cast.cast(comparison.equal(value, x), DstT=dy.dtype.base)
    many = reshape.expand_dims(reduce.sum_(chosen, [-1]), -1)
    return chosen / many * reshape.expand_dims(dy, -1), None


@nth_element.samples
def _(rng):
    yield Sample(rng.normal(size=(2, 5)), np.array(3, np.int32))
    yield Sample(rng.normal(size=(2, 5)), np.array(1, np.int32), reverse=True)
    yield Sample(np.array([3, 1, 2]), np.array(0, np.int32), grad=False)
    yield ErrorSample(np.ones(3), np.array(3, np.int32), raises="n = 3 but is 3|n\\+1 columns")


# -- LowerBound, UpperBound ---------------------------------------------------------------------
def bound_shape(sorted_inputs, values):
    rows, wanted = with_rank(sorted_inputs, 2), with_rank(values, 2)
    merge_sizes(rows.sizes[0], wanted.sizes[0])
    return wanted


def _bound(sorted_inputs, values, side):
    require(sorted_inputs.ndim == 2 and values.ndim == 2, "sorted input argument must be a matrix")
    require(sorted_inputs.shape[0] == values.shape[0], "Leading dim_size of both tensors must match.")
    out = np.empty(values.shape, np.int64)
    for row, wanted, found in zip(sorted_inputs, values, out):
        found[:] = np.searchsorted(row, wanted, side=side)
    return out


def _bound_samples(rng):
    rows = np.array([[0, 3, 9, 9, 10], [1, 2, 3, 4, 5]])
    yield Sample(rows, np.array([[2, 4, 9], [0, 2, 6]]), grad=False)
    yield Sample(rows.astype(float), np.zeros((2, 0)), note="empty", grad=False)
    yield ErrorSample(rows, np.ones((3, 1), int), raises="must (match|be equal)")


def _searching(name, side, doc):
    @op(
        name, "sorted_inputs: T, values: T -> output: out_type",
        T=Type(), out_type=INDEX32, shape=bound_shape,
    )  # fmt: skip
    @named(name, doc)
    def search(sorted_inputs, values):
        return _bound(sorted_inputs, values, side)

    search.no_gradient()
    search.samples(_bound_samples)
    return search


lower_bound = _searching(
    "LowerBound", "left", "For every value the first place of its sorted row where it could be inserted."
)
upper_bound = _searching(
    "UpperBound", "right", "For every value the last place of its sorted row where it could be inserted."
)
