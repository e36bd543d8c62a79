"""Tensors: the quick backend beside the plain one, derivatives beside differences, storage that is shared."""

from __future__ import annotations

import random

import numpy as np
import pytest

import headrace.minitorch as minitorch
from headrace.minitorch import FastOps, MathTestVariable, SimpleBackend, operators

FAST = minitorch.TensorBackend(FastOps)
ONE, TWO, REDUCTIONS = MathTestVariable._comp_testing()


@pytest.fixture(autouse=True)
def seeded():
    random.seed(5)
    np.random.seed(5)


def made(shape, backend=FAST):
    return minitorch.tensor(np.random.randn(*shape), backend=backend)


def equal(a, b):
    np.testing.assert_allclose(a.to_numpy(), b.to_numpy(), rtol=1e-6, atol=1e-9)


def twins(shape):
    """The same numbers with both backends, with their axes turned."""
    a = made(shape)
    b = minitorch.Tensor(a._tensor, backend=SimpleBackend)
    order = list(range(len(shape)))[::-1]
    return a.permute(*order), b.permute(*order)


@pytest.mark.parametrize("case", ONE, ids=[name for name, *_ in ONE])
def test_functions_of_one(case):
    _, plain, function = case
    fast, simple = twins((2, 3))
    equal(function(fast), function(simple))
    for index in fast._tensor.indices():
        assert function(fast)[index] == pytest.approx(plain(fast[index]), abs=1e-9)
    minitorch.grad_check(function, made((2, 3)))


@pytest.mark.parametrize("case", TWO, ids=[name for name, *_ in TWO])
def test_functions_of_two(case):
    _, _, function = case
    (a, a2), (b, b2) = twins((2, 3)), twins((1, 3))
    equal(function(a, b), function(a2, b2))
    minitorch.grad_check(function, made((2, 3)), made((3,)))


@pytest.mark.parametrize("case", REDUCTIONS, ids=[name for name, *_ in REDUCTIONS])
def test_reductions(case):
    _, _, function = case
    fast, simple = twins((2, 3))
    equal(function(fast), function(simple))
    minitorch.grad_check(function, made((2, 3)))


def test_products_of_matrices():
    a, b = made((3, 2, 4)), made((1, 4, 3))
    plain = [minitorch.Tensor(t._tensor, backend=SimpleBackend) for t in (a, b)]
    equal(a @ b, plain[0] @ plain[1])
    minitorch.grad_check(lambda a, b: a @ b, a, b)
    with pytest.raises(minitorch.IndexingError, match="multiplied"):
        a @ a


def test_views_and_permutations_share_one_storage():
    t = minitorch.tensor([[1, 2, 3], [4, 5, 6]], backend=FAST)
    turned, flat = t.permute(1, 0), t.view(6)
    assert turned._tensor._storage is t._tensor._storage is flat._tensor._storage
    t[0, 1] = 9.0
    assert turned[1, 0] == flat[1] == 9.0
    with pytest.raises(ValueError, match="contiguous"):
        turned.view(6)


def test_convolutions_pools_and_softmax():
    x, w = made((2, 2, 6, 6)), made((3, 2, 2, 4))
    minitorch.grad_check(minitorch.conv2d, x, w)
    minitorch.grad_check(minitorch.conv1d, made((2, 2, 5)), made((3, 2, 2)))
    minitorch.grad_check(lambda t: minitorch.maxpool2d(t, (2, 3)), x)
    minitorch.grad_check(lambda t: minitorch.avgpool2d(t, (2, 3)), x)
    minitorch.grad_check(lambda t: minitorch.logsoftmax(t, 3), x)
    equal(minitorch.softmax(x, 1).sum(1), minitorch.ones((2, 1, 6, 6), FAST))
    huge = minitorch.tensor([1000.0, 999.0], backend=FAST)
    assert minitorch.softmax(huge, 0)[0] == pytest.approx(1 / (1 + np.exp(-1)))
    for t in (minitorch.dropout(x, 1.0), minitorch.dropout(x, 0.0) - x, minitorch.dropout(x, 1.0, True) - x):
        assert not t.to_numpy().any()


def test_functions_that_the_backend_does_not_know():
    cube = FAST.__class__(FastOps)
    assert cube.neg_map(made((2,))).shape == (2,)
    a = made((2, 2))
    equal(FastOps.map(lambda x: x**3)(a), a * a * a)
    total = FastOps.reduce(lambda x, y: x + 2 * y, 1.0)(a, 1)
    assert total[0, 0] == pytest.approx(1.0 + 2 * (a[0, 0] + a[0, 1]))


def test_refusals():
    t = minitorch.tensor([[1, 2], [3, 4]])
    for index in ((2, 0), (0, -1), (0,)):
        with pytest.raises(minitorch.IndexingError):
            t[index]
    with pytest.raises(minitorch.IndexingError, match="broadcast"):
        minitorch.shape_broadcast((5, 2), (5,))
    with pytest.raises(ValueError, match="grad_output"):
        (minitorch.tensor([1, 2], requires_grad=True) * 2).backward()
    with pytest.raises(ValueError, match="do not fill"):
        minitorch.maxpool2d(made((1, 1, 5, 4)), (2, 2))


def test_scalars():
    x = minitorch.Scalar(2.0)
    (x * x + 3.0 / x).backward()
    assert x.derivative == pytest.approx(4.0 - 0.75)
    for _, plain, function in ONE:
        assert function(minitorch.Scalar(1.5)).data == pytest.approx(plain(1.5))
        minitorch.derivative_check(function, minitorch.Scalar(1.5))
    assert operators.sigmoid(-1000.0) == 0.0
