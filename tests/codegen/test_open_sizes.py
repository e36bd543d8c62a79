"""Programs with open sizes: one program for all sizes, and the same numbers as the reference's, in any order
of sizes, structural ones (0 and 1) among them."""

from __future__ import annotations

import re
import resource
import threading
from pathlib import Path

import numpy as np
import pytest

import headrace as tf
from headrace.codegen.lowering import specialize
from headrace.codegen.machine import compile as compiler
from headrace.codegen.open_region import Given
from headrace.core.sizes import Trace
from headrace.devices import programs
from headrace.devices.region_unit import RegionUnit
from headrace.runtime.containers import Containers
from tests.codegen.any_size import AnySize
from tests.codegen.compare import Runner, settled

pytestmark = pytest.mark.native

ORDERS = [{"A": 5, "B": 7, "C": 4}, {"A": 6, "B": 7, "C": 9}, {"A": 17, "B": 3, "C": 2},
          {"A": 2, "B": 40, "C": 33}, {"A": 5, "B": 5, "C": 5}, {"A": 1, "B": 8, "C": 70},
          {"A": 300, "B": 2, "C": 11}, {"A": 5, "B": 7, "C": 4}, {"A": 64, "B": 16, "C": 0},
          {"A": 23, "B": 130, "C": 64}]  # fmt: skip


def check(made: AnySize, sizes: list[dict[str, int]]) -> None:
    runner = Runner(made.graph, [t for t, _ in made.fed], made.tensors)
    for chosen in sizes:
        arrays = list(made.feeds(chosen).values())
        try:
            want = runner.expected(Containers(), arrays)
        except tf.errors.OpError as error:
            with pytest.raises(type(error)):
                settled(runner, arrays)
            continue
        got, _ = settled(runner, arrays)
        largest = max([1.0, *(np.abs(w[np.isfinite(w)]).max(initial=0.0) for w in map(np.asarray, want))])
        for tensor, g, w in zip(made.tensors, got, want):
            name = f"{tensor.name} at {chosen}"
            assert (g.shape, g.dtype) == (w.shape, w.dtype), name
            np.testing.assert_allclose(g, w, rtol=1e-3, atol=1e-4 * largest, err_msg=name)


@pytest.mark.parametrize("seed", range(24))
def test_random_graphs_at_random_sizes(seed):
    check(AnySize(seed), ORDERS)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1000, 1400))
def test_many_random_graphs_at_random_sizes(seed):
    rng = np.random.default_rng(seed)
    sizes = [
        {n: int(rng.choice([2, 3, 5, 8, 16, 17, 31, 64, 100, 1, 0, 257])) for n in "ABC"} for _ in range(8)
    ]
    check(AnySize(seed, steps=14), sizes)


class AtMostTen:
    """A mean that counts ten rows at most: which of two numbers is the smaller one is a guard."""

    def __init__(self):
        self.graph = tf.Graph()
        with self.graph.as_default():
            x = tf.placeholder(tf.float32, [None, 4])
            rows = tf.cast(tf.minimum(tf.shape(x)[0], 10), tf.float32)
            self.fed, self.tensors = [(x, "A4")], [tf.reduce_sum(x, 0) / rows]

    def feeds(self, sizes):
        return {t: np.ones([sizes["A"], 4], "f") for t, _ in self.fed}


def test_a_guard_that_is_missed_is_found(monkeypatch):
    """The check is checked: a trace that forgets what it was asked gives wrong numbers here."""
    sizes = [{"A": n} for n in (4, 6, 9, 30, 17)]
    check(AtMostTen(), sizes)
    holds = Trace.holds

    def forgetful(self, relation, terms):
        answer = holds(self, relation, terms)
        self.guards.clear()
        return answer

    monkeypatch.setattr(Trace, "holds", forgetful)
    with pytest.raises(AssertionError, match="30"):
        check(AtMostTen(), sizes)


# -- networks --------------------------------------------------------------------------------------
def dense(n):
    x = tf.placeholder(tf.float32, [None, 20])
    h = tf.layers.dense(tf.layers.dense(x, 30, tf.nn.relu), 3)
    return h, lambda rng, n: {x: rng.normal(size=(n, 20))}


