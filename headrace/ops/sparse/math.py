"""Arithmetic of sparse tensors: sums, maxima, reductions, softmax."""

from __future__ import annotations

import numpy as np

from headrace.core.dtypes import NUMBERS, REALS, float32, float64
from headrace.core.errors import require
from headrace.core.shapes import UNKNOWN, make_shape, show
from headrace.ops.array.indexing import gather
from headrace.ops.declaration import array
from headrace.ops.declaration.declare import Op, op
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.shape_checks import with_rank
from headrace.ops.math import arithmetic, cast, division, reduce
from headrace.ops.sparse import dense as sparse_dense
from headrace.ops.sparse.array import SMALL
from headrace.ops.sparse.layout import (
    check_pair,
    check_parts,
    check_sizes,
    direction,
    flat_places,
    group_of,
    group_starts,
    order,
    sparse_shapes,
)

OTHER = (np.array([[0, 1], [1, 1], [3, 2], [3, 4]]), np.array([1.0, 5.0, -4.0, 2.5]), np.array([4, 5]))


def _merged(a_indices, b_indices):
    """The union of two sorted lists of places, and for each place its row in a and in b, or -1.

    The n-th occurrence of a place in one meets the n-th in the other.
    """
    places = np.concatenate([a_indices, b_indices])
    source = np.repeat([0, 1], [len(a_indices), len(b_indices)])
    sort = order(places)  # stable: rows of a come first within a place
    places, source = places[sort], source[sort]
    group = group_of(places)
    occurrence = np.zeros(len(places), np.int64)
    for which in (0, 1):
        mine = np.flatnonzero(source == which)
        first = np.searchsorted(group[mine], group[mine])
        occurrence[mine] = np.arange(len(mine)) - first
    key = np.stack([group, occurrence], axis=1)
    again = np.lexsort((source, occurrence, group))
    key, places, source, sort = key[again], places[again], source[again], sort[again]
    starts = group_starts(key)
    rows = np.full((2, len(starts)), -1, np.int64)
    rows[source, group_of(key)] = sort - source * len(a_indices)
    return places[starts], rows[0], rows[1]


def _values_at(values, rows):
    """values[rows], zero where there is none."""
    if not len(values):
        return np.zeros(len(rows), values.dtype)
    return np.where(rows >= 0, values[rows], np.zeros((), values.dtype))


# -- SparseAdd ----------------------------------------------------------------------------------
def add_shape(ai, av, a_shape, bi, bv, b_shape, thresh):
    (rank,) = with_rank(a_shape, 1).sizes
    return sparse_shapes(rank)


@op(
    "SparseAdd",
    "a_indices: int64, a_values: T, a_shape: int64, b_indices: int64, b_values: T, "
    "b_shape: int64, thresh: Treal -> sum_indices: int64, sum_values: T, sum_shape: int64",
    T=NUMBERS,
    Treal=REALS,
    shape=add_shape,
)
def sparse_add(a_indices, a_values, a_shape, b_indices, b_values, b_shape, thresh):
    """The sum, sparse; where both have an element, a sum below `thresh` in magnitude is left out."""
    check_pair((a_indices, a_values, a_shape), (b_indices, b_values, b_shape))
    require(len(a_shape) > 0, "Tensors must not be empty")
    require(thresh.ndim == 0, f"The magnitude threshold must be a scalar: got shape {show(thresh.shape)}")
    places, a, b = _merged(a_indices, b_indices)
    total = _values_at(a_values, a) + _values_at(b_values, b)
    kept = (a < 0) | (b < 0) | (np.abs(total) >= thresh)
    return places[kept], total[kept], a_shape


@sparse_add.gradient
def _(node, d_indices, dy, d_shape):
    a, b = node.inputs[1], node.inputs[4]
    da, db = sparse_add_grad(dy, node.inputs[0], node.inputs[3], node.outputs[0])
    da.set_shape(a.shape)
    db.set_shape(b.shape)
    return None, da, None, None, db, None, None


