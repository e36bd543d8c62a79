"""A sparse tensor beside a dense one: made dense, added, multiplied, matrix product."""

from __future__ import annotations

import numpy as np

from headrace.core import dtypes
from headrace.core.dtypes import INDEX, NUMBERS
from headrace.core.errors import require
from headrace.core.shapes import make_shape, show
from headrace.core.sizes import whole
from headrace.ops.array import fill
from headrace.ops.array.indexing import gather
from headrace.ops.array.indexing.rows import added_at
from headrace.ops.array.slices import strided_slice
from headrace.ops.declaration import array
from headrace.ops.declaration.declare import Op, op
from headrace.ops.declaration.emit import Decline
from headrace.ops.declaration.precision import widest
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.shape_checks import described_by, merge_sizes, with_rank
from headrace.ops.declaration.signature import INDEX64, Type
from headrace.ops.math import arithmetic, cast, division, reduce, sequence
from headrace.ops.sparse.array import SMALL
from headrace.ops.sparse.layout import check_order, check_sizes, flat_places


# -- SparseToDense ------------------------------------------------------------------------------
@op(
    "SparseToDense",
    "sparse_indices: Tindices, output_shape: Tindices, sparse_values: T, default_value: T -> dense: T",
    validate_indices=True,
    T=Type(),
    Tindices=INDEX,
    shape=lambda i, output_shape, v, d: described_by(output_shape),
)
def sparse_to_dense(sparse_indices, output_shape, sparse_values, default_value, *, validate_indices):
    """A dense tensor with `sparse_values` at the given places and `default_value` elsewhere.

    The indices are a matrix, a vector of places in a vector, or one such place; the values may be
    one for all.
    """
    require(
        sparse_indices.ndim <= 2,
        f"sparse_indices should be a scalar, vector, or matrix, got shape {show(sparse_indices.shape)}",
    )
    places = sparse_indices.reshape(-1, 1) if sparse_indices.ndim < 2 else sparse_indices
    count, rank = places.shape
    require(output_shape.ndim == 1, f"output_shape should be a vector, got shape {show(output_shape.shape)}")
    require(
        len(output_shape) == rank,
        f"output_shape has incorrect number of elements: {len(output_shape)} should be: {rank}",
    )
    require(
        sparse_values.shape in ((), (count,)),
        f"sparse_values has incorrect shape {show(sparse_values.shape)}, should be [] or [{count}]",
    )
    require(default_value.ndim == 0, "default_value should be a scalar.")
    sizes = check_sizes(output_shape)
    if validate_indices:
        check_order(places, sizes)
    inside = (places >= 0) & (places < np.array(sizes, places.dtype))
    require(inside.all(), f"Indices are not valid (out of bounds).  Shape: {show(sizes)}")
    out = np.full(sizes, default_value[()], dtype=sparse_values.dtype)
    out[tuple(places.T)] = sparse_values
    return out


@sparse_to_dense.lower
def _(e, indices, shape, values, default, *, validate_indices):
    if shape.value is None or len(indices.shape) != 2 or indices.shape[1] != len(shape.value):
        raise Decline("the shape is not known, or indices of another form")
    if values.shape not in ((), indices.shape[:1]) or min(shape.value, default=1) <= 0:
        raise Decline("shapes that do not fit")
    sizes, count = [whole(n) for n in shape.value], indices.shape[0]
    start = e.compute(sizes, lambda *i: default[()])

    def place(k):
        return tuple(
            e.checked(indices[(k, axis)], n, "Indices are not valid (out of bounds).")
            for axis, n in enumerate(sizes)
        )

    def flat(k):
        at = e.cast(indices[(k, 0)], "int64")
        for axis, n in enumerate(sizes[1:], 1):
            at = at * n + e.cast(indices[(k, axis)], "int64")
        return at

    if validate_indices and count > 1:
        e.compute((count - 1,), lambda k: _refuse_disorder(e, flat(k), flat(k + 1)))
    return e.scatter("set", start, (count,), place, lambda k: values[k if values.shape else ()])


