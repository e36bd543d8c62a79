"""Pieces: what crosses a border is sent once, however many use it; control edges cross too."""

import numpy as np
import pytest

import headrace as tf
from headrace.partition.split import split
from headrace.placement.place import place
from headrace.plan.prune import prune
from headrace.plan.verify import verify

CPUS = tuple(f"/job:localhost/replica:0/task:0/device:CPU:{i}" for i in range(2))


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as fresh:
        yield fresh


def pieces(fetches):
    found = split(place(prune(tf.get_default_graph(), [], fetches, []), CPUS))
    for piece in found:
        verify(piece.plan)
    return {piece.device: piece for piece in found}


def kinds(piece, kind):
    return [n for n in piece.plan.nodes.values() if n.op.name == kind]


def test_one_transfer_for_two_consumers():
    with tf.device("/cpu:0"):
        a = tf.placeholder_with_default([1.0, 2.0], [2])
    with tf.device("/cpu:1"):
        b, c = a * 2, a * 3
    found = pieces([b, c])
    assert len(kinds(found[CPUS[0]], "_Send")) == 1
    (recv,) = kinds(found[CPUS[1]], "_Recv")
    (send,) = kinds(found[CPUS[0]], "_Send")
    assert recv.attrs["tensor_name"] == send.attrs["tensor_name"]


def test_control_edges_cross():
    with tf.device("/cpu:0"):
        v = tf.Variable(1.0)
        update = v.assign_add(1.0)
    with tf.device("/cpu:1"), tf.control_dependencies([update]):
        after = tf.constant(5.0) + 1
    found = pieces([after])
    assert len(kinds(found[CPUS[0]], "_Send")) == 1
    with tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as session:
        session.run(v.initializer)
        assert session.run(after) == 6
        assert session.run(v) == 2


def test_split_is_the_same_as_whole():
    rng = np.random.default_rng(0)
    for _ in range(10):
        with tf.Graph().as_default() as graph:
            pool = [tf.placeholder_with_default(rng.normal(size=3).astype("f"), [3])]
            for _ in range(12):
                a, b = (pool[i] for i in rng.integers(len(pool), size=2))
                with tf.device(f"/cpu:{rng.integers(2)}"):
                    pool.append([tf.add, tf.multiply, tf.maximum][rng.integers(3)](a, b))
            with tf.Session(graph=graph, config=tf.ConfigProto(device_count={"CPU": 2})) as two:
                split_values = two.run(pool)
            soft = tf.ConfigProto(allow_soft_placement=True)
            with tf.Session(graph=graph, config=soft) as one:
                for x, y in zip(split_values, one.run(pool)):
                    np.testing.assert_array_equal(x, y)


def test_a_failure_on_one_device_ends_the_other():
    with tf.device("/cpu:0"):
        bad = tf.check_numerics(tf.placeholder_with_default([np.nan], [1]), "not a number here")
    with tf.device("/cpu:1"):
        out = bad * 2
    with tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match="not a number here"):
            session.run(out)
