"""Eigenvalues of self-adjoint matrices and singular values, with their vectors."""

from __future__ import annotations

import numpy as np

from headrace.core.dtypes import complex64, complex128, float16, float32, float64
from headrace.core.shapes import make_shape
from headrace.graph.defaults import get_default_graph
from headrace.ops.declaration import array
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.linalg import matrix_terms as terms
from headrace.ops.linalg.factor import least
from headrace.ops.linalg.matrix import adjoint
from headrace.ops.linalg.matrix_batch import SOLVER_TYPES, matrices, refusing, squares, twin
from headrace.ops.linalg.matrix_shape import at_least, join, lead, square
from headrace.ops.math import arithmetic

NONE = make_shape((0,))  # the shape of vectors that are not asked for


def _symmetric(rng, *shape):
    x = rng.normal(size=shape)
    return x + np.swapaxes(x, -1, -2)


# -- eigenvalues --------------------------------------------------------------------------------
def self_adjoint_eig_shape(input):
    side = square(input)
    return join(lead(input), None if side is None else side + 1, side)


@op(
    "SelfAdjointEig",
    "input: T -> output: T",
    T=(float64, float32, float16),
    deprecated=(11, "Use SelfAdjointEigV2 instead."),
    shape=self_adjoint_eig_shape,
)
def self_adjoint_eig(input):
    """Eigenvalues in the first row, ascending, and the eigenvectors below, as columns."""
    x = squares(input)
    with refusing("Self Adjoint Eigen decomposition was not successful. The input might not be valid."):
        values, vectors = np.linalg.eigh(x)
    return np.concatenate([values[..., None, :], vectors], axis=-2)


@self_adjoint_eig.samples
def _(rng):
    yield Sample(_symmetric(rng, 2, 3, 3), grad=False)
    yield ErrorSample(np.ones((2, 3)), raises="must be (equal|square)")


batch_self_adjoint_eig = twin(
    self_adjoint_eig, "BatchSelfAdjointEig", (float64, float32), 11, use="SelfAdjointEigV2"
)


def self_adjoint_eig_v2_shape(input, *, compute_v):
    side, batch = square(input), lead(input)
    return [join(batch, side), join(batch, side, side) if compute_v else NONE]


@op(
    "SelfAdjointEigV2",
    "input: T -> e: T, v: T",
    compute_v=True,
    T=SOLVER_TYPES,
    shape=self_adjoint_eig_v2_shape,
)
def self_adjoint_eig_v2(input, *, compute_v):
    """Ascending eigenvalues e and eigenvectors v (columns); looks at the lower triangle only."""
    x = squares(input)
    with refusing("Self-adjoint eigen decomposition was not successful. The input might not be valid."):
        if not compute_v:
            return np.linalg.eigvalsh(x), np.zeros(0, x.dtype)
        return tuple(np.linalg.eigh(x))


@self_adjoint_eig_v2.gradient
def _(node, de, dv):
    e, v = node.outputs
    with get_default_graph().control_dependencies([g for g in (de, dv) if g is not None]):
        middle = terms.diagonal_matrix(de)
        if node.attrs["compute_v"]:
            # f[i, j] = 1 / (e[j] - e[i]) off the diagonal: infinite for equal eigenvalues, whose
            # vectors are not unique.
            gaps = array.expand_dims(e, -2) - array.expand_dims(e, -1)
            f = terms.with_diagonal(arithmetic.reciprocal(gaps), array.zeros_like(e))
            middle += f * terms.times(v, dv, adjoint_a=True)
        else:
            _, v = self_adjoint_eig_v2(node.inputs[0])
        dx = terms.times(v, terms.times(middle, v, adjoint_b=True))
        # Only the lower triangle was looked at, so only it has a gradient.
        return terms.half_diagonal(terms.lower_triangle(dx + terms.adjoint(dx)))


@self_adjoint_eig_v2.samples
def _(rng):
    x = np.tril(rng.normal(size=(2, 3, 3))) + np.diag([1.0, 4.0, 9.0])
    yield Sample(x, compute_v=False)
    yield Sample(x, grad=False)  # the sign of a vector is free
    yield Sample(np.array([[2, 1j], [-1j, 3]]), note="complex", grad=False)
    yield Sample(np.zeros((2, 0, 0)), note="empty", grad=False)
    yield ErrorSample(np.ones((2, 3)), raises="must be (equal|square)")


batch_self_adjoint_eig_v2 = twin(self_adjoint_eig_v2, "BatchSelfAdjointEigV2", (float64, float32), 13)


# -- singular values ----------------------------------------------------------------------------
def svd_shape(input, *, compute_uv, full_matrices):
    at_least(input, 2)
    batch, m, n = lead(input), input.dim(-2), input.dim(-1)
    p = least(m, n)
    if not compute_uv:
        return [join(batch, p), NONE, NONE]
    if full_matrices:
        return [join(batch, p), join(batch, m, m), join(batch, n, n)]
    return [join(batch, p), join(batch, m, p), join(batch, n, p)]