def recurrent(n):
    x = tf.placeholder(tf.float32, [None, None, 6])
    lengths = tf.placeholder(tf.int32, [None])
    out, _ = tf.nn.dynamic_rnn(tf.nn.rnn_cell.GRUCell(5), x, lengths, dtype=tf.float32)
    return out, lambda rng, n: {x: rng.normal(size=(3, n, 6)), lengths: rng.integers(1, n + 1, 3)}


def attention(n):
    x = tf.placeholder(tf.float32, [None, None, 8])
    q, k, v = (tf.layers.dense(x, 8) for _ in range(3))
    weights = tf.nn.softmax(tf.matmul(q, k, transpose_b=True))
    return tf.matmul(weights, v), lambda rng, n: {x: rng.normal(size=(2, n, 8))}


def convolutional(n):
    x = tf.placeholder(tf.float32, [None, 10, 10, 3])
    h = tf.layers.batch_normalization(tf.layers.conv2d(x, 8, 3, padding="same"), training=True)
    h = tf.layers.max_pooling2d(tf.nn.relu(h), 2, 2)
    return tf.reduce_mean(h, [1, 2]), lambda rng, n: {x: rng.normal(size=(n, 10, 10, 3))}


@pytest.mark.parametrize("network", [dense, recurrent, attention, convolutional])
def test_training_at_many_sizes_needs_few_programs(network, monkeypatch):
    """Losses are the reference's, and no size is planned for on its own."""
    planned = []
    run = specialize.Specializer.run
    monkeypatch.setattr(specialize.Specializer, "run", lambda s, *a: planned.append(s.region) or run(s, *a))
    monkeypatch.setenv("HEADRACE_WITHOUT", "kept")
    sizes = [9, 12, 5, 31, 16, 2, 40, 7, 12, 26]
    losses = {}
    for mode in ("always", "0"):
        monkeypatch.setenv("HEADRACE_COMPILE", mode)
        with tf.Graph().as_default(), tf.Session() as session:
            tf.set_random_seed(1)
            out, feeds = network(None)
            loss = tf.reduce_mean(tf.square(out - 0.3))
            train = tf.train.AdamOptimizer(0.01).minimize(loss)
            session.run(tf.global_variables_initializer())
            planned.clear()
            rng = np.random.default_rng(0)
            losses[mode] = [session.run([loss, train], feeds(rng, n))[0] for n in sizes]
            if mode == "always":
                largest = max(len(r.nodes) for r in planned)
                assert sum(len(r.nodes) == largest for r in planned) <= 5, [len(r.nodes) for r in planned]
    np.testing.assert_allclose(losses["always"], losses["0"], rtol=2e-3)


def test_two_threads_bring_new_sizes_at_once():
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 4])
        y = tf.reduce_sum(tf.matmul(x, x, transpose_b=True), 1)
        wrong = []

        def work(first):
            for n in range(first, first + 24):
                a = np.full((n, 4), 0.5, "f")
                if not np.allclose(session.run(y, {x: a}), n):
                    wrong.append(n)

        threads = [threading.Thread(target=work, args=(k,)) for k in (2, 9)]
        for t in threads:
            t.start()
        for t in threads:
            t.join(60)
        assert not wrong


def test_a_program_that_cannot_be_opened_is_made_for_its_sizes(monkeypatch):
    """What a rule needs the bare size for is pinned: then every size has its own program, as ever."""
    monkeypatch.setenv("HEADRACE_COMPILE", "always")
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [1, None, None, 1])
        y = tf.image.resize_bilinear(x, [3, 3])
        for n in (4, 6, 9, 5, 4):
            a = np.arange(n * n, dtype="f").reshape(1, n, n, 1)
            monkeypatch.setenv("HEADRACE_COMPILE", "always")
            got = session.run(y, {x: a})
            monkeypatch.setenv("HEADRACE_COMPILE", "0")
            with tf.Session() as reference:
                np.testing.assert_allclose(got, reference.run(y, {x: a}), rtol=1e-5)


# -- sizes that break guards, huge ones, many ------------------------------------------------------
def test_a_size_that_breaks_a_guard():
    """The ten largest of fewer than ten are an error, and what comes after is right again."""
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, None])
        top = tf.reduce_sum(tf.nn.top_k(x * 2.0, 10)[0], 1)
        for n in (12, 30, 17, 9, 300, 10, 11, 9, 25):
            a = np.random.default_rng(n).normal(size=(3, n)).astype("f")
            if n < 10:
                with pytest.raises(tf.errors.InvalidArgumentError, match="must have at least k"):
                    session.run(top, {x: a})
            else:
                want = np.sort(a * 2, 1)[:, -10:].sum(1)
                np.testing.assert_allclose(session.run(top, {x: a}), want, rtol=1e-4)


