"""Results in the memory of operands: where the order of reading and storing allows it, and nowhere else."""

from __future__ import annotations

import numpy as np
import pytest

import headrace as tf
from headrace.codegen.assembly.assemble import assemble
from headrace.codegen.fusion.in_place import pairs
from headrace.codegen.ir.kernel import Acc, Accumulate, Kernel, Store, Sweep
from headrace.codegen.ir.kernel_ir import F32, Array, Var, cast, var
from headrace.codegen.lowering.lower import Emitter
from headrace.runtime.containers import Containers
from tests.codegen.compare import Runner, assert_same

pytestmark = pytest.mark.native
N = 64
ROW, COLUMN = Var(N), Var(N)
I, J = var(ROW), var(COLUMN)
X, Y, OTHER = (Array((N, N), "float32", name=name) for name in ("x", "y", "other"))


def sweep(*actions):
    return Sweep((COLUMN,), actions)


def kernel(*sweeps):
    return Kernel((ROW,), sweeps, lanes=8)


ACC = Acc("sum", F32)
ALLOWED = {
    "its own place": [sweep(Store(Y, (I, J), X[I, J] + 1.0))],
    "the row, before": [sweep(Accumulate(ACC, X[I, J])), sweep(Store(Y, (I, J), X[I, J] / ACC.expr))],
    "beside another result": [sweep(Store(Y, (I, J), X[I, J] * 2.0), Store(OTHER, (I, J), X[I, J] * 3.0))],
}
FORBIDDEN = {
    "a neighbour": [sweep(Store(Y, (I, J), X[I, J] + X[I, J + 1]))],
    "another row": [sweep(Store(Y, (I, J), X[I + 1, J]))],
    "another row, before": [sweep(Accumulate(ACC, X[I + 1, J])), sweep(Store(Y, (I, J), X[I, J] / ACC.expr))],
    "columns": [sweep(Store(Y, (I, J), X[J, I]))],
    "after it is stored": [sweep(Store(Y, (I, J), X[I, J])), sweep(Accumulate(ACC, X[I, J]))],
    "what is added to": [sweep(Store(Y, (I, J), X[I, J], "add"))],
    "what is stored twice": [sweep(Store(Y, (I, J), X[I, J])), sweep(Store(Y, (I, J), X[I, J]))],
    "what is stored too": [sweep(Store(Y, (I, J), X[I, J]), Store(X, (I, J), X[I, J]))],
}


@pytest.mark.parametrize("how", ALLOWED)
def test_may(how):
    assert (X, Y) in pairs(kernel(*ALLOWED[how]))


@pytest.mark.parametrize("how", FORBIDDEN)
def test_may_not(how):
    assert (X, Y) not in pairs(kernel(*FORBIDDEN[how]))


def test_sizes_are_equal():
    small = Array((N,), "float32")
    wide = Array((N, N // 2), "float64")
    assert pairs(kernel(sweep(Store(Y, (I, J), small[I])))) == []
    assert pairs(kernel(sweep(Store(Y, (I, J), cast(wide[I, J], F32))))) == []


def program(build, *shapes):
    """x, y, ... -> a program, and what its arena takes in arrays of N x N floats."""
    inputs = [Array(s, "float32") for s in shapes]
    made = assemble(inputs, build(Emitter(), *inputs), [], [])
    return made, made.arena_bytes / (4 * N * N)


def test_rows_of_a_softmax():
    """Sweeps read the whole row; only the last one stores."""

    def build(e, x, w):
        z = e.compute((64, 64), lambda i, j: e.reduce("sum", 64, lambda k: x[i, k] * w[k, j]))
        top = e.compute((64,), lambda i: e.reduce("max", 64, lambda j: z[i, j]))
        total = e.compute((64,), lambda i: e.reduce("sum", 64, lambda j: e.exp(z[i, j] - top[i])))
        y = e.compute((64, 64), lambda i, j: e.exp(z[i, j] - top[i]) / total[i])
        return [e.compute((64, 64), lambda i, j: y[j, i])]

    made, arrays = program(build, (64, 64), (64, 64))
    rng = np.random.default_rng(0)
    x, w = (rng.normal(size=(64, 64)).astype("f") for _ in range(2))
    z = np.exp(x @ w)
    np.testing.assert_allclose(made.run([x, w])[0][0], (z / z.sum(1, keepdims=True)).T, rtol=1e-4)
    assert arrays < 1.3


@pytest.mark.parametrize("seed", range(8))
def test_networks_give_the_same(seed):
    """Activations, their gradients and sums of both, in images and rows."""
    rng = np.random.default_rng(seed)
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [4, 8, 8, 16])
        y = x
        for _ in range(3):
            w = tf.constant(rng.normal(size=(3, 3, 16, 16)).astype("f") / 12)
            z = tf.nn.relu(tf.nn.conv2d(y, w, [1, 1, 1, 1], "SAME") + 0.1)
            y = [z + y, tf.tanh(z), z * tf.sigmoid(y), tf.nn.softmax(z)][rng.integers(4)]
        loss = tf.reduce_sum(y * y)
        fetches = [loss, *tf.gradients(loss, [x])]
        runner = Runner(graph, [x], fetches, improved=True)
    arrays = [rng.normal(size=(4, 8, 8, 16)).astype("f")]
    for _ in range(2):
        got = runner.run(Containers(), arrays)
        for g, want in zip(got, runner.expected(Containers(), arrays)):
            assert_same(g, want, 2e-4)
