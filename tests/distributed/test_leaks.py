"""What servers keep: nothing of sessions, steps and clients that have gone, however they went."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import headrace as tf
from headrace.distributed.master import master as master_module
from headrace.distributed.master.remote import RemoteMaster
from headrace.distributed.security.settings import Security
from headrace.formats import proto
from tests.distributed.clusters import addresses, cluster
from tests.distributed.test_hostile import resident
from tests.timing import PATIENCE, soon, wait_until

pytestmark = pytest.mark.process
ROOT = Path(__file__).resolve().parents[2]


def kept(servers) -> list[tuple[int, ...]]:
    """Sessions, graphs, running steps and known steps of each task."""
    tasks = [server for made in servers.values() for server in made]
    return [(len(s.master._sessions), *s.worker.counts(), len(s.worker._steps)) for s in tasks]


def of_process() -> tuple[int, int]:
    """Threads and files that are open."""
    return threading.active_count(), len(os.listdir("/proc/self/fd"))


def train(server, sessions: int, steps: int, outside: bool) -> None:
    """Sessions of a client, from outside by gRPC; a graph over two tasks."""
    for _ in range(sessions):
        with tf.Graph().as_default() as graph:
            with tf.device("/job:ps/task:0"):
                total = tf.get_variable("total", [8], initializer=tf.zeros_initializer())
            with tf.device("/job:worker/task:0"):
                add = total.assign_add(tf.ones([8]) * 2.0)
            if not outside:
                with tf.Session(server.target) as session:
                    session.run(total.initializer)
                    for _ in range(steps):
                        session.run(add)
                continue
            master = RemoteMaster(server.address, Security())
            handle, _ = master.create_session(graph.as_graph_def(), proto.ConfigProto())
            master.run(handle, {}, [], [total.initializer.name])
            for _ in range(steps):
                master.run(handle, {}, [add.name], [])
            master.close_session(handle)
            master.close()


@pytest.mark.parametrize("outside", [False, True], ids=["inside", "outside"])
def test_sessions_and_steps_leave_nothing(outside):
    with cluster(ps=1, worker=1) as servers:
        train(servers["worker"][0], 3, 5, outside)
        wait_until(lambda: kept(servers) == [(0, 0, 0, 0)] * 2)
        gc.collect()
        before = of_process()
        train(servers["worker"][0], 10, 10, outside)
        wait_until(lambda: kept(servers) == [(0, 0, 0, 0)] * 2)

        def is_as_before() -> bool:
            gc.collect()
            threads, files = of_process()
            return threads <= before[0] + 2 and files <= before[1] + 2

        wait_until(is_as_before)


@pytest.mark.slow
def test_a_thousand_sessions_and_ten_thousand_steps():
    with cluster(ps=1, worker=1) as servers:
        sizes = []
        for outside in (False, True) * 5:
            train(servers["worker"][0], 100, 10, outside)
            wait_until(lambda: kept(servers) == [(0, 0, 0, 0)] * 2)
            gc.collect()
            sizes.append((round(resident() / 1e6), *of_process()))
        print("resident MB, threads, files:", sizes)
        assert sizes[-1][0] < 1.1 * sizes[2][0] and sizes[-1][2] <= sizes[1][2] + 2


CLIENT = """
import sys
import headrace as tf
with tf.Session("grpc://" + sys.argv[1]) as session:
    with tf.device("/job:ps/task:0"):
        queue = tf.FIFOQueue(1, [tf.float32], shapes=[[]])
    session.run(tf.constant(1.0))
    print("up", flush=True)
    session.run(queue.dequeue())
"""


def test_the_session_of_a_client_that_was_killed_ends(monkeypatch):
    monkeypatch.setattr(master_module, "GRACE", 0.2)
    with cluster(ps=1, worker=1) as servers:
        address = servers["worker"][0].address
        client = subprocess.Popen(
            [sys.executable, "-c", CLIENT, address],
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
        )
        try:
            assert client.stdout is not None and client.stdout.readline() == b"up\n"
            wait_until(lambda: kept(servers)[0][2] == 1)  # it waits for the queue
            client.send_signal(signal.SIGKILL)
            wait_until(lambda: kept(servers) == [(0, 0, 0, 0)] * 2)
            assert not servers["worker"][0].master._attended
        finally:
            client.kill()
            client.communicate(timeout=PATIENCE)


def test_a_client_that_is_there_keeps_its_session(monkeypatch):
    monkeypatch.setattr(master_module, "GRACE", 0.2)
    with cluster(local=1) as servers:
        server = servers["local"][0]
        master = RemoteMaster(server.address, Security())
        handle, _ = master.create_session(proto.GraphDef(), proto.ConfigProto())
        wait_until(lambda: server.master._attended.get(handle) == 1)
        server.master._left(handle)  # as if the connection had been lost ...
        server.master.attend(handle.encode())  # ... and made again
        again = threading.Event()
        assert not again.wait(1.0) and handle in server.master._sessions
        master.close_session(handle)
        master.close()


def test_graphs_of_a_master_that_was_started_again_are_forgotten():
    at = addresses(ps=1, worker=1)
    ps = tf.train.Server(at, job_name="ps", task_index=0)
    try:
        for _ in range(3):
            worker = tf.train.Server(at, job_name="worker", task_index=0)
            with tf.Graph().as_default():
                with tf.device("/job:ps/task:0"):
                    one = tf.constant(1.0) + tf.placeholder_with_default(1.0, [])
                session = tf.Session(worker.target)
                assert session.run(one) == 2.0
            assert ps.worker.counts()[0] == 1  # the one before has deregistered nothing, and yet ...
            worker.master._sessions.clear()  # it dies
            worker.stop()
    finally:
        ps.stop()


def test_a_server_stops_while_calls_wait():
    """A RecvTensor that nobody answers, a step that waits, a client that is there."""
    with cluster(ps=1, worker=1) as servers:
        ps, worker = servers["ps"][0], servers["worker"][0]
        with tf.Graph().as_default():
            with tf.device("/job:ps/task:0"):
                queue = tf.FIFOQueue(1, [tf.float32], shapes=[[]])
            with tf.device("/job:worker/task:0"):
                blocked = queue.dequeue() * 2.0
            errors = []

            def run() -> None:
                try:
                    session.run(blocked)
                except tf.errors.OpError as error:
                    errors.append(error)

            session = tf.Session(worker.target)
            thread = threading.Thread(target=run)
            thread.start()
            wait_until(lambda: ps.worker.counts()[1] == 1)
            with soon(5):
                ps.stop()
            thread.join(PATIENCE)
            assert errors and not thread.is_alive()
            with soon(5):
                session.close()
            with soon(5):
                worker.stop()
