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


TASKS = tuple(f"/job:{job}/replica:0/task:0/device:CPU:0" for job in ("ps", "worker"))


def over_tasks(fetches):
    """Pieces of a parameter server and of a worker."""
    found = split(place(prune(tf.get_default_graph(), [], fetches, []), TASKS))
    return [next(p for p in found if p.device == device) for device in TASKS]


def test_a_small_constant_does_not_travel():
    with tf.device("/job:ps"):
        small, large = tf.constant(2.0), tf.constant(np.zeros(1000))
        v = tf.placeholder_with_default([1.0], [1])
    with tf.device("/job:worker"):
        used = v * small, tf.cast(large, tf.float32) + small
    ps, worker = over_tasks(list(used))
    assert len(kinds(worker, "_Recv")) == len(kinds(ps, "_Send")) == 2  # v, and what is large


def test_who_waits_for_a_node_whose_value_comes_anyway_waits_for_that():
    with tf.device("/job:ps"):
        v = tf.placeholder_with_default([1.0], [1]) + 1.0
    with tf.device("/job:worker"), tf.control_dependencies([v]):
        after = tf.constant(5.0) + tf.random_uniform([])
        used = v * after
    ps, worker = over_tasks([used])
    (recv,) = kinds(worker, "_Recv")
    assert recv.name in {c for n in worker.plan.nodes.values() for c in n.control}


def test_values_that_wait_for_nothing_say_so():
    with tf.device("/job:ps"):
        v, w = tf.placeholder_with_default([1.0], [1]), tf.placeholder_with_default([2.0], [1])
        waits = tf.FIFOQueue(1, tf.float32, [[1]]).dequeue()
    with tf.device("/job:worker"):
        there = tf.negative(v)
    with tf.device("/job:ps"):
        back = there * w
    with tf.device("/job:worker"):
        result = back + w + waits
    ps, worker = over_tasks([result])
    at_once = {n.attrs["tensor_name"] for n in kinds(worker, "_Recv") if n.attrs.get("_at_once")}
    assert at_once == {f"edge_{t.op.name}_0" for t in (v, w)}  # `back` needs the worker, a queue may wait
    assert not any(n.attrs.get("_at_once") for n in kinds(ps, "_Recv"))


def test_a_value_that_needs_a_third_task_is_not_at_once():
    """Two servers restore from a file that the worker names, and each waits for the other before it assigns:
    a segment that held both a server's read and its assignment would wait for itself by way of the other."""
    tasks = [*TASKS, TASKS[0].replace("task:0", "task:1")]
    with tf.device("/job:worker"):
        name = tf.placeholder_with_default([1.0], [1]) + 1.0
    read = []
    for i in range(2):
        with tf.device(f"/job:ps/task:{i}"):
            read.append(tf.negative(name))
    written = []
    for i in range(2):
        with tf.device(f"/job:ps/task:{i}"), tf.control_dependencies(read):
            written.append(tf.exp(read[i]))
    found = split(place(prune(tf.get_default_graph(), [], written, []), tasks))
    for piece in found:
        at_once = [n.attrs["send_device"] for n in kinds(piece, "_Recv") if n.attrs.get("_at_once")]
        assert at_once == ([TASKS[1]] if "ps" in piece.device else [])