@sparse_add.samples
def _(rng):
    yield Sample(*SMALL, *OTHER, np.array(0.0))
    yield Sample(*SMALL, *OTHER, np.array(1.0), note="threshold")
    empty = np.zeros((0, 2), np.int64), np.zeros(0), SMALL[2]
    yield Sample(*empty, *OTHER, np.array(0.0), note="empty")
    yield ErrorSample(*SMALL, *OTHER[:2], np.array([4, 6]), np.array(0.0), raises="do not match")


@op(
    "SparseAddGrad",
    "backprop_val_grad: T, a_indices: int64, b_indices: int64, "
    "sum_indices: int64 -> a_val_grad: T, b_val_grad: T",
    T=NUMBERS,
    shape=lambda g, a, b, s: [make_shape((with_rank(x, 2).sizes[0],)) for x in (a, b)],
)
def sparse_add_grad(backprop_val_grad, a_indices, b_indices, sum_indices):
    """Each term gets the gradient at its place in the sum, zero where that was left out."""
    dy = backprop_val_grad
    require(
        a_indices.ndim == b_indices.ndim == sum_indices.ndim == 2,
        "Input indices should be matrices but received shapes: "
        f"{show(a_indices.shape)} and {show(b_indices.shape)} and {show(sum_indices.shape)}",
    )
    require(dy.ndim == 1, f"Input backprop_val_grad should be a vector but received shape: {show(dy.shape)}")
    require(
        a_indices.shape[1] == b_indices.shape[1] == sum_indices.shape[1],
        "The densified operands should have the same ndims; for A, B, sum got: "
        f"{a_indices.shape[1]}{b_indices.shape[1]}{sum_indices.shape[1]}",
    )
    require(
        len(dy) == len(sum_indices),
        "# elements of backprop_val_grad and # rows of sum_indices should match (#nnz of sum): "
        f"got {len(dy)} and {len(sum_indices)}",
    )
    return _at(dy, sum_indices, a_indices), _at(dy, sum_indices, b_indices)


sparse_add_grad.no_gradient()


def _at(values, places, wanted):
    """The values at the wanted places, zero where there is none."""
    _, row, target = _merged(places, wanted)
    out = np.zeros(len(wanted), values.dtype)
    both = (row >= 0) & (target >= 0)
    out[target[both]] = values[row[both]]
    return out


@sparse_add_grad.samples
def _(rng):
    total = np.array([[0, 1], [1, 0], [1, 1], [3, 4]])
    yield Sample(rng.normal(size=4), SMALL[0], OTHER[0], total, grad=False)


# -- SparseSparseMaximum, SparseSparseMinimum ---------------------------------------------------
def pair_shape(ai, av, a_shape, bi, bv, b_shape):
    for x, rank in ((ai, 2), (av, 1), (a_shape, 1), (bi, 2), (bv, 1), (b_shape, 1)):
        with_rank(x, rank)
    return sparse_shapes()[:2]


def pairwise(name, combine, types, doc) -> Op:
    """An element-wise op of two sparse tensors; what is not given counts as zero."""

    def reference(a_indices, a_values, a_shape, b_indices, b_values, b_shape):
        check_pair((a_indices, a_values, a_shape), (b_indices, b_values, b_shape))
        places, a, b = _merged(a_indices, b_indices)
        return places, combine(_values_at(a_values, a), _values_at(b_values, b))

    def gradient(node, *dys):
        raise NotImplementedError(f"Gradient for {name} is currently not implemented yet.")

    def samples(rng):
        yield Sample(*SMALL, *OTHER, grad=False)
        yield Sample(*SMALL, np.zeros((0, 2), np.int64), np.zeros(0), SMALL[2], grad=False)
        yield ErrorSample(*SMALL, *OTHER[:2], np.array([4, 6]), raises="do not match")

    reference.__doc__ = doc
    declared = op(
        name,
        "a_indices: int64, a_values: T, a_shape: int64, b_indices: int64, "
        "b_values: T, b_shape: int64 -> output_indices: int64, output_values: T",
        T=types,
        shape=pair_shape,
    )(reference)
    declared.gradient(gradient)
    declared.samples(samples)
    return declared


sparse_sparse_maximum = pairwise(
    "SparseSparseMaximum", np.maximum, REALS, "The larger of two sparse tensors' elements."
)
sparse_sparse_minimum = pairwise(
    "SparseSparseMinimum", np.minimum, NUMBERS, "The smaller of two sparse tensors' elements."
)


