"""Partial runs at a master: what was announced, what has come; and whole ones over tasks."""

from __future__ import annotations

import random

import pytest

import headrace as tf
from headrace.core.errors import InvalidArgumentError
from headrace.distributed.master.partial import PartialState, feeds_of
from tests.distributed.clusters import cluster, elsewhere
from tests.timing import soon, wait_until

NEEDS = {"x": frozenset("a"), "y": frozenset("ab"), "z": frozenset()}


def state() -> PartialState:
    return PartialState(["a", "b"], ["x", "y", "z"], NEEDS.__getitem__)


def test_the_last_call_is_the_one_that_completes():
    run = state()
    assert not run.admit(["a"], ["x", "z"])
    assert not run.admit(["b"], [])
    assert run.admit([], ["y"])


@pytest.mark.parametrize(
    ("feeds", "fetches", "message"),
    [
        (["c"], [], "The feed c was not specified"),
        ([], ["w"], "The fetch w was not specified"),
        (["a", "a"], [], "The feed a has already been fed"),
        ([], ["z", "z"], "The fetch z has already been fetched"),
        (["a"], ["y"], "Fetch y can't be computed from the feeds that have been fed so far: b"),
    ],
)
def test_what_is_refused_changes_nothing(feeds, fetches, message):
    run = state()
    with pytest.raises(InvalidArgumentError, match=message):
        run.admit(feeds, fetches)
    assert run.admit(["a", "b"], ["x", "y", "z"])


def test_random_orders_of_calls():
    """Beside a model: what was fed and fetched so far as plain sets."""
    for seed in range(3000):
        rng, run = random.Random(seed), state()
        fed: set[str] = set()
        fetched: set[str] = set()
        for _ in range(8):
            feeds = rng.sample("abc", rng.randint(0, 2))
            fetches = rng.sample("xyzw", rng.randint(0, 2))
            is_good = (
                not fed & set(feeds)
                and not fetched & set(fetches)
                and set(feeds) <= set("ab")
                and set(fetches) <= set("xyz")
                and all(NEEDS[f] <= fed | set(feeds) for f in fetches)
            )
            try:
                is_last = run.admit(feeds, fetches)
            except InvalidArgumentError:
                assert not is_good, seed
            else:
                fed |= set(feeds)
                fetched |= set(fetches)
                assert is_good and is_last == (len(fed) == 2 and len(fetched) == 3), seed


def test_the_feeds_of_a_fetch():
    with tf.Graph().as_default():
        a, b, c = (tf.placeholder(tf.float32, name=n) for n in "abc")
        middle = a + b
        with tf.control_dependencies([c * 2.0]):
            top = tf.identity(middle * 2.0)
        assert feeds_of(top, [a, b, c]) == {a, b, c}
        assert feeds_of(top, [middle, b, c]) == {middle, c}
        assert feeds_of(middle, [middle, a]) == {middle}


# -- over tasks ---------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def servers():
    with cluster(ps=1, worker=2) as found:
        yield found


@pytest.fixture(params=["here", "elsewhere"])
def target(request, servers):
    """A master in this process, called directly, and one behind its address."""
    server = servers["worker"][0]
    with elsewhere(server) if request.param == "elsewhere" else tf.Graph().as_default():
        yield server.target


def model():
    """Feeds and fetches that lie on three tasks."""
    with tf.device("/job:worker/task:1"):
        a = tf.placeholder(tf.float32, [], name="a")
        r1 = a * 2.0
    with tf.device("/job:ps/task:0"):
        b = tf.placeholder(tf.float32, [], name="b")
        count = tf.get_variable("partial_count", [], initializer=tf.zeros_initializer(), use_resource=True)
        with tf.control_dependencies([count.assign_add(1.0)]):
            r2 = r1 * b
    with tf.device("/job:worker/task:0"):
        c = tf.placeholder(tf.float32, [], name="c")
        r3 = r2 + c
    return a, b, c, r1, r2, r3, count


@pytest.mark.process
def test_values_come_and_go_bit_by_bit(servers, target):
    with tf.Graph().as_default(), tf.Session(target) as session:
        a, b, c, r1, r2, r3, count = model()
        session.run(count.initializer)
        for _ in range(3):
            run = session.partial_run_setup([r1, r2, r3], [a, b, c])
            assert session.partial_run(run, r1, {a: 3.0}) == 6.0
            assert session.partial_run(run, r2, {b: 10.0}) == 60.0
            assert session.partial_run(run, r3, {c: 1.0}) == 61.0
        assert session.run(count) == 3.0  # every node ran once
        run = session.partial_run_setup([r1, r2, r3], [a, b, c])
        assert session.partial_run(run, [r3, r1], {a: 1.0, b: 2.0, c: 3.0}) == [7.0, 2.0]
        assert session.partial_run(run, {"two": r2}) == {"two": 4.0}
        with pytest.raises(tf.errors.InvalidArgumentError, match="PartialRunSetup"):
            session.partial_run(run, r2)  # it is over
    tasks = [s.worker for made in servers.values() for s in made]
    wait_until(lambda: not any(len(t._steps) or t._partial for t in tasks))


@pytest.mark.process
def test_mistakes_and_failures_of_partial_runs(servers, target):
    with tf.Graph().as_default(), tf.Session(target) as session:
        a, b, c, r1, r2, r3, count = model()
        with tf.device("/job:ps/task:0"):
            bad = tf.gather([1.0, 2.0], tf.cast(b, tf.int32), name="out_of_range")
        run = session.partial_run_setup([r1, r3], [a, b, c])
        with pytest.raises(tf.errors.InvalidArgumentError, match="can't be computed"):
            session.partial_run(run, r3, {a: 1.0})
        with pytest.raises(tf.errors.InvalidArgumentError, match="was not specified"):
            session.partial_run(run, r2, {a: 1.0})
        run = session.partial_run_setup([r1, bad], [a, b])
        assert session.partial_run(run, r1, {a: 4.0}) == 8.0
        with pytest.raises(tf.errors.InvalidArgumentError, match="not in \\[0, 2\\)") as raised:
            session.partial_run(run, bad, {b: 5.0})
        assert raised.value.op is bad.op
        run = session.partial_run_setup([r1, r3], [a, b, c])
        assert session.partial_run(run, r1, {a: 4.0}) == 8.0  # and the session is closed in the middle of it
    tasks = [s.worker for made in servers.values() for s in made]
    wait_until(lambda: not any(len(t._steps) or t._partial for t in tasks))


@pytest.mark.process
def test_a_read_need_not_wait_for_a_writer_whose_feed_has_not_come(target):
    with tf.Graph().as_default(), tf.Session(target) as session, soon(20):
        with tf.device("/job:ps/task:0"):
            v = tf.get_variable("read_first", [], initializer=tf.zeros_initializer(), use_resource=True)
            fed = tf.placeholder(tf.float32, [])
            write = v.assign(fed, read_value=False)
            read = v.read_value()
            with tf.control_dependencies([write]):
                after = tf.identity(fed)
        session.run(v.initializer)
        run = session.partial_run_setup([read, after], [fed])
        assert session.partial_run(run, read) == 0.0
        assert session.partial_run(run, after, {fed: 5.0}) == 5.0
        assert session.run(v) == 5.0
