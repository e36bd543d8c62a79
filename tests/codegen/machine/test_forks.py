"""After os.fork() a child works, whatever other threads were doing."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest

import headrace as tf
from tests.codegen.machine.test_threads import large_program, run_and_compare, wait
from tests.timing import PATIENCE

pytestmark = [
    pytest.mark.native,
    pytest.mark.process,
    pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning"),
]


def in_child(work):
    """The exit status of a child that does `work`."""
    child = os.fork()
    if child == 0:
        try:
            work()
            os._exit(0)
        except BaseException:
            sys.excepthook(*sys.exc_info())
            os._exit(1)
    return wait(child)


class Busy:
    """Threads that run steps until the end of the block."""

    def __init__(self, *works):
        self.done = threading.Event()
        self.threads = [threading.Thread(target=self.loop, args=(w,)) for w in works]
        self.errors = []

    def loop(self, work):
        try:
            while not self.done.is_set():
                work()
        except BaseException as error:
            self.errors.append(error)

    def __enter__(self):
        for t in self.threads:
            t.start()
        return self

    def __exit__(self, *args):
        self.done.set()
        for t in self.threads:
            t.join(PATIENCE)
        for error in self.errors:
            raise error
        assert not any(t.is_alive() for t in self.threads)


def test_while_threads_run_parallel_regions():
    program = large_program()
    run_and_compare(program)
    x = np.ones((512, 512), np.float32)  # not compared: NumPy's products do not survive forks
    with Busy(lambda: program.run([x]), lambda: program.run([x])):
        for _ in range(4):
            assert in_child(lambda: run_and_compare(large_program(), 2)) == 0
    run_and_compare(program)


def test_while_a_thread_compiles():
    def compile_something():
        with tf.Graph().as_default(), tf.Session() as sess:
            rows = int(np.random.default_rng().integers(1, 1000))
            x = tf.placeholder(tf.float32, [None, 300])
            feed = {x: np.ones((rows, 300), np.float32)}
            for _ in range(2):
                sess.run(tf.reduce_sum(tf.nn.softmax(x) * rows), feed)

    compile_something()  # modules are loaded: Python's own import locks do not survive forks
    with Busy(compile_something):
        for _ in range(4):
            assert in_child(compile_something) == 0


def test_variables_of_a_forked_session():
    """A child sees whole values of variables that another thread updates, and may go on with
    them; the parent's are its own."""
    size = 400_000
    with tf.Graph().as_default(), tf.Session() as sess:
        v = tf.Variable(tf.zeros([size]))
        update = v.assign_add(tf.ones([size])).op
        sess.run(v.initializer)
        sess.run(update)

        def look():
            value = sess.run(v)
            assert value.min() == value.max() >= 1
            for _ in range(3):
                sess.run(update)
            np.testing.assert_array_equal(sess.run(v), value + 3)

        with Busy(lambda: sess.run(update)):
            for _ in range(6):
                assert in_child(look) == 0
        look()


def test_a_pool_of_forked_processes():
    """As a program would: a session in the parent, then workers that have sessions of their own."""
    code = """
        import multiprocessing, warnings
        import numpy as np
        import headrace as tf
        warnings.simplefilter("ignore")

        def step(seed):
            with tf.Graph().as_default(), tf.Session() as sess:
                x = tf.placeholder(tf.float32, [256, 256])
                y = tf.reduce_sum(tf.matmul(x, x)) + tf.reduce_max(tf.exp(x))
                array = np.random.default_rng(seed).normal(size=(256, 256)).astype(np.float32)
                for _ in range(3):
                    found = sess.run(y, {x: array})
                want = (array @ array).sum() + np.exp(array).max()
                return bool(abs(found - want) < 0.05 + 1e-3 * abs(want))

        if __name__ == "__main__":
            assert step(0)
            with multiprocessing.get_context("fork").Pool(3) as pool:
                print(pool.map_async(step, range(9)).get(60).count(True))
            assert step(1)
    """
    found = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=600
    )
    assert found.stdout.split() == ["9"], found.stderr
