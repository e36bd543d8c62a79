"""Complex numbers in compiled regions: every op that takes them, on its own samples."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import headrace as tf
from headrace.core.dtypes import complex64, resource
from headrace.runtime.containers import Containers
from tests.codegen.compare import Runner, assert_same
from tests.codegen.test_ops import Made, check
from tests.ops.declared import samples

pytestmark = pytest.mark.native


MOST = 3  # samples of one op


def cases():
    taken = Counter()
    for name, op, sample in samples():
        if op.lower_rule is None and not op.library_rules:
            continue
        if op.name == "FloorDiv":
            continue  # TF allows the type, and nobody has a meaning for it
        places = complex_places(op, sample)
        if places and taken[op.name] < MOST:
            taken[op.name] += 1
            yield pytest.param(op, sample, places, id=name)


def complex_places(op, sample):
    """The float inputs whose type may be complex as well."""
    found = []
    for k, (x, arg) in enumerate(zip(sample.inputs, op.signature.inputs)):
        attr = op.signature.attrs.get(arg.type_attr) if arg.type_attr else None
        kinds = {np.asarray(v).dtype.kind for v in (x if isinstance(x, (list, tuple)) else [x])}
        if attr is not None and kinds == {"f"} and complex64 in (attr.allowed or [complex64]):
            found.append(k)
    handles = [k for k, arg in enumerate(op.signature.inputs) if arg.dtype is resource]
    return found + handles if found else []


def complexified(x, rng):
    if isinstance(x, (list, tuple)):
        return [complexified(v, rng) for v in x]
    array = np.asarray(x)
    return array + 1j * rng.normal(size=array.shape)


@pytest.mark.parametrize("op,sample,places", list(cases()))
def test_compiled_equals_reference(op, sample, places):
    rng = np.random.default_rng(5)
    inputs = [complexified(x, rng) if k in places else x for k, x in enumerate(sample.inputs)]
    check(Made(op, inputs, sample.attrs, False), sample.tolerance)


def both_ways(build, *arrays):
    """The results of a graph over placeholders, compiled as one region and on the reference."""
    graph = tf.Graph()
    with graph.as_default():
        feeds = [tf.placeholder(a.dtype, a.shape) for a in arrays]
        fetches = build(*feeds)
    runner = Runner(graph, feeds, fetches)
    got = runner.run(Containers(), arrays)
    assert runner.is_whole, runner.program.declined
    for _ in range(2):
        for g, w in zip(got, runner.expected(Containers(), arrays)):
            assert_same(g, w)
        got = runner.run(Containers(), arrays)


def numbers(*shape, dtype=np.complex64):
    rng = np.random.default_rng(3)
    return (rng.normal(size=(*shape, 2)) @ [1, 1j]).astype(dtype)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_gradients_pass_through_products_and_functions(dtype):
    def build(x, y):
        z = tf.tanh(tf.matmul(x, y)) * tf.exp(1j * tf.cast(tf.real(x[:, :1]), x.dtype))
        loss = tf.reduce_sum(tf.abs(z) ** 2) + tf.reduce_sum(tf.imag(tf.log(x)))
        return [z, loss, *tf.gradients(loss, [x, y])]

    both_ways(build, numbers(5, 7, dtype=dtype), numbers(7, 4, dtype=dtype))


@pytest.mark.parametrize("adjoint_a", [False, True])
@pytest.mark.parametrize("adjoint_b", [False, True])
def test_products_of_batches(adjoint_a, adjoint_b):
    def build(x, y):
        return [tf.matmul(x, y, adjoint_a=adjoint_a, adjoint_b=adjoint_b)]

    both_ways(build, numbers(3, 6, 6), numbers(3, 6, 6))


def test_data_moves():
    def build(x, i):
        moved = tf.concat([tf.transpose(x), tf.reverse(tf.transpose(x), [0])], 1)
        padded = tf.pad(tf.reshape(moved, [-1, 4]), [[1, 0], [0, 2]], constant_values=2 - 1j)
        return [moved, padded, tf.gather(x, i), tf.gather(x, [2, 0]), tf.identity(x), x + x, x]

    both_ways(build, numbers(4, 3), np.array([3, 1, 1]))


def test_nothing_and_scalars():
    both_ways(lambda x: [x * 2, tf.reduce_sum(x), tf.matmul(x, x, adjoint_a=True)], numbers(0, 3))
    both_ways(lambda x: [x * x, tf.conj(x), tf.sqrt(x), tf.angle(x)], numbers())


def test_values_pass_through_loops_and_branches():
    def build(x, n):
        def step(i, z):
            return i + 1, z * z + x

        _, z = tf.while_loop(lambda i, z: i < n, step, [0, x])
        return [z, tf.cond(n > 2, lambda: tf.conj(z), lambda: z + 1j)]

    both_ways(build, numbers(5) * 0.3, np.int32(4))


SPECIAL = [0.0, -0.0, 1.0, -2.0, np.inf, -np.inf, np.nan]


@pytest.mark.parametrize(
    "function", [tf.exp, tf.log, tf.sqrt, tf.abs, tf.conj, tf.angle, tf.square, tf.sign, tf.tanh]
)
def test_special_values(function):
    """As NumPy has them; where it gives something infinite or no number, so do we."""
    x = np.array([complex(a, b) for a in SPECIAL for b in SPECIAL], np.complex64)
    graph = tf.Graph()
    with graph.as_default():
        feed = tf.placeholder(x.dtype, x.shape)
        runner = Runner(graph, [feed], [function(feed)])
    with np.errstate(all="ignore"):
        (got,), (want,) = runner.run(Containers(), [x]), runner.expected(Containers(), [x])
    parts = lambda z: z.reshape(-1, 1).view(np.float32)
    np.testing.assert_allclose(parts(got), parts(want), rtol=1e-5, atol=1e-6)


def test_variables_are_updated():
    """By reference and by handle, in a loop too; the array in the session is one of complex numbers."""
    for use_resource in (False, True):
        graph = tf.Graph()
        with graph.as_default():
            start = numbers(3)
            v = tf.get_variable("v", initializer=start, use_resource=use_resource)
            with tf.control_dependencies([tf.assign_add(v, tf.ones([3], tf.complex64) * 1j)]):
                twice = tf.assign_sub(v, v.read_value() * 0.5)
            rows = tf.scatter_update(v, [1], np.array([5j], np.complex64))
            with tf.Session() as session:
                session.run(tf.global_variables_initializer())
                for _ in range(3):
                    session.run([twice])
                    start = (start + 1j) * 0.5
                np.testing.assert_allclose(session.run(v), start, rtol=1e-5)
                session.run(rows)
                assert session.run(v)[1] == 5j
