"""Exponential, logarithm and square root of matrices."""

from __future__ import annotations

import numpy as np

from headrace.core.dtypes import COMPLEX
from headrace.ops.declaration import array
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.linalg import matrix_terms as terms
from headrace.ops.linalg import solve as linalg_solve
from headrace.ops.linalg.matrix_batch import SOLVER_TYPES, squares
from headrace.ops.linalg.schur import apply, triangular_logarithm, triangular_square_root
from headrace.ops.linalg.solve import square_shape

# Coefficients of the numerator of the [13/13] Pade approximant of exp; the denominator has the
# same with alternating signs.
PADE = (
    64764752532480000, 32382376266240000, 7771770303897600, 1187353796428800, 129060195264000,
    10559470521600, 670442572800, 33522128640, 1323241920, 40840800, 960960, 16380, 182, 1,
)  # fmt: skip
PADE_RADIUS = 5.37  # the 1-norm up to which that approximant is exact in float64 (Higham)


@op(
    "MatrixExponential",
    "input: T -> output: T",
    T=SOLVER_TYPES,
    shape=square_shape,
    deprecated=(27, "Use Python implementation tf.linalg.matrix_exponential instead."),
)
def matrix_exponential(input):
    """exp of every matrix: scaled until small, approximated, squared back."""
    x = squares(input)
    if not x.size:
        return x
    wide = x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)
    norm = abs(wide).sum(axis=-2).max(axis=-1)
    with np.errstate(all="ignore"):
        halvings = np.ceil(np.log2(np.maximum(norm / PADE_RADIUS, 1)))
        halvings = np.where(np.isfinite(halvings), halvings, 0).astype(int)
        out = _pade(wide / 2.0 ** halvings[..., None, None])
        for i in range(halvings.max(initial=0)):
            out = np.where((i < halvings)[..., None, None], out @ out, out)
    return out


def _pade(x):
    identity = np.eye(x.shape[-1])
    x2 = x @ x
    power, odd, even = identity, 0, 0
    for i in range(0, len(PADE), 2):
        even = even + PADE[i] * power
        odd = odd + PADE[i + 1] * power
        power = power @ x2
    odd = x @ odd
    return np.linalg.solve(even - odd, even + odd)


@matrix_exponential.samples
def _(rng):
    yield Sample(rng.normal(size=(2, 3, 3)), grad=False)
    yield Sample(10 * rng.normal(size=(3, 3)), note="scaled", grad=False)
    yield Sample(rng.normal(size=(2, 2, 2)) @ [1, 1j], note="complex", grad=False)
    yield Sample(np.zeros((2, 0, 0)), note="empty", grad=False)
    yield ErrorSample(np.ones((2, 3)), raises="must be (equal|square)")


@op("MatrixLogarithm", "input: T -> output: T", T=COMPLEX, shape=square_shape)
def matrix_logarithm(input):
    """The principal logarithm of every matrix: exp(output) = input."""
    return apply(squares(input), np.log, triangular_logarithm)


@matrix_logarithm.samples
def _(rng):
    z = rng.normal(size=(2, 3, 3, 2)) @ [1, 1j]
    yield Sample(z, grad=False)
    yield Sample(np.array([[2, 1, 0], [0, 2, 1], [0, 0, 2j]]), note="not diagonal", grad=False)
    yield Sample(np.zeros((2, 0, 0), np.complex128), note="empty", grad=False)
    yield ErrorSample(np.ones((2, 3), np.complex64), raises="must be (equal|square)")


@op("MatrixSquareRoot", "input: T -> output: T", T=SOLVER_TYPES, shape=square_shape)
def matrix_square_root(input):
    """The principal square root of every matrix; NaN where a real matrix has no real one."""
    x = squares(input)
    root = apply(x, np.sqrt, triangular_square_root)
    if x.dtype.kind == "c" or not root.size:
        return root
    size = abs(root).max(axis=(-1, -2), keepdims=True)
    is_real = abs(root.imag).max(axis=(-1, -2), keepdims=True) <= 1e-6 * np.maximum(size, 1e-30)
    return np.where(is_real, root.real, np.nan)


@matrix_square_root.gradient
def _(node, dy):
    # With R R = A: R^H dA + dA R^H = dR, a linear system in the entries of dA, row by row.
    root = node.outputs[0]
    adjoint, identity = terms.adjoint(root), terms.identity_like(root)
    sizes = array.shape(root)
    batch, n = sizes[:-2], sizes[-1:]
    one = array.ones_like(n)

    def kronecker(left, right):
        rows = array.reshape(left, array.concat_v2([batch, n, one, n, one], 0))
        columns = array.reshape(right, array.concat_v2([batch, one, n, one, n], 0))
        return array.reshape(rows * columns, array.concat_v2([batch, n * n, n * n], 0))

    system = kronecker(adjoint, identity) + kronecker(identity, terms.conj(root))
    column = array.reshape(dy, array.concat_v2([batch, n * n, one], 0))
    return array.reshape(linalg_solve.matrix_solve(system, column), sizes)


@matrix_square_root.samples
def _(rng):
    x = rng.normal(size=(2, 3, 3))
    yield Sample(x @ x + 3 * np.eye(3))
    yield Sample(np.array([[4.0, 1, 2], [0, 4, 3], [0, 0, 4]]), note="not diagonal")
    yield Sample(rng.normal(size=(3, 3, 2)) @ [1, 1j], note="complex")
    yield Sample(-np.eye(2), note="no real root", grad=False)
    yield Sample(np.zeros((2, 0, 0)), note="empty", grad=False)
    yield ErrorSample(np.ones((2, 3)), raises="must be (equal|square)")
