"""Every kind of operator against the dense matrix that it stands for."""

import itertools

import numpy as np
import pytest

import headrace as tf

L = tf.linalg


def rng():
    return np.random.default_rng(0)


def regular(*shape):
    return rng().normal(size=shape) + 4 * np.eye(shape[-1])


def positive(*shape):
    x = regular(*shape)
    return x @ np.swapaxes(x, -1, -2)


def kronecker(a, b):
    out = np.einsum("...ij,...kl->...ikjl", a, b)
    *lead, i, k, j, m = out.shape
    return out.reshape(*lead, i * k, j * m)


def blocks(a, b):
    lead = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    n, m = a.shape[-1], b.shape[-1]
    out = np.zeros((*lead, n + m, n + m), a.dtype)
    out[..., :n, :n], out[..., n:, n:] = a, b
    return out


def circulant(spectrum, depth=1):
    axes = tuple(range(-depth, 0))
    sizes = spectrum.shape[-depth:]
    count = int(np.prod(sizes))
    lead = spectrum.shape[:-depth]
    columns = []
    for basis in np.eye(count):
        moved = np.fft.ifftn(spectrum * np.fft.fftn(basis.reshape(sizes), axes=axes), axes=axes)
        columns.append(moved.reshape(*lead, count))
    return np.stack(columns, axis=-1)


def toeplitz(col, row):
    n = col.shape[-1]
    out = np.zeros((*col.shape, n), col.dtype)
    for i, j in itertools.product(range(n), repeat=2):
        out[..., i, j] = col[..., i - j] if i >= j else row[..., j - i]
    return out


M, N, P = regular(2, 3, 3), regular(4, 4), positive(2, 3, 3)
D = rng().uniform(1, 2, size=(2, 3))
Z = rng().normal(size=(2, 4, 2)) @ [1, 1j] + 3
U, V = rng().normal(size=(2, 2, 3, 2))
AXIS = rng().normal(size=(2, 3))
UNIT = AXIS / np.linalg.norm(AXIS, axis=-1, keepdims=True)
SPD = {"is_self_adjoint": True, "is_positive_definite": True}
SPECTRUM2 = rng().normal(size=(2, 2, 3, 2)) @ [1, 1j] + 3

CASES = {
    "full": (lambda: L.LinearOperatorFullMatrix(M), M),
    "positive": (lambda: L.LinearOperatorFullMatrix(P, **SPD), P),
    "triangular": (lambda: L.LinearOperatorLowerTriangular(M), np.tril(M)),
    "diagonal": (lambda: L.LinearOperatorDiag(D), D[..., None] * np.eye(3)),
    "complex diagonal": (lambda: L.LinearOperatorDiag(Z), Z[..., None] * np.eye(4)),
    "identity": (lambda: L.LinearOperatorIdentity(3, [2], tf.float64), np.eye(3) * np.ones((2, 1, 1))),
    "scaled": (
        lambda: L.LinearOperatorScaledIdentity(3, np.array([2.0, -3.0])),
        np.eye(3) * np.array([2.0, -3.0])[:, None, None],
    ),
    "composition": (
        lambda: L.LinearOperatorComposition([L.LinearOperatorFullMatrix(M), L.LinearOperatorDiag(D)]),
        M @ (D[..., None] * np.eye(3)),
    ),
    "blocks": (
        lambda: L.LinearOperatorBlockDiag([L.LinearOperatorFullMatrix(M), L.LinearOperatorFullMatrix(N)]),
        blocks(M, N),
    ),
    "kronecker": (
        lambda: L.LinearOperatorKronecker([L.LinearOperatorFullMatrix(M), L.LinearOperatorFullMatrix(N)]),
        kronecker(M, N),
    ),
    "low rank": (
        lambda: L.LinearOperatorLowRankUpdate(L.LinearOperatorFullMatrix(M), U, D[..., :2], V),
        M + U @ (D[..., :2, None] * np.eye(2)) @ np.swapaxes(V, -1, -2),
    ),
    "low rank positive": (
        lambda: L.LinearOperatorLowRankUpdate(L.LinearOperatorFullMatrix(P, **SPD), U),
        P + U @ np.swapaxes(U, -1, -2),
    ),
    "adjoint": (lambda: L.LinearOperatorAdjoint(L.LinearOperatorFullMatrix(M)), np.swapaxes(M, -1, -2)),
    "inversion": (lambda: L.LinearOperatorInversion(L.LinearOperatorFullMatrix(M)), np.linalg.inv(M)),
    "householder": (
        lambda: L.LinearOperatorHouseholder(AXIS),
        np.eye(3) - 2 * UNIT[..., None] * UNIT[..., None, :],
    ),
    "circulant": (lambda: L.LinearOperatorCirculant(Z, input_output_dtype=tf.complex128), circulant(Z)),
    "circulant 2D": (
        lambda: L.LinearOperatorCirculant2D(SPECTRUM2, input_output_dtype=tf.complex128),
        circulant(SPECTRUM2, 2),
    ),
    "circulant 3D": (
        lambda: L.LinearOperatorCirculant3D(SPECTRUM2, input_output_dtype=tf.complex128),
        circulant(SPECTRUM2, 3),
    ),
    "toeplitz": (
        lambda: L.LinearOperatorToeplitz(np.array([5.0, 1, 2]), np.array([[5.0, -1, 3], [5, 0.5, 2]])),
        toeplitz(np.array([[5.0, 1, 2]] * 2), np.array([[5.0, -1, 3], [5, 0.5, 2]])),
    ),
}
each_case = pytest.mark.parametrize("case", CASES)


@pytest.fixture
def session():
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def close(actual, desired):
    np.testing.assert_allclose(actual, desired, rtol=1e-7, atol=1e-9)


