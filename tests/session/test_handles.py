"""Values that stay in a session under handles."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import headrace as tf
from headrace.ops.state.session_tensor import STORED


@pytest.fixture(params=["local", "server"])
def sess(request):
    target = tf.train.Server.create_local_server().target if request.param == "server" else ""
    with tf.Graph().as_default(), tf.Session(target) as session:
        yield session


def held(session):
    return [key for key in session._containers._items if key[1] == STORED]


def test_a_value_stays_and_is_used(sess):
    a = tf.placeholder(tf.float32, [2])
    handle = sess.run(tf.get_session_handle(a * 2), {a: [1, 2]})
    assert handle.eval().tolist() == [2, 4]
    holder, value = tf.get_session_tensor(handle.handle, tf.float32)
    assert sess.run(value * 10, {holder: handle.handle}).tolist() == [20, 40]
    for _ in range(2):  # the second run takes another way
        assert sess.run(a + 1, {a: handle}).tolist() == [3, 5]
    total = tf.reduce_sum(a)
    found = sess.run([tf.get_session_handle(total), total], {a: handle})
    assert found[0].eval() == found[1] == 6
    assert str(handle) == handle.handle and handle.handle.endswith("CPU:0")


def test_it_goes(sess):
    handle = sess.run(tf.get_session_handle(tf.constant(3)))
    handle.delete()
    with pytest.raises(TypeError, match="may have already been deleted"):
        handle.eval()
    kept = sess.run(tf.get_session_handle(tf.constant(4)))
    name = kept.get_raw_handle()
    del kept
    gc.collect()
    holder, value = tf.get_session_tensor(name, tf.int32)
    assert sess.run(value, {holder: name}) == 4
    holder, deleter = tf.delete_session_tensor(name)
    sess.run(deleter, {holder: name})
    with pytest.raises(tf.errors.InvalidArgumentError, match="not in the session store"):
        holder, value = tf.get_session_tensor(name, tf.int32)
        sess.run(value, {holder: name})


def test_values_that_nobody_holds_are_forgotten():
    with tf.Graph().as_default(), tf.Session() as sess:
        keep = tf.get_session_handle(tf.zeros([10]))
        handles = [sess.run(keep) for _ in range(5)]
        assert len(held(sess)) == 5
        del handles
        gc.collect()
        assert not held(sess)


def test_a_state_that_goes_from_step_to_step(sess):
    x = tf.placeholder(tf.float64, [3])
    step = tf.get_session_handle(x + 1)
    state = sess.run(step, {x: np.zeros(3)})
    for _ in range(30):
        state = sess.run(step, {x: state})
    assert state.eval().tolist() == [31.0] * 3


def test_what_is_refused(sess):
    with pytest.raises(TypeError, match="must be of type Tensor"):
        tf.get_session_handle(3)
    handle = sess.run(tf.get_session_handle(tf.constant([1.0, 2.0])))
    with pytest.raises(ValueError, match="shape"):
        sess.run(tf.placeholder(tf.float32, [3]) + 1, {"Placeholder:0": handle})