def test_the_middle_of_a_loop_meets_a_size_of_its_own():
    """The rows that are left shrink with every turn of a loop around a host op, through 1 to 0."""
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 3])

        def body(rows, total):
            kept = tf.boolean_mask(rows, rows[:, 0] > tf.reduce_min(rows[:, 0]))
            return kept, total + tf.reduce_sum(kept * 2.0)

        shapes = [tf.TensorShape([None, 3]), tf.TensorShape([])]
        loop = tf.while_loop(lambda rows, _: tf.shape(rows)[0] > 0, body, [x, 0.0], shapes)
        for n in (5, 1, 9, 0, 6, 14):
            a = np.random.default_rng(n).normal(size=(n, 3)).astype("f")
            order = a[np.argsort(a[:, 0])]
            want = sum((order[k:] * 2).sum() for k in range(1, n))
            assert session.run(loop, {x: a})[1] == pytest.approx(want, rel=1e-3, abs=1e-4)


@pytest.mark.parametrize("n", [2**31 - 1, 2**31, 2**40, 2**62, 2**63 - 1])
def test_numbers_that_no_memory_holds(monkeypatch, n):
    """A program for them is refused or is right; nothing wraps around."""
    monkeypatch.setenv("HEADRACE_COMPILE", "open")
    with tf.Graph().as_default():
        x, y = tf.placeholder(tf.float32, [None, None]), tf.placeholder(tf.float32, [None, 4])
        z = tf.concat([tf.matmul(x, y), y[:1]], 0)
        plan = Runner(tf.get_default_graph(), [x, y], [z])
        arrays = [np.ones((3, 5), "f"), np.ones((5, 4), "f")]
        plan.run(Containers(), arrays)
        (unit,) = (u for u in plan.program.units if isinstance(u, RegionUnit))
        (made,) = unit.compiled.open
        for shapes in (((n, 5), (5, 4)), ((3, n), (n, 4)), ((n, n), (n, 4))):
            found = made.find(Given(shapes, {}), {})
            if found is not None:
                assert [shape for shape, _ in found.program.inputs] == list(shapes)
                assert found.program.fresh[0][0] == (shapes[0][0] + 1, 4)
                assert found.program.arena_bytes >= 0


@pytest.mark.parametrize("mode", ["always", "open"])
def test_sizes_that_are_fed_as_numbers(mode, monkeypatch):
    """A dimension beyond 2^31 is an error; libraries divide by zero there."""
    monkeypatch.setenv("HEADRACE_COMPILE", mode)
    with tf.Graph().as_default(), tf.Session() as session:
        n = tf.placeholder(tf.int64, [])
        total = tf.reduce_sum(tf.matmul(tf.fill(tf.stack([n, 5]), 1.0), tf.ones([5, 4])))
        for k in (3, 7, 9, 1 << 45, 1 << 60, 1 << 62, 11):
            if k < 100:
                assert session.run(total, {n: k}) == 20 * k
            else:
                with pytest.raises((tf.errors.ResourceExhaustedError, tf.errors.InvalidArgumentError)):
                    session.run(total, {n: k})


def test_memory_stays_within_its_bound(monkeypatch):
    """Sizes that change in every step: programs come and go."""
    monkeypatch.setattr(programs, "LIMIT", 300_000)
    monkeypatch.setattr(programs, "_held", 0)
    check_memory(steps=150, warm=100)


@pytest.mark.slow
def test_memory_stays_flat_for_thousands_of_steps(monkeypatch):
    monkeypatch.setattr(programs, "LIMIT", 20_000_000)
    monkeypatch.setattr(programs, "_held", 0)
    check_memory(steps=4000, warm=1500)


