"""Session.run: structures, feeds, partial runs, callables, deadlines, errors, concurrency."""

import collections
import threading

import numpy as np
import pytest

import headrace as tf
from tests.timing import PATIENCE, soon, wait_until


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as fresh:
        yield fresh


Pair = collections.namedtuple("Pair", "a b")


def test_nested_fetches_keep_their_structure():
    a, b = tf.constant(1), tf.constant([2.0, 3.0])
    with tf.Session() as session:
        out = session.run({"p": Pair(a, [b, "Const:0"]), "n": tf.no_op(), "t": (a,)})
    assert out["p"].a == 1 and out["p"].b[1] == 1 and out["n"] is None and out["t"] == (1,)
    np.testing.assert_array_equal(out["p"].b[0], [2, 3])


def test_any_tensor_can_be_fed():
    ran = []
    a = tf.py_func(lambda: ran.append(1) or np.float32(1), [], tf.float32)
    a.set_shape([])
    b = a + 1
    with tf.Session() as session:
        assert session.run(b, {a: 10.0}) == 11 and ran == []
        assert session.run(b) == 2 and ran == [1]


@pytest.mark.parametrize("beside", [False, True])
@pytest.mark.parametrize(
    "fed", ["abc", b"abc", ["a", "b"], [b"a", "é"], np.array(["a", "b"]), np.array([b"a", b"bc"])], ids=repr
)
def test_fed_text_comes_back_as_it_was_fed(fed, beside):
    p = tf.placeholder(tf.string)
    with tf.Session() as session:
        for _ in range(3):
            got, computed = (
                session.run([p, tf.identity(p)], {p: fed}) if beside else (session.run(p, {p: fed}), None)
            )
            assert type(got) is np.ndarray and got.dtype == object
            assert got.tolist() == np.asarray(fed, object).tolist()
            if beside:  # what is computed is bytes
                assert all(type(x) is bytes for x in np.asarray(computed, object).reshape(-1))
        assert session.make_callable(p, [p])("abc") == b"abc"


def test_a_fed_number_comes_back_as_an_array():
    x = tf.placeholder(tf.float32)
    with tf.Session() as session:
        for _ in range(3):
            got, more = session.run([x, x + 1.0], {x: 2})
            assert type(got) is np.ndarray and got.dtype == np.float32 and got == 2 and more == 3


@pytest.mark.parametrize(
    "feed, error, message",
    [
        (np.ones((2, 783), "f"), ValueError, "Cannot feed value of shape"),
        ("text", ValueError, "could not convert"),
    ],
)
def test_wrong_feeds_are_refused(feed, error, message):
    x = tf.placeholder(tf.float32, [None, 784])
    with tf.Session() as session:
        with pytest.raises(error, match=message):
            session.run(x, {x: feed})
        assert session.run(x, {x: np.ones((1, 784))}).shape == (1, 784)


def test_wrong_fetches_are_refused():
    tf.constant(1)
    with tf.Session() as session:
        for wrong, error in ((None, TypeError), (37, TypeError), ("nobody:0", ValueError)):
            with pytest.raises(error, match="Fetch argument"):
                session.run(wrong)
        with pytest.raises(ValueError, match="not an element of this graph"):
            with tf.Graph().as_default():
                other = tf.constant(1)
            session.run(other)


def test_a_closed_session_says_so():
    a = tf.constant(1)
    session = tf.Session()
    session.run(a)
    session.close()
    with pytest.raises(RuntimeError, match="closed Session"):
        session.run(a)


def test_state_belongs_to_a_session():
    v = tf.Variable(1)
    with tf.Session() as one, tf.Graph().as_default():
        one.run(v.initializer)
        two = tf.Session(graph=one.graph)
        with pytest.raises(tf.errors.FailedPreconditionError):
            two.run(v)
        assert one.run(v) == 1


def test_partial_run_runs_each_node_once():
    a, b = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])
    ran = []
    first = tf.py_func(lambda x: ran.append(x) or np.float32(x * 2), [a], tf.float32)
    second = first + b
    with tf.Session() as session:
        handle = session.partial_run_setup([first, second], [a, b])
        assert session.partial_run(handle, first, {a: 3.0}) == 6
        assert session.partial_run(handle, second, {b: 1.0}) == 7
        assert len(ran) == 1


def test_callable():
    x = tf.placeholder(tf.float32, [None])
    with tf.Session() as session:
        double = session.make_callable(x * 2, [x])
        np.testing.assert_array_equal(double([1, 2]), [2, 4])
        with pytest.raises(TypeError, match="feed values"):
            double()


