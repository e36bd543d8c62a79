"""Tridiagonal systems: products and solutions in time linear in the number of rows.

In "compact" form the superdiagonal is row 0 (its last entry is not looked at), the diagonal row 1,
the subdiagonal row 2 (its first entry is not looked at).
"""

from __future__ import annotations

import numpy as np

from headrace.core.dtypes import complex64, complex128, float32, float64
from headrace.core.errors import require
from headrace.ops.array.constant import constant, pack
from headrace.ops.declaration import array
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.linalg import matrix_terms as terms
from headrace.ops.linalg.matrix_batch import matrices
from headrace.ops.linalg.matrix_shape import at_least, equal, join, merge_lead
from headrace.ops.math import reduce

TYPES = (float64, float32, complex64, complex128)


def shifted(x, offset, axis):
    """`x` moved by `offset` (1 or -1) along axis -1 or -2, zero where nothing comes from."""
    keep = slice(1, None) if offset < 0 else slice(None, -1)
    kept = x[(..., keep, slice(None))] if axis == -2 else x[..., keep]
    inner = [[0, 0], [0, 0]]
    inner[axis] = [0, 1] if offset < 0 else [1, 0]
    if x.shape.rank is not None:
        return array.pad(kept, [[0, 0]] * (x.shape.rank - 2) + inner)
    lead = array.fill(pack([array.rank(x) - 2, constant(2)]), constant(0))
    return array.pad(kept, array.concat_v2([lead, constant(inner)], 0))


# -- product ------------------------------------------------------------------------------------
def tridiagonal_matmul_shape(superdiag, maindiag, subdiag, rhs):
    for x in (superdiag, maindiag, subdiag, rhs):
        at_least(x, 2)
    batch = None
    for diagonal in (superdiag, maindiag, subdiag):
        batch = merge_lead(diagonal, rhs)
        require(diagonal.dim(-2) in (None, 1), f"Dimension must be 1 but is {diagonal.dim(-2)}")
        equal(diagonal.dim(-1), rhs.dim(-2), diagonal, rhs)
    return join(batch, rhs.dim(-2), rhs.dim(-1)) if rhs.rank is None else rhs.plain()


@op(
    "TridiagonalMatMul",
    "superdiag: T, maindiag: T, subdiag: T, rhs: T -> output: T",
    T=TYPES,
    shape=tridiagonal_matmul_shape,
)
def tridiagonal_matmul(superdiag, maindiag, subdiag, rhs):
    """The product of the tridiagonal matrix with these diagonals (each [..., 1, M]) and rhs."""
    superdiag, maindiag, subdiag, rhs = matrices(superdiag, maindiag, subdiag, rhs)
    n = rhs.shape[-2]
    names = ("superdiagonal", "main diagonal", "subdiagonal")
    for name, diagonal in zip(names, (superdiag, maindiag, subdiag)):
        require(diagonal.shape[-2:] == (1, n), f"Invalid {name} shape.")
    above, on, below = (d[..., 0, :, None] for d in (superdiag, maindiag, subdiag))
    out = on * rhs
    out[..., :-1, :] += above[..., :-1, :] * rhs[..., 1:, :]
    out[..., 1:, :] += below[..., 1:, :] * rhs[..., :-1, :]
    return out


@tridiagonal_matmul.gradient
def _(node, dy):
    *diagonals, rhs = node.inputs
    above, on, below = (terms.adjoint(d) for d in diagonals)
    rhs = terms.conj(rhs)

    def diagonal_gradient(x):
        return array.expand_dims(reduce.sum_(x * dy, -1), -2)

    return (
        diagonal_gradient(shifted(rhs, -1, axis=-2)),
        diagonal_gradient(rhs),
        diagonal_gradient(shifted(rhs, 1, axis=-2)),
        shifted(above * dy, 1, axis=-2) + on * dy + shifted(below * dy, -1, axis=-2),
    )


@tridiagonal_matmul.samples
def _(rng):
    for batch in ((), (2,)):
        diagonals = [rng.normal(size=(*batch, 1, 4)) for _ in range(3)]
        yield Sample(*diagonals, rng.normal(size=(*batch, 4, 3)))
    z = rng.normal(size=(1, 3, 2)) @ [1, 1j]
    yield Sample(z, z, z, z.T, note="complex")
    ones = np.ones((1, 3))
    yield ErrorSample(ones, ones, ones, np.ones((4, 2)), raises="must be equal|Invalid")


# -- solution -----------------------------------------------------------------------------------
def tridiagonal_solve_shape(diagonals, rhs):
    at_least(diagonals, 2)
    at_least(rhs, 2)
    batch = merge_lead(diagonals, rhs)
    equal(diagonals.dim(-1), rhs.dim(-2), diagonals, rhs)
    require(diagonals.dim(-2) in (None, 3), f"Dimension must be 3 but is {diagonals.dim(-2)}")
    return join(batch, rhs.dim(-2), rhs.dim(-1)) if rhs.rank is None else rhs.plain()