def _refuse_disorder(e, x, y):
    e.require(x < y, "indices out of order, or repeated")
    return x


@sparse_to_dense.gradient
def _(node, dy):
    indices, output_shape, values, _ = node.inputs
    places = indices
    if indices.shape.rank in (0, 1):  # places in a vector
        places = array.reshape(indices, np.array([-1, 1], np.int32))
    d_values = gather.gather_nd(dy, places)
    total, given = (reduce.sum_(x, _all_axes(x)) for x in (dy, d_values))
    d_default = arithmetic.sub(total, given)
    d_values = given if values.shape.rank == 0 else d_values
    return array.zeros_like(indices), array.zeros_like(output_shape), d_values, d_default


def _all_axes(x):
    return sequence.range_(0, array.rank(x), 1)


@sparse_to_dense.samples
def _(rng):
    places, values, shape = SMALL
    yield Sample(places, shape, values, np.array(0.5))
    yield Sample(np.array([1, 3]), np.array([5]), np.array([2.0, 3.0]), np.array(0.0), note="vector")
    yield Sample(np.array(4), np.array([7]), np.array(1.0), np.array(-1.0), note="one place")
    yield Sample(places[::-1], shape, values, np.array(0.0), validate_indices=False)
    words = np.array([b"a", b"b"], object)
    yield Sample(np.array([[0], [2]]), np.array([3]), words, np.array(b"-", object))
    yield ErrorSample(places[::-1], shape, values, np.array(0.0), raises="is out of order")
    yield ErrorSample(places, np.array([4, 3]), values, np.array(0.0), raises="is out of bounds")
    yield ErrorSample(places, np.array([4]), values, np.array(0.0), raises="incorrect number of elements")


# -- SparseTensorDenseAdd -----------------------------------------------------------------------
@op(
    "SparseTensorDenseAdd",
    "a_indices: Tindices, a_values: T, a_shape: Tindices, b: T -> output: T",
    T=NUMBERS,
    Tindices=INDEX,
    shape=lambda i, v, s, b: b.plain(),
)
def sparse_tensor_dense_add(a_indices, a_values, a_shape, b):
    """The sum, dense.  Places that occur twice add up."""
    require(
        a_indices.ndim == 2, f"Input a_indices should be a matrix but received shape: {show(a_indices.shape)}"
    )
    require(
        a_values.ndim == 1 == a_shape.ndim,
        "Inputs a_values and a_shape should be vectors but received shapes: "
        f"{show(a_values.shape)} and {show(a_shape.shape)}",
    )
    require(
        len(a_indices) == len(a_values), f"Dimensions {len(a_indices)} and {len(a_values)} are not compatible"
    )
    require(
        len(a_shape) == b.ndim, f"Two operands have different ranks; received: {len(a_shape)} and {b.ndim}"
    )
    for i, (x, y) in enumerate(zip(a_shape.tolist(), b.shape)):
        require(
            x == y,
            f"Dimension {i} does not equal (no broadcasting is supported): sparse side {x} vs dense side {y}",
        )
    inside = (a_indices >= 0) & (a_indices < np.array(b.shape, a_indices.dtype))
    if not inside.all():
        column = int(np.argmax(~inside.all(axis=0)))
        require(
            False,
            f"Sparse tensor has some invalid index on dimension {column}; dense tensor shape: "
            f"{show(b.shape)}",
        )
    out = np.array(b)
    added_at(out.reshape(-1), flat_places(a_indices, b.shape), a_values)
    return out


@sparse_tensor_dense_add.gradient
def _(node, dy):
    return None, gather.gather_nd(dy, node.inputs[0]), None, dy


@sparse_tensor_dense_add.samples
def _(rng):
    yield Sample(*SMALL, rng.normal(size=(4, 5)))
    twice = np.array([[1], [1]]), np.array([1.0, 2.0]), np.array([3])
    yield Sample(*twice, rng.normal(size=3), note="a place twice")
    yield ErrorSample(*SMALL, np.zeros((4, 4)), raises="no broadcasting is supported")
    yield ErrorSample(twice[0], np.array([1.0]), twice[2], np.zeros(3), raises="2 and 1 are not compatible")