def adjoint(x):
    return np.swapaxes(x, -1, -2).conj()


def argument(dense, columns=2):
    shape = (*dense.shape[:-2], dense.shape[-1], columns)
    return rng().normal(size=shape).astype(dense.dtype)


@each_case
def test_shapes(case, session):
    build, dense = CASES[case]
    operator = build()
    assert operator.shape == dense.shape
    assert operator.tensor_rank == dense.ndim
    np.testing.assert_array_equal(session.run(operator._shape_tensor()), dense.shape)
    np.testing.assert_array_equal(session.run(operator.batch_shape_tensor()), dense.shape[:-2])


@each_case
@pytest.mark.parametrize("flip, flip_argument", list(itertools.product((False, True), repeat=2)))
def test_products_and_solutions(case, flip, flip_argument, session):
    build, dense = CASES[case]
    operator, x = build(), argument(dense)
    given = adjoint(x) if flip_argument else x
    own = adjoint(dense) if flip else dense
    product = operator.matmul(given, adjoint=flip, adjoint_arg=flip_argument)
    solution = operator.solve(given, adjoint=flip, adjoint_arg=flip_argument)
    product, solution = session.run([product, solution])
    close(product, own @ x)
    close(solution, np.linalg.solve(own, x))


@each_case
@pytest.mark.parametrize("lead", [(), (1,), (5, 1), (5, 2)])
def test_batches_broadcast(case, lead, session):
    build, dense = CASES[case]
    operator = build()
    x = rng().normal(size=(*lead, dense.shape[-1], 2)).astype(dense.dtype)
    product, solution = operator.matmul(x), operator.solve(x)
    wanted = dense @ x
    assert product.shape.is_compatible_with(wanted.shape)
    assert solution.shape.is_compatible_with(wanted.shape)
    product, solution = session.run([product, solution])
    close(product, wanted)
    # NumPy 1 takes an array of one dimension less for vectors.
    close(solution, np.linalg.solve(dense, np.broadcast_to(x, wanted.shape)))


@each_case
def test_vectors(case, session):
    build, dense = CASES[case]
    operator, x = build(), argument(dense)[..., 0]
    product, solution = session.run([operator.matvec(x), operator.solvevec(x)])
    close(product, (dense @ x[..., None])[..., 0])
    close(solution, np.linalg.solve(dense, x[..., None])[..., 0])


@each_case
def test_numbers(case, session):
    build, dense = CASES[case]
    operator = build()
    wanted = {
        "det": (operator.determinant(), np.linalg.det(dense)),
        "log": (operator.log_abs_determinant(), np.log(abs(np.linalg.det(dense)))),
        "trace": (operator.trace(), np.trace(dense, axis1=-2, axis2=-1)),
        "diagonal": (operator.diag_part(), np.diagonal(dense, axis1=-2, axis2=-1)),
        "dense": (operator.to_dense(), dense),
        "sum": (operator.add_to_tensor(np.ones_like(dense)), dense + 1),
    }
    for tensor, value in wanted.values():
        close(session.run(tensor), value)


@each_case
def test_other_forms(case, session):
    build, dense = CASES[case]
    operator = build()
    close(session.run(operator.H.to_dense()), adjoint(dense))
    close(session.run(operator.inverse().to_dense()), np.linalg.inv(dense))
    session.run(operator.assert_non_singular())
    if operator.is_self_adjoint and operator.is_positive_definite:
        factor = session.run(operator.cholesky().to_dense())
        close(factor @ adjoint(factor), dense)


@pytest.mark.parametrize(
    "left, right",
    list(
        itertools.product(("full", "diagonal", "triangular", "identity", "scaled", "householder"), repeat=2)
    ),
)
def test_products_of_operators(left, right, session):
    (build_a, a), (build_b, b) = CASES[left], CASES[right]
    product, solution = build_a() @ build_b(), build_a().solve(build_b())
    close(session.run(product.to_dense()), a @ b)
    close(session.run(solution.to_dense()), np.linalg.solve(a, b))


def test_zeros(session):
    operator = L.LinearOperatorZeros(2, 3, [4], is_square=False, is_self_adjoint=False)
    assert operator.shape == [4, 2, 3]
    np.testing.assert_array_equal(
        session.run(operator.matmul(np.ones((3, 5), np.float32))), np.zeros((4, 2, 5))
    )
    with pytest.raises(tf.errors.InvalidArgumentError, match="non-invertible"):
        operator.assert_non_singular()


def test_sizes_that_are_known_only_at_run_time(session):
    matrix, x = tf.placeholder(tf.float64), tf.placeholder(tf.float64)
    operator = L.LinearOperatorKronecker(
        [L.LinearOperatorFullMatrix(matrix, is_square=True), L.LinearOperatorFullMatrix(N)]
    )
    dense, value = kronecker(M, N), argument(kronecker(M, N))
    found = session.run([operator.matmul(x), operator.solve(x)], {matrix: M, x: value})
    close(found[0], dense @ value)
    close(found[1], np.linalg.solve(dense, value))


@pytest.mark.parametrize(
    "build, message",
    [
        (lambda: L.LinearOperatorDiag(D, is_self_adjoint=False), "always self adjoint"),
        (lambda: L.LinearOperatorFullMatrix(M, True, is_square=False), "always square"),
        (lambda: L.LinearOperatorIdentity(-1), "must be non-negative"),
        (lambda: L.LinearOperatorHouseholder(AXIS, is_square=False), "always square"),
        (lambda: L.LinearOperatorFullMatrix(M).cholesky(), "Cholesky"),
    ],
)
def test_refuses(build, message):
    with pytest.raises(ValueError, match=message):
        build()