def check_memory(steps, warm):
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 8])
        h = tf.layers.dense(tf.layers.dense(x, 16, tf.nn.relu), 4)
        kept = tf.boolean_mask(h, h[:, 0] > 0.0)
        train = tf.train.AdamOptimizer(0.01).minimize(tf.reduce_mean(tf.square(kept)) + tf.reduce_mean(h))
        session.run(tf.global_variables_initializer())
        rng = np.random.default_rng(0)
        before = 0
        for step in range(steps):
            session.run(train, {x: rng.normal(size=(2 + step * 7 % 1999, 8))})
            if step == warm:
                before = resident()
        tables = list(programs._every.values())
        held = [p.nbytes for t in tables for p in t.values() if p is not None]
        assert sum(held) <= max(1.5 * programs.LIMIT, *held)  # the newest stays, whatever it holds
        assert resident() - before < 64 << 20


def resident():
    """Bytes of this process in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def test_a_burst_of_shapes_compiles_no_kernel_twice(monkeypatch):
    """Two threads bring sizes that nobody has seen."""
    compiled = []
    to_object = compiler.to_object
    monkeypatch.setattr(compiler, "to_object", lambda text: compiled.append(text) or to_object(text))
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, None])
        y = tf.reduce_sum(tf.nn.softmax(tf.cumsum(x * 0.7 + 0.1, 1)) * tf.tanh(x), 0)
        wrong = []

        def work(seed):
            rng = np.random.default_rng(seed)
            for _ in range(40):
                a = rng.normal(size=rng.integers(2, 50, 2)).astype("f")
                s = np.cumsum(a * 0.7 + 0.1, 1)
                e = np.exp(s - s.max(1, keepdims=True))
                want = (e / e.sum(1, keepdims=True) * np.tanh(a)).sum(0)
                if not np.allclose(session.run(y, {x: a}), want, rtol=1e-3, atol=1e-5):
                    wrong.append(a.shape)

        threads = [threading.Thread(target=work, args=(k,)) for k in (2, 9)]
        for t in threads:
            t.start()
        for t in threads:
            t.join(120)
        assert not wrong
    bodies = [re.sub(r"k_[0-9a-f]{40}", "k", text) for text in compiled]
    assert len(bodies) == len(set(bodies)) <= 12


@pytest.mark.parametrize("seed", range(5000, 5004))
def test_as_programs_for_these_sizes_alone(seed, monkeypatch):
    """What open programs give is what programs give that were made for the sizes."""
    for chosen in ORDERS[:4]:
        found = []
        for mode in ("open", "always"):
            monkeypatch.setenv("HEADRACE_COMPILE", mode)
            made = AnySize(seed)
            runner = Runner(made.graph, [t for t, _ in made.fed], made.tensors)
            found.append(settled(runner, list(made.feeds(chosen).values()))[0])
        for a, b in zip(*found):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def test_references_that_ask_for_the_type_get_the_numbers():
    """`np.fmod` knows no Size, and what looks at the kind of an array of objects sees no integers."""
    k, x = tf.placeholder(tf.int32, []), tf.placeholder(tf.float32, [None, 8])
    axis = k % 2
    fetches = [
        tf.reduce_sum(x, axis),
        tf.concat([x, x], axis),
        tf.transpose(x, tf.stack([axis, 1 - axis])),
        tf.zeros([tf.truncatemod(k, 4), tf.truncatediv(k, 2) + tf.bitwise.bitwise_and(k, 3)]) + 1.0,
    ]
    with tf.Session() as session:
        for n in (3, 3, 5, 7, 4, 8, 2, 6, 3):
            rows = np.arange(8.0 * n).reshape(n, 8)
            got = session.run(fetches, {k: n, x: rows})
            want = [rows.sum(n % 2), np.concatenate([rows, rows], n % 2)]
            want.append(np.transpose(rows, [n % 2, 1 - n % 2]))
            want.append(np.ones([n % 4, n // 2 + (n & 3)]))
            for g, w in zip(got, want):
                np.testing.assert_allclose(g, w)


def test_a_scalar_without_a_finite_bound_is_compiled():
    with tf.Graph().as_default(), tf.Session() as session:
        x, step = tf.placeholder(tf.float32, [64, 64]), tf.placeholder(tf.float32, [])
        rate = tf.sqrt(tf.minimum(1.0 - tf.pow(0.5, step), float("inf")))
        y = tf.tanh(x * rate)
        for _ in range(3):
            found = session.run(y, {x: np.ones((64, 64)), step: 2.0})
    np.testing.assert_allclose(found, np.tanh(np.full((64, 64), 0.75**0.5)), rtol=1e-6)