# -- SparseTensorDenseMatMul --------------------------------------------------------------------
def product_shape(a_indices, a_values, a_shape, b, *, adjoint_a, adjoint_b):
    with_rank(a_indices, 2)
    with_rank(a_values, 1)
    with_rank(a_shape, 1)
    left = with_rank(a_shape.as_shape, 2).sizes[:: -1 if adjoint_a else 1]
    right = with_rank(b, 2).sizes[:: -1 if adjoint_b else 1]
    merge_sizes(left[1], right[0])
    return make_shape((left[0], right[1]))


@op(
    "SparseTensorDenseMatMul",
    "a_indices: Tindices, a_values: T, a_shape: int64, b: T -> product: T",
    T=Type(),
    Tindices=INDEX64,
    adjoint_a=False,
    adjoint_b=False,
    shape=product_shape,
)
def sparse_tensor_dense_mat_mul(a_indices, a_values, a_shape, b, *, adjoint_a, adjoint_b):
    """The matrix product of a sparse and a dense matrix."""
    require(b.ndim == 2, "Tensor 'b' is not a matrix")
    require(a_shape.ndim == 1, "Tensor 'a_shape' is not a vector")
    require(len(a_shape) == 2, "Tensor 'a_shape' must have 2 elements")
    require(a_values.ndim == 1, "Tensor 'a_values' is not a vector")
    require(a_indices.ndim == 2, "Tensor 'a_indices' is not a matrix")
    require(
        len(a_indices) == len(a_values),
        "Number of rows of a_indices does not match number of entries in a_values",
    )
    require(
        a_indices.shape[1] == 2, "Number of columns of a_indices does not match number of entries in a_shape"
    )
    b = b.conj().T if adjoint_b else b
    values = a_values.conj() if adjoint_a else a_values
    row, column = (1, 0) if adjoint_a else (0, 1)
    rows, inner = int(a_shape[row]), int(a_shape[column])
    require(
        inner == len(b),
        f"Cannot multiply A and B because inner dimension does not match: {inner} vs. {len(b)}.  "
        "Did you forget a transpose?  Dimensions of A: "
        f"[{a_shape[0]}, {a_shape[1]}).  Dimensions of B: {show(b.shape)}",
    )
    _check_below(a_indices, column, inner, "k")
    _check_below(a_indices, row, rows, "m")
    return _product(rows, a_indices[:, row], a_indices[:, column], values, b)


def _check_below(indices, column, limit, name):
    bad = np.flatnonzero((indices[:, column] < 0) | (indices[:, column] >= limit))
    if len(bad):
        i = bad[0]
        require(False, f"{name} ({indices[i, column]}) from index[{i},{column}] out of bounds (>={limit})")


_BLOCK = 1 << 22  # elements of the products that are held at a time