@op(
    "TridiagonalSolve",
    "diagonals: T, rhs: T -> output: T",
    partial_pivoting=True,
    T=TYPES,
    shape=tridiagonal_solve_shape,
)
def tridiagonal_solve(diagonals, rhs, *, partial_pivoting):
    """x with A @ x = rhs, for A in compact form."""
    diagonals, rhs = matrices(diagonals, rhs)
    count, n = diagonals.shape[-2:]
    require(count == 3, f"Expected diagonals to be provided as a matrix with 3 rows, got {count} rows.")
    require(
        n == rhs.shape[-2],
        f"Expected the same number of left-hand sides and right-hand sides, got {n} and {rhs.shape[-2]}.",
    )
    if not rhs.size:
        return rhs
    # Rows first: every step works on all matrices of the batch at once.
    above, on, below = np.moveaxis(diagonals, (-2, -1), (0, 1))[..., None]
    x = np.array(np.moveaxis(rhs, -2, 0))
    if n == 1:
        require(np.all(on[0] != 0), "The matrix is not invertible: it is a scalar with value zero.")
    with np.errstate(all="ignore"):
        solve = _eliminate_with_pivots if partial_pivoting and n > 1 else _eliminate
        return np.moveaxis(solve(above, on, below, x), 0, -2)


def _eliminate(above, on, below, x):
    """Thomas' algorithm: no exchange of rows."""
    failed = "The matrix is either not invertible, or requires pivoting. Try setting partial_pivoting = True."
    ratio = np.zeros_like(above)
    for i in range(len(x)):
        pivot = on[i] - below[i] * ratio[i - 1] if i else on[i]
        require(np.all(pivot != 0), failed)
        ratio[i] = above[i] / pivot
        x[i] = (x[i] - below[i] * x[i - 1] if i else x[i]) / pivot
    for i in reversed(range(len(x) - 1)):
        x[i] -= ratio[i] * x[i + 1]
    return x


def _eliminate_with_pivots(above, on, below, x):
    """Gaussian elimination that exchanges a row with the next where that one's entry is larger.

    The exchanges make a second superdiagonal.  All batches step together; `keep` says which of
    them keep their rows.
    """
    singular = "The matrix is not invertible."
    n = len(x)
    first, second = np.array(on), np.array(above)
    third = np.zeros_like(second)
    for i in range(n - 1):
        keep = abs(first[i]) >= abs(below[i + 1])
        require(np.all(~keep | (first[i] != 0)), singular)
        larger = np.where(keep, first[i], below[i + 1])
        factor = np.where(keep, below[i + 1], first[i]) / larger
        upper = np.where(keep, second[i], on[i + 1]), np.where(keep, x[i], x[i + 1])
        lower = np.where(keep, on[i + 1], second[i]), np.where(keep, x[i + 1], x[i])
        first[i] = larger
        second[i], x[i] = upper
        first[i + 1] = lower[0] - factor * upper[0]
        x[i + 1] = lower[1] - factor * upper[1]
        if i < n - 2:
            third[i] = np.where(keep, 0, above[i + 1])
            second[i + 1] = np.where(keep, above[i + 1], -factor * above[i + 1])
    require(np.all(first[n - 1] != 0), singular)
    x[n - 1] /= first[n - 1]
    for i in reversed(range(n - 1)):
        beyond = third[i] * x[i + 2] if i < n - 2 else 0
        x[i] = (x[i] - second[i] * x[i + 1] - beyond) / first[i]
    return x


@tridiagonal_solve.gradient
def _(node, dy):
    diagonals, x = node.inputs[0], terms.conj(node.outputs[0])
    swapped = terms.conj(_transposed(diagonals))
    d_rhs = tridiagonal_solve(swapped, dy, partial_pivoting=node.attrs["partial_pivoting"])

    def diagonal_gradient(values):
        return reduce.sum_(d_rhs * values, -1)

    parts = [
        diagonal_gradient(shifted(x, -1, axis=-2)),
        diagonal_gradient(x),
        diagonal_gradient(shifted(x, 1, axis=-2)),
    ]
    return -terms.stack_rows(parts), d_rhs


def _transposed(diagonals):
    """The compact form of the transposed matrix."""
    below = shifted(diagonals[..., 2:3, :], -1, axis=-1)
    above = shifted(diagonals[..., 0:1, :], 1, axis=-1)
    return terms.join_rows([below, diagonals[..., 1:2, :], above])


@tridiagonal_solve.samples
def _(rng):
    for batch, pivoting in (((), True), ((2,), True), ((2,), False)):
        diagonals = rng.normal(size=(*batch, 3, 5)) + [[0], [3], [0]]
        diagonals[..., 0, -1] = diagonals[..., 2, 0] = 0
        rhs = rng.normal(size=(*batch, 5, 2))
        yield Sample(diagonals, rhs, partial_pivoting=pivoting)
    exchanged = np.array([[1.0, 2, 0], [0, 1, 1], [0, 3, 1]])
    yield Sample(exchanged, rng.normal(size=(3, 1)), note="rows exchanged")
    yield Sample(np.array([[0.0], [2.0], [0.0]]), np.ones((1, 2)), note="one equation")
    z = diagonals[0] + 1j * rng.normal(size=(3, 5))
    yield Sample(z, z.T, note="complex")
    yield Sample(np.zeros((3, 0)), np.zeros((0, 2)), note="empty")
    yield ErrorSample(np.zeros((3, 2)), np.ones((2, 1)), raises="is not invertible")
    yield ErrorSample(np.ones((2, 2)), np.ones((2, 1)), raises="must be 3|3 rows")