@op(
    "Svd",
    "input: T -> s: T, u: T, v: T",
    compute_uv=True,
    full_matrices=False,
    T=SOLVER_TYPES,
    shape=svd_shape,
)
def svd(input, *, compute_uv, full_matrices):
    """Descending singular values s, with input = u @ diag(s) @ adjoint(v)."""
    (x,) = matrices(input)
    finite = np.isfinite(x).all(axis=(-1, -2), keepdims=True)
    x = np.where(finite, x, 0)  # LAPACK does not return from NaN; such matrices give NaN
    if not compute_uv:
        s = np.linalg.svd(x, compute_uv=False)
        none = np.zeros(0, x.dtype)
        return np.where(finite[..., 0], s, np.nan), none, none
    u, s, vh = np.linalg.svd(x, full_matrices=full_matrices)
    parts = (s, finite[..., 0]), (u, finite), (adjoint(vh), finite)
    return tuple(np.where(good, part, np.nan) for part, good in parts)


@svd.gradient
def _(node, ds, du, dv):
    x = node.inputs[0]
    if not node.attrs["compute_uv"]:
        _, u, v = svd(x, compute_uv=True)
        return terms.times(u, terms.times(terms.diagonal_matrix(ds), v, adjoint_b=True))
    if x.dtype.is_complex:
        raise NotImplementedError("SVD gradient is not implemented for complex types and compute_uv=True.")
    m, n = x.shape.dim(-2), x.shape.dim(-1)
    if m is None or n is None:
        raise NotImplementedError(
            "SVD gradient has not been implemented for input with unknown inner matrix shape."
        )
    s, u, v = node.outputs
    full = node.attrs["full_matrices"]
    if full and abs(m - n) > 1:
        raise NotImplementedError(
            "svd gradient is not implemented for abs(m - n) > 1 when full_matrices is True"
        )
    with get_default_graph().control_dependencies([ds, du, dv]):
        if m > n:  # the adjoint of x has the same singular values, u and v exchanged
            return terms.transposed(_svd_gradient(s, v, u, ds, dv, du, n, m, full))
        return _svd_gradient(s, u, v, ds, du, dv, m, n, full)


def _svd_gradient(s, u, v, ds, du, dv, m, n, full):
    """The gradient for m <= n, with the notation of Giles' collection of matrix derivatives."""
    s_matrix = terms.diagonal_matrix(s)
    squared = arithmetic.square(s)
    # The identity keeps the diagonal finite; it is replaced by 0 afterwards.
    gaps = array.expand_dims(squared, -2) - array.expand_dims(squared, -1)
    f = arithmetic.reciprocal(gaps + terms.identity_like(s_matrix))
    f = terms.with_diagonal(f, array.zeros_like(s))
    v1, dv1 = v[..., :, :m], dv[..., :, :m]
    f_u = f * terms.times(u, du, adjoint_a=True)
    f_v = f * terms.times(v1, dv1, adjoint_a=True)
    middle = (
        terms.diagonal_matrix(ds)
        + terms.times(f_u + terms.adjoint(f_u), s_matrix)
        + terms.times(s_matrix, f_v + terms.adjoint(f_v))
    )
    dx = terms.times(u, terms.times(middle, v1, adjoint_b=True))
    if m == n:
        return dx
    dv1_t = terms.transposed(dv1)
    outside = dv1_t - terms.times(terms.times(dv1_t, v1), v1, adjoint_b=True)
    if full:
        v2, dv2 = v[..., :, m:n], dv[..., :, m:n]
        outside -= terms.times(terms.times(v1, dv2, adjoint_a=True), v2, adjoint_b=True)
    inverse = terms.diagonal_matrix(arithmetic.reciprocal(s))
    return dx + terms.times(terms.times(u, inverse), outside)


@svd.samples
def _(rng):
    for shape in ((3, 3), (2, 4, 3), (3, 5)):
        yield Sample(rng.normal(size=shape), compute_uv=False)
        yield Sample(rng.normal(size=shape), grad=False)  # the signs of vectors are free
        yield Sample(rng.normal(size=shape), full_matrices=True, grad=False)
    yield Sample(rng.normal(size=(3, 2, 2)) @ [1, 1j], note="complex", grad=False)
    yield Sample(np.zeros((2, 0, 3)), note="empty", grad=False)
    yield Sample(np.array([[np.nan, 1], [1, 1]]), note="NaN", grad=False)
    yield ErrorSample(np.ones(3), raises="rank")


batch_svd = twin(svd, "BatchSvd", (float64, float32, complex64, complex128), 13)
