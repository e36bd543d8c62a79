"""A tensor with a border: Pad, PadV2 (one value around it), MirrorPad (its own reflection)."""

from __future__ import annotations

import numpy as np

from headrace.core.errors import require
from headrace.core.shapes import UNKNOWN, make_shape
from headrace.ops.array import reshape
from headrace.ops.array.slices import slice
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.emit import Decline
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.shape_checks import with_rank, with_size
from headrace.ops.declaration.signature import INDEX32, String, Type


def _checked(input, paddings):
    """(known input shape, constant paddings or None)"""
    rows = with_rank(paddings, 2)
    with_size(rows.sizes[1], 2)
    rank = with_size(input.rank, rows.sizes[0])
    return (UNKNOWN if rank is None else with_rank(input, rank)), paddings.value


def padded_shape(input, paddings):
    input, known = _checked(input, paddings)
    if input.rank is None:
        return UNKNOWN
    if known is None:
        return make_shape((None,) * input.rank)
    require((known >= 0).all(), "Paddings must be non-negative")
    return make_shape(None if s is None else s + int(p.sum()) for s, p in zip(input.sizes, known))


def pad_v2_shape(input, paddings, constant_values):
    with_rank(constant_values, 0)
    return padded_shape(input, paddings)


def _pairs(input, paddings):
    require(
        paddings.ndim == 2 and paddings.shape[1] == 2,
        f"paddings must be a matrix with 2 columns: {list(paddings.shape)}",
    )
    require(
        paddings.shape[0] == input.ndim,
        "The first dimension of paddings must be the rank of inputs"
        f"{list(paddings.shape)} {list(input.shape)}",
    )
    for before, after in paddings:
        require(before >= 0 and after >= 0, f"Paddings must be non-negative: {before} {after}")
    return [(int(before), int(after)) for before, after in paddings]


def _padded(input, pairs, value):
    out = np.empty([n + sum(p) for n, p in zip(input.shape, pairs)], dtype=input.dtype)
    out[...] = value
    out[tuple(np.s_[p[0] : p[0] + n] for n, p in zip(input.shape, pairs))] = input
    return out


@op("Pad", "input: T, paddings: Tpaddings -> output: T", T=Type(), Tpaddings=INDEX32, shape=padded_shape)
def pad(input, paddings):
    """The input with zeros around it: paddings[i] says how many before and after along axis i."""
    zero = b"" if input.dtype == object else 0
    return _padded(input, _pairs(input, paddings), zero)


def _inside(x, paddings, dy):
    """The part of `dy` that stands where `x` was."""
    column = reshape.reshape(slice.slice_(paddings, [0, 0], [-1, 1]), [-1])
    return slice.slice_(dy, column, reshape.shape_of(x, paddings.dtype.base))


@pad.gradient
def _(node, dy):
    x, paddings = node.inputs
    return _inside(x, paddings, dy), None


SHORT = 16  # elements: too few for a loop of their own


def _placed(e, x, paddings, value):
    """Borders that are not known, in a result of known shape: so is the gradient of a slice."""
    whole = e.declared_shape()
    if whole is None or any(n > size for n, size in zip(x.shape, whole)):
        raise Decline("the paddings are not known")
    starts = []
    for k, (n, size) in enumerate(zip(x.shape, whole)):
        before, after = paddings[k, 0], paddings[k, 1]
        e.checked(before + after - (size - n), 1, "paddings that do not give the shape")
        starts.append(e.checked(before, size - n + 1, "Paddings must be non-negative"))

    def element(*i):
        place = tuple(k - start for k, start in zip(i, starts))
        tests = [test for k, n in zip(place, x.shape) for test in (k >= 0, k < n)]
        inside = tests[0]
        for test in tests[1:]:
            inside = inside & test
        return e.select(inside, x[place], value)

    return e.compute(whole, element) if whole else x


def _bordered(e, x, paddings, value):
    """Reading outside gives 0 and is safe, so the element is read first and chosen afterwards."""
    if paddings.value is None:
        return _placed(e, x, paddings, value)
    pairs = [(int(a), int(b)) for a, b in paddings.value]
    whole = [n + a + b for n, (a, b) in zip(x.shape, pairs)]
    padded = [k for k, pair in enumerate(pairs) if any(pair)]
    last = padded[-1] if padded else len(pairs)
    few = int(np.prod(x.shape[last + 1 :])) if last < len(pairs) - 1 else SHORT
    if 0 < few < SHORT:  # such as colours: they count as part of the dimension before
        a, b = pairs[last]
        x = e.view(x, (*x.shape[:last], x.shape[last] * few))
        pairs = [*pairs[:last], (a * few, b * few)]

    def element(*i):
        place = tuple(k - a for k, (a, _) in zip(i, pairs))
        inside = None
        for k, n, (a, b) in zip(place, x.shape, pairs):
            for test in ([k >= 0] if a else []) + ([k < n] if b else []):
                inside = test if inside is None else inside & test
        return x[place] if inside is None else e.select(inside, x[place], value)

    return e.view(e.compute([n + a + b for n, (a, b) in zip(x.shape, pairs)], element), whole)


