"""Memory that is touched before a program needs it."""

from __future__ import annotations

import os

import numpy as np
import pytest

import headrace as tf
from headrace.codegen.assembly import arena_estimate
from headrace.codegen.program import prefault
from headrace.codegen.program.arenas import Arenas
from headrace.codegen.program.prefault import LEAST, Touched
from headrace.codegen.program.program import NativeProgram
from tests.timing import wait_until

pytestmark = pytest.mark.native


def resident(room):
    """Megabytes of the array that are in memory, by the system's count for the whole process."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE") / 2**20


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="Linux")
def test_pages_are_there_afterwards():
    before = resident(None)
    coming = Touched(64 << 20)
    wait_until(lambda: not coming._thread.is_alive())
    if prefault._advise()(coming.room.ctypes.data & -4096, 4096, prefault._POPULATE):
        pytest.skip("this Linux cannot populate pages on request (MADV_POPULATE_WRITE)")
    assert 60 <= resident(coming.stop()) - before <= 80


def test_who_takes_it():
    arenas = Arenas()
    with arenas.expecting(LEAST):
        room = arenas._coming.room
    small = arenas.take(1000)
    assert small.base is None  # not for a program that needs little
    assert arenas.take(LEAST + 100).base is room and arenas._coming is None
    assert arenas.take(LEAST).base is None


@pytest.mark.parametrize("nbytes", [LEAST - 1, 0])
def test_little_is_not_worth_it(nbytes):
    arenas = Arenas()
    with arenas.expecting(nbytes):
        assert arenas._coming is None


def test_one_that_is_free_will_do():
    arenas = Arenas()
    arenas.give(np.empty(2 * LEAST, np.uint8))
    with arenas.expecting(LEAST):
        assert arenas._coming is None


def test_too_much_is_no_error():
    arenas = Arenas()
    with arenas.expecting(1 << 60):
        assert arenas._coming is None


def test_a_program_that_fails():
    arenas = Arenas()
    with pytest.raises(ValueError), arenas.expecting(LEAST):
        raise ValueError
    assert arenas._coming is None


def test_release():
    arenas = Arenas()
    with arenas.expecting(LEAST):
        pass
    arenas.release()
    assert arenas._coming is None


def test_no_more_than_the_program_takes(monkeypatch):
    """The estimate is a lower bound: nothing is touched in vain."""
    found, made = [], []
    original, init = arena_estimate.at_least, NativeProgram.__init__

    def at_least(roots, updates):
        found.append(original(roots, updates))
        return found[-1]

    def note(self, *args, **names):
        init(self, *args, **names)
        made.append(self.arena_bytes)

    monkeypatch.setattr(arena_estimate, "at_least", at_least)
    monkeypatch.setattr(NativeProgram, "__init__", note)
    monkeypatch.setenv("HEADRACE_COMPILE", "always")
    with tf.Graph().as_default(), tf.Session() as sess:
        h = tf.random_uniform([256, 64])
        for k in range(6):
            h = tf.nn.relu(tf.matmul(h, tf.get_variable(f"w{k}", [64, 64])))
        step = tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(h))
        sess.run(tf.global_variables_initializer())
        found.clear(), made.clear()
        sess.run(step)
    assert len(found) == len(made) == 1
    assert 0.3 * made[0] < found[0] <= made[0]
