"""Dimensions in another order: Transpose, ConjugateTranspose, InvertPermutation."""

from __future__ import annotations

import numpy as np

from headrace.core.errors import require
from headrace.core.shapes import UNKNOWN, make_shape
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.emit import Decline
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.shape_checks import with_rank, with_size
from headrace.ops.declaration.signature import INDEX32, Type


def transposed_shape(x, perm):
    count = perm.num_elements()
    rank = x.rank if x.rank is not None else count
    if rank is None or (x.rank is None and rank < 2):
        return UNKNOWN
    x = with_rank(x, rank)
    with_rank(perm, 1)
    with_size(count, rank)
    order = perm.value
    if order is None:
        return make_shape((None,) * rank)
    for axis in order:
        require(-rank < axis < rank, f"perm dim {axis} is out of range of input rank {rank}")
    return make_shape(x.sizes[axis] for axis in order)


def checked_order(perm, rank):
    """The axes that `perm` names, each once."""
    require(
        perm.shape == (rank,),
        f"transpose expects a vector of size {rank}. But input(1) is a vector of size {perm.size}",
    )
    order = []
    for axis in perm:
        axis = int(axis) + rank if axis < 0 else int(axis)
        require(0 <= axis < rank, f"{axis} is out of range [0 .. {rank})")
        order.append(axis)
    for axis in range(rank):
        require(axis in order, f"{axis} is missing from {{{','.join(map(str, perm))}}}.")
    return order


def _permuted(x, perm):
    return np.asarray(x.transpose(checked_order(perm, x.ndim)), order="C")


@op("Transpose", "x: T, perm: Tperm -> y: T", T=Type(), Tperm=INDEX32, shape=transposed_shape)
def transpose(x, perm):
    """Dimension i of the result is dimension perm[i] of `x`."""
    return _permuted(x, perm)


@transpose.gradient
def _(node, dy):
    return transpose(dy, invert_permutation(node.inputs[1])), None


def _lower(conjugated):
    def rule(e, x, perm):
        if perm.value is None:
            raise Decline("the order is not known")
        order = checked_order(perm.value, len(x.shape))
        back = [order.index(axis) for axis in range(len(order))]

        def element(*i):
            found = x[tuple(i[b] for b in back)]
            return e.conj(found) if conjugated else found

        return e.compute([x.shape[a] for a in order], element)

    return rule


transpose.lower(_lower(False))


@transpose.samples
def _(rng):
    yield Sample(rng.normal(size=(2, 3)), np.array([1, 0], np.int32))
    yield Sample(rng.normal(size=(2, 3, 4)), np.array([2, 0, 1]))
    yield Sample(rng.normal(size=(2, 0, 4)), np.array([2, 0, 1], np.int32), note="empty")
    yield Sample(np.array(1.5), np.array([], np.int32), note="scalar")
    yield ErrorSample(np.ones((2, 3)), np.array([0], np.int32), raises="vector of size 2|must be 2")
    yield ErrorSample(np.ones((2, 3)), np.array([0, 0], np.int32), raises="1 is missing")


@op("ConjugateTranspose", "x: T, perm: Tperm -> y: T", T=Type(), Tperm=INDEX32, shape=transposed_shape)
def conjugate_transpose(x, perm):
    """As Transpose; complex elements are conjugated."""
    moved = _permuted(x, perm)
    return np.conj(moved) if x.dtype.kind == "c" else moved


@conjugate_transpose.gradient
def _(node, dy):
    return conjugate_transpose(dy, invert_permutation(node.inputs[1])), None


conjugate_transpose.lower(_lower(True))


@conjugate_transpose.samples
def _(rng):
    yield Sample(rng.normal(size=(2, 3)), np.array([1, 0], np.int32))
    yield Sample(rng.normal(size=(2, 3)) + 1j * rng.normal(size=(2, 3)), np.array([1, 0]), grad=False)


@op("InvertPermutation", "x: T -> y: T", T=INDEX32, shape=lambda x: with_rank(x, 1))
def invert_permutation(x):
    """The permutation that undoes `x`: y[x[i]] = i."""
    require(x.ndim == 1, "invert_permutation expects a 1D vector.")
    n = x.size
    out = np.full(n, -1, dtype=x.dtype)
    for i, place in enumerate(x):
        require(0 <= place < n, f"{place} is not between 0 and {n}")
        require(out[place] == -1, f"{place} is duplicated in the input.")
        out[place] = i
    return out


invert_permutation.no_gradient()


@invert_permutation.samples
def _(rng):
    yield Sample(np.array([2, 0, 1], np.int32), grad=False)
    yield Sample(np.array([], np.int64), grad=False)
    yield ErrorSample(np.array([0, 0], np.int32), raises="duplicated in the input")
    yield ErrorSample(np.array([0, 2], np.int32), raises="2 is not between 0 and 2")
