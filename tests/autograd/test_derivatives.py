"""Every family of rules beside finite differences, in both directions and twice; and what tracing keeps
to."""

from __future__ import annotations

import warnings

import numpy as onp
import pytest

import headrace.autograd.numpy as np
from headrace.autograd import (
    checkpoint,
    deriv,
    elementwise_grad,
    grad,
    grad_named,
    hessian,
    holomorphic_grad,
    jacobian,
    make_ggnvp,
    make_hvp,
    make_jvp,
    make_vjp,
    multigrad_dict,
    value_and_grad,
)
from headrace.autograd.builtins import dict as traced_dict
from headrace.autograd.builtins import list as traced_list
from headrace.autograd.builtins import tuple as traced_tuple
from headrace.autograd.extend import defvjp, primitive
from headrace.autograd.misc import const_graph, fixed_points, flatten, full_graph, optimizers
from headrace.autograd.test_util import check_grads


@pytest.fixture(autouse=True)
def seeded():
    onp.random.seed(7)


def R(*shape):
    return onp.random.randn(*shape)


def C(*shape):
    return R(*shape) + 1j * R(*shape)


def S(n):
    """A matrix far from singular."""
    return R(n, n) + 4.0 * onp.eye(n)


# what is differentiated, by all of these arguments at once
CASES = {
    "unary": (
        lambda x: sum(f(x) for f in (np.sin, np.tanh, np.exp2, np.arctan, np.cbrt, np.sinc)),
        [R(2, 3)],
    ),
    "positive": (lambda x: np.log2(x) + np.sqrt(x) + np.reciprocal(x) + x**2.5, [R(4) ** 2 + 0.5]),
    "complex": (lambda z: np.exp(z) * np.conj(z) / np.abs(z) + np.real(z) * np.imag(z) * np.angle(z), [C(3)]),
    "complex and real": (lambda x, z: np.real(np.sin(x * z)) + x, [R(3), C(2, 3)]),
    "binary": (lambda x, y: np.arctan2(x, y) + np.hypot(x, y) + np.logaddexp(x, y) * x, [R(3), R(2, 1)]),
    "power": (lambda x, y: x**y + np.mod(x, y) + np.maximum(x, y), [R(3) ** 2 + 0.5, R(2, 1) ** 2 + 1.0]),
    "choice": (lambda x, y: np.where(x > y, x * y, y) + np.clip(x, -0.5, 0.5), [R(4), R(4)]),
    "reductions": (
        lambda x: np.sum(x, 0) * np.mean(x, (0, -1), keepdims=True) + np.prod(x, axis=0) * np.max(x),
        [R(2, 3)],
    ),
    "spread": (lambda x: np.var(x, 0, ddof=1) + np.std(x, axis=0) + np.min(x, 0), [R(4, 3)]),
    "cumulative": (lambda x: np.cumsum(x, 1) * np.cumsum(x)[2] + np.diff(x, 2, 0)[0, 0], [R(3, 3)]),
    "order": (lambda x: np.sort(x) * np.partition(x, 2)[::-1], [R(5)]),
    "shapes": (
        lambda x: np.swapaxes(x, 0, 2).reshape(4, -1) @ np.moveaxis(x, 0, -1).reshape(6, 4) * x.T.ravel()[3],
        [R(2, 3, 4)],
    ),
    "rearranged": (
        lambda x: np.tile(np.roll(x, 1, 0), (1, 2))[:, :3] * np.rot90(np.repeat(x, 1, 1)) + np.tril(x),
        [R(3, 3)],
    ),
    "parts": (lambda x: x[1:, ::-1][:, 0] * x[[0, 0], [1, 2]] + np.diag(x)[:2], [R(3, 3)]),
    "pads": (
        lambda x: np.pad(x, 2) * np.pad(x, 2, "reflect") + np.pad(x, ((1, 3), (2, 2)), "edge"),
        [R(4, 4)],
    ),
    "joined": (
        lambda x, y: np.concatenate([x, y, x]) * 2.0 + np.hstack([np.stack([y[0], x[0]])[1], y[0], x[0]])[:3],
        [R(1, 3), R(2, 3)],
    ),
    "arrays": (lambda x: np.array([[x[0], x[1] * x[0]], [1.0, x[2]]]) @ np.c_[x, np.r_[x]][:2], [R(3)]),
    "cut": (lambda x: np.split(x, 2)[1] * np.array_split(x, [1, 3])[1], [R(4, 2)]),
    "products": (
        lambda a, b: np.dot(a, b) + np.einsum("ij,jk->ik", a, b) * np.trace(np.inner(a, b.T)),
        [R(2, 3), R(3, 2)],
    ),
    "stacks": (
        lambda a, b: np.matmul(a, b) * np.tensordot(a, b, ([0], [0]))[0, 0, 0, 0],
        [R(2, 3, 4), R(2, 4, 3)],
    ),
    "diagonals": (lambda a: np.einsum("ii->i", a) * np.einsum("ij->j", a) + np.kron(a, a)[0, :3], [R(3, 3)]),
    "cross": (
        lambda a, b: np.cross(a, b) * np.outer(a[0], b[0]).sum() + np.gradient(a, axis=1),
        [R(2, 3), R(2, 3)],
    ),
    "inverses": (lambda a: np.linalg.inv(a) @ np.linalg.solve(a, a.T) * np.linalg.det(a), [S(3)]),
    "pinv": (lambda a: np.linalg.pinv(a), [R(4, 2)]),
    "logdet": (lambda a: np.linalg.slogdet(a)[1] + np.linalg.norm(a) + np.linalg.norm(a, "nuc"), [S(3)]),
    "cholesky": (lambda a: np.linalg.cholesky(a @ a.T + np.eye(3)), [R(3, 3)]),
    "eigh": (lambda a: traced_tuple(tuple(np.linalg.eigh(a + a.T))), [R(3, 3)]),
    "eig": (lambda a: np.abs(np.linalg.eig(a)[1]) + np.abs(np.linalg.eig(a)[0]), [R(3, 3)]),
    "svd": (lambda a: traced_tuple(tuple(np.linalg.svd(a, full_matrices=False))), [R(4, 3)]),
    "fft": (
        lambda x: np.abs(np.fft.fft2(x)) + np.real(np.fft.ifft(x, axis=0)) + np.fft.fftshift(x),
        [R(4, 4)],
    ),
    "rfft": (
        lambda x: np.fft.irfftn(np.fft.rfftn(x) * 2.0 + 1.0) + np.fft.irfft(np.fft.rfft(x, 6), 4),
        [R(4, 4)],
    ),
    "containers": (lambda x: traced_dict(a=x[0] * x[1]["k"], b=traced_list([x[0]])), [[R(2), {"k": R(2)}]]),
}
ONCE = {"eig", "eigh", "svd", "cholesky", "stacks", "logdet"}  # their second derivatives take long


