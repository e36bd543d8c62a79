"""Sessions at masters: one process, several servers; values cross by all transports."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

import headrace as tf
from tests.distributed.clusters import addresses, cluster
from tests.timing import PATIENCE, soon, wait_until

pytestmark = pytest.mark.process


@pytest.fixture(scope="module", params=["grpc", "memory", "local"])
def servers(request):
    """Over gRPC alone, and with the links that tasks make where they can."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADRACE_TRANSPORTS", request.param)
        with cluster(ps=1, worker=2) as found:
            yield found


@pytest.fixture
def graph():
    with tf.Graph().as_default() as made:
        yield made


def regression():
    with tf.device("/job:ps/task:0"):
        w = tf.Variable(tf.zeros([2, 1]), name="w")
        step = tf.train.get_or_create_global_step()
    x = tf.placeholder(tf.float32, [None, 2])
    with tf.device("/job:worker/task:0"):
        loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - tf.matmul(x, [[1.0], [2.0]])))
    return x, w, loss, tf.train.AdamOptimizer(0.1).minimize(loss, global_step=step), step


DATA = np.random.RandomState(0).randn(32, 2).astype(np.float32)


def test_training_over_tasks_gives_what_one_process_gives(servers):
    with tf.Graph().as_default():
        x, w, loss, train, step = regression()
        for place in ("worker", "ps"):  # the master may be anywhere
            with tf.Session(servers[place][0].target) as session:
                session.run(tf.global_variables_initializer())
                losses = [session.run([loss, train], {x: DATA})[0] for _ in range(20)]
                assert session.run(step) == 20
                found = session.run(w)
    with tf.Graph().as_default():
        v = tf.Variable(tf.zeros([2, 1]))
        x = tf.placeholder(tf.float32, [None, 2])
        loss = tf.reduce_mean(tf.square(tf.matmul(x, v) - tf.matmul(x, [[1.0], [2.0]])))
        train = tf.train.AdamOptimizer(0.1).minimize(loss)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            alone = [session.run([loss, train], {x: DATA})[0] for _ in range(20)]
            np.testing.assert_allclose(found, session.run(v), rtol=1e-5)
    np.testing.assert_allclose(losses, alone, rtol=1e-4)


def test_a_graph_that_grows_and_variables_that_stay(servers, graph):
    target = servers["worker"][0].target
    with tf.device("/job:ps/task:0"):
        v = tf.get_variable("kept", [2], initializer=tf.ones_initializer(), use_resource=True)
    with tf.Session(target) as session:
        session.run(v.initializer)
        more = v.assign_add([1.0, 2.0])  # added after the session began
        assert session.run(more).tolist() == [2.0, 3.0]
    with tf.Session(target) as session:  # another session, the same task
        assert session.run(v).tolist() == [2.0, 3.0]
    tf.Session.reset(target)
    with tf.Session(target) as session, pytest.raises(tf.errors.OpError):
        session.run(v)


def test_devices(servers, graph):
    tf.constant(1)
    with tf.Session(servers["worker"][1].target) as session:
        names = {d.name for d in session.list_devices()}
    assert names == {
        f"/job:{t}/device:CPU:0"
        for t in ("ps/replica:0/task:0", "worker/replica:0/task:0", "worker/replica:0/task:1")
    }


def test_loops_and_branches_over_tasks(servers, graph):
    with tf.device("/job:ps/task:0"):
        v = tf.Variable(3.0)
    flag = tf.placeholder(tf.bool)
    with tf.device("/job:worker/task:0"):
        total = tf.while_loop(lambda i, a: i < 5, lambda i, a: (i + 1, a + v * 2.0), [0, 0.0])[1]

    def on_other() -> tf.Tensor:
        with tf.device("/job:worker/task:1"):
            return total * v

    chosen = tf.cond(flag, on_other, lambda: total - 1.0)
    with tf.Session(servers["worker"][0].target) as session:
        session.run(v.initializer)
        assert session.run([total, chosen], {flag: True}) == [30.0, 90.0]
        assert session.run([total, chosen], {flag: False}) == [30.0, 29.0]


def test_an_error_names_the_node_and_the_line(servers, graph):
    index = tf.placeholder(tf.int32)
    with tf.device("/job:worker/task:1"):
        bad = tf.gather([1.0, 2.0], index, name="far_away")
    with tf.Session(servers["worker"][0].target) as session:
        assert session.run(bad, {index: 1}) == 2.0
        with pytest.raises(tf.errors.InvalidArgumentError, match="not in \\[0, 2\\)") as raised:
            session.run(bad, {index: 7})
        assert raised.value.op is bad.op and "test_server.py" in str(raised.value)
        assert raised.value.message.startswith("From /job:worker/replica:0/task:1:\n")
        assert session.run(bad, {index: 0}) == 1.0


