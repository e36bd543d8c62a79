"""Compiled loops end when they should, and loops of TensorFlow's graphs run as they are."""

import threading
from pathlib import Path

import numpy as np
import pytest

import headrace as tf
from tests.timing import PATIENCE, ctrl_c, may_lose_ctrl_c, soon, wait_until

pytestmark = pytest.mark.native
GOLDEN = Path(__file__).parent / "golden"


@pytest.fixture(params=["1", "always"], autouse=True)
def session(request, monkeypatch):
    monkeypatch.setenv("HEADRACE_COMPILE", request.param)
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def endless():
    return tf.while_loop(lambda i: i >= 0, lambda i: (i + 1) % 7, [0])


def still_works(session):
    loop = tf.while_loop(lambda i: i < 3, lambda i: i + 1, [0])
    return [session.run(loop) for _ in range(2)] == [3, 3]


def test_deadline(session):
    loop = endless()
    for _ in range(2):
        with soon(1.2), pytest.raises(tf.errors.DeadlineExceededError):
            session.run(loop, options=tf.RunOptions(timeout_in_ms=200))
    assert still_works(session)


@may_lose_ctrl_c
def test_interrupt(session):
    loop = endless()
    with pytest.raises(tf.errors.DeadlineExceededError):  # compiled now
        session.run(loop, options=tf.RunOptions(timeout_in_ms=500))
    with soon(1.3), ctrl_c():
        session.run(loop)
    assert still_works(session)


def test_close():
    session, loop, errors = tf.Session(), endless(), []

    def run():
        try:
            session.run(loop)
        except tf.errors.OpError as error:
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    wait_until(lambda: session._steps)
    session.close()
    thread.join(PATIENCE)
    assert not thread.is_alive() and isinstance(errors[0], tf.errors.CancelledError)


def test_loops_made_by_tensorflow(session):
    """Nested loops, a conditional, a tensor array and the gradient of it all."""
    definition = tf.GraphDef()
    definition.ParseFromString((GOLDEN / "loops.pb").read_bytes())
    names = ["out:0", "gradient:0"]
    tf.import_graph_def(definition, name="")
    for _ in range(3):
        out, gradient = session.run(names, {"x:0": [0.5, 1.0, 2.0], "n:0": 3})
        np.testing.assert_allclose(out, [18.91666, 37.723736, 64.581085], rtol=1e-5)
        np.testing.assert_allclose(gradient, [42.908646, 27.471596, 40.053005], rtol=1e-5)


def test_time_grows_with_the_longest_member_only(session):
    """A batch of short sequences in long arrays makes as many iterations as its longest one."""
    x = tf.placeholder(tf.float32, [4, 50, 3])
    lengths = tf.placeholder(tf.int32, [4])
    calls = []

    class Cell(tf.nn.rnn_cell.BasicRNNCell):
        def call(self, inputs, state):
            counted = tf.py_func(lambda v: calls.append(1) or v, [inputs], tf.float32)
            counted.set_shape(inputs.shape)
            return super().call(counted, state)

    out, _ = tf.nn.dynamic_rnn(Cell(5), x, sequence_length=lengths, dtype=tf.float32)
    session.run(tf.global_variables_initializer())
    for longest in (7, 3):
        calls.clear()
        value = session.run(out, {x: np.ones((4, 50, 3)), lengths: [1, longest, 2, 1]})
        assert len(calls) == longest and not value[:, longest:].any()
