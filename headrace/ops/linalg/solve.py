"""Inverses, determinants and solutions of square systems of equations."""

from __future__ import annotations

from itertools import product

import numpy as np

from headrace.core.dtypes import complex64, complex128, float16, float32, float64
from headrace.core.errors import require
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.linalg import matrix_terms as terms
from headrace.ops.linalg.matrix import adjoint
from headrace.ops.linalg.matrix_batch import SOLVER_TYPES, refusing, squares, system, twin
from headrace.ops.linalg.matrix_shape import at_least, equal, join, lead, merge_lead, square

DETERMINANT_TYPES = (float16, float32, float64, complex64, complex128)
SINGULAR = "Input matrix is not invertible."


def square_shape(input):
    side = square(input)
    return join(lead(input), side, side)


def determinant_shape(input):
    square(input)
    return join(lead(input))


def solve_shape(matrix, rhs):
    at_least(rhs, 2)
    side = equal(square(matrix), rhs.dim(-2), matrix, rhs)
    return join(merge_lead(matrix, rhs), side, rhs.dim(-1))


def _regular(rng, *shape):
    """Random square matrices that are far from singular."""
    return rng.normal(size=shape) + 3 * np.eye(shape[-1])


# -- MatrixInverse ------------------------------------------------------------------------------
@op("MatrixInverse", "input: T -> output: T", adjoint=False, T=SOLVER_TYPES, shape=square_shape)
def matrix_inverse(input, *, adjoint):
    """The inverse of every matrix, or of its adjoint."""
    x = squares(input)
    with refusing("Input is not invertible."):
        found = np.linalg.inv(x)
    return _adjoint(found) if adjoint else found


_adjoint = adjoint  # the attribute of several ops has the same name


@matrix_inverse.gradient
def _(node, dy):
    inverse = node.outputs[0]
    if node.attrs["adjoint"]:
        dy = terms.adjoint(dy)
        inverse = terms.adjoint(inverse)
    return -terms.times(inverse, terms.times(dy, inverse, adjoint_b=True), adjoint_a=True)


@matrix_inverse.samples
def _(rng):
    yield Sample(_regular(rng, 3, 3))
    yield Sample(_regular(rng, 2, 3, 3), adjoint=True)
    yield Sample(_regular(rng, 2, 2) + 1j * rng.normal(size=(2, 2)), adjoint=True, note="complex")
    yield Sample(np.zeros((2, 0, 0)), note="empty")
    yield ErrorSample(np.ones((2, 2)), raises="Input is not invertible.")
    yield ErrorSample(np.ones((2, 3)), raises="must be (equal|square)")
    yield ErrorSample(np.ones(3), raises="rank")


batch_matrix_inverse = twin(matrix_inverse, "BatchMatrixInverse", (float64, float32), 13)


# -- determinants -------------------------------------------------------------------------------
def _sign_and_log(x):
    """Sign and log |det|; a singular matrix has (0, -inf), an overflow (0, inf), as in TF."""
    x = squares(x)
    with np.errstate(all="ignore"):
        sign, log = np.linalg.slogdet(x)
    bad = ~np.isfinite(log)
    return np.where(bad, 0, sign), np.where(bad, np.where(log > 0, np.inf, -np.inf), log)


@op("MatrixDeterminant", "input: T -> output: T", T=DETERMINANT_TYPES, shape=determinant_shape)
def matrix_determinant(input):
    """The determinant of every matrix; 1 for a matrix of no rows."""
    sign, log = _sign_and_log(input)
    with np.errstate(all="ignore"):
        return sign * np.exp(log)


@matrix_determinant.gradient
def _(node, dy):
    inverse = matrix_inverse(node.inputs[0], adjoint=True)
    return terms.per_matrix(dy * terms.conj(node.outputs[0])) * inverse


@matrix_determinant.samples
def _(rng):
    yield Sample(rng.normal(size=(3, 3)))
    yield Sample(rng.normal(size=(2, 2, 4, 4)))
    yield Sample(rng.normal(size=(2, 2, 2)) + 1j * rng.normal(size=(2, 2, 2)), note="complex")
    yield Sample(np.zeros((2, 0, 0)), note="of nothing", grad=False)
    yield Sample(np.ones((2, 2)), note="singular", grad=False)
    yield ErrorSample(np.ones((2, 3)), raises="must be (equal|square)")


batch_matrix_determinant = twin(
    matrix_determinant, "BatchMatrixDeterminant", (float32, float64, complex64, complex128), 13
)


@op(
    "LogMatrixDeterminant",
    "input: T -> sign: T, log_abs_determinant: T",
    T=DETERMINANT_TYPES,
    shape=lambda input: [determinant_shape(input)] * 2,
)
def log_matrix_determinant(input):
    """Sign and logarithm of the absolute value of every determinant."""
    return _sign_and_log(input)


@log_matrix_determinant.gradient
def _(node, d_sign, d_log):
    # The sign is constant almost everywhere (its phase, for complex types, is not followed: as TF).
    inverse = matrix_inverse(node.inputs[0], adjoint=True)
    return terms.per_matrix(d_log) * inverse


@log_matrix_determinant.samples
def _(rng):
    yield Sample(_regular(rng, 3, 3))
    yield Sample(rng.normal(size=(2, 4, 4)))
    yield Sample(np.zeros((2, 0, 0)), note="of nothing", grad=False)
    yield Sample(np.ones((2, 2)), note="singular", grad=False)


