"""Matrix products: MatMul of two matrices, BatchMatMul of equal batches, BatchMatMulV2 of batches
that broadcast.  Half types multiply in float32, as TF's kernels do.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from headrace.core.dtypes import bfloat16, complex64, complex128, float16, float32, float64, int32, int64
from headrace.core.errors import require
from headrace.core.modules import late
from headrace.core.shapes import make_shape, show
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.emit import Decline, LibraryCall, transposed, view
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.linalg.matrix_shape import at_least, broadcast_lead, equal, exactly, join, merge_lead

array = late("headrace.ops.declaration.array")
broadcast = late("headrace.ops.array.broadcast")
complex = late("headrace.ops.math.complex")
reduce = late("headrace.ops.math.reduce")

PRODUCT_TYPES = (bfloat16, float16, float32, float64, int32, int64, complex64, complex128)


def multiply(a, b):
    """a @ b; sums of half types are kept in float32."""
    if a.dtype.itemsize == 2 and a.dtype.kind not in "iu":
        a, b = a.astype(np.float32), b.astype(np.float32)
    with np.errstate(all="ignore"):
        return np.matmul(a, b) if a.dtype.kind != "c" else _multiply_parts(a, b)


def _multiply_parts(a, b):
    """By the parts: a BLAS scales complex products by 1 + 0i, which turns infinities into NaN."""
    re = np.matmul(a.real, b.real) - np.matmul(a.imag, b.imag)
    out = np.empty(re.shape, a.dtype)
    out.real, out.imag = re, np.matmul(a.real, b.imag) + np.matmul(a.imag, b.real)
    return out


def adjoint(x):
    """The conjugate transpose of every matrix."""
    x = np.swapaxes(x, -1, -2)
    return x.conj() if x.dtype.kind == "c" else x


def conj(x):
    """The conjugate tensor; a real one is returned as it is."""
    return complex.conj(x) if x.dtype.is_complex else x


# -- MatMul -------------------------------------------------------------------------------------
def matmul_shape(a, b, *, transpose_a, transpose_b):
    exactly(a, 2)
    exactly(b, 2)
    m, k = (a.dim(1), a.dim(0)) if transpose_a else (a.dim(0), a.dim(1))
    k2, n = (b.dim(1), b.dim(0)) if transpose_b else (b.dim(0), b.dim(1))
    if k is not None and k2 is not None and k != k2:
        fitting = _transposing(m, k, k2, n, transpose_a, transpose_b)
        require(False, f"Dimensions must be equal, but are {k} and {k2}", fitting)
    return make_shape((m, n))


def _transposing(m, k, k2, n, transpose_a, transpose_b):
    """What would fit: a transposed has m columns, b transposed has n rows."""
    fitting = [f"transpose_a={not transpose_a}"] if m == k2 is not None else []
    fitting += [f"transpose_b={not transpose_b}"] if k == n is not None else []
    return f"{' or '.join(fitting)} would fit" if fitting else None


@op(
    "MatMul",
    "a: T, b: T -> product: T",
    transpose_a=False,
    transpose_b=False,
    T=PRODUCT_TYPES,
    shape=matmul_shape,
)
def matmul(a, b, *, transpose_a, transpose_b):
    """The product of two matrices, either of them transposed first."""
    for i, x in enumerate((a, b)):
        require(x.ndim == 2, f"In[{i}] is not a matrix. Instead it has shape {list(x.shape)}")
    require(
        a.shape[0 if transpose_a else 1] == b.shape[1 if transpose_b else 0],
        f"Matrix size-incompatible: In[0]: {show(a.shape)}, In[1]: {show(b.shape)}",
    )
    return multiply(a.T if transpose_a else a, b.T if transpose_b else b)


@matmul.gradient
def _(node, dy):
    a, b = conj(node.inputs[0]), conj(node.inputs[1])
    match node.attrs["transpose_a"], node.attrs["transpose_b"]:
        case False, False:
            return matmul(dy, b, transpose_b=True), matmul(a, dy, transpose_a=True)
        case False, True:
            return matmul(dy, b), matmul(dy, a, transpose_a=True)
        case True, False:
            return matmul(b, dy, transpose_b=True), matmul(a, dy)
    return (
        matmul(b, dy, transpose_a=True, transpose_b=True),
        matmul(dy, a, transpose_a=True, transpose_b=True),
    )


@matmul.library("onednn")
def _(a, b, out, *, transpose_a, transpose_b):
    return LibraryCall(
        "matmul", src=transposed(a, transpose_a), weights=transposed(b, transpose_b), dst=view(out)
    )


@matmul.samples
def _(rng):
    def matrix(rows, columns, transposed):
        return rng.normal(size=(columns, rows) if transposed else (rows, columns))

    for ta, tb in product((False, True), repeat=2):
        yield Sample(matrix(2, 3, ta), matrix(3, 4, tb), transpose_a=ta, transpose_b=tb)
    yield Sample(np.ones((2, 0)), np.ones((0, 3)), note="nothing to sum")
    yield Sample(np.ones((0, 3)), np.ones((3, 2)), note="empty")
    z = rng.normal(size=(2, 3, 2)) @ [1, 1j]
    yield Sample(z, z, transpose_b=True, note="complex")
    yield Sample(np.arange(6).reshape(2, 3), np.arange(6).reshape(3, 2), note="integers")
    yield Sample(np.array([[np.nan, 0.0]]), np.array([[0.0], [np.inf]]), note="edges", grad=False)
    yield ErrorSample(np.ones((2, 3)), np.ones((4, 5)), raises="must be equal|size-incompatible")
    yield ErrorSample(np.ones(3), np.ones((3, 5)), raises="must be rank 2|is not a matrix")


# -- BatchMatMul --------------------------------------------------------------------------------
def _inner(x, y, adj_x, adj_y):
    """(rows, columns) of the product of the two last dimensions."""
    at_least(x, 2)
    at_least(y, 2)
    m, k = (x.dim(-1), x.dim(-2)) if adj_x else (x.dim(-2), x.dim(-1))
    k2, n = (y.dim(-1), y.dim(-2)) if adj_y else (y.dim(-2), y.dim(-1))
    equal(k, k2, x, y)
    return m, n


def batch_matmul_shape(x, y, *, adj_x, adj_y):
    inner = _inner(x, y, adj_x, adj_y)
    return join(merge_lead(x, y), *inner)


def batch_matmul_v2_shape(x, y, *, adj_x, adj_y):
    inner = _inner(x, y, adj_x, adj_y)
    return join(broadcast_lead(x, y), *inner)


def _batch_product(x, y, adj_x, adj_y):
    d1, d2 = x.shape[-2 if adj_x else -1], y.shape[-1 if adj_y else -2]
    require(
        d1 == d2,
        f"In[0] mismatch In[1] shape: {d1} vs. {d2}: {show(x.shape)} {show(y.shape)} "
        f"{int(adj_x)} {int(adj_y)}",
    )
    return multiply(adjoint(x) if adj_x else x, adjoint(y) if adj_y else y)


def _products(node, dy):
    """The two products of the gradient, before any sum over broadcast dimensions."""
    x, y = node.inputs
    match node.attrs["adj_x"], node.attrs["adj_y"]:
        case False, False:
            terms = (dy, y, False, True), (x, dy, True, False)
        case False, True:
            terms = (dy, y, False, False), (dy, x, True, False)
        case True, False:
            terms = (y, dy, False, True), (x, dy, False, False)
        case _:
            terms = (y, dy, True, True), (dy, x, True, True)
    return tuple(
        batch_matmul_v2(p, q, adj_x=adj_p, adj_y=adj_q, name="MatMul") for p, q, adj_p, adj_q in terms
    )


def _call(x, y, out, adj_x, adj_y):
    if x.dtype.is_complex and (adj_x or adj_y):
        raise Decline("conjugates")
    rank = len(out.shape)
    return LibraryCall(
        "matmul", src=transposed(x, adj_x, rank), weights=transposed(y, adj_y, rank), dst=view(out)
    )


@op(
    "BatchMatMul",
    "x: T, y: T -> output: T",
    T=PRODUCT_TYPES,
    adj_x=False,
    adj_y=False,
    shape=batch_matmul_shape,
)
def batch_matmul(x, y, *, adj_x, adj_y):
    """The products of two equal batches of matrices, either side adjoint first."""
    require(x.ndim == y.ndim, f"In[0] and In[1] has different ndims: {show(x.shape)} vs. {show(y.shape)}")
    require(x.ndim >= 2, f"In[0] and In[1] ndims must be >= 2: {x.ndim}")
    for i in range(x.ndim - 2):
        require(
            x.shape[i] == y.shape[i],
            f"In[0].dim({i}) and In[1].dim({i}) must be the same: {show(x.shape)} vs {show(y.shape)}",
        )
    return _batch_product(x, y, adj_x, adj_y)


@batch_matmul.gradient
def _(node, dy):
    return _products(node, dy)


@batch_matmul.library("onednn")
def _(x, y, out, *, adj_x, adj_y):
    return _call(x, y, out, adj_x, adj_y)


def _batches(rng, shapes):
    for (a, b), adj_x, adj_y in product(shapes, (False, True), (False, True)):
        x = rng.normal(size=(*a, 3, 2) if adj_x else (*a, 2, 3))
        y = rng.normal(size=(*b, 4, 3) if adj_y else (*b, 3, 4))
        yield Sample(x, y, adj_x=adj_x, adj_y=adj_y)


@batch_matmul.samples
def _(rng):
    yield from _batches(rng, [((2,), (2,)), ((2, 1), (2, 1))])
    yield Sample(np.ones((0, 2, 3)), np.ones((0, 3, 1)), note="empty")
    yield Sample(np.ones((2, 2, 0)), np.ones((2, 0, 1)), note="nothing to sum")
    z = rng.normal(size=(2, 3, 3, 2)) @ [1, 1j]
    yield Sample(z, z, adj_x=True, note="complex")
    yield ErrorSample(np.ones((2, 2, 3)), np.ones((1, 3, 2)), raises="must be (equal|the same)")
    yield ErrorSample(np.ones((1, 2, 3)), np.ones((1, 4, 2)), raises="must be equal|mismatch")


# -- BatchMatMulV2 ------------------------------------------------------------------------------
@op(
    "BatchMatMulV2",
    "x: T, y: T -> output: T",
    T=PRODUCT_TYPES,
    adj_x=False,
    adj_y=False,
    shape=batch_matmul_v2_shape,
)
def batch_matmul_v2(x, y, *, adj_x, adj_y):
    """The products of two batches of matrices whose batch dimensions broadcast."""
    for i, side in enumerate((x, y)):
        require(side.ndim >= 2, f"In[{i}] ndims must be >= 2: {side.ndim}")
    try:
        np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    except ValueError:
        require(
            False,
            f"In[0] and In[1] must have compatible batch dimensions: {show(x.shape)} vs. {show(y.shape)}",
        )
    return _batch_product(x, y, adj_x, adj_y)


@batch_matmul_v2.gradient
def _(node, dy):
    x, y = node.inputs
    dx, dy_ = _products(node, dy)
    if x.shape.is_full and x.shape == y.shape:
        return dx, dy_
    return sum_batches(dx, x, dy_, y)


def sum_batches(dx, x, dy, y):
    """Sum the gradients over the batch dimensions in which x and y were broadcast."""
    shape_x, shape_y = array.shape(x), array.shape(y)
    axes_x, axes_y = broadcast.broadcast_gradient_args(shape_x[:-2], shape_y[:-2])
    return (array.reshape(reduce.sum_(dx, axes_x), shape_x), array.reshape(reduce.sum_(dy, axes_y), shape_y))


@batch_matmul_v2.library("onednn")
def _(x, y, out, *, adj_x, adj_y):
    return _call(x, y, out, adj_x, adj_y)


@batch_matmul_v2.samples
def _(rng):
    yield from _batches(rng, [((2,), (2,)), ((2, 1), (3,)), ((2, 3), (2, 1)), ((), (2,)), ((), ())])
    yield Sample(np.ones((0, 2, 3)), np.ones((1, 3, 1)), note="empty")
    z = rng.normal(size=(2, 3, 3, 2)) @ [1, 1j]
    yield Sample(z, z[:1], adj_y=True, note="complex")
    yield ErrorSample(np.ones((2, 2, 3)), np.ones((3, 3, 2)), raises="must be equal|compatible batch")
    yield ErrorSample(np.ones(3), np.ones((3, 3)), raises="at least rank 2|ndims must be >= 2")
