"""Triangular factors of matrices: Cholesky, QR, LU."""

from __future__ import annotations

import math

import numpy as np

from headrace.core.dtypes import float16, float32, float64
from headrace.core.errors import require
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.signature import INDEX32
from headrace.ops.linalg import matrix_terms as terms
from headrace.ops.linalg import solve
from headrace.ops.linalg.matrix import adjoint
from headrace.ops.linalg.matrix_batch import SOLVER_TYPES, matrices, refusing, squares, twin
from headrace.ops.linalg.matrix_shape import at_least, join, lead, square
from headrace.ops.linalg.solve import solve_triangular, square_shape


def _positive(rng, *shape):
    """Random positive definite matrices."""
    x = rng.normal(size=shape)
    return x @ np.swapaxes(x, -1, -2) + np.eye(shape[-1])


# -- Cholesky -----------------------------------------------------------------------------------
@op("Cholesky", "input: T -> output: T", T=SOLVER_TYPES, shape=square_shape)
def cholesky(input):
    """The lower triangular L with L @ adjoint(L) = input; the upper triangle is not looked at."""
    with refusing("Cholesky decomposition was not successful. The input might not be valid."):
        return np.linalg.cholesky(squares(input))


@cholesky.gradient
def _(node, dy):
    # L^-H (tril(L^H dL) with half its diagonal) L^-1, made Hermitian.
    factor = node.outputs[0]
    inverse = solve.matrix_triangular_solve(factor, terms.identity_like(factor))
    middle = terms.lower_triangle(terms.half_diagonal(terms.times(factor, dy, adjoint_a=True)))
    dx = terms.times(terms.times(inverse, middle, adjoint_a=True), inverse)
    return terms.half(dx + terms.adjoint(dx))


@cholesky.samples
def _(rng):
    yield Sample(_positive(rng, 3, 3), grad=False)  # one triangle only: no finite differences
    yield Sample(_positive(rng, 2, 2, 4, 4), grad=False)
    yield Sample(np.array([[2, 1j], [-1j, 3]]), note="complex", grad=False)
    yield Sample(np.zeros((2, 0, 0)), note="empty", grad=False)
    yield ErrorSample(-np.eye(2), raises="Cholesky decomposition was not successful")
    yield ErrorSample(np.ones((2, 3)), raises="must be (equal|square)")


batch_cholesky = twin(cholesky, "BatchCholesky", (float64, float32), 13)


def _cholesky_grad_shape(l, grad):
    side = square(l)
    return join(lead(l), side, side)


@op("CholeskyGrad", "l: T, grad: T -> output: T", T=(float16, float32, float64), shape=_cholesky_grad_shape)
def cholesky_grad(l, grad):
    """The symmetric gradient of the input of Cholesky, from its output and the gradient of that.

    Only the lower triangles of both are looked at.
    """
    l, grad = matrices(l, grad)
    require(l.shape == grad.shape, "Inputs (L and grad) must have the same shape.")
    require(l.shape[-1] == l.shape[-2], "Inputs must be a square matrices.")
    l, grad = np.tril(l), np.tril(grad)
    middle = np.tril(adjoint(l) @ grad)
    middle *= 1 - 0.5 * np.eye(l.shape[-1], dtype=l.dtype)
    left = solve_triangular(adjoint(l), middle, lower=False)
    dx = adjoint(solve_triangular(adjoint(l), adjoint(left), lower=False))
    return (dx + adjoint(dx)) / 2


@cholesky_grad.samples
def _(rng):
    l = np.linalg.cholesky(_positive(rng, 2, 3, 3))
    yield Sample(l, np.tril(rng.normal(size=(2, 3, 3))))
    yield Sample(np.zeros((2, 0, 0)), np.zeros((2, 0, 0)), note="empty")
    yield ErrorSample(np.eye(2)[None], np.eye(2), raises="same rank|shape")


batch_cholesky_grad = twin(cholesky_grad, "BatchCholeskyGrad", (float32, float64), 13)


# -- QR -----------------------------------------------------------------------------------------
def qr_shape(input, *, full_matrices):
    at_least(input, 2)
    batch, m, n = lead(input), input.dim(-2), input.dim(-1)
    p = m if full_matrices else least(m, n)
    return [join(batch, m, p), join(batch, p, n)]


