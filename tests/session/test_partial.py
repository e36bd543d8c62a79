"""Partial runs: one step, whose feeds arrive and whose fetches are taken bit by bit, in every mode."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import headrace as tf
from headrace.variables.functions.defun import Defun

INVALID = tf.errors.InvalidArgumentError


@pytest.fixture(params=["0", "1", "always"], autouse=True)
def mode(request, monkeypatch):
    monkeypatch.setenv("HEADRACE_COMPILE", request.param)
    with tf.Graph().as_default():
        yield


def scalars(count: int) -> list[Any]:
    return [tf.placeholder(tf.float32, [], f"x{i}") for i in range(count)]


def session(**config: Any) -> Any:
    made = tf.Session(config=tf.ConfigProto(device_count={"CPU": 3}, **config))
    made.run(tf.global_variables_initializer())
    return made


def doubled(x: Any) -> Any:
    return Defun(tf.float32)(lambda x: x * 2.0)(x)


INSIDES = {
    "branch": lambda x: tf.cond(x > 0.0, lambda: x * 2.0, lambda: x - 1.0),
    "loop": lambda x: tf.while_loop(lambda i, y: i < 1, lambda i, y: (i + 1, y * 2.0), [0, x])[1],
    "function": doubled,
    "Python": lambda x: tf.py_func(lambda x: np.float32(x * 2), [x], tf.float32),
}


@pytest.mark.parametrize("inside", INSIDES)
@pytest.mark.parametrize("device", ["", "/cpu:1"])
def test_what_is_between_feeds_and_fetches(inside, device):
    x, p = scalars(2)
    with tf.device(device):
        y = INSIDES[inside](x)
    z = y + p
    with session() as s:
        for _ in range(3):
            handle = s.partial_run_setup([y, z], [x, p])
            assert s.partial_run(handle, y, {x: 3.0}) == 6
            assert s.partial_run(handle, z, {p: 1.0}) == 7


@pytest.mark.parametrize("resource", [False, True], ids=["reference", "resource"])
def test_updates_happen_as_soon_as_they_can(resource):
    x, p = scalars(2)
    v = tf.get_variable("v", initializer=1.0, use_resource=resource)
    with tf.control_dependencies([v.assign_add(x)]):
        y = v * 2.0
    with tf.control_dependencies([y]):
        z = v.assign(p) + 1.0
    with session() as s:
        handle = s.partial_run_setup([y, z], [x, p])
        assert s.partial_run(handle, y, {x: 3.0}) == 8 and s.run(v) == 4
        assert s.partial_run(handle, z, {p: 10.0}) == 11 and s.run(v) == 10


def test_what_nobody_takes_runs_too():
    (x,) = scalars(1)
    v = tf.get_variable("v", initializer=1.0)
    y = x * 2.0
    with session() as s:
        handle = s.partial_run_setup([v.assign_add(1.0).op, y], [x])
        assert s.partial_run(handle, y, {x: 3.0}) == 6
        assert s.run(v) == 2
        with pytest.raises(INVALID, match="Must run 'setup'"):
            s.partial_run(handle, y)


def test_an_order_that_is_open_makes_nobody_wait_for_a_feed():
    """The later writer of v waits for no feed: not for the earlier one either, which does."""
    x, p = scalars(2)
    v = tf.get_variable("v", initializer=1.0)
    with tf.device("/cpu:1"):
        late = v.assign_add(p) + 0.0
    soon = v.assign_add(1.0) + x
    with session() as s:
        handle = s.partial_run_setup([late, soon], [x, p])
        s.partial_run(handle, soon, {x: 1.0})
        s.partial_run(handle, late, {p: 5.0})
        assert s.run(v) == 7


def test_a_queue_between():
    x, p = scalars(2)
    queue = tf.FIFOQueue(3, tf.float32, [[]])
    with tf.control_dependencies([queue.enqueue(x)]):
        y = queue.dequeue() + p
    z = x + 1.0
    with session() as s:
        handle = s.partial_run_setup([y, z], [x, p])
        assert s.partial_run(handle, z, {x: 3.0}) == 4
        assert s.partial_run(handle, y, {p: 10.0}) == 13


def test_what_is_refused():
    x, p = scalars(2)
    y, z = x + 1.0, x + p
    with session() as s:
        handle = s.partial_run_setup([y, z], [x, p])
        with pytest.raises(INVALID, match="can't be computed from the feeds"):
            s.partial_run(handle, z, {x: 1.0})
        assert s.partial_run(handle, y, {x: 1.0}) == 2
        refusals = {
            "was not specified": lambda: s.partial_run(handle, z * 2.0, {p: 1.0}),
            "already been fetched": lambda: s.partial_run(handle, y),
            "already been fed": lambda: s.partial_run(handle, z, {x: 1.0}),
        }
        for text, call in refusals.items():
            with pytest.raises(INVALID, match=text):
                call()
        with pytest.raises(RuntimeError, match="empty target_list"):
            s.partial_run(handle, y.op)
        assert s.partial_run(handle, z, {p: 4.0}) == 5


def test_a_failure_ends_it():
    x, p = scalars(2)
    y = tf.check_numerics(x, "bad") * 2.0
    z = y + p
    with session() as s:
        handle = s.partial_run_setup([y, z], [x, p])
        with pytest.raises(INVALID, match="bad"):
            s.partial_run(handle, y, {x: np.nan})
        with pytest.raises(INVALID, match="bad"):
            s.partial_run(handle, z, {p: 1.0})


def test_a_branch_that_was_not_taken():
    x, p = scalars(2)
    inside = tf.raw_ops.Switch(data=x, pred=x > 0.0)[1] * 2.0
    with session() as s:
        handle = s.partial_run_setup([inside, x + p], [x, p])
        with pytest.raises(INVALID, match="branch that was not taken"):
            s.partial_run(handle, inside, {x: -1.0})


def test_deadlines_and_closing_end_it():
    (x,) = scalars(1)
    empty = tf.FIFOQueue(1, tf.float32, [[]]).dequeue()
    with session(operation_timeout_in_ms=300) as s:
        handle = s.partial_run_setup([empty], [x])
        with pytest.raises(tf.errors.DeadlineExceededError):
            s.partial_run(handle, empty, {x: 1.0})
    s = session()
    handle = s.partial_run_setup([empty], [x])
    closing = threading.Timer(0.3, s.close)
    closing.start()
    with pytest.raises(tf.errors.CancelledError):
        s.partial_run(handle, empty, {x: 1.0})
    closing.join()


def test_several_at_once():
    """Each is a step of its own."""
    x, p = scalars(2)
    y = x * 2.0
    z = y + p
    with session() as s:
        handles = [s.partial_run_setup([y, z], [x, p]) for _ in range(5)]
        assert [s.partial_run(h, y, {x: float(i)}) for i, h in enumerate(handles)] == [0, 2, 4, 6, 8]
        assert [s.partial_run(h, z, {p: 1.0}) for h in handles] == [1, 3, 5, 7, 9]