@pytest.mark.parametrize("name", CASES)
def test_both_directions_agree_with_differences(name):
    fun, args = CASES[name]
    modes = ["rev"] if name == "containers" else ["fwd", "rev"]
    check_grads(fun, tuple(range(len(args))), modes, order=1 if name in ONCE else 2)(*args)


def test_operators_agree_with_each_other():
    def fun(x):
        return np.tanh(A @ x)

    def loss(x):
        return np.sum(fun(x) ** 2)

    A, x, v = R(4, 3), R(3), R(3)
    J = jacobian(fun)(x)
    assert np.allclose(make_jvp(fun)(x)(v)[1], J @ v)
    assert np.allclose(make_vjp(fun)(x)[0](R(4) * 0 + 1.0), J.T @ np.ones(4))
    assert np.allclose(make_hvp(loss)(x)[0](v), hessian(loss)(x) @ v)
    assert np.allclose(make_ggnvp(fun, lambda y: np.sum(y**2))(x)(v), 2.0 * J.T @ J @ v)
    value, g = value_and_grad(loss)(x)
    assert value == loss(x) and np.allclose(g, grad(loss)(x))
    assert np.allclose(elementwise_grad(np.sin)(x), np.cos(x))
    assert np.isclose(deriv(lambda t: np.sin(t) * t)(0.3), np.cos(0.3) * 0.3 + np.sin(0.3))
    assert np.isclose(holomorphic_grad(lambda z: z**3)(1.0 + 2.0j), 3 * (1.0 + 2.0j) ** 2)