def test_the_first_cause_is_told_and_ends_the_step_everywhere(servers, graph):
    """One task fails while others wait for it, for a queue, and for each other."""
    index = tf.placeholder(tf.int32)
    with tf.device("/job:ps/task:0"):
        blocked = tf.FIFOQueue(1, [tf.float32], shapes=[[]]).dequeue()
        bad = tf.gather([1.0, 2.0], index, name="cause")
    with tf.device("/job:worker/task:0"):
        waits = bad * 2.0
    with tf.device("/job:worker/task:1"):
        too = waits + blocked
    with tf.Session(servers["worker"][0].target) as session:
        for _ in range(3):
            with soon(10), pytest.raises(tf.errors.InvalidArgumentError, match="not in") as raised:
                session.run([too, waits], {index: 5})
            assert "From /job:ps/replica:0/task:0" in raised.value.message
    tasks = [s.worker for made in servers.values() for s in made]
    wait_until(lambda: not any(len(t._steps) or t._cancels for t in tasks))


def test_queues_let_sessions_meet(servers, graph):
    with tf.device("/job:ps/task:0"):
        queue = tf.FIFOQueue(4, [tf.float32, tf.string], shapes=[[2], []], shared_name="meeting")
    give = queue.enqueue([[1.0, 2.0], "text"])
    take = queue.dequeue()
    found: list[object] = []

    def taker() -> None:
        with tf.Session(servers["worker"][1].target, graph=graph) as session:
            found.append(session.run(take))

    thread = threading.Thread(target=taker)
    thread.start()
    with tf.Session(servers["worker"][0].target) as session:
        session.run(give)
    thread.join(PATIENCE)
    assert found and found[0][0].tolist() == [1.0, 2.0] and found[0][1] == b"text"


def test_a_deadline_ends_a_step_everywhere(servers, graph):
    with tf.device("/job:ps/task:0"):
        queue = tf.FIFOQueue(1, [tf.float32], shapes=[[]])
    with tf.device("/job:worker/task:1"):
        blocked = queue.dequeue() + 1.0
    with tf.Session(servers["worker"][0].target) as session:
        with soon(5), pytest.raises(tf.errors.DeadlineExceededError):
            session.run(blocked, options=tf.RunOptions(timeout_in_ms=300))
        patient = tf.RunOptions(timeout_in_ms=30_000)
        session.run(queue.enqueue(1.0), options=patient)
        assert session.run(blocked, options=patient) == 2.0  # the step that was ended has taken nothing


def test_no_step_is_left_behind(servers, graph):
    with tf.device("/job:ps/task:0"):
        v = tf.Variable(1.0)
    with tf.device("/job:worker/task:0"):
        w = v * 2.0
    with tf.Session(servers["worker"][0].target) as session:
        session.run(v.initializer)
        for _ in range(5):
            session.run(w)
    tasks = [s.worker for made in servers.values() for s in made]
    wait_until(lambda: [len(t._steps) for t in tasks] == [0, 0, 0])


def test_an_address_in_use_is_an_error():
    with cluster(local=1) as found:
        address = found["local"][0].address
        with pytest.raises(tf.errors.UnknownError, match="/job:local.*: Address already in use"):
            tf.train.Server({"local": [address]})


def test_a_task_that_does_not_come_up_is_named(graph):
    one = tf.constant(1.0)
    at = addresses(ps=1, worker=1)
    server = tf.train.Server(at, job_name="worker", task_index=0)
    try:
        config = tf.ConfigProto(operation_timeout_in_ms=500)
        with tf.Session(server.target, config=config) as session:
            with pytest.raises(tf.errors.DeadlineExceededError, match="/job:ps/replica:0/task:0"):
                session.run(one)
        config = tf.ConfigProto(device_filters=["/job:worker"])  # it is not needed
        with tf.Session(server.target, config=config) as session:
            assert session.run(one) == 1.0
    finally:
        server.stop()


def test_a_server_says_how_long_steps_may_take(graph):
    """Where their sessions do not."""
    server = tf.train.Server.create_local_server(tf.ConfigProto(operation_timeout_in_ms=300))
    try:
        blocked = tf.FIFOQueue(1, [tf.float32]).dequeue()
        with tf.Session(server.target) as session, soon(5):
            with pytest.raises(tf.errors.DeadlineExceededError, match="300 ms"):
                session.run(blocked)
    finally:
        server.stop()


def test_an_address_needs_a_port():
    with pytest.raises(tf.errors.InvalidArgumentError, match="port"):
        tf.train.Server({"local": ["localhost"]})


def test_a_reset_has_a_deadline():
    config = tf.ConfigProto(operation_timeout_in_ms=100)
    with soon(5), pytest.raises(tf.errors.DeadlineExceededError):
        tf.Session.reset(f"grpc://{addresses(x=1)['x'][0]}", ["c"], config=config)


def test_closing_a_session_ends_its_steps(servers, graph):
    with tf.device("/job:ps/task:0"):
        blocked = tf.FIFOQueue(1, [tf.float32]).dequeue()
    session = tf.Session(servers["worker"][0].target)
    session.run(tf.constant(1.0))
    errors: list[Exception] = []

    def work() -> None:
        try:
            session.run(blocked)
        except tf.errors.OpError as error:
            errors.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    wait_until(lambda: session._steps)
    session.close()
    thread.join(PATIENCE)
    assert len(errors) == 1 and isinstance(errors[0], tf.errors.CancelledError)
    assert "Session::Close" in errors[0].message


