"""Products of stacks of matrices: every pattern of broadcast dimensions, by whoever does them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import headrace as tf
from headrace.codegen.ir.kernel_ir import Array
from headrace.codegen.onednn import onednn
from headrace.codegen.products.matrices import matrix, stacks
from headrace.ops.declaration.emit import LibraryCall, transposed, view

pytestmark = pytest.mark.native
WHOLE = (2, 3, 2)  # matrices of a result


def patterns():
    """Leading dimensions of two operands: each may be missing in one of them, or be 1."""
    ways = "both", "left", "right"
    for kept in [
        *itertools.product(ways),
        *itertools.product(ways, ways),
        *itertools.permutations(ways),
        ("left", "right", "left"),
    ]:
        left = tuple(n if k != "right" else 1 for n, k in zip(WHOLE, kept))
        right = tuple(n if k != "left" else 1 for n, k in zip(WHOLE, kept))
        yield left, right
    yield from [((), WHOLE), (WHOLE, ()), ((3, 1), WHOLE), (WHOLE, (2,)), ((4, 1), (3, 1, 5))]


@pytest.fixture(params=["onednn", "own", "doubles", "stages"])
def dtype(request, monkeypatch):
    """A type whose products this one does."""
    if request.param == "onednn" and not onednn.is_available():
        pytest.skip("no oneDNN")
    if request.param == "own":
        monkeypatch.setattr(onednn, "is_available", lambda: False)
    return {"doubles": tf.float64, "stages": tf.float16}.get(request.param, tf.float32)


def of(rng, shape, dtype):
    return rng.integers(-1, 2, size=shape).astype(dtype.as_numpy_dtype)


@pytest.mark.parametrize("turned", [*itertools.product((False, True), repeat=2)])
def test_broadcast_stacks(dtype, turned):
    """Whole numbers, so that every sum is exact: any element from a wrong place shows."""
    rng = np.random.default_rng(0)
    made, feeds, wanted = [], {}, []
    with tf.Graph().as_default(), tf.Session() as sess:
        for left, right in patterns():
            shapes = [(*left, *((5, 7) if turned[0] else (7, 5)))]
            shapes += [(*right, *((6, 5) if turned[1] else (5, 6)))]
            values = [of(rng, s, dtype) for s in shapes]
            a, b = (tf.placeholder(dtype, s) for s in shapes)
            y = tf.matmul(a + 1, tf.nn.relu(b), adjoint_a=turned[0], adjoint_b=turned[1])
            made.append([y, *tf.gradients(y * y, [a, b])])
            feeds |= {a: values[0], b: values[1]}
            wanted.append(expected(*values, *turned))
        for _ in range(2):
            got = sess.run(made, feeds)
    for case, found, want in zip(patterns(), got, wanted):
        for name, x, right in zip(("product", "left", "right"), found, want):
            np.testing.assert_array_equal(x, right.astype(x.dtype), f"{name} of {case}")


def expected(a, b, turn_a, turn_b):
    """The product, and the gradients of the sum of its squares."""
    left, right = (a + 1).astype(np.float64), np.maximum(b, 0).astype(np.float64)
    left, right = (x.swapaxes(-1, -2) if t else x for x, t in ((left, turn_a), (right, turn_b)))
    y = left @ right
    da, db = 2 * y @ right.swapaxes(-1, -2), left.swapaxes(-1, -2) @ (2 * y)
    da, db = summed(da, left.shape), summed(db, right.shape)
    da, db = (x.swapaxes(-1, -2) if t else x for x, t in ((da, turn_a), (db, turn_b)))
    return y, da, db * (b > 0)


def summed(x, shape):
    """x summed over what was broadcast from `shape`."""
    x = x.sum(tuple(range(x.ndim - len(shape))))
    return x.sum(tuple(i for i, n in enumerate(shape) if n == 1 != x.shape[i]), keepdims=True)


@pytest.mark.parametrize("shapes", [((2, 1, 64, 64), (2, 3, 64, 64)), ((2, 3, 1, 70), (3, 70, 64))])
def test_large_matrices(dtype, shapes):
    """Other kernels prefer these, and one row."""
    rng = np.random.default_rng(0)
    values = [of(rng, s, dtype) for s in shapes]
    with tf.Graph().as_default(), tf.Session() as sess:
        a, b = (tf.placeholder(dtype, s) for s in shapes)
        y = tf.matmul(a, b)
        for _ in range(2):
            got = sess.run(y, dict(zip((a, b), values)))
    np.testing.assert_array_equal(got, values[0] @ values[1])


def call(left, right, whole):
    a, b = Array((*left, 4, 5), np.float32), Array((*right, 5, 6), np.float32)
    rank, dst = len(whole) + 2, Array((*whole, 4, 6), np.float32)
    views = {"src": transposed(a, False, rank), "weights": transposed(b, False, rank)}
    return LibraryCall("matmul", **views, dst=view(dst))


def test_stacks_are_few_loops():
    assert stacks(call((2, 3), (2, 3), (2, 3))) == [(6, 20, 30, 24)]
    assert stacks(call((2, 1), (2, 3), (2, 3))) == [(2, 20, 90, 72), (3, 0, 30, 24)]
    assert stacks(call((), (2, 3), (2, 3))) == [(6, 0, 30, 24)]
    assert stacks(call((2, 1), (3,), (2, 3))) == [(2, 20, 0, 72), (3, 0, 30, 24)]
    assert stacks(call((1, 1), (), (1, 1))) == stacks(call((), (), ())) == []


def test_matrices_under_another_shape():
    x = Array((6, 5), np.float32)
    assert matrix(view(x, (0, 2, 1), (2, 3, 5))) == (True, 5)
    assert matrix(view(x, (2, 0, 1), (3, 2, 5))) is None
