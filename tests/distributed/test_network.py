"""Tasks behind a network that delays, cuts, half-closes and stalls: steps end, and nothing happens twice."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import headrace as tf
from tests.distributed.clusters import addresses
from tests.distributed.proxy import Proxy
from tests.timing import PATIENCE, soon

pytestmark = pytest.mark.process
ROOT = Path(__file__).resolve().parents[2]
LOST = (tf.errors.UnavailableError, tf.errors.AbortedError, tf.errors.DeadlineExceededError)


class Apart:
    """A parameter server and a worker that reach each other through proxies alone."""

    def __init__(self) -> None:
        own = addresses(ps=1, worker=1)
        self.to_ps, self.to_worker = Proxy(own["ps"][0]), Proxy(own["worker"][0])
        self.ps = tf.train.Server({"ps": own["ps"], "worker": [self.to_worker.address]}, "ps", 0)
        self.worker = tf.train.Server({"ps": [self.to_ps.address], "worker": own["worker"]}, "worker", 0)

    def close(self) -> None:
        for one in (self.to_ps, self.to_worker, self.worker, self.ps):
            one.close() if isinstance(one, Proxy) else one.stop()


@pytest.fixture
def apart(monkeypatch):
    monkeypatch.setenv("HEADRACE_TRANSPORTS", "grpc")  # tasks of one host would find a shorter way
    made = Apart()
    try:
        yield made
    finally:
        with soon(20):
            made.close()


def model():
    with tf.device("/job:ps/task:0"):
        total = tf.get_variable("total", [], tf.int64, tf.zeros_initializer(), use_resource=True)
        queue = tf.FIFOQueue(1, [tf.float32], shapes=[[]])
    with tf.device("/job:worker/task:0"):
        one = tf.placeholder_with_default(tf.constant(1, tf.int64), [])
    add = total.assign_add(one, read_value=True)
    return total, add, queue.dequeue()


def test_a_step_behind_a_stalled_network_ends(apart):
    with tf.Graph().as_default():
        total, add, _ = model()
        session = tf.Session(apart.worker.target)
        session.run(total.initializer)
        assert session.run(add) == 1
        apart.to_ps.stalls = True
        with soon(5), pytest.raises(tf.errors.UnavailableError, match="no sign of life"):
            session.run(add)
        with soon(5), pytest.raises((tf.errors.UnavailableError, tf.errors.DeadlineExceededError)):
            session.run(add, options=tf.RunOptions(timeout_in_ms=500))
        with soon(5):
            session.close()
        with soon(10):
            apart.worker.stop()


def test_a_connection_that_is_cut_ends_the_step_and_the_next_one_works(apart):
    with tf.Graph().as_default():
        total, add, blocked = model()
        with tf.Session(apart.worker.target) as session:
            session.run(total.initializer)
            threading.Timer(0.5, apart.to_ps.cut).start()
            with soon(10), pytest.raises(tf.errors.UnavailableError, match="/job:ps/replica:0/task:0 at "):
                session.run(blocked)
            value = tried(lambda: session.run(add))
            assert value == 1


def tried(action, seconds: float = PATIENCE):
    """The first result, after however many losses."""
    end = time.monotonic() + seconds
    while True:
        try:
            return action()
        except LOST:
            assert time.monotonic() < end
            time.sleep(0.05)


def shaken(apart, seconds: float, seed: int) -> None:
    """Steps of one client while both directions misbehave at random: each is applied once, or where it
    failed perhaps not at all."""
    rng, is_over = random.Random(seed), threading.Event()
    done: list[str] = []

    def shake() -> None:
        while not is_over.is_set():
            done.append(rng.choice([apart.to_ps, apart.to_worker]).misbehave(rng))
            is_over.wait(rng.uniform(0.0, 0.3))

    with tf.Graph().as_default():
        total, add, _ = model()
        session = tf.Session(apart.worker.target)
        session.run(total.initializer)
        thread = threading.Thread(target=shake)
        thread.start()
        went_well = lost = 0
        end = time.monotonic() + seconds
        try:
            while time.monotonic() < end:
                began = time.monotonic()
                try:
                    session.run(add, options=tf.RunOptions(timeout_in_ms=3000))
                    went_well += 1
                except LOST as error:
                    lost += 1
                    if isinstance(error, tf.errors.AbortedError):
                        session.close()
                        session = tf.Session(apart.worker.target)
                assert time.monotonic() - began < 60
        finally:
            is_over.set()
            thread.join(PATIENCE)
        final = tried(lambda: session.run(total))
        session.close()
    assert went_well <= final <= went_well + lost, (went_well, lost, final)
    assert done and went_well
    print(f"seed {seed}: {went_well} steps, {lost} lost, {final} applied; {len(done)} faults")


def test_nothing_is_applied_twice(apart):
    shaken(apart, 4.0, 1)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_nothing_is_applied_twice_for_long(apart, seed):
    shaken(apart, 20.0, seed)


# -- two hosts -------------------------------------------------------------------------------------
NAMES = ("headrace-a", "headrace-b")


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True, timeout=30)


@pytest.fixture
def hosts():
    """Two network namespaces with a cable between them: 10.77.0.1 and 10.77.0.2."""
    if shutil.which("ip") is None:
        pytest.skip("two hosts need the command ip (iproute2)")
    made = []
    try:
        try:
            for name in NAMES:
                ip("netns", "add", name)
                made.append(name)
            ip(
                "link",
                "add",
                "hr0",
                "netns",
                NAMES[0],
                "type",
                "veth",
                "peer",
                "name",
                "hr0",
                "netns",
                NAMES[1],
            )
        except (subprocess.CalledProcessError, PermissionError) as error:
            pytest.skip(f"two hosts need network namespaces, which this machine refuses: {error}")
        for number, name in enumerate(NAMES, 1):
            ip("-n", name, "addr", "add", f"10.77.0.{number}/24", "dev", "hr0")
            for device in ("lo", "hr0"):
                ip("-n", name, "link", "set", device, "up")
        yield ["10.77.0.1:2222", "10.77.0.2:2222"]
    finally:
        for name in made:
            ip("netns", "del", name)


PS = "import headrace as tf\ntf.train.Server({cluster}, 'ps', 0).join()"
WORKER = """
import headrace as tf
server = tf.train.Server({cluster}, 'worker', 0)
with tf.device('/job:ps/task:0'):
    total = tf.get_variable('total', [3], initializer=tf.zeros_initializer())
with tf.device('/job:worker/task:0'):
    add = total.assign_add(tf.ones([3]) * 2.0)
with tf.Session(server.target) as session:
    session.run(total.initializer)
    for _ in range(5):
        session.run(add)
    print(session.run(total).tolist())
server.stop()
"""


@pytest.mark.parametrize("secret", ["", "word"])
def test_two_hosts(hosts, secret):
    cluster = {"ps": [hosts[0]], "worker": [hosts[1]]}
    environment = {"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "HEADRACE_CLUSTER_SECRET": secret}
    commands = [
        ["ip", "netns", "exec", name, sys.executable, "-c", program.format(cluster=cluster)]
        for name, program in zip(NAMES, (PS, WORKER))
    ]
    ps = subprocess.Popen(commands[0], env=environment, stderr=subprocess.PIPE, text=True)
    try:
        done = subprocess.run(
            commands[1], env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False
        )
    finally:
        ps.kill()
        said = ps.communicate(timeout=PATIENCE)[1]
    assert done.stdout == "[10.0, 10.0, 10.0]\n", done.stderr + said
    assert ("whoever reaches that address can run graphs" in said) == (not secret)
    assert "10.77.0.1:2222" in said or secret
