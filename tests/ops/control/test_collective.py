"""Operations of a group of devices, all of them in this process."""

from __future__ import annotations

import numpy as np
import pytest

import headrace as tf
from headrace.functions.control import collective as c
from tests.timing import PATIENCE

SHORT = tf.RunOptions(timeout_in_ms=300)


def session(devices: int) -> tf.Session:
    return tf.Session(config=tf.ConfigProto(device_count={"CPU": devices}))


def on_each(values, make):
    """`make` of each value, on a device of its own."""
    made = []
    for i, value in enumerate(values):
        with tf.device(f"/CPU:{i}"):
            made.append(make(tf.constant(value)))
    return made


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int32", "int64"])
@pytest.mark.parametrize("size", [2, 3, 5])
@pytest.mark.parametrize("shape", [(), (7,), (30, 11), (0, 3)])
def test_all_have_the_sum(dtype, size, shape):
    rng = np.random.RandomState(size)
    values = [np.asarray(rng.randint(-9, 9, shape)).astype(dtype) for _ in range(size)]
    with tf.Graph().as_default(), session(size) as sess:
        total = on_each(values, lambda x: c.all_reduce(x, size, 1, 1, "Add", "Id"))
        mean = on_each(values, lambda x: c.all_reduce(x, size, 1, 2, "Add", "Div", (0, -1)))
        most = on_each(values, lambda x: c.all_reduce(x, size, 1, 3, "Max", "Id"))
        found = sess.run([total, mean, most])
    expected = sum(v.astype("f8") for v in values)
    divided = np.trunc(expected / size) if dtype.startswith("int") else expected / size
    for results, wanted in zip(found, (expected, divided, np.max(values, axis=0))):
        for result in results:
            assert result.dtype == dtype and result.shape == shape
            np.testing.assert_allclose(result, wanted, rtol=2e-3)


def test_all_have_all_and_what_one_gives():
    values = [np.full([2, 3], i, np.float32) for i in range(3)]
    with tf.Graph().as_default(), session(3) as sess:
        gathered = on_each(values, lambda x: c.all_gather(x, 3, 1, 1))
        assert [g.shape.as_list() for g in gathered] == [[6, 3]] * 3
        give = [lambda x: c.broadcast_recv([2, 3], tf.float32, 3, 1, 2)] * 3
        give[1] = lambda x: c.broadcast_send(x, [2, 3], tf.float32, 3, 1, 2)
        given = on_each(values, lambda x: give.pop(0)(x))
        for _ in range(3):
            all_values, copies = sess.run([gathered, given])
            for found in all_values:
                np.testing.assert_array_equal(found, np.concatenate(values))
            for found in copies:
                np.testing.assert_array_equal(found, values[1])


def test_in_a_loop_each_iteration_is_an_operation_of_its_own():
    with tf.Graph().as_default(), session(2) as sess:
        first = [tf.constant(1.0), tf.constant(2.0), tf.constant(0)]

        def body(a, b, i):
            with tf.device("/CPU:0"):
                a = c.all_reduce(tf.identity(a), 2, 1, 20, "Add", "Id")
            with tf.device("/CPU:1"):
                b = c.all_reduce(tf.identity(b), 2, 1, 20, "Add", "Id")
            return a, b, i + 1

        loop = tf.while_loop(lambda a, b, i: i < 4, body, first)
        assert list(sess.run(loop)) == [24.0, 24.0, 4]


def test_the_order_in_which_devices_begin_does_not_matter():
    """What one device does first, the other does last."""
    with tf.Graph().as_default(), session(2) as sess:
        with tf.device("/CPU:0"):
            one = c.all_reduce(tf.constant(1.0), 2, 1, 1, "Add", "Id")
            with tf.control_dependencies([one]):
                two = c.all_reduce(tf.constant(2.0), 2, 1, 2, "Add", "Id")
        with tf.device("/CPU:1"):
            there = [c.all_reduce(tf.constant(3.0), 2, 1, i, "Add", "Id") for i in (2, 1)]
        assert sess.run([one, two, *there]) == [4.0, 5.0, 5.0, 4.0]


def test_members_that_differ_are_an_error():
    with tf.Graph().as_default(), session(2) as sess:
        sizes = on_each([[1.0], [1.0, 2.0]], lambda x: c.all_gather(x, 2, 1, 1))
        with pytest.raises(tf.errors.InvalidArgumentError, match="Shape mismatch"):
            sess.run(sizes)
        with tf.device("/CPU:0"):
            alone = c.all_reduce(tf.constant(1.0), 2, 1, 1, "Add", "Id")
        with tf.device("/CPU:1"):
            other = c.all_reduce(tf.constant(1.0), 3, 1, 1, "Add", "Id")
        with pytest.raises(tf.errors.InternalError, match="has [23] members"):
            sess.run([alone, other])
        wrong = on_each([1.0, 2.0], lambda x: c.broadcast_send(x, [], tf.float32, 2, 1, 5))
        with pytest.raises(tf.errors.InternalError, match="found 2 sources, expected 1"):
            sess.run(wrong)
        with pytest.raises(tf.errors.DeadlineExceededError):
            sess.run(alone, options=SHORT)
        again = on_each([1.0, 2.0], lambda x: c.all_reduce(x, 2, 1, 1, "Add", "Id"))
        assert sess.run(again, options=tf.RunOptions(timeout_in_ms=int(PATIENCE * 1000))) == [3.0, 3.0]


def test_what_building_refuses():
    with tf.Graph().as_default(), tf.device("/CPU:0"):
        x = tf.constant([1.0, 2.0])
        with pytest.raises(ValueError, match="must be at least 2"):
            c.all_reduce(x, 1, 1, 1, "Add", "Id")
        with pytest.raises(ValueError, match="rank 1"):
            c.all_gather(tf.constant(1.0), 2, 1, 1)
        with pytest.raises(ValueError, match="Shape of broadcast_send"):
            c.broadcast_send(x, [3], tf.float32, 2, 1, 1)
        with pytest.raises(ValueError, match="Type of broadcast_send"):
            c.broadcast_send(x, [2], tf.int32, 2, 1, 1)
        with pytest.raises(ValueError, match="merge_op"):
            c.all_reduce(x, 2, 1, 1, "Sub", "Id")
    with tf.Graph().as_default(), pytest.raises(ValueError, match="Device assignment required"):
        c.all_gather(tf.constant([1.0]), 2, 1, 1)