def test_arguments_by_number_name_and_all_at_once():
    def fun(a, b=2.0, *, c=1.0):
        return a**2 * b * c

    assert grad(fun, 1)(3.0, 2.0) == 9.0
    assert grad(fun, (0, 1))(3.0, 2.0, c=2.0) == (24.0, 18.0)
    assert grad_named(lambda a, b: a * b, "b")(3.0, 2.0) == 3.0
    assert multigrad_dict(lambda a, b=2.0: a * b)(3.0) == {"a": 2.0, "b": 3.0}
    assert grad(fun, 1).__name__ == "grad_of_fun_wrt_argnum_1"


def test_python_decides_by_values_and_closures_are_traced_through():
    def newton(a, steps=6):
        x = a
        while steps and abs(x * x - a) > 1e-12:
            x, steps = (x + a / x) / 2, steps - 1
        return x

    assert np.isclose(grad(newton)(2.0), 0.5 / np.sqrt(2.0))
    assert grad(lambda x: x * grad(lambda y: x * y * y)(2.0))(3.0) == 24.0  # the inner one is 4 x


def test_a_checkpoint_runs_again_and_a_constant_graph_does_not():
    calls = []

    def fun(x):
        calls.append(None)
        return np.sin(x) * x

    assert np.isclose(grad(checkpoint(fun))(0.5), grad(fun)(0.5))
    assert len(calls) == 3
    replayed = const_graph(fun)
    assert replayed(0.1) == fun(0.1) and replayed(0.7) == fun(0.7)
    assert len(calls) == 6
    assert full_graph(lambda x: np.sin(x) * 2.0, 1.0).fun.__name__ == "multiply"


def test_primitives_of_ones_own():
    @primitive
    def twice(x):
        return 2.0 * onp.asarray(x)

    with pytest.raises(NotImplementedError, match="twice"):
        grad(twice)(1.0)
    defvjp(twice, lambda ans, x: lambda g: 2.0 * g)
    assert grad(lambda x: twice(x) * x)(3.0) == 12.0
    assert deriv(lambda x: twice(x) * x)(3.0) == 12.0  # the other direction follows


def test_refusals():
    with pytest.raises(TypeError, match="scalar-output"):
        grad(lambda x: x * 2.0)(np.ones(2))
    with pytest.raises(TypeError, match="holomorphic"):
        grad(lambda x: x * 1j)(1.0)
    with pytest.raises(TypeError, match="int"):
        grad(lambda x: x * 2)(3)
    with pytest.raises(TypeError, match="item assignment"):
        grad(_assigned)(np.ones(2))
    with pytest.raises(IndexError, match="was given 1 argument"):
        grad(lambda x: x, 1)(1.0)


def _assigned(x):
    x[0] = 1.0
    return np.sum(x)


def test_numpys_own_functions_see_boxes():
    assert np.allclose(grad(lambda x: onp.sum(onp.exp(x) * onp.ones(3)))(np.zeros(3)), 1.0)
    assert np.allclose(grad(lambda x: onp.concatenate([x, x]).sum())(np.zeros(3)), 2.0)


def test_types_of_derivatives_are_those_of_values():
    for kind in (onp.float16, onp.float32, onp.float64):
        assert grad(lambda x: np.sum(np.sin(x) ** 2))(onp.ones(3, kind)).dtype == kind
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert grad(lambda x: 1.0)(2.0) == 0.0


def test_a_gradient_is_the_users_to_write_to():
    g = grad(np.sum)(np.ones((2, 2)))
    g += 1.0
    assert np.all(g == 2.0)


def test_structures_as_vectors_and_optimizers():
    params = {"w": R(2, 2), "b": [R(3), 1.5]}
    vector, back = flatten(params)
    assert vector.shape == (8,) and back(vector)["b"][1] == 1.5

    def loss(p, i=0):
        return np.sum(p["w"] ** 2) + np.sum(p["b"][0] ** 2) + p["b"][1] ** 2

    for optimizer in (optimizers.sgd, optimizers.rmsprop, optimizers.adam):
        found = optimizer(grad(loss), params, num_iters=60, step_size=0.05)
        assert loss(found) < loss(params)

    def root(a):
        return fixed_points.fixed_point(
            lambda a: lambda x: 0.5 * (x + a / x), a, 1.0, lambda x, y: abs(x - y), 1e-9
        )

    assert np.isclose(grad(root)(2.0), 0.5 / np.sqrt(2.0))
