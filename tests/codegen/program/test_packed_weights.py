"""Weights that are brought into the library's layout once, and what changes them."""

from __future__ import annotations

import numpy as np
import pytest

import headrace as tf
from headrace.codegen.onednn import onednn
from headrace.ops.nn.convolution.convolve import convolve
from headrace.ops.nn.window import window

pytestmark = [
    pytest.mark.native,
    pytest.mark.skipif(not onednn.is_available(), reason="oneDNN is not installed"),
]


@pytest.fixture(autouse=True)
def compiled(monkeypatch):
    monkeypatch.setenv("HEADRACE_COMPILE", "always")


@pytest.fixture
def packings(monkeypatch):
    """Every Packing that is made."""
    from headrace.codegen.program.packed_weights import Packing

    made = []
    plain = Packing.__init__

    def init(self, *arguments):
        plain(self, *arguments)
        made.append(self)

    monkeypatch.setattr(Packing, "__init__", init)
    return made


class Model:
    """conv, bias, normalisation, relu, conv."""

    def __init__(self, constant=False):
        rng = np.random.default_rng(3)
        make = tf.constant if constant else tf.Variable
        self.x = tf.placeholder(tf.float32, [None, 9, 9, 8])
        self.values = {
            "w": rng.normal(size=(3, 3, 8, 16)),
            "b": rng.normal(size=16),
            "g": rng.normal(size=16),
            "o": rng.normal(size=16),
            "m": rng.normal(size=16),
            "v": rng.uniform(0.5, 2, size=16),
            "u": rng.normal(size=(1, 1, 16, 8)),
        }
        self.values = {k: v.astype("f") for k, v in self.values.items()}
        p = self.variables = {k: make(v, name=k) for k, v in self.values.items()}
        y = tf.nn.bias_add(tf.nn.conv2d(self.x, p["w"], [1, 2, 2, 1], "SAME"), p["b"])
        y, _, _ = tf.nn.fused_batch_norm(y, p["g"], p["o"], mean=p["m"], variance=p["v"], is_training=False)
        self.y = tf.nn.conv2d(tf.nn.relu(y), p["u"], [1, 1, 1, 1], "VALID")

    def expected(self, x, **changed):
        p = {k: np.float64(v) for k, v in {**self.values, **changed}.items()}
        y = convolve(np.float64(x), p["w"], [window(9, 3, 2, "SAME")] * 2) + p["b"]
        y = (y - p["m"]) / np.sqrt(p["v"] + 0.001) * p["g"] + p["o"]
        return convolve(np.maximum(y, 0), p["u"], [window(5, 1, 1, "VALID")] * 2)


def feed(n=2, seed=0):
    return np.random.default_rng(seed).normal(size=(n, 9, 9, 8)).astype("f")


def check(got, want):
    np.testing.assert_allclose(got, want, rtol=0, atol=2e-5 * np.abs(want).max())


def test_packed_once(packings):
    with tf.Graph().as_default(), tf.Session() as session:
        model = Model()
        session.run(tf.global_variables_initializer())
        for seed in range(4):
            x = feed(seed=seed)
            check(session.run(model.y, {model.x: x}), model.expected(x))
        (packing,) = packings
        runs = []
        plain = packing.program.run
        packing.program.run = lambda *a: runs.append(1) or plain(*a)
        check(session.run(model.y, {model.x: feed()}), model.expected(feed()))
        assert not runs, "packed again"


def test_other_batch_sizes_and_sessions():
    with tf.Graph().as_default():
        model = Model()
        start = tf.global_variables_initializer()
        for _ in range(2):
            with tf.Session() as session:
                session.run(start)
                for n in (1, 3, 1, 3):
                    check(session.run(model.y, {model.x: feed(n)}), model.expected(feed(n)))


def test_a_changed_variable_is_packed_anew():
    with tf.Graph().as_default(), tf.Session() as session:
        model = Model()
        half = tf.assign(model.variables["w"], model.variables["w"] * 0.5)
        shift = tf.assign_add(model.variables["b"], np.ones(16, "f"))
        session.run(tf.global_variables_initializer())
        w, b = model.values["w"], model.values["b"]
        for _ in range(6):
            check(session.run(model.y, {model.x: feed()}), model.expected(feed(), w=w, b=b))
            session.run(half)
            w = w * np.float32(0.5)
            check(session.run(model.y, {model.x: feed()}), model.expected(feed(), w=w, b=b))
            session.run(shift)
            b = b + np.float32(1)


def test_training_and_using_in_turn():
    with tf.Graph().as_default(), tf.Session() as session:
        model = Model()
        loss = tf.reduce_mean(model.y**2)
        step = tf.train.GradientDescentOptimizer(0.01).minimize(
            loss, var_list=[model.variables[k] for k in ("w", "u", "b")]
        )
        session.run(tf.global_variables_initializer())
        for turn in range(8):
            for _ in range(1 + turn % 3):
                session.run(step, {model.x: feed(seed=turn)})
            held = session.run({k: model.variables[k] for k in ("w", "u", "b")})
            got = session.run(model.y, {model.x: feed()})
            check(got, model.expected(feed(), **held))
            check(session.run(model.y, {model.x: feed()}), got)


def test_constants(packings):
    with tf.Graph().as_default(), tf.Session() as session:
        model = Model(constant=True)
        for _ in range(3):
            check(session.run(model.y, {model.x: feed()}), model.expected(feed()))
    assert packings and packings[0].places == []


def test_what_is_fetched_is_not_absorbed():
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [1, 5, 5, 8])
        w = tf.Variable(np.ones((1, 1, 8, 8), "f"))
        y = tf.nn.conv2d(x, w, [1, 1, 1, 1], "SAME")
        z = y * 2.0 + 1.0
        session.run(w.initializer)
        a, b = session.run([y, z], {x: np.ones((1, 5, 5, 8), "f")})
        assert (a == 8).all() and (b == 17).all()


def test_several_threads():
    from concurrent.futures import ThreadPoolExecutor

    with tf.Graph().as_default(), tf.Session() as session:
        model = Model()
        half = tf.assign(model.variables["w"], model.variables["w"] * 1.0)
        session.run(tf.global_variables_initializer())

        def work(k):
            if k % 4 == 0:
                session.run(half)
            return session.run(model.y, {model.x: feed(seed=k)})

        with ThreadPoolExecutor(4) as pool:
            for k, got in enumerate(pool.map(work, range(24))):
                check(got, model.expected(feed(seed=k)))


@pytest.mark.parametrize("kind", [tf.bfloat16, tf.float16, tf.float64])
def test_weights_of_other_types_stay_as_they_are(kind, packings):
    rng = np.random.default_rng(7)
    x, w = rng.normal(size=(2, 5, 6, 8)), rng.normal(size=(3, 2, 8, 16))
    with tf.Graph().as_default(), tf.Session() as sess:
        fed = tf.placeholder(kind, x.shape)
        made = tf.nn.conv2d(fed, tf.constant(w, kind), [1, 2, 2, 1], "VALID")
        found = sess.run(tf.cast(made, tf.float64), {fed: x})
    assert not packings
    windows = [window(n, k, 2, "VALID") for n, k in zip(x.shape[1:3], w.shape)]
    np.testing.assert_allclose(found, convolve(x, w, windows), rtol=0.05, atol=0.3)
