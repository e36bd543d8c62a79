"""MatrixSolveLs: the least squares solution of systems with any number of rows."""

from __future__ import annotations

import numpy as np

from headrace.core.dtypes import float32, float64
from headrace.core.errors import require
from headrace.ops.control import control_flow
from headrace.ops.declaration import array
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.linalg import factor as linalg_factor
from headrace.ops.linalg import matrix_terms as terms
from headrace.ops.linalg import solve
from headrace.ops.linalg.matrix import adjoint
from headrace.ops.linalg.matrix_batch import SOLVER_TYPES, refusing, system, twin
from headrace.ops.linalg.matrix_shape import at_least, equal, exactly, join, merge_lead
from headrace.ops.linalg.solve import solve_triangular
from headrace.ops.math import cast, comparison

DEFICIENT = (
    "Input matrix was rank deficient or ill-conditioned. Try setting fast=False or provide {} "
    "l2_regularizer > 0."
)


def solve_ls_shape(matrix, rhs, l2_regularizer):
    exactly(l2_regularizer, 0)
    at_least(matrix, 2)
    at_least(rhs, 2)
    equal(matrix.dim(-2), rhs.dim(-2), matrix, rhs)
    return join(merge_lead(matrix, rhs), matrix.dim(-1), rhs.dim(-1))


@op(
    "MatrixSolveLs",
    "matrix: T, rhs: T, l2_regularizer: float64 -> output: T",
    T=SOLVER_TYPES,
    fast=True,
    shape=solve_ls_shape,
)
def matrix_solve_ls(matrix, rhs, l2_regularizer, *, fast):
    """The x that minimises |matrix @ x - rhs|^2 + l2_regularizer |x|^2.

    fast: by the normal equations, which need full rank.  Else by singular values (the shortest x;
    the regularizer is not used, as in TF).
    """
    matrix, rhs = system(matrix, rhs, is_square=False)
    require(
        np.ndim(l2_regularizer) == 0,
        f"l2_regularizer must be scalar, got shape {list(np.shape(l2_regularizer))}",
    )
    require(l2_regularizer >= 0, "l2_regularizer must be >= 0.")
    *batch, rows, columns = matrix.shape
    if not matrix.size:
        return np.zeros((*batch, columns, rhs.shape[-1]), matrix.dtype)
    if not fast:
        return _shortest(matrix, rhs)
    flat = adjoint(matrix)
    if rows >= columns:
        return _solve_gramian(flat @ matrix, flat @ rhs, l2_regularizer, "a larger")
    return flat @ _solve_gramian(matrix @ flat, rhs, l2_regularizer, "an")


def _solve_gramian(gramian, rhs, l2_regularizer, hint):
    shift = l2_regularizer * np.eye(gramian.shape[-1])
    with refusing(DEFICIENT.format(hint)):
        factor = np.linalg.cholesky((gramian + shift).astype(gramian.dtype))
    halfway = solve_triangular(factor, rhs, lower=True)
    return solve_triangular(adjoint(factor), halfway, lower=False)


def _shortest(matrix, rhs):
    u, s, vh = np.linalg.svd(matrix, full_matrices=False)
    tiny = np.finfo(s.dtype).eps * max(matrix.shape[-2:]) * s[..., :1]
    inverse = np.divide(1, s, out=np.zeros_like(s), where=s > tiny)
    return adjoint(vh) @ (inverse[..., None] * (adjoint(u) @ rhs))


@matrix_solve_ls.gradient
def _(node, dy):
    if not node.attrs["fast"]:
        raise ValueError("Gradient not defined for fast=False")
    matrix, rhs, l2_regularizer = node.inputs
    x = node.outputs[0]
    given = (matrix, rhs, x, dy, cast.cast(l2_regularizer, matrix.dtype))
    rows, columns = matrix.shape.dim(-2), matrix.shape.dim(-1)
    if rows is not None and columns is not None:
        rule = _overdetermined if rows >= columns else _underdetermined
        return (*rule(*given), None)
    sizes = array.shape(matrix)
    is_tall = comparison.greater_equal(sizes[-2], sizes[-1])
    sides = [control_flow.switch(t, is_tall) for t in given]
    wide = _underdetermined(*(side[0] for side in sides))
    tall = _overdetermined(*(side[1] for side in sides))
    return (*(control_flow.merge([w, t])[0] for w, t in zip(wide, tall)), None)


def _overdetermined(matrix, rhs, x, dy, l2_regularizer):
    """For x = (A^H A + l I)^-1 A^H b."""
    gramian = terms.times(matrix, matrix, adjoint_a=True)
    z = _through_cholesky(gramian, l2_regularizer, dy)
    xz = terms.times(x, z, adjoint_b=True)
    d_matrix = terms.times(rhs, z, adjoint_b=True) - terms.times(matrix, xz + terms.adjoint(xz))
    return d_matrix, terms.times(matrix, z)


def _underdetermined(matrix, rhs, x, dy, l2_regularizer):
    """For x = A^H (A A^H + l I)^-1 b."""
    gramian = terms.times(matrix, matrix, adjoint_b=True)
    d_rhs = _through_cholesky(gramian, l2_regularizer, terms.times(matrix, dy))
    y = _through_cholesky(gramian, l2_regularizer, rhs)
    rest = dy - terms.times(matrix, d_rhs, adjoint_a=True)
    d_matrix = terms.times(y, rest, adjoint_b=True) - terms.times(d_rhs, x, adjoint_b=True)
    return d_matrix, d_rhs


def _through_cholesky(gramian, l2_regularizer, rhs):
    factor = linalg_factor.cholesky(gramian + l2_regularizer * terms.identity_like(gramian))
    halfway = solve.matrix_triangular_solve(factor, rhs, lower=True)
    return solve.matrix_triangular_solve(factor, halfway, lower=True, adjoint=True)


@matrix_solve_ls.samples
def _(rng):
    for shape in ((4, 2), (2, 3, 3), (2, 2, 4)):
        rhs = rng.normal(size=(*shape[:-1], 2))
        for l2 in (0.0, 0.5):
            yield Sample(rng.normal(size=shape), rhs, np.array(l2), dtypes=False)
        yield Sample(rng.normal(size=shape), rhs, np.array(0.0), fast=False, grad=False)
    z = rng.normal(size=(3, 2, 2)) @ [1, 1j]
    yield Sample(z, z + 1, np.array(0.1), note="complex", dtypes=False)
    yield Sample(
        np.ones((2, 2)), np.ones((2, 1)), np.array(0.0), fast=False, grad=False, note="rank deficient"
    )
    yield Sample(np.zeros((0, 3)), np.zeros((0, 2)), np.array(0.0), note="empty", grad=False)
    yield ErrorSample(np.zeros((2, 2)), np.ones((2, 1)), np.array(0.0), raises="rank deficient")
    yield ErrorSample(np.eye(2), np.ones((2, 1)), np.array(-1.0), raises="must be >= 0")


batch_matrix_solve_ls = twin(matrix_solve_ls, "BatchMatrixSolveLs", (float64, float32), 13)