# -- MatrixSolve --------------------------------------------------------------------------------
@op("MatrixSolve", "matrix: T, rhs: T -> output: T", adjoint=False, T=SOLVER_TYPES, shape=solve_shape)
def matrix_solve(matrix, rhs, *, adjoint):
    """x with matrix @ x = rhs, or adjoint(matrix) @ x = rhs."""
    matrix, rhs = system(matrix, rhs)
    if not rhs.size:
        return rhs
    with refusing(SINGULAR):
        return np.linalg.solve(_adjoint(matrix) if adjoint else matrix, rhs)


@matrix_solve.gradient
def _(node, dy):
    matrix, x, flag = node.inputs[0], node.outputs[0], node.attrs["adjoint"]
    return _solver_gradient(matrix_solve(matrix, dy, adjoint=not flag), x, flag)


def _solver_gradient(d_rhs, x, is_adjoint):
    left, right = (x, d_rhs) if is_adjoint else (d_rhs, x)
    return -terms.times(left, right, adjoint_b=True), d_rhs


@matrix_solve.samples
def _(rng):
    for flag in (False, True):
        yield Sample(_regular(rng, 2, 3, 3), rng.normal(size=(2, 3, 2)), adjoint=flag)
    a = _regular(rng, 3, 3) + 1j * rng.normal(size=(3, 3))
    yield Sample(a, a[:, :2] + 1, adjoint=True, note="complex")
    yield Sample(np.zeros((3, 3)), np.zeros((3, 0)), note="no right hand side", grad=False)
    yield Sample(np.zeros((0, 3, 3)), np.zeros((0, 3, 2)), note="empty", grad=False)
    yield ErrorSample(np.ones((2, 2)), np.ones((2, 1)), raises="is not invertible")
    yield ErrorSample(np.ones((2, 2)), np.ones((3, 1)), raises="must be equal|incompatible")
    yield ErrorSample(np.ones((2, 2)), np.ones(2), raises="rank")


batch_matrix_solve = twin(matrix_solve, "BatchMatrixSolve", (float64, float32), 13)


# -- MatrixTriangularSolve ----------------------------------------------------------------------
BLOCK = 32  # rows that are eliminated one by one; larger systems are halved


def solve_lower(matrix, rhs):
    """Forward substitution with the lower triangles of `matrix`, in place of `rhs`."""
    n = matrix.shape[-1]
    if n <= BLOCK:
        for i in range(n):
            if i:
                rhs[..., i, :] -= (matrix[..., i : i + 1, :i] @ rhs[..., :i, :])[..., 0, :]
            rhs[..., i, :] /= matrix[..., i, i, None]
        return rhs
    half = n // 2
    top, bottom = rhs[..., :half, :], rhs[..., half:, :]
    solve_lower(matrix[..., :half, :half], top)
    bottom -= matrix[..., half:, :half] @ top
    solve_lower(matrix[..., half:, half:], bottom)
    return rhs


def solve_triangular(matrix, rhs, lower):
    """x with matrix @ x = rhs, where only one triangle of `matrix` is looked at."""
    with np.errstate(all="ignore"):
        if lower:
            return solve_lower(matrix, np.array(rhs))
        # Rows and columns in reverse turn an upper triangle into a lower one.
        found = solve_lower(matrix[..., ::-1, ::-1], np.array(rhs[..., ::-1, :]))
        return found[..., ::-1, :]


@op(
    "MatrixTriangularSolve",
    "matrix: T, rhs: T -> output: T",
    lower=True,
    adjoint=False,
    T=SOLVER_TYPES,
    shape=solve_shape,
)
def matrix_triangular_solve(matrix, rhs, *, lower, adjoint):
    """x with matrix @ x = rhs, for triangular matrices: the other triangle is not looked at."""
    matrix, rhs = system(matrix, rhs)
    if not rhs.size:
        return rhs
    require(np.all(np.diagonal(matrix, axis1=-2, axis2=-1) != 0), SINGULAR)
    if adjoint:
        return solve_triangular(_adjoint(matrix), rhs, not lower)
    return solve_triangular(matrix, rhs, lower)


@matrix_triangular_solve.gradient
def _(node, dy):
    matrix, x, flag = node.inputs[0], node.outputs[0], node.attrs["adjoint"]
    lower = node.attrs["lower"]
    d_rhs = matrix_triangular_solve(matrix, dy, lower=lower, adjoint=not flag)
    d_matrix, d_rhs = _solver_gradient(d_rhs, x, flag)
    return terms.lower_triangle(d_matrix) if lower else terms.upper_triangle(d_matrix), d_rhs


@matrix_triangular_solve.samples
def _(rng):
    for lower, flag in product((True, False), repeat=2):
        matrix, rhs = _regular(rng, 2, 3, 3), rng.normal(size=(2, 3, 2))
        yield Sample(matrix, rhs, lower=lower, adjoint=flag)
    big = _regular(rng, 70, 70) + 20 * np.eye(70)
    yield Sample(big, rng.normal(size=(70, 1)), lower=False, note="halved", grad=False)
    a = _regular(rng, 3, 3) + 1j * rng.normal(size=(3, 3))
    yield Sample(a, a[:, :2] + 1, adjoint=True, note="complex")
    yield Sample(np.zeros((3, 3)), np.zeros((3, 0)), note="no right hand side", grad=False)
    yield ErrorSample(np.zeros((2, 2)), np.ones((2, 1)), raises="is not invertible")
    yield ErrorSample(np.ones((2, 2)), np.ones((3, 1)), raises="must be equal|incompatible")


batch_matrix_triangular_solve = twin(
    matrix_triangular_solve, "BatchMatrixTriangularSolve", (float64, float32), 13
)
