"""Products by kernels of our own, against NumPy: all layouts, edges of tiles, stacks, panels."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import headrace as tf
from headrace.codegen.assembly.assemble import assemble
from headrace.codegen.ir.kernel_ir import Array
from headrace.codegen.ir.stages import Called
from headrace.codegen.products import gemm
from headrace.ops.declaration.emit import LibraryCall, transposed, view

pytestmark = pytest.mark.native

SIZES = [
    (1, 1, 1), (1, 7, 5), (3, 300, 2), (20, 40, 80), (17, 33, 65), (15, 257, 33), (100, 784, 10),
    (1, 500, 300), (513, 5, 31), (64, 1, 64), (600, 300, 70), (260, 30, 3),
]  # fmt: skip


@pytest.fixture
def own(monkeypatch):
    """Every product is ours."""
    monkeypatch.setattr(gemm.Products, "prefers", lambda self, call: True)


def product(a, b, turn_a, turn_b, times=1):
    """The results of equal products of one program."""
    operands = [Array(x.shape, x.dtype) for x in (a, b)]
    first, second = (transposed(t, turn) for t, turn in zip(operands, (turn_a, turn_b)))
    lead = np.broadcast_shapes(first.shape[:-2], second.shape[:-2])
    outputs = []
    for _ in range(times):
        out = Array((*lead, first.shape[-2], second.shape[-1]), a.dtype)
        call = LibraryCall("matmul", src=first, weights=second, dst=view(out))
        assert gemm.supports(call)
        out.source = Called(call, tuple(operands))
        outputs.append(out)
    program = assemble(operands, outputs, [], [])
    return program.run([a, b])[0], program


def check(got, a, b, turn_a, turn_b):
    a, b = (
        x.swapaxes(-1, -2).astype(np.float64) if turn else x.astype(np.float64)
        for x, turn in ((a, turn_a), (b, turn_b))
    )
    want = a @ b
    loose = 2e-5 if got.dtype == np.float32 else 1e-12
    np.testing.assert_allclose(got, want, rtol=0, atol=loose * max(np.abs(want).max(), 1e-9))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_layouts(own, size, dtype):
    m, k, n = size
    rng = np.random.default_rng(0)
    for turn_a, turn_b in [(False, False), (True, False), (False, True), (True, True)]:
        a = rng.standard_normal((k, m) if turn_a else (m, k)).astype(dtype)
        b = rng.standard_normal((n, k) if turn_b else (k, n)).astype(dtype)
        for got in product(a, b, turn_a, turn_b, times=2)[0]:
            check(got, a, b, turn_a, turn_b)


@pytest.mark.parametrize("lead", [((3,), (3,)), ((2, 3), (2, 3)), ((1,), (4,)), ((4,), (1,))])
def test_stacks(own, lead):
    rng = np.random.default_rng(0)
    a = rng.standard_normal((*lead[0], 37, 50)).astype(np.float32)
    b = rng.standard_normal((*lead[1], 29, 50)).astype(np.float32)
    check(product(a, b, False, True)[0][0], a, b, False, True)


@pytest.mark.parametrize("in_panels", [False, True])
@pytest.mark.parametrize("turned", [(False, False), (True, False), (False, True)])
def test_every_tile(monkeypatch, turned, in_panels):
    """Whatever tile is chosen, the numbers are right; threads share the cells."""
    m, k, n = 33, 300, 70
    rng = np.random.default_rng(0)
    a = rng.standard_normal((k, m) if turned[0] else (m, k)).astype(np.float32)
    b = rng.standard_normal((n, k) if turned[1] else (k, n)).astype(np.float32)
    size = gemm.Size(m, n, k, 1, *turned, "float")
    shapes = [s for s in gemm._shapes(size, in_panels) if s.tile_m in (1, 6, 14)]
    monkeypatch.setattr(gemm.Products, "prefers", lambda self, call: True)
    for shape in shapes:
        grid = (2, 1) if shape.vectors < 3 else (3, 5)  # more cells than there are tiles, too
        chosen = gemm._estimate(size, shape, *grid, team=2)[1]
        monkeypatch.setattr(gemm, "choose", lambda size, shared, chosen=chosen: chosen)
        results, program = product(a, b, *turned, times=2 if in_panels else 1)
        check(results[-1], a, b, *turned)
        assert len(program.entries) == (3 if in_panels else 1)


def test_cells_share_a_product_evenly():
    """A few cells per thread where they are worth it, one where the product is small."""
    for m, n, k in [(20, 800, 400), (20, 2600, 1300), (400, 10000, 200)]:
        size = gemm.Size(m, n, k, 1, False, False, "float")
        grids = {rows * columns for rows, columns in gemm._grids(size, 2)}
        assert grids == {2, 4, 8}
    assert gemm._grids(gemm.Size(20, 100, 1000, 1, False, False, "float"), 2) == [(1, 2), (2, 1)]
    assert gemm._grids(gemm.Size(20, 800, 400, 4, False, False, "float"), 2) == [
        (1, 1),
        (1, 2),
        (2, 1),
        (1, 4),
        (2, 2),
        (4, 1),
    ]


def test_nan_stays_in_its_row_and_column(own):
    a, b = np.ones((5, 40), np.float32), np.ones((40, 20), np.float32)
    a[1, 3], b[7, 2] = np.nan, np.inf
    got = product(a, b, False, False)[0][0]
    wrong = np.zeros((5, 20), bool)
    wrong[1], wrong[:, 2] = True, True
    np.testing.assert_array_equal(~np.isfinite(got), wrong)


def test_weights_that_are_used_again_are_put_into_panels():
    x = Array((20, 64), np.float32)
    w = Array((64, 64), np.float32)
    outputs, source = [], x
    for _ in range(3):
        out = Array((20, 64), np.float32)
        call = LibraryCall("matmul", src=view(source), weights=view(w), dst=view(out))
        out.source = Called(call, (source, w))
        outputs.append(out)
        source = out
    program = assemble([x, w], outputs[-1:], [], [])
    assert [e.name.split()[0] for e in program.entries] == ["panels", *["own"] * 3]
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(t.shape).astype(np.float32) / 8 for t in (x, w))
    np.testing.assert_allclose(program.run([a, b])[0][0], a @ b @ b @ b, rtol=1e-4, atol=1e-5)


def test_who_does_a_product():
    """Without 512 bits, what the library is slow at is ours; stacks and narrow results are not."""
    awkward = gemm.is_awkward
    size = gemm.Size(1024, 256, 1024, 1, True, False, "float")
    assert awkward(size, (True, 1024)) and not awkward(size, (True, 1000))
    medium = gemm.Size(128, 512, 784, 1, False, False, "float")
    assert awkward(medium, (False, 784))
    assert not awkward(replace(medium, n=10), (False, 784))
    assert not awkward(replace(medium, batch=2), (False, 784))


def test_one_array_as_operands_of_different_sizes():
    """Its panels are not the same."""
    with tf.Graph().as_default():
        a, b = (tf.placeholder(tf.float32, [6, 1]) for _ in range(2))
        first = tf.matmul(a, b, transpose_a=True)
        second = tf.matmul(a, b, transpose_b=True)
        third = tf.matmul(tf.reshape(a, [2, 3]), tf.reshape(b, [3, 2]))
        x, y = np.random.default_rng(0).normal(size=(2, 6, 1)).astype(np.float32)
        with tf.Session() as sess:
            for _ in range(2):
                got = sess.run([first, second, third], {a: x, b: y})
        for value, want in zip(got, (x.T @ y, x @ y.T, x.reshape(2, 3) @ y.reshape(3, 2))):
            np.testing.assert_allclose(value, want, rtol=1e-5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize("inner,columns", [(64, 64), (65, 77), (300, 5000), (1037, 1001), (4096, 190)])
def test_few_rows(rows, inner, columns, dtype):
    """Read once, from end to end; the last columns and the last of k are not whole vectors."""
    rng = np.random.default_rng(0)
    for turn_a, turn_b in [(False, False), (True, False), (False, True)]:
        a = rng.standard_normal((inner, rows) if turn_a else (rows, inner)).astype(dtype)
        b = rng.standard_normal((columns, inner) if turn_b else (inner, columns)).astype(dtype)
        (got,), made = product(a, b, turn_a, turn_b)
        check(got, a, b, turn_a, turn_b)
        assert [e.kernel.split()[:2] for e in made.entries] == [["few", "rows"]]


def test_few_rows_keep_nan_and_infinity():
    a = np.ones((1, 128), np.float32)
    b = np.ones((128, 128), np.float32)
    b[3, 5], b[4, 6], b[100, 6] = np.nan, np.inf, -np.inf
    for turned in (False, True):
        got = product(a, np.ascontiguousarray(b.T) if turned else b, False, turned)[0][0]
        assert np.isnan(got[0, 5]) and np.isnan(got[0, 6]) and got[0, 7] == 128