@pad.lower
def _(e, x, paddings):
    return _bordered(e, x, paddings, e.const(0, x.dtype))


@pad.samples
def _(rng):
    yield Sample(rng.normal(size=(2, 3)), np.array([[1, 2], [0, 1]], np.int32))
    yield Sample(rng.normal(size=(2, 4, 5, 3)), np.array([[0, 0], [1, 2], [2, 0], [0, 0]]))
    yield Sample(rng.normal(size=(0, 3)), np.array([[1, 0], [0, 1]]), note="empty")
    yield Sample(np.array(1.0), np.zeros((0, 2), np.int32), note="scalar")
    yield Sample(np.array([b"a"], object), np.array([[1, 0]]), note="text")
    yield ErrorSample(np.ones(2), np.array([[-1, 0]]), raises="Paddings must be non-negative")
    yield ErrorSample(np.ones(2), np.array([[1, 0], [0, 1]]), raises="rank|must be")


@op(
    "PadV2",
    "input: T, paddings: Tpaddings, constant_values: T -> output: T",
    T=Type(),
    Tpaddings=INDEX32,
    shape=pad_v2_shape,
)
def pad_v2(input, paddings, constant_values):
    """The input with a border of the value `constant_values`."""
    require(
        constant_values.ndim == 0, f"constant_values must be a scalar. Found: {list(constant_values.shape)}"
    )
    return _padded(input, _pairs(input, paddings), constant_values)


@pad_v2.gradient
def _(node, dy):
    x, paddings, _ = node.inputs
    return _inside(x, paddings, dy), None, None  # none for the value, as in TF


@pad_v2.lower
def _(e, x, paddings, value):
    return _bordered(e, x, paddings, value[()])


@pad_v2.samples
def _(rng):
    value = rng.normal(size=())
    yield Sample(rng.normal(size=(2, 3)), np.array([[1, 2], [0, 1]], np.int32), value)
    # What is filled in has no gradient, and there is nothing else.
    yield Sample(rng.normal(size=(0, 3)), np.array([[1, 0], [0, 1]]), value, note="empty", grad=False)
    yield ErrorSample(np.ones(2), np.array([[1, 0]]), np.ones(2), raises="rank 0|scalar")


# -- MirrorPad ----------------------------------------------------------------------------------
def _mirror_check(size, before, after, mode, what):
    """REFLECT does not repeat the edge, so it has one element less to show."""
    if mode == "SYMMETRIC":
        require(
            before <= size and after <= size,
            f"paddings must be no greater than the {what}dimension size: {before}, {after} greater "
            f"than {size}",
        )
    else:
        require(
            before < size and after < size,
            f"paddings must be less than the {what}dimension size: {before}, {after} not less than {size}",
        )


def mirror_shape(input, paddings, *, mode):
    out = padded_shape(input, paddings)
    return out


def _sources(size, before, after, mode):
    """For every place along a padded axis, the place that it shows."""
    kind = "symmetric" if mode == "SYMMETRIC" else "reflect"
    if before == after == 0:
        return np.arange(size)
    return np.pad(np.arange(size), (before, after), mode=kind)


_MIRRORED = "input: T, paddings: Tpaddings -> output: T"
_MIRRORS = {"T": Type(), "Tpaddings": INDEX32, "mode": String("REFLECT", "SYMMETRIC")}


@op("MirrorPad", _MIRRORED, shape=mirror_shape, attrs=_MIRRORS)
def mirror_pad(input, paddings, *, mode):
    """The input continued by its mirror image, with (SYMMETRIC) or without (REFLECT) the edge."""
    out = input
    for axis, (before, after) in enumerate(_pairs(input, paddings)):
        _mirror_check(input.shape[axis], before, after, mode, "")
        if before or after:
            out = np.take(out, _sources(input.shape[axis], before, after, mode), axis)
    return out