def least(m, n):
    """The smaller of two sizes; 0 where one is 0, unknown where one is unknown."""
    if 0 in (m, n):
        return 0
    return None if None in (m, n) else min(m, n)


@op("Qr", "input: T -> q: T, r: T", full_matrices=False, T=SOLVER_TYPES, shape=qr_shape)
def qr(input, *, full_matrices):
    """q with orthonormal columns and upper triangular r, where q @ r = input."""
    (x,) = matrices(input)
    return tuple(np.linalg.qr(x, mode="complete" if full_matrices else "reduced"))


@qr.gradient
def _(node, dq, dr):
    q, r = node.outputs
    if q.dtype.is_complex:
        raise NotImplementedError(f"QrGrad not implemented for dtype: {q.dtype}")
    rows, columns = r.shape.dim(-2), r.shape.dim(-1)
    if rows is None or columns is None:
        raise NotImplementedError("QrGrad not implemented with dynamic shapes.")
    if rows != columns:
        raise NotImplementedError(
            "QrGrad not implemented when ncols > nrows or full_matrices is true and ncols != nrows."
        )

    def over_r(x):  # x @ r^-H
        return terms.adjoint(solve.matrix_triangular_solve(r, terms.adjoint(x), lower=False))

    q_dq = terms.times(q, dq, adjoint_a=True)
    r_dr = terms.times(r, dr, adjoint_b=True)
    skew = (q_dq - terms.adjoint(q_dq)) + (r_dr - terms.adjoint(r_dr))
    inside = terms.times(q, dr + over_r(terms.lower_triangle(skew)))
    return inside + over_r(dq - terms.times(q, q_dq))


@qr.samples
def _(rng):
    yield Sample(rng.normal(size=(4, 3)))
    yield Sample(rng.normal(size=(2, 3, 3)))
    yield Sample(rng.normal(size=(2, 4, 3)), full_matrices=True, grad=False)
    yield Sample(rng.normal(size=(2, 3, 4)), grad=False)
    yield Sample(rng.normal(size=(3, 2, 2)) @ [1, 1j], note="complex", grad=False)
    yield Sample(np.zeros((2, 0, 3)), note="empty", grad=False)
    yield ErrorSample(np.ones(3), raises="rank")


# -- LU -----------------------------------------------------------------------------------------
def lu_shape(input):
    side = square(input)
    return [join(lead(input), side, side), join(lead(input), side)]


@op("Lu", "input: T -> lu: T, p: output_idx_type", T=SOLVER_TYPES, output_idx_type=INDEX32, shape=lu_shape)
def lu(input):
    """L (unit diagonal, not stored) and U in one matrix, and the rows p with L @ U = input[p]."""
    x = squares(input)
    *batch, n, _ = x.shape
    factors = np.array(x).reshape(math.prod(batch), n, n)
    order = np.tile(np.arange(n), (len(factors), 1))
    each = np.arange(len(factors))
    with np.errstate(all="ignore"):
        for k in range(n):
            pivot = k + np.argmax(abs(factors[:, k:, k]), axis=1)
            for rows in (factors, order):
                rows[each, k], rows[each, pivot] = rows[each, pivot], rows[each, k]
            factors[:, k + 1 :, k] /= factors[:, k, k, None]
            factors[:, k + 1 :, k + 1 :] -= factors[:, k + 1 :, k, None] * factors[:, k, None, k + 1 :]
    require(np.all(np.diagonal(factors, axis1=1, axis2=2) != 0), "Input is not invertible.")
    return factors.reshape(*batch, n, n), order.reshape(*batch, n)


@lu.samples
def _(rng):
    yield Sample(rng.normal(size=(3, 3)), grad=False)
    yield Sample(rng.normal(size=(2, 2, 5, 5)), grad=False)
    yield Sample(rng.normal(size=(3, 3, 2)) @ [1, 1j], note="complex", grad=False)
    yield Sample(np.zeros((2, 0, 0)), note="empty", grad=False)
    yield ErrorSample(np.ones((2, 2)), raises="Input is not invertible.")
    yield ErrorSample(np.ones((2, 3)), raises="must be (equal|square)")