# -- SparseReduceSum, SparseReduceMax, and the same with a sparse result ------------------------
def reduce_shape(input_indices, input_values, input_shape, reduction_axes, *, keep_dims):
    sizes, axes = input_shape.as_sizes, reduction_axes.value
    if sizes is None or axes is None:
        rank = input_shape.num_elements() if input_shape.rank == 1 else None
        return make_shape((None,) * rank) if keep_dims and rank is not None else UNKNOWN
    gone = {int(a) % len(sizes) for a in axes.ravel() if -len(sizes) <= a < len(sizes)}
    if keep_dims:
        return make_shape(1 if i in gone else s for i, s in enumerate(sizes))
    return make_shape(s for i, s in enumerate(sizes) if i not in gone)


class Reduction:
    """The groups of elements that a reduction brings together."""

    def __init__(self, indices, values, shape, axes, keep_dims):
        rank = len(shape)
        require(shape.ndim == 1, f"Expected input_shape to be a vector; got shape: {show(shape.shape)}")
        require(
            axes.ndim < 2,
            f"Expected reduction_axes to be a scalar or a vector; got shape: {show(axes.shape)}",
        )
        for axis in axes.ravel().tolist():
            require(
                -rank <= axis < rank, f"Invalid reduction dimension {axis}, for input with {rank} dimensions."
            )
        sizes = check_sizes(shape)
        check_parts(indices, values, shape)
        gone = {axis % rank for axis in axes.ravel().tolist()}
        self.kept = [i for i in range(rank) if i not in gone]
        self.kept_sizes = tuple(sizes[i] for i in self.kept)
        self.sizes = (
            tuple(1 if i in gone else s for i, s in enumerate(sizes)) if keep_dims else self.kept_sizes
        )
        # Elements of a group stay in the order of their places, as TF adds them up.
        sort = order(np.concatenate([indices[:, self.kept], indices[:, sorted(gone)]], axis=1))
        places = indices[sort][:, self.kept]
        self.values, self.starts = values[sort], group_starts(places)
        self.places, self.keep_dims, self.rank = places[self.starts], keep_dims, rank

    def reduced(self, combine):
        """One value per group."""
        if not len(self.values):
            return self.values
        return combine.reduceat(self.values, self.starts).astype(self.values.dtype, copy=False)

    def dense(self, combine):
        out = np.zeros(self.sizes, self.values.dtype)
        found = self.reduced(combine)
        inside = np.all((self.places >= 0) & (self.places < self.kept_sizes), axis=1)
        require(np.all(inside), "Obtained a write index which is outside of bounds")
        out.reshape(-1)[flat_places(self.places, self.kept_sizes)] = found
        return out

    def sparse(self, combine):
        places = self.places
        if self.keep_dims:
            places = np.zeros((len(self.places), self.rank), np.int64)
            places[:, self.kept] = self.places
        return places, self.reduced(combine), np.array(self.sizes, np.int64)


def reduction(name, combine, types, doc):
    """A reduction with a dense result, and the one with a sparse result."""

    def dense(input_indices, input_values, input_shape, reduction_axes, *, keep_dims):
        groups = Reduction(input_indices, input_values, input_shape, reduction_axes, keep_dims)
        return groups.dense(combine)

    def sparse(input_indices, input_values, input_shape, reduction_axes, *, keep_dims):
        groups = Reduction(input_indices, input_values, input_shape, reduction_axes, keep_dims)
        return groups.sparse(combine)

    def samples(differentiable):
        def rule(rng):
            places = np.array([[0, 0, 1], [0, 2, 0], [1, 0, 1], [1, 2, 1], [1, 2, 3]])
            whole = places, np.array([1.0, -2.0, -3.0, 0.5, 4.0]), np.array([2, 3, 4])
            for axes in (0, [1], [0, 2], [-1], [0, 1, 2]):
                for keep_dims in (False, True):
                    axis = np.array(axes, np.int32)
                    yield Sample(*whole, axis, keep_dims=keep_dims, grad=differentiable)
            empty = np.zeros((0, 2), np.int64), np.zeros(0), np.array([2, 3])
            yield Sample(*empty, np.array([0], np.int32), note="empty", grad=differentiable)
            yield ErrorSample(*whole, np.array(3, np.int32), raises="Invalid reduction dimension 3")

        return rule

    inputs = "input_indices: int64, input_values: T, input_shape: int64, reduction_axes: int32 -> "
    dense.__doc__ = f"{doc}, dense."
    sparse.__doc__ = f"{doc}, sparse."
    one = op(name, inputs + "output: T", keep_dims=False, T=types, shape=reduce_shape)(dense)
    one.samples(samples(name == "SparseReduceSum"))
    three = op(
        name + "Sparse",
        inputs + "output_indices: int64, output_values: T, output_shape: int64",
        keep_dims=False,
        T=types,
        shape=lambda *inputs: [UNKNOWN] * 3,
    )(sparse)
    three.samples(samples(False))
    return one, three