@mirror_pad.gradient
def _(node, dy):
    return mirror_pad_grad(dy, node.inputs[1], node.attrs["mode"]), None


@mirror_pad.lower
def _(e, x, paddings, *, mode):
    if paddings.value is None:
        raise Decline("the paddings are not known")
    pairs = [(int(a), int(b)) for a, b in paddings.value]
    edge = 1 if mode == "SYMMETRIC" else 0
    if not all(0 <= k < n + edge for n, pair in zip(x.shape, pairs) for k in pair):
        raise Decline("the mirror shows more than there is")

    def source(k, n, a, b):
        k = k - a
        if a:
            k = e.select(k < 0, -k - edge, k)
        return e.select(k >= n, 2 * n - 2 + edge - k, k) if b else k

    return e.compute(
        [n + a + b for n, (a, b) in zip(x.shape, pairs)],
        lambda *i: x[tuple(source(k, n, *p) for k, n, p in zip(i, x.shape, pairs))],
    )


@mirror_pad.samples
def _(rng):
    paddings = np.array([[1, 1], [0, 2]], np.int32)
    for mode in ("REFLECT", "SYMMETRIC"):
        yield Sample(rng.normal(size=(2, 3)), paddings, mode=mode)
        yield Sample(np.array(2.0), np.zeros((0, 2), np.int32), mode=mode, note="scalar")
    yield Sample(np.array([1.0, 2.0]), np.array([[2, 2]]), mode="SYMMETRIC", note="whole")
    yield ErrorSample(np.ones(2), np.array([[2, 0]]), mode="REFLECT", raises="must be less than")
    yield ErrorSample(np.ones(2), np.array([[3, 0]]), mode="SYMMETRIC", raises="no greater than")


def mirror_grad_shape(input, paddings):
    input, known = _checked(input, paddings)
    if input.rank is None:
        return UNKNOWN
    if known is None:
        return make_shape((None,) * input.rank)
    require((known >= 0).all(), "Paddings must be non-negative")
    sizes = [None if s is None else s - int(p.sum()) for s, p in zip(input.sizes, known)]
    require(all(s is None or s >= 0 for s in sizes), "Paddings are larger than the input")
    return make_shape(sizes)


@op("MirrorPadGrad", _MIRRORED, shape=mirror_grad_shape, attrs=_MIRRORS)
def mirror_pad_grad(input, paddings, *, mode):
    """The gradient of MirrorPad: what stands in the border is added to the place it showed."""
    out = input
    for axis, (before, after) in enumerate(_pairs(input, paddings)):
        size = input.shape[axis] - before - after
        _mirror_check(size, before, after, mode, "output ")
        if before or after:
            folded = np.zeros((size, *np.delete(out.shape, axis)), dtype=out.dtype)
            np.add.at(folded, _sources(size, before, after, mode), np.moveaxis(out, axis, 0))
            out = np.moveaxis(folded, 0, axis)
    return np.asarray(out, order="C")


@mirror_pad_grad.gradient
def _(node, dy):
    return mirror_pad(dy, node.inputs[1], node.attrs["mode"]), None


@mirror_pad_grad.lower
def _(e, dy, paddings, *, mode):
    """Axis after axis: each place adds what shows it in the border before and after."""
    if paddings.value is None:
        raise Decline("the paddings are not known")
    edge = 1 if mode == "SYMMETRIC" else 0
    for axis, (a, b) in enumerate((int(a), int(b)) for a, b in paddings.value):
        size = dy.shape[axis] - a - b
        _mirror_check(size, a, b, mode, "output ")
        if a or b:
            dy = _folded(e, dy, axis, size, a, b, edge)
    return dy


def _folded(e, dy, axis, size, a, b, edge):
    def element(*i):
        def at(place):
            return dy[(*i[:axis], place, *i[axis + 1 :])]

        k = i[axis]
        total = at(k + a)
        before, after = a - edge - k, size - 2 + edge - k
        if a:
            shown = (before >= 0) & (before < a)
            total = total + e.select(shown, at(e.max(before, 0)), 0)
        if b:
            shown = (after >= 0) & (after < b)
            total = total + e.select(shown, at(e.max(after, 0) + size + a), 0)
        return total

    return e.compute([size if n == axis else m for n, m in enumerate(dy.shape)], element)


@mirror_pad_grad.samples
def _(rng):
    for mode in ("REFLECT", "SYMMETRIC"):
        yield Sample(rng.normal(size=(4, 5)), np.array([[1, 1], [0, 2]], np.int32), mode=mode)
