"""Guarded servers and their callers: secrets, certificates, and errors that say what to change."""

from __future__ import annotations

import contextlib
import http.server
import logging
import socket
import threading
from pathlib import Path

import pytest

import headrace as tf
from headrace.distributed.master.remote import RemoteMaster
from headrace.distributed.security.settings import Security
from headrace.formats import proto
from tests.distributed.clusters import addresses
from tests.timing import PATIENCE, wait_until

pytestmark = pytest.mark.process
PEM = Path(__file__).parent / "pem"


def tls(own: str = "task", authority: str = "authority", **more: str) -> Security:
    pair = {"certificate": str(PEM / f"{own}.pem"), "key": str(PEM / f"{own}.key")} if own else {}
    return Security(**pair, authority=str(PEM / f"{authority}.pem"), **more)


@contextlib.contextmanager
def serving(security: Security, **jobs: int):
    at = addresses(**(jobs or {"local": 1}))
    servers = [
        tf.train.Server(at, job_name=job, task_index=i, security=security)
        for job, tasks in at.items()
        for i in range(len(tasks))
    ]
    try:
        yield servers
    finally:
        for server in servers:
            server.stop()


def asks(address: str, security: Security) -> list[str]:
    """The devices behind an address; a session is made, since that call waits for the peer."""
    master = RemoteMaster(address, security)
    try:
        handle, _ = master.create_session(proto.GraphDef(), proto.ConfigProto())
        found = [d.name for d in master.list_devices(handle)]
        master.close_session(handle)
        return found
    finally:
        master.close()


GUARDS = {"secret": Security(secret="word"), "tls": tls(), "both": tls(secret="word")}


@pytest.mark.parametrize("name", GUARDS)
def test_a_guarded_cluster_trains(name):
    with serving(GUARDS[name], ps=1, worker=1) as (_, worker), tf.Graph().as_default():
        with tf.device("/job:ps/task:0"):
            total = tf.get_variable("total", [2], initializer=tf.zeros_initializer())
        with tf.device("/job:worker/task:0"):
            add = total.assign_add(tf.constant([1.0, 2.0]) * 2.0)
        with tf.Session(worker.target) as session:
            session.run(total.initializer)
            for _ in range(10):
                session.run(add)
            assert session.run(total).tolist() == [20.0, 40.0]
        assert len(asks(worker.address, GUARDS[name])) == 2


@pytest.mark.parametrize(
    "server, client, kind, text",
    [
        (Security(secret="a"), Security(), tf.errors.UnauthenticatedError, "asks its callers for .* secret"),
        (Security(secret="a"), Security(secret="b"), tf.errors.UnauthenticatedError, "another secret"),
        (Security(), Security(secret="b"), tf.errors.UnauthenticatedError, "asks for no secret"),
        (tls(), Security(), tf.errors.FailedPreconditionError, "speaks TLS, and this process does not"),
        (Security(), tls(), tf.errors.FailedPreconditionError, "speaks no TLS, and this process does"),
        (tls(), tls("", "stranger"), tf.errors.FailedPreconditionError, "not signed by the authority"),
        (tls("elsewhere"), tls(), tf.errors.FailedPreconditionError, "HEADRACE_TLS_NAME"),
        (tls(), tls(""), tf.errors.FailedPreconditionError, "does not accept this process's certificate"),
        (
            tls(),
            tls("other"),
            tf.errors.FailedPreconditionError,
            "does not accept this process's certificate",
        ),
    ],
)
def test_a_mismatch_says_what_to_change(server, client, kind, text):
    with serving(server) as (task,), pytest.raises(kind, match=text) as raised:
        asks(task.address, client)
    if kind is not tf.errors.UnauthenticatedError or client.secret:
        assert f"the master at {task.address}" in raised.value.message


def test_a_server_says_whom_it_refuses(caplog):
    with serving(Security(secret="word")) as (task,), caplog.at_level(logging.WARNING, "headrace"):
        for client in (Security(), Security(secret="b")):
            with pytest.raises(tf.errors.UnauthenticatedError):
                asks(task.address, client)
        wait_until(lambda: "different secrets" in caplog.text)
    assert "refused to ipv4:127.0.0.1:" in caplog.text and "asks its callers" in caplog.text


def test_a_name_in_certificates_may_differ_from_the_address():
    with serving(tls("elsewhere", name="elsewhere")) as (task,):
        assert len(asks(task.address, tls("elsewhere", name="elsewhere"))) == 1


def test_a_session_does_not_wait_for_tasks_that_will_never_let_it_in():
    at = addresses(ps=1, worker=1)
    ps = tf.train.Server(at, job_name="ps", task_index=0, security=Security(secret="a"))
    worker = tf.train.Server(at, job_name="worker", task_index=0, security=Security())
    try:
        with tf.Graph().as_default(), tf.Session(worker.target) as session:
            with pytest.raises(tf.errors.UnauthenticatedError, match="/job:ps/replica:0/task:0 asks"):
                session.run(tf.constant(1.0))
    finally:
        worker.stop()
        ps.stop()


def test_a_task_that_was_started_again_asks_again():
    security = Security(secret="word")
    with serving(security) as (task,):
        master = RemoteMaster(task.address, security)
        assert len(master.list_devices("")) == 1
        task.stop()
        again = tf.train.Server({"local": [task.address]}, security=security)
        try:

            def answers() -> bool:
                try:
                    return len(master.list_devices("")) == 1
                except tf.errors.UnavailableError:
                    return False

            wait_until(answers)
        finally:
            master.close()
            again.stop()


def test_another_kind_of_server_behind_the_address():
    class Quiet(http.server.BaseHTTPRequestHandler):
        def log_message(self, *words: object) -> None:
            pass

    found = http.server.HTTPServer(("127.0.0.1", 0), Quiet)
    thread = threading.Thread(target=found.serve_forever)
    thread.start()
    try:
        for security in (Security(), tls(), Security(secret="word")):
            with pytest.raises(tf.errors.FailedPreconditionError, match="another kind"):
                asks(f"127.0.0.1:{found.server_port}", security)
    finally:
        found.shutdown()
        found.server_close()
        thread.join(PATIENCE)


def test_a_peer_that_says_nothing_is_not_blamed():
    """It accepts connections and is silent: the session waits for it until somebody has had enough."""
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as silent, tf.Graph().as_default():
        one = tf.constant(1.0)
        with tf.Session(f"grpc://127.0.0.1:{silent.getsockname()[1]}") as session:
            with pytest.raises(tf.errors.DeadlineExceededError):
                session.run(one, options=tf.RunOptions(timeout_in_ms=1000))


@pytest.mark.parametrize(
    "security, text",
    [
        (Security(certificate="/no/file", key="/no/key"), "HEADRACE_TLS_KEY: /no/key can not be read"),
        (Security(certificate=__file__, key=str(PEM / "task.key")), "no PEM file"),
    ],
)
def test_files_that_are_no_certificates(security, text):
    with pytest.raises(tf.errors.FailedPreconditionError, match=text):
        tf.train.Server({"local": ["localhost:0"]}, security=security)
