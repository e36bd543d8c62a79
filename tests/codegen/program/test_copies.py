"""Memory of steps: no copies of what is fed or fetched, arenas that are shared and given back."""

from __future__ import annotations

import gc
import threading

import numpy as np
import pytest

import headrace as tf
from headrace.codegen.program.arenas import ARENAS, KEPT
from headrace.codegen.program.program import NativeProgram
from tests.timing import PATIENCE

pytestmark = pytest.mark.native


@pytest.fixture
def seen(monkeypatch):
    """The arrays of every native call: fed ones, variables, outputs."""
    calls = []
    original = NativeProgram.call

    def call(self, instance, arrays, how, cancel):
        calls.append([a.ctypes.data for a in arrays])
        return original(self, instance, arrays, how, cancel)

    checked = NativeProgram.run_checked

    def run_checked(self, arrays, cancel):
        fits = checked(self, arrays, cancel)
        if self.is_small:  # without `call`
            calls.append([a.ctypes.data for a in arrays])
        return fits

    monkeypatch.setattr(NativeProgram, "call", call)
    monkeypatch.setattr(NativeProgram, "run_checked", run_checked)
    return calls


def test_feeds_and_fetches_are_not_copied(seen):
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(tf.float32, [None, 100])
        y = tf.exp(x) * 2
        fed = np.ones((50, 100), np.float32)
        for _ in range(5):
            found = sess.run(y, {x: fed})
        assert len(seen) >= 4
        for k in (-2, -1):
            assert seen[k][0] == fed.ctypes.data
        assert seen[-1][-1] == found.ctypes.data and found.flags.owndata


def test_variables_change_in_place_while_nobody_holds_them(seen):
    with tf.Graph().as_default(), tf.Session() as sess:
        v = tf.Variable(tf.zeros([1000]))
        update = v.assign_add(tf.ones([1000])).op
        sess.run(v.initializer)
        places = set()
        for k in range(6):
            sess.run(update)
            if k:  # the first step is interpreted
                places.add(seen[-1][0])
        assert len(places) <= 2  # the initial value may be a constant of the graph
        kept = [sess.run(v) for _ in range(3)]
        sess.run(update)
        assert all(k[0] == 6 for k in kept)


def large(sess):
    """A step with an arena of several megabytes."""
    x = tf.placeholder(tf.float32, [None, 700])
    h = tf.matmul(x, tf.ones([700, 700]))
    y = tf.reduce_sum(tf.matmul(tf.nn.softmax(h), tf.ones([700, 3])))
    return lambda rows: sess.run(y, {x: np.ones((rows, 700), np.float32)})


def test_programs_share_an_arena():
    ARENAS.release()
    with tf.Graph().as_default(), tf.Session() as sess:
        step = large(sess)
        for rows in (2000, 2100, 2200, 2300, 2400):
            for _ in range(2):
                step(rows)
        alone = 2400 * 700 * 4 * 2
        assert 0 < ARENAS.nbytes <= 1.2 * alone + (1 << 20)


def test_arenas_of_threads_are_bounded_and_given_back():
    with tf.Graph().as_default() as graph:
        sess = tf.Session()
        step = large(sess)
        step(2000)
        step(2000)

        def work():
            with graph.as_default():
                step(2000)

        threads = [threading.Thread(target=work) for _ in range(KEPT + 4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join(PATIENCE)
        assert len(ARENAS._free) <= KEPT
        assert ARENAS.nbytes > 0
        sess.close()
        assert ARENAS.nbytes == 0


def test_a_closed_session_keeps_no_programs():
    def programs():
        gc.collect()
        return sum(type(o) is NativeProgram for o in gc.get_objects())

    before = programs()
    with tf.Graph().as_default():
        sess = tf.Session()
        step = large(sess)
        for rows in (10, 20, 30):
            step(rows)
            step(rows)
        assert programs() > before
        sess.close()
        assert programs() <= before
        with pytest.raises(RuntimeError, match="closed"):
            step(10)


def test_sessions_come_and_go():
    """Memory does not grow with the number of sessions."""
    import resource

    def once():
        with tf.Graph().as_default(), tf.Session() as sess:
            step = large(sess)
            step(500)
            step(500)
        del sess, step
        gc.collect()  # graphs have cycles

    for _ in range(3):
        once()
    start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(15):
        once()
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - start
    assert grown < 20_000, f"{grown} KB"