def test_a_deadline_ends_a_step():
    over = threading.Event()
    slow = tf.py_func(lambda: over.wait(PATIENCE) and np.float32(0), [], tf.float32)
    with tf.Session() as session:
        with soon(2), pytest.raises(tf.errors.DeadlineExceededError):
            session.run(slow, options=tf.RunOptions(timeout_in_ms=200))
        over.set()


def test_close_ends_running_steps():
    loop = tf.while_loop(lambda i: i >= 0, lambda i: i * 1, [tf.constant(0)])
    session = tf.Session()
    failures = []

    def run():
        try:
            session.run(loop)
        except tf.errors.CancelledError as error:
            failures.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    wait_until(lambda: session._steps)
    session.close()
    thread.join(PATIENCE)
    assert not thread.is_alive() and len(failures) == 1


def test_independent_waits_overlap():
    """Each waits for the others: one after another, none would end."""
    meeting = threading.Barrier(3, timeout=PATIENCE)
    waits = [tf.py_func(lambda: np.float32(meeting.wait()), [], tf.float32) for _ in range(3)]
    with tf.Session() as session:
        assert sorted(session.run(waits)) == [0, 1, 2]


def test_trace():
    a = tf.placeholder_with_default([1.0], [1])
    b = tf.negative(a, name="b")
    metadata = tf.RunMetadata()
    with tf.Session() as session:
        session.run(b, options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), run_metadata=metadata)
    names = [n.node_name for d in metadata.step_stats.dev_stats for n in d.node_stats]
    assert "b" in names


def test_the_graph_may_grow_and_change_between_runs():
    a = tf.constant(1)
    with tf.Session() as session:
        assert session.run(a) == 1
        b = a + 1
        assert session.run(b) == 2
        c = tf.constant(10)
        b.op._update_input(0, c)
        assert session.run(b) == 11


def test_a_finalized_graph_can_not_grow():
    tf.constant(1)
    tf.get_default_graph().finalize()
    with pytest.raises(RuntimeError, match="finalized"):
        tf.constant(2)


@pytest.mark.parametrize("shape", [(0,), (0, 3), (2, 0)])
def test_empty_arrays_pass(shape):
    x = tf.placeholder(tf.float32, shape)
    with tf.Session() as session:
        assert session.run(tf.nn.relu(x) + 1, {x: np.zeros(shape)}).shape == shape


def test_every_type_goes_in_and_out():
    floats = "float16 float32 float64 bfloat16 complex64 complex128"
    integers = "int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool"
    for name in f"{floats} {integers}".split():
        dtype = tf.as_dtype(name)
        with tf.Graph().as_default(), tf.Session() as session:
            x = tf.placeholder(dtype, [2])
            out = session.run(tf.identity(x), {x: np.array([0, 1]).astype(dtype.as_numpy_dtype)})
            assert out.dtype == dtype.as_numpy_dtype and out[1] == 1
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.string, [3])
        assert list(session.run(tf.identity(x), {x: ["a", b"\xff\x00", "ü"]})) == [
            b"a",
            b"\xff\x00",
            "ü".encode(),
        ]


def test_interactive_session():
    session = tf.InteractiveSession()
    try:
        assert tf.constant(3).eval() == 3
    finally:
        session.close()


def test_reset_closes_the_sessions_of_this_process():
    v = tf.Variable(1)
    session = tf.Session()
    session.run(v.initializer)
    tf.Session.reset("")
    with pytest.raises(RuntimeError, match="closed Session"):
        session.run(v)
    with pytest.raises(tf.errors.NotFoundError):
        tf.Session.reset("fax://nowhere")


def test_containers_keep_their_variables_apart():
    with tf.container("one"):
        a = tf.get_variable("a", initializer=1, use_resource=True)
    with tf.container("two"):
        b = tf.get_variable("b", initializer=2, use_resource=True)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session._containers.clear(["one"])
        assert session.run(b) == 2
        with pytest.raises(tf.errors.FailedPreconditionError):
            session.run(a)


def test_the_signature_that_was_used_least_recently_is_forgotten(monkeypatch):
    from headrace.session import run_cache

    monkeypatch.setattr(run_cache, "LIMIT", 3)
    cache = run_cache.RunCache()
    for key in "abc":
        cache.put(key, key.upper())
    assert cache.get("a", 0) == "A"
    cache.put("d", "D")
    assert [cache.get(key, 0) for key in "abcd"] == ["A", None, "C", "D"]
