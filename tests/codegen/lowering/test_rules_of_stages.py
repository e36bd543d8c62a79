"""Rules of several stages: softmax and the like, moves of data, gathers, scatters, updates."""

from __future__ import annotations

import numpy as np
import pytest

from headrace.codegen.assembly.assemble import assemble
from headrace.codegen.fusion.fusion import Fusion, Group
from headrace.codegen.ir.kernel_ir import Array
from headrace.codegen.lowering.lower import Emitter
from headrace.core.errors import InvalidArgumentError
from tests.codegen.rules import operand, run

pytestmark = pytest.mark.native
rng = np.random.default_rng(0)


def softmax(e, x):
    *rows, n = x.shape
    top = e.compute(rows, lambda *i: e.reduce("max", n, lambda j: x[(*i, j)]))
    up = e.compute(x.shape, lambda *i: e.exp(x[i] - top[i[:-1]]))
    total = e.compute(rows, lambda *i: e.reduce("sum", n, lambda j: up[(*i, j)]))
    return e.compute(x.shape, lambda *i: up[i] / total[i[:-1]])


def softmax_reference(x):
    up = np.exp(x - x.max(-1, keepdims=True))
    return up / up.sum(-1, keepdims=True)


@pytest.mark.parametrize("shape", [(3, 5), (100, 10), (7, 1), (1, 9), (2, 3, 70), (5,), (4, 1000)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_softmax(shape, dtype):
    x = rng.normal(size=shape).astype(dtype) * 5
    np.testing.assert_allclose(run(softmax, x)[0], softmax_reference(x), rtol=3e-6)


def test_softmax_is_one_kernel():
    x = Array((100, 10), np.float32)
    fusion = Fusion([softmax(Emitter(), x)], [], [])
    assert len(fusion.items) == 1 and isinstance(fusion.items[0], Group)


@pytest.mark.parametrize("shape", [(4, 6), (33, 257), (2, 3, 5)])
def test_layer_norm(shape):
    def rule(e, x, scale, shift):
        *rows, n = x.shape
        count = e.size(n, x.dtype)
        mean = e.compute((*rows, 1), lambda *i: e.reduce("sum", n, lambda j: x[(*i[:-1], j)]) / count)
        low = e.compute(x.shape, lambda *i: x[i] - mean[(*i[:-1], 0)])
        var = e.compute(
            (*rows, 1), lambda *i: e.reduce("sum", n, lambda j: low[(*i[:-1], j)] * low[(*i[:-1], j)]) / count
        )
        unit = e.compute((*rows, 1), lambda *i: e.rsqrt(var[i] + 1e-5))
        y = e.compute(x.shape, lambda *i: low[i] * unit[(*i[:-1], 0)] * scale[i[-1]] + shift[i[-1]])
        return y, mean, var

    x = rng.normal(size=shape).astype(np.float32)
    scale, shift = rng.normal(size=(2, shape[-1])).astype(np.float32)
    y, mean, var = run(rule, x, scale, shift)
    want_mean, want_var = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    np.testing.assert_allclose(mean, want_mean, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(var, want_var, rtol=1e-4)
    want = (x - want_mean) / np.sqrt(want_var + 1e-5) * scale + shift
    np.testing.assert_allclose(y, want, rtol=1e-3, atol=1e-5)


def test_several_outputs_share_a_kernel():
    def rule(e, x):
        a = e.compute(x.shape, lambda i: e.exp(x[i]))
        b = e.compute(x.shape, lambda i: a[i] * 2)
        c = e.compute(x.shape, lambda i: a[i] + b[i])
        return a, b, c

    x = rng.normal(size=1000).astype(np.float32)
    a, b, c = run(rule, x)
    np.testing.assert_allclose(a, np.exp(x), rtol=1e-6)
    np.testing.assert_array_equal(b, a * 2)
    np.testing.assert_array_equal(c, a + b)


# -- moves of data -------------------------------------------------------------------------------
@pytest.mark.parametrize("perm", [(1, 0, 2), (2, 1, 0), (0, 2, 1), (2, 0, 1)])
def test_transpose(perm):
    def rule(e, x):
        shape = [x.shape[p] for p in perm]
        back = [perm.index(k) for k in range(3)]
        return e.compute(shape, lambda *i: x[tuple(i[b] for b in back)])

    x = rng.normal(size=(5, 18, 33)).astype(np.float32)
    np.testing.assert_array_equal(run(rule, x)[0], x.transpose(perm))


@pytest.mark.parametrize("low,high", [(0, 0), (1, 2), (3, 0), (0, 40)])
def test_pad_reads_outside_safely(low, high):
    def rule(e, x):
        m, n = x.shape
        return e.compute(
            (m + low, n + low + high),
            lambda i, j: e.select((i >= low) & (j >= low) & (j < n + low), x[i - low, j - low], -1.0),
        )

    x = rng.normal(size=(4, 21)).astype(np.float32)
    want = np.pad(x, [(low, 0), (low, high)], constant_values=-1)
    np.testing.assert_array_equal(run(rule, x)[0], want)


def test_reverse_and_strided():
    x = rng.normal(size=(6, 50)).astype(np.float32)
    got = run(lambda e, x: e.compute((6, 50), lambda i, j: x[5 - i, 49 - j]), x)[0]
    np.testing.assert_array_equal(got, x[::-1, ::-1])
    got = run(lambda e, x: e.compute((3, 17), lambda i, j: x[i * 2, j * 3]), x)[0]
    np.testing.assert_array_equal(got, x[::2, ::3])


def test_assemble():
    def rule(e, x, y):
        up = e.compute(x.shape, lambda i, j: e.exp(x[i, j]))
        return e.assemble((4, 9), [((0, 0), up), ((0, 5), y)])

    x, y = rng.normal(size=(4, 5)).astype(np.float32), rng.normal(size=(4, 4)).astype(np.float32)
    np.testing.assert_allclose(run(rule, x, y)[0], np.hstack([np.exp(x), y]), rtol=1e-6)


@pytest.mark.parametrize("size", [1, 2, 9, 100, 1003])
@pytest.mark.parametrize("width", [2, 4, 11])
def test_columns_side_by_side(size, width):
    """Columns that have something in common: they are made together."""
    x = rng.normal(size=size).astype(np.float32)

    def rule(e, x):
        def column(k):
            return e.compute((size, 1), lambda i, _: e.exp(x[i]) * float(k))

        return e.assemble((size, width), [((0, k), column(k)) for k in range(width)])

    wanted = np.exp(x.astype(np.float64))[:, None] * np.arange(width)
    np.testing.assert_allclose(run(rule, x)[0], wanted, rtol=1e-6)


@pytest.mark.parametrize("shape", [(24,), (2, 12), (4, 3, 2), (1, 24, 1)])
def test_views(shape):
    def rule(e, x, y):
        up = e.compute(x.shape, lambda i, j: e.exp(x[i, j]))
        seen = e.view(up, shape)
        return e.compute(shape, lambda *i: seen[i] * y[i]), e.view(x, shape)

    x, y = rng.normal(size=(4, 6)).astype(np.float32), rng.normal(size=shape).astype(np.float32)
    got, plain = run(rule, x, y)
    np.testing.assert_allclose(got, np.exp(x).reshape(shape) * y, rtol=1e-6)
    np.testing.assert_array_equal(plain, x.reshape(shape))


# -- indices from data ---------------------------------------------------------------------------
def gather(e, table, ids):
    text = "indices{at} = {value} is not in [0, {extent})"
    return e.compute(
        (*ids.shape, *table.shape[1:]),
        lambda *i: table[(e.checked(ids[i[: len(ids.shape)]], table.shape[0], text), *i[len(ids.shape) :])],
    )


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_gather(dtype):
    table = rng.normal(size=(30, 17)).astype(np.float32)
    ids = rng.integers(0, 30, size=(4, 5)).astype(dtype)
    np.testing.assert_array_equal(run(gather, table, ids)[0], table[ids])
    np.testing.assert_array_equal(run(gather, table, ids, known=(1,))[0], table[ids])


@pytest.mark.parametrize("bad", [-1, 30, 2**31 - 1, -(2**31)])
def test_gather_out_of_range(bad):
    table = rng.normal(size=(30, 17)).astype(np.float32)
    ids = rng.integers(0, 30, size=(4, 5)).astype(np.int32)
    ids[2, 3] = ids[3, 1] = bad
    with pytest.raises(InvalidArgumentError, match=rf"indices\[2,3\] = {bad} is not in \[0, 30\)"):
        run(gather, table, ids)
    with pytest.raises(InvalidArgumentError):
        run(gather, table[:0], ids)


def test_require():
    def rule(e, x, y):
        return e.compute(x.shape, lambda i: _divided(e, x[i], y[i]))

    def _divided(e, a, b):
        e.require(b != 0, "Integer division by zero")
        return e.truncate_div(a, b)

    x, y = np.array([7, -7, 9], np.int32), np.array([2, 2, -4], np.int32)
    np.testing.assert_array_equal(run(rule, x, y)[0], [3, -3, -2])
    y[1] = 0
    with pytest.raises(InvalidArgumentError, match="Integer division by zero"):
        run(rule, x, y)


def test_scatter_add():
    def rule(e, ids, rows):
        zero = e.compute((10, 6), lambda i, j: e.const(0, rows.dtype))
        return e.scatter(
            "add",
            zero,
            rows.shape,
            lambda r, j: (e.checked(ids[r], 10, "bad {value}"), j),
            lambda r, j: rows[r, j],
        )

    ids = np.array([3, 3, 0, 9, 3], np.int32)
    rows = rng.normal(size=(5, 6)).astype(np.float32)
    want = np.zeros((10, 6), np.float32)
    np.add.at(want, ids, rows)
    np.testing.assert_allclose(run(rule, ids, rows)[0], want, rtol=1e-6)


# -- variables -----------------------------------------------------------------------------------
def momentum(e, var, accum, grad):
    moved = e.assign(accum, lambda *i: accum[i] * 0.9 + grad[i])
    return e.assign(var, lambda *i: var[i] - moved[i] * 0.1)


@pytest.mark.parametrize("free", [True, False])
def test_update(free):
    e = Emitter()
    arrays = [rng.normal(size=(8, 33)).astype(np.float32) for _ in range(3)]
    var, accum, grad = operands = [operand(a) for a in arrays]
    new = momentum(e, var, accum, grad)
    program = assemble(operands, [new], e.updates, e.checks)
    before = [a.copy() for a in arrays]
    (out,), (new_accum, new_var) = program.run(arrays, [free, free])
    want_accum = before[1] * np.float32(0.9) + before[2]
    want_var = before[0] - want_accum * np.float32(0.1)
    np.testing.assert_allclose(new_accum, want_accum, rtol=1e-6)
    np.testing.assert_allclose(new_var, want_var, rtol=1e-5, atol=1e-6)
    assert out is new_var
    assert (new_var is arrays[0]) == free
    if not free:
        np.testing.assert_array_equal(arrays[0], before[0])


def test_an_old_value_that_is_still_read_is_not_overwritten():
    """w is replaced by its mirror image: reading beside the write would see new elements."""
    e = Emitter()
    w = operand(np.zeros(40, np.float32))
    mirrored = e.assign(w, lambda i: w[39 - i])
    later = e.compute((40,), lambda i: w[i] * 2)
    program = assemble([w], [mirrored, later], e.updates, e.checks)
    array = np.arange(40, dtype=np.float32)
    (got, twice), _ = program.run([array], [True])
    np.testing.assert_array_equal(got, np.arange(40)[::-1])
    np.testing.assert_array_equal(twice, np.arange(40) * 2)


def test_scatter_into_a_variable():
    for free in (True, False):
        e = Emitter()
        w, ids = operand(np.zeros((9, 4), np.float32)), operand(np.zeros(3, np.int64))
        value = e.scatter(
            "sub", w, (3, 4), lambda r, j: (e.checked(ids[r], 9, "bad"), j), lambda r, j: e.const(1, w.dtype)
        )
        from headrace.codegen.ir.stages import Update

        program = assemble([w, ids], [], [Update(w, value)], e.checks)
        array = np.zeros((9, 4), np.float32)
        _, (new,) = program.run([array, np.array([2, 2, 8])], [free])
        want = np.zeros((9, 4))
        want[2], want[8] = -2, -1
        np.testing.assert_array_equal(new, want)
        assert (new is array) == free
        with pytest.raises(InvalidArgumentError):
            program.run([array, np.array([2, 2, 9])], [free])
        np.testing.assert_array_equal(new, want)  # a step that fails leaves the variable alone