sparse_reduce_sum, sparse_reduce_sum_sparse = reduction(
    "SparseReduceSum", np.add, NUMBERS, "The sums of the elements along axes"
)
sparse_reduce_max, sparse_reduce_max_sparse = reduction(
    "SparseReduceMax",
    np.maximum,
    REALS,
    "The largest of the given elements along axes, zero where there are none",
)


@sparse_reduce_sum.gradient
def _(node, dy):
    indices, _, shape, axes = node.inputs
    kept = reduce.kept_shape(shape, axes)
    dy = array.reshape(dy, kept)
    scale = division.floor_div(shape, cast.cast(kept, shape.dtype))
    return None, gather.gather_nd(dy, division.floor_div(indices, scale)), None, None


# -- SparseSoftmax ------------------------------------------------------------------------------
def softmax_shape(sp_indices, sp_values, sp_shape):
    with_rank(sp_indices, 2)
    with_rank(sp_shape, 1)
    return with_rank(sp_values, 1)


@op(
    "SparseSoftmax",
    "sp_indices: int64, sp_values: T, sp_shape: int64 -> output: T",
    T=(float32, float64),
    shape=softmax_shape,
)
def sparse_softmax(sp_indices, sp_values, sp_shape):
    """Softmax over the elements that are given in each row of the last dimension."""
    require(
        sp_indices.ndim == 2,
        f"Input sp_indices should be a matrix but received shape: {show(sp_indices.shape)}",
    )
    require(
        sp_values.ndim == 1 == sp_shape.ndim,
        "Inputs sp_values and sp_shape should be vectors but received shapes: "
        f"{show(sp_values.shape)} and {show(sp_shape.shape)}",
    )
    require(len(sp_shape) >= 2, f"Input should have rank >= 2, but received shape: {show(sp_shape)}")
    check_sizes(sp_shape)
    check_parts(sp_indices, sp_values, sp_shape)
    if not len(sp_values):
        return sp_values
    # Rows follow each other: the elements are taken to be in row-major order.
    rows = sp_indices[:, :-1]
    starts = np.flatnonzero(np.concatenate([[True], direction(rows) != 0]))
    counts = np.diff(np.concatenate([starts, [len(rows)]]))
    shifted = np.exp(sp_values - np.repeat(np.maximum.reduceat(sp_values, starts), counts))
    return shifted / np.repeat(np.add.reduceat(shifted, starts), counts)


@sparse_softmax.gradient
def _(node, dy):
    indices, _, shape = node.inputs
    y = node.outputs[0]
    last = np.array([-1], np.int32)
    total = sparse_reduce_sum(indices, arithmetic.mul(y, dy), shape, last, keep_dims=True)
    shifted = sparse_dense.sparse_dense_cwise_add(indices, dy, shape, arithmetic.neg(total))
    return None, arithmetic.mul(shifted, y), None


@sparse_softmax.samples
def _(rng):
    yield Sample(*SMALL)
    places = np.array([[0, 0, 0], [0, 0, 2], [0, 1, 1], [1, 1, 0]])
    yield Sample(places, np.array([1.0, 1000.0, -3.0, 2.0]), np.array([2, 2, 3]), note="cube")
    yield Sample(np.zeros((0, 2), np.int64), np.zeros(0), np.array([2, 3]), note="empty")
    yield ErrorSample(np.array([[0]]), np.ones(1), np.array([3]), raises="rank >= 2")
