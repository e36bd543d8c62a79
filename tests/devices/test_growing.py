"""Loops whose arrays grow in every turn, as samplers do with what they have said so far."""

import numpy as np
import pytest

import headrace as tf
from headrace.devices import growing
from headrace.devices.region_unit import RegionUnit

pytestmark = pytest.mark.native
TURNS = 60
rng = np.random.RandomState(7)
WEIGHTS = (rng.normal(size=(16, 16)) / 4).astype(np.float32)


def sampler():
    """Each turn attends to all rows before it, and adds one."""

    def body(rows, last):
        made = tf.tanh(tf.matmul(last, WEIGHTS) + 0.1)
        chances = tf.nn.softmax(tf.matmul(made, rows, transpose_b=True))
        made += tf.matmul(chances, rows)
        made = tf.nn.relu(tf.matmul(made, WEIGHTS)) + 0.01
        return tf.concat([rows, made], 0), made

    start = tf.placeholder(tf.float32, [None, 16])
    invariants = [tf.TensorShape([None, 16]), tf.TensorShape([1, 16])]
    rows, last = tf.while_loop(
        lambda rows, _: tf.shape(rows)[0] < TURNS, body, [start, tf.reshape(start[-1], [1, 16])], invariants
    )
    return start, rows, last


def expected(rows):
    last = rows[-1:]
    while len(rows) < TURNS:
        made = np.tanh(last @ WEIGHTS + 0.1)
        powers = np.exp(made @ rows.T - (made @ rows.T).max())
        made = made + powers / powers.sum() @ rows
        last = np.maximum(made @ WEIGHTS, 0) + 0.01
        rows = np.concatenate([rows, last])
    return rows, last


@pytest.fixture
def programs(monkeypatch):
    """The GrowingPrograms that a test makes."""
    made = []
    cut = growing.GrowingProgram.cut
    monkeypatch.setattr(growing.GrowingProgram, "cut", lambda self: (cut(self), made.append(self))[0])
    return made


def test_what_grows_is_the_hosts_and_the_rest_is_compiled_once(programs, monkeypatch):
    monkeypatch.setattr(growing, "OFTEN", 1 << 30)
    with tf.Graph().as_default(), tf.Session() as sess:
        start, *fetches = sampler()
        for count in (1, 2, 1, 5, 30):  # the last one is short
            fed = rng.normal(size=(count, 16)).astype(np.float32)
            for found, wanted in zip(sess.run(fetches, {start: fed}), expected(fed)):
                np.testing.assert_allclose(found, wanted, rtol=2e-4, atol=2e-5)
    body = next(p for p in programs if any(n.op.name == "ConcatV2" for n in p.plan.nodes.values()))
    changing = {body.plan.nodes[name].op.name for name in body.declined}
    assert "ConcatV2" in changing and "Tanh" not in changing
    regions = [u for u in body.units if isinstance(u, RegionUnit)]
    assert {"Tanh", "Relu"} <= {n.op.name for u in regions for n in u.region.nodes}
    assert all(len(u.machine.programs) <= 1 for u in regions)


def test_a_loop_that_runs_often_has_open_sizes(programs):
    with tf.Graph().as_default(), tf.Session() as sess:
        start, *fetches = sampler()
        for count in (1, 2, 1, 5, 30, 3, 1, 2):
            fed = rng.normal(size=(count, 16)).astype(np.float32)
            for found, wanted in zip(sess.run(fetches, {start: fed}), expected(fed)):
                np.testing.assert_allclose(found, wanted, rtol=2e-4, atol=2e-5)
    body = next(p for p in programs if any(n.op.name == "ConcatV2" for n in p.plan.nodes.values()))
    assert body.is_open and not body.declined
    assert [u.compiled.is_closed for u in body.units if isinstance(u, RegionUnit)] == [False]
    assert len(body.units[0].compiled.open) <= 3


def test_one_that_needs_the_sizes_goes_back_to_the_host(programs, monkeypatch):
    """The bare number is asked for by resizing: a program for every size is none for the next."""
    monkeypatch.setattr(growing, "OFTEN", 8)
    with tf.Graph().as_default(), tf.Session() as sess:

        def body(picture, total):
            small = tf.image.resize_bilinear(picture, [3, 3])
            return tf.concat([picture, picture[:, :1]], 1), total + tf.reduce_sum(small)

        shapes = [tf.TensorShape([1, None, 4, 1]), tf.TensorShape([])]
        loop = tf.while_loop(lambda p, _: tf.shape(p)[1] < TURNS, body, [tf.ones([1, 2, 4, 1]), 0.0], shapes)
        for _ in range(3):
            assert sess.run(loop[1]) == pytest.approx(9.0 * (TURNS - 2), rel=1e-4)
    assert any(p.turns > growing.OFTEN and p.changing and not p.is_open for p in programs)


def test_loops_of_one_shape_are_not_looked_at(programs):
    with tf.Graph().as_default(), tf.Session() as sess:
        rows = tf.TensorArray(tf.float32, 0, dynamic_size=True)
        loop = tf.while_loop(
            lambda i, *_: i < TURNS,
            lambda i, x, rows: (i + 1, tf.tanh(x + 1.0), rows.write(i, x)),
            [0, tf.ones([3]), rows],
        )
        assert sess.run(loop[2].stack()).shape == (TURNS, 3)
    assert not programs


def test_an_error_of_a_grown_shape_names_its_line(programs):
    with tf.Graph().as_default(), tf.Session() as sess:
        start = tf.placeholder(tf.float32, [None])
        loop = tf.while_loop(
            lambda x: tf.size(x) < 200,
            lambda x: (
                tf.concat([x, tf.reshape(tf.minimum(x, 1.0), [-1])[: 1 + 0 * tf.size(x)]], 0)
                + tf.cond(tf.size(x) < 50, lambda: tf.zeros([1]), lambda: tf.zeros([7]))
            ),
            [start],
            shape_invariants=[tf.TensorShape([None])],
        )
        for _ in range(2):
            with pytest.raises(tf.errors.InvalidArgumentError, match="test_growing.py"):
                sess.run(loop, {start: [1.0]})
        assert sess.run(tf.reduce_sum(start), {start: [1.0]}) == 1.0
    assert programs