def test_targets_that_nobody_serves():
    with pytest.raises(tf.errors.NotFoundError, match="No session factory"):
        tf.Session("fax://somewhere")
    with tf.Graph().as_default():
        one = tf.constant(1.0)
        session = tf.Session(f"grpc://{addresses(x=1)['x'][0]}")
        with pytest.raises(tf.errors.DeadlineExceededError):
            session.run(one, options=tf.RunOptions(timeout_in_ms=300))
        session.close()


def test_calls_of_a_step_are_the_tasks_touched_and_the_tensors_that_cross(servers, graph):
    """The master's own part needs no call, nor does the end of a step."""
    with tf.device("/job:ps/task:0"):
        v, w = tf.Variable(1.0), tf.Variable(2.0)
    with tf.device("/job:worker/task:1"):
        there = v * w + 1.0  # two tensors cross
    with tf.device("/job:worker/task:0"):
        here = there * 2.0  # one
    calls: list[str] = []
    with tf.Session(servers["worker"][0].target) as session:
        session.run(tf.global_variables_initializer())
        assert session.run(here) == 6.0
        remote = [t for made in servers.values() for s in made for t in s._workers.values()]
        for task in remote:
            task._counts = calls.append
        try:
            for _ in range(3):
                session.run(here)
        finally:
            for task in remote:
                task._counts = None
    # What has the master's task at one end is pushed over its links: only two of three tensors are asked for.
    asked = 9 if servers["ps"][0].links.way_to("/job:worker/replica:0/task:0") == "grpc" else 6
    assert sorted(calls) == ["RecvTensor"] * asked + ["RunGraph"] * 6


def test_a_server_may_be_stopped_twice():
    server = tf.train.Server.create_local_server()
    server.stop()
    server.stop()
    server.join()


@pytest.mark.parametrize(
    "jobs, task, error, text",
    [
        ({"ps": ["a:1"]}, ("worker", 0), tf.errors.InvalidArgumentError, 'Job "worker" was not defined in'),
        ({"ps": ["a:1"]}, ("ps", 3), tf.errors.InvalidArgumentError, 'Task 3 was not defined in job "ps"'),
        ({"ps": ["localhost"]}, ("ps", 0), tf.errors.InvalidArgumentError, 'interpret "localhost" as a host'),
        (
            {"ps": ["a:b"]},
            ("ps", 0),
            tf.errors.InvalidArgumentError,
            'interpret "a:b".*/job:ps/replica:0/task:0',
        ),
        ({"ps": ["a:1", "a:99999"]}, ("ps", 0), tf.errors.InvalidArgumentError, 'interpret "a:99999"'),
        ({"ps": ["a:1"], "w": ["a:1"]}, ("w", 0), tf.errors.InvalidArgumentError, "have one address: a:1"),
        ({"ps": ["a:1", "b:1"]}, ("ps", None), ValueError, "explicit `task_index`"),
    ],
)
def test_a_cluster_in_which_the_task_is_not(jobs, task, error, text):
    with pytest.raises(error, match=text):
        tf.train.Server(jobs, job_name=task[0], task_index=task[1])


def test_a_protocol_that_nobody_speaks():
    with pytest.raises(tf.errors.NotFoundError, match="No server factory registered"):
        tf.train.Server({"local": ["localhost:0"]}, protocol="grpc+verbs")


JOINS = """
import signal, threading, time
import headrace as tf

def tell():
    while signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        time.sleep(0.01)
    print("joined", flush=True)

threading.Thread(target=tell, daemon=True).start()
tf.train.Server.create_local_server().join()
print("behind")
"""


def test_join_ends_by_a_signal():
    """The process ends with it: what stands behind join() in TensorFlow's programs is never reached."""
    process = subprocess.Popen([sys.executable, "-c", JOINS], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "joined\n"
    process.send_signal(signal.SIGTERM)
    out, _ = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out) == (143, "")


def test_join_ends_by_a_stop():
    server = tf.train.Server.create_local_server()
    joined = threading.Thread(target=server.join)
    joined.start()
    server.stop()
    joined.join(PATIENCE)
    assert not joined.is_alive()


def test_floats_may_travel_as_halves(servers, graph):
    """As bfloat16, cut off, where the ConfigProto asks for it; other types as they are."""
    value = np.array([1.0, 1.001, 3.1415927, 1e30], np.float32)
    with tf.device("/job:ps/task:0"):
        there, exact = tf.placeholder(tf.float32, [4]), tf.constant(np.arange(2000.0))
    with tf.device("/job:worker/task:1"):
        here, same = tf.abs(there), tf.abs(exact)
    cut = (value.view(np.uint32) & 0xFFFF0000).view(np.float32)
    for compressed, expected in ((False, value), (True, cut)):
        options = tf.GraphOptions(enable_bfloat16_sendrecv=compressed)
        with tf.Session(servers["worker"][0].target, config=tf.ConfigProto(graph_options=options)) as session:
            found, kept = session.run([here, same], {there: value})
        assert found.tolist() == expected.tolist() and kept.tolist() == list(range(2000))
