"""A value, once produced, never changes; nobody sees half an update; threads share a session."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import headrace as tf
from tests.timing import PATIENCE

pytestmark = pytest.mark.native

SIZE = 400_000  # large enough for another thread to look in the middle


def together(*works, seconds=2 * PATIENCE):
    """Run all at once; the first failure of any."""
    errors = []

    def guarded(work):
        try:
            work()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(w,)) for w in works]
    for t in threads:
        t.start()
    for t in threads:
        t.join(seconds)
    assert not any(t.is_alive() for t in threads), "a thread hangs"
    if errors:
        raise errors[0]


def interpreted():
    """A configuration under which the reference runs."""
    options = tf.GraphOptions(optimizer_options=tf.OptimizerOptions(opt_level=tf.OptimizerOptions.L0))
    return tf.ConfigProto(graph_options=options)


@pytest.mark.parametrize("config", [None, interpreted()], ids=["compiled", "reference"])
@pytest.mark.parametrize("by_handle", [False, True], ids=["reference_variable", "resource"])
def test_nobody_sees_half_an_update(config, by_handle):
    with tf.Graph().as_default(), tf.Session(config=config) as sess:
        v = tf.Variable(tf.zeros([SIZE]), use_resource=by_handle)
        update = v.assign_add(tf.ones([SIZE])).op
        once = tf.identity(v)  # one read; two might be of different steps
        spread = tf.reduce_max(once) - tf.reduce_min(once)
        sess.run(v.initializer)
        for fetch in (update, spread, v):
            for _ in range(3):
                sess.run(fetch)
        seen, count = [], 60

        def change():
            for _ in range(count):
                sess.run(update)

        def read():
            for _ in range(count):
                value = sess.run(v)
                seen.append((value, value[0]))
                assert value.min() == value.max()

        def compute():
            for _ in range(count):
                assert sess.run(spread) == 0

        together(change, read, compute, change)
        assert sess.run(v)[0] == 3 + 2 * count  # every update counts
        for value, first in seen:  # and what was fetched is as it was
            assert (value == first).all()


def test_threads_on_many_signatures():
    """Two variables that every step reads, and each updates one of: no deadlock, no lost update."""
    with tf.Graph().as_default(), tf.Session() as sess:
        a, b = (tf.Variable(tf.ones([20_000]), use_resource=True) for _ in range(2))
        up_a = a.assign_add(b * 0.0 + 1.0).op
        up_b = b.assign_add(a * 0.0 + 1.0).op
        both = tf.group(a.assign_add(tf.ones([20_000])), b.assign_add(tf.ones([20_000])))
        x = tf.placeholder(tf.float32, [None, 20_000])
        total = tf.reduce_sum(x * (a - a + 1.0), 1)
        sess.run(tf.global_variables_initializer())
        count = 100

        def step(fetch):
            def work():
                for _ in range(count):
                    sess.run(fetch)

            return work

        def feeds(rows):
            def work():
                for k in range(count):
                    found = sess.run(total, {x: np.full((rows, 20_000), k, np.float32)})
                    np.testing.assert_allclose(found, np.full(rows, k * 20_000.0))

            return work

        together(*(step(f) for f in (up_a, up_b, both, both, up_a, up_b)), feeds(1), feeds(3))
        np.testing.assert_array_equal(sess.run(a), np.full(20_000, 1 + 4 * count))
        np.testing.assert_array_equal(sess.run(b), np.full(20_000, 1 + 4 * count))


def test_a_variable_that_changes_its_shape_meanwhile():
    """Programs are made for shapes: one that reads a variable never sees another shape."""
    with tf.Graph().as_default(), tf.Session() as sess:
        v = tf.Variable(np.zeros(50_000, np.float32), validate_shape=False, use_resource=False)
        n = tf.placeholder(tf.int32, [])
        resize = tf.assign(v, tf.fill([n], 2.0), validate_shape=False).op
        grow = tf.assign_add(v, tf.ones_like(v)).op
        total = [tf.reduce_sum(v), tf.size(v)]
        sess.run(v.initializer)
        until = time.monotonic() + 1.5

        def change():
            k = 0
            while time.monotonic() < until:
                k += 1
                sess.run(resize, {n: 10 if k % 2 else 50_000})

        def use(fetch):
            def work():
                while time.monotonic() < until:
                    try:
                        sess.run(fetch)
                    except tf.errors.InvalidArgumentError as error:
                        assert "shape" in str(error)  # between a node's read and its update

            return work

        together(change, use(grow), use(total), use(v))


def test_a_fed_array_is_not_kept():
    """The user may write into what he fed, at any time."""
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(tf.float32, [None])
        v = tf.Variable(tf.zeros([1000]), use_resource=True)
        put, passed = v.assign(x), tf.identity(x)
        sess.run(v.initializer)
        fed = np.arange(1000, dtype=np.float32)
        for k in range(5):
            fed[:] = k
            found = [sess.run(passed, {x: fed}), sess.run(put, {x: fed})]
            fed[:] = -1
            for value in (*found, sess.run(v)):
                np.testing.assert_array_equal(value, np.full(1000, k))


@pytest.mark.process
@pytest.mark.slow
def test_threads_with_verification():
    """A verified region runs twice and puts variables back in between: no other thread may see it."""
    test = f"{__file__}::test_threads_on_many_signatures"
    found = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", test],
        capture_output=True,
        text=True,
        timeout=600,
        env=os.environ | {"HEADRACE_VERIFY": "1"},
    )
    assert found.returncode == 0, found.stdout[-3000:]