def _product(rows, m, k, values, b):
    """sum over the elements of row m: value * b[k], in blocks of columns of b."""
    kind = widest(b[:0]).dtype
    sort = np.argsort(m, kind="stable")
    m, k, values = m[sort], k[sort], values[sort].astype(kind)
    out = np.zeros((rows, b.shape[1]), kind)
    if len(m):
        starts = np.flatnonzero(np.concatenate([[True], m[1:] != m[:-1]]))
        width = max(1, _BLOCK // len(m))
        for at in range(0, b.shape[1], width):
            terms = b[:, at : at + width].astype(kind, copy=False)[k] * values[:, None]
            out[m[starts], at : at + width] = np.add.reduceat(terms, starts, axis=0)
    return out.astype(b.dtype, copy=False)


@sparse_tensor_dense_mat_mul.gradient
def _(node, dy):
    indices, values, shape, b = node.inputs
    adjoint_a, adjoint_b = node.attrs["adjoint_a"], node.attrs["adjoint_b"]
    if values.dtype.is_complex:
        raise NotImplementedError("SparseTensorDenseMatMul op does not support complex gradients.")
    db = sparse_tensor_dense_mat_mul(indices, values, shape, dy, adjoint_a=not adjoint_a)
    swap = np.array([1, 0], np.int32)
    if adjoint_b:
        db, b = array.transpose(db, swap), array.transpose(b, swap)
    rows = strided_slice.getitem(indices, (slice(None), 0))
    columns = strided_slice.getitem(indices, (slice(None), 1))
    left, right = (columns, rows) if adjoint_a else (rows, columns)
    terms = arithmetic.mul(gather.gather_v2(dy, left, 0), gather.gather_v2(b, right, 0))
    return None, reduce.sum_(terms, 1), None, db


@sparse_tensor_dense_mat_mul.lower
def _(e, indices, values, shape, b, *, adjoint_a, adjoint_b):
    if shape.value is None or values.dtype not in (dtypes.float32, dtypes.float64):
        raise Decline("the shape is not known, or sums of another type")
    row, column = (1, 0) if adjoint_a else (0, 1)
    rows, inner = int(shape.value[row]), int(shape.value[column])
    axis = 1 if adjoint_b else 0
    if inner != b.shape[axis] or indices.shape != (*values.shape, 2):
        raise Decline("shapes that do not fit")
    count, width = values.shape[0], b.shape[1 - axis]
    zeros = e.compute((rows, width), lambda i, j: e.const(0, b.dtype))

    def place(k, j):
        return e.checked(indices[(k, row)], rows, "m ({value}) out of bounds (>={extent})"), j

    def term(k, j):
        at = e.checked(indices[(k, column)], inner, "k ({value}) out of bounds (>={extent})")
        return values[k] * b[(j, at) if adjoint_b else (at, j)]

    return e.scatter("add", zeros, (count, width), place, term)


@sparse_tensor_dense_mat_mul.samples
def _(rng):
    for adjoint_a in (False, True):
        for adjoint_b in (False, True):
            b = rng.normal(size=(4 if adjoint_a else 5, 3))
            yield Sample(*SMALL, b.T if adjoint_b else b, adjoint_a=adjoint_a, adjoint_b=adjoint_b)
    yield Sample(np.zeros((0, 2), np.int64), np.zeros(0), np.array([4, 5]), np.ones((5, 2)))
    yield Sample(
        SMALL[0], np.array([1j, 2, 3, 4]), SMALL[2], np.ones((4, 2)) * 1j, adjoint_a=True, grad=False
    )
    yield ErrorSample(*SMALL, np.ones((4, 3)), raises="must be equal|inner dimension")


# -- SparseDenseCwise* --------------------------------------------------------------------------
def cwise(name, combine, doc) -> Op:
    """An element-wise op of a sparse and a dense tensor, which is broadcast to the sparse one."""

    def reference(sp_indices, sp_values, sp_shape, dense):
        return combine(sp_values, _gathered(sp_indices, sp_values, sp_shape, dense))

    reference.__doc__ = doc
    return op(
        name,
        "sp_indices: int64, sp_values: T, sp_shape: int64, dense: T -> output: T",
        T=NUMBERS,
        shape=lambda i, v, s, d: make_shape((with_rank(i, 2).sizes[0],)),
    )(reference)


def _gathered(indices, values, shape, dense):
    """The elements of the dense side at the sparse places."""
    require(
        indices.ndim == 2, f"Input sp_indices should be a matrix but received shape: {show(indices.shape)}"
    )
    require(
        values.ndim == 1 == shape.ndim,
        "Inputs sp_values and sp_shape should be vectors but received shapes: "
        f"{show(values.shape)} and {show(shape.shape)}",
    )
    require(
        len(values) == len(indices),
        f"The first dimension of values and indices should match. ({len(values)} vs. {len(indices)})",
    )
    require(
        len(shape) == indices.shape[1],
        "Number of dimensions must match second dimension of indices. Got "
        f"{len(shape)} dimensions, indices shape: {show(indices.shape)}",
    )
    require(len(shape) > 0, "The shape argument requires at least one element.")
    sizes = check_sizes(shape)
    extra = len(sizes) - dense.ndim
    fits = extra >= 0 and all(d in (1, s) for d, s in zip(dense.shape, sizes[extra:]))
    require(
        fits,
        "SparseDenseBinaryOpShared broadcasts dense to sparse only; got incompatible shapes: "
        f"{show(sizes)} vs. {show(dense.shape)}",
    )
    require(
        np.all((indices >= 0) & (indices < shape)),
        "Provided indices are out-of-bounds w.r.t. dense side with broadcasted shape",
    )
    places = np.where(np.array(dense.shape) == 1, 0, indices[:, extra:]).astype(np.int64)
    return dense[tuple(places.T)] if dense.ndim else np.broadcast_to(dense, len(values))


def _quotient(x, y):
    require(
        not np.any(y == 0), "SparseDenseCwiseDiv cannot divide by zero,but input dense tensor contains zero "
    )
    return division.truncated_quotient(x, y)


sparse_dense_cwise_add = cwise(
    "SparseDenseCwiseAdd", np.add, "The given elements of the sum; the others are left out."
)
sparse_dense_cwise_mul = cwise(
    "SparseDenseCwiseMul", np.multiply, "The product, at the places of the sparse tensor."
)
sparse_dense_cwise_div = cwise(
    "SparseDenseCwiseDiv", _quotient, "The quotient, at the places of the sparse tensor."
)


@sparse_dense_cwise_add.gradient
def _(node, dy):
    raise NotImplementedError("Gradient for SparseDenseCwiseAdd is currently not implemented yet.")


@sparse_dense_cwise_mul.gradient
def _(node, dy):
    places, dense = _dense_side(node)
    return _cwise_gradients(node, places, arithmetic.mul(dy, dense), arithmetic.mul(dy, node.inputs[1]))


@sparse_dense_cwise_div.gradient
def _(node, dy):
    places, dense = _dense_side(node)
    slope = division.real_div(arithmetic.neg(node.inputs[1]), arithmetic.mul(dense, dense))
    return _cwise_gradients(node, places, division.real_div(dy, dense), arithmetic.mul(dy, slope))


def _dense_side(node):
    """The places in the dense input that the elements met, and its elements there."""
    indices, _, x_shape, y = node.inputs
    y_shape = cast.cast(array.shape(y), dtypes.int64)
    extra = arithmetic.sub(array.size(x_shape), array.size(y_shape))
    ones = fill.fill(array.expand_dims(extra, 0), np.int64(1))
    scale = division.floor_div(x_shape, array.concat_v2([ones, y_shape], 0))
    places = division.floor_div(indices, scale)
    places = strided_slice.getitem(places, (slice(None), slice(extra, None)))
    return places, gather.gather_nd(y, places)


def _cwise_gradients(node, places, dx, dy_values):
    y = node.inputs[3]
    y_shape = cast.cast(array.shape(y), dtypes.int64)
    dy = sparse_tensor_dense_add(places, dy_values, y_shape, array.zeros_like(y))
    return None, dx, None, dy


def _cwise_samples(differentiable):
    def samples(rng):
        for dense in ((4, 5), (5,), (4, 1), (1,)):
            yield Sample(*SMALL, rng.uniform(1, 2, size=dense), grad=differentiable)
        places, _, shape = SMALL
        yield Sample(places, np.array([7, -7, 3, -3]), shape, np.full((4, 5), 2), note="integers")
        yield ErrorSample(*SMALL, np.ones((2, 5)), raises="broadcasts dense to sparse only")

    return samples


sparse_dense_cwise_add.samples(_cwise_samples(False))
sparse_dense_cwise_mul.samples(_cwise_samples(True))
sparse_dense_cwise_div.samples(_cwise_samples(True))
