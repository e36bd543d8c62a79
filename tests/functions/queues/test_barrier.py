"""Barriers: tuples whose components come one by one."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import headrace as tf
from headrace.functions.queues.barrier import Barrier


@pytest.fixture
def sess():
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def test_the_oldest_complete_tuples_leave_first(sess):
    barrier = Barrier((tf.string, tf.int32), shapes=((), ()))
    for component, keys, values in (
        (0, ["k1", "k2"], ["a", "b"]),
        (1, ["k1"], [1]),
        (0, ["k3"], ["c"]),
        (1, ["k3"], [3]),
        (1, ["k2"], [2]),
    ):
        sess.run(barrier.insert_many(component, keys, values))
    assert sess.run([barrier.ready_size(), barrier.incomplete_size()]) == [3, 0]
    indices, keys, parts = barrier.take_many(2)
    assert parts[0].shape.as_list() == [2]
    found = sess.run([indices, keys, *parts])
    assert found[0].tolist() == [-(2**63)] * 2
    assert sorted(zip(*(f.tolist() for f in found[1:]))) == [(b"k1", b"a", 1), (b"k2", b"b", 2)]
    assert sess.run(barrier.take_many(1)[0]).tolist() == [-(2**63) + 1]


def test_who_takes_waits(sess):
    barrier = Barrier(tf.float32, shapes=[2])
    taken = barrier.take_many(3)
    insert = barrier.insert_many(0, ["a", "b"], [[1.0, 2.0], [3.0, 4.0]])
    more = barrier.insert_many(0, ["c"], [[5.0, 6.0]])
    found = []
    thread = threading.Thread(target=lambda: found.append(sess.run(taken)))
    thread.start()
    sess.run(insert)
    assert thread.is_alive()
    sess.run(more)
    thread.join(60)
    assert found[0][2][0].shape == (3, 2) and set(found[0][1]) == {b"a", b"b", b"c"}


def test_closing(sess):
    barrier = Barrier((tf.float32, tf.float32), shapes=((), ()))
    sess.run(barrier.insert_many(0, ["a", "b"], [1.0, 2.0]))
    sess.run(barrier.insert_many(1, ["a"], [1.0]))
    sess.run(barrier.close())
    with pytest.raises(tf.errors.CancelledError, match="brand new key: z"):
        sess.run(barrier.insert_many(0, ["z"], [1.0]))
    with pytest.raises(tf.errors.CancelledError, match="already closed"):
        sess.run(barrier.close())
    sess.run(barrier.insert_many(1, ["b"], [2.0]))
    with pytest.raises(tf.errors.OutOfRangeError, match=r"requested 3, total size 2"):
        sess.run(barrier.take_many(3))
    assert len(sess.run(barrier.take_many(5, allow_small_batch=True)[1])) == 2
    with pytest.raises(tf.errors.OutOfRangeError, match="insufficient elements"):
        sess.run(barrier.take_many(1, allow_small_batch=True))


def test_what_is_refused(sess):
    with pytest.raises(ValueError, match="Empty tensors are not supported"):
        Barrier(tf.float32, shapes=[0])
    barrier = Barrier((tf.float32, tf.int32), shapes=((), ()))
    sess.run(barrier.insert_many(0, ["a"], [1.0]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="Key a already has a value for component 0"):
        sess.run(barrier.insert_many(0, ["a"], [1.0]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="component ID is out of range"):
        sess.run(barrier.insert_many(2, ["a"], [1.0]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="Signature mismatch"):
        sess.run(barrier.insert_many(0, ["a"], [1]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="no elements"):
        sess.run(barrier.insert_many(0, ["q"], np.zeros((1, 0), np.float32)))
    with pytest.raises(tf.errors.CancelledError):
        sess.run(barrier.close(cancel_pending_enqueues=True))
        sess.run(barrier.insert_many(1, ["a"], [1]))
