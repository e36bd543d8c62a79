"""`headrace launch --on ray`, on a Ray cluster of this machine: Ray starts a task again that is killed."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest

import headrace
from headrace.distributed.launch import ray_actors
from headrace.distributed.launch.lifecycle import Ended, Revived
from headrace.distributed.launch.logs import Logs
from headrace.distributed.launch.ray_actors import NoRay, RayActors, ray_module
from headrace.distributed.launch.tasks import Task
from tests.timing import wait_until

ROOT = Path(headrace.__file__).parent.parent
SECONDS = 400  # Ray starts a dozen processes
HAS_RAY = importlib.util.find_spec("ray") is not None
needs_ray = pytest.mark.skipif(not HAS_RAY, reason="RAY IS NOT INSTALLED: pip install headrace[ray]")

PROGRAM = """
import os, time
import tensorflow as tf

resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
server = tf.train.Server.from_tf_config()
if resolver.task_type == "ps":
    server.join()
with tf.device("/job:ps/task:0"):
    step = tf.Variable(0.0, name="step")
add = step.assign_add(1.0)
with tf.Session(server.target) as session:
    if not session.run(tf.is_variable_initialized(step)):
        session.run(step.initializer)
    print("actor", os.getppid(), flush=True)
    while session.run(add) < 40:
        time.sleep(0.1)
print("done", flush=True)
"""


@needs_ray
@pytest.mark.process
def test_a_task_that_is_killed_comes_back(tmp_path):
    (tmp_path / "train.py").write_text(PROGRAM)
    log = tmp_path / "logs" / "worker-0.log"
    sockets = tempfile.mkdtemp(prefix="ray", dir="/tmp")  # Ray's own files; paths of sockets must be short
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "RAY_TMPDIR": sockets, "RAY_worker_niceness": "0"}
    environment.pop("RAY_ADDRESS", None)
    words = "--on ray --ps 1 --workers 1 --restarts 2".split()
    process = subprocess.Popen(
        [sys.executable, "-m", "headrace", "launch", *words, "--logs", str(log.parent), "train.py"],
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        wait_until(lambda: log.exists() and re.search(r"actor \d+\n", log.read_text()), SECONDS)
        first = int(re.search(r"actor (\d+)\n", log.read_text()).group(1))
        os.kill(first, signal.SIGKILL)
        out, complaints = process.communicate(timeout=SECONDS)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
        shutil.rmtree(sockets, ignore_errors=True)
    assert process.returncode == 0, complaints
    assert "worker:0 was lost and is started again (1)" in complaints
    lives = re.findall(r"actor (\d+)\n", log.read_text())
    assert len(lives) == 2 and lives[0] != lives[1] and out.endswith("done\n")


# -- without Ray: what becomes of its answers --------------------------------------------------------
class RayError(Exception):
    pass


class Actor:
    """Answers as given; an error as an answer is raised."""

    def __init__(self, answers):
        self.answers = answers
        self.calls = []

    def __getattr__(self, name):
        def remote(*given):
            self.calls.append((name, given))
            return self.answers[name].pop(0) if self.answers.get(name) else None

        return SimpleNamespace(remote=remote)


class FakeRay:
    """A cluster that has room; `actors` are handed out in turn.  An answer that is None has not come yet."""

    def __init__(self, *actors):
        self.actors, self.left, self.killed, self.is_up = actors, list(actors), [], True
        self.exceptions = SimpleNamespace(RayError=RayError, GetTimeoutError=TimeoutError)
        group = SimpleNamespace(id=SimpleNamespace(hex=lambda: "0123456789"), ready=lambda: True)
        self.util = SimpleNamespace(
            placement_group=lambda bundles, strategy: group, remove_placement_group=lambda group: None
        )

    def init(self, address=None, **how):
        if address == "auto":
            raise ConnectionError

    def remote(self, kind):
        made = SimpleNamespace(remote=lambda: self.left.pop(0))
        return SimpleNamespace(options=lambda **how: made)

    def get(self, refs, timeout=None):
        for ref in refs if isinstance(refs, list) else [refs]:
            if isinstance(ref, Exception):
                raise ref
        return refs

    def wait(self, refs, timeout):
        return [ref for ref in refs if ref is not None], []

    def kill(self, actor, no_restart):
        self.killed.append(actor)

    def available_resources(self):
        return {"CPU": 1.0}

    def shutdown(self):
        self.is_up = False


@pytest.fixture
def fake(monkeypatch, tmp_path):
    strategies = SimpleNamespace(PlacementGroupSchedulingStrategy=lambda *how, **more: None)
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setattr(ray_actors, "EVERY", 0.0)

    def made(*answers):
        ray = FakeRay(*map(Actor, answers))
        monkeypatch.setitem(sys.modules, "ray", ray)
        monkeypatch.setitem(sys.modules, "ray.util.scheduling_strategies", strategies)
        tasks = [Task("worker", i) for i in range(len(answers))]

        def command(layout):
            return lambda task: (["python", "-m", "program"], {"WORD": layout.addresses[task]})

        return ray, RayActors(tasks, command, 1, 0.5, Logs(tmp_path))

    return made


WORKER = Task("worker", 0)


def test_a_program_that_ends(fake, tmp_path):
    output = [("a", 4, b"one\n"), ("a", 8, b"two\n"), ("a", 8, b"")]
    ray, runner = fake({"place": [("10.0.0.1", 7)], "run": [3], "output": output})
    assert runner.layout.addresses == {WORKER: "10.0.0.1:7"}
    runner.start(WORKER)
    (actor,) = ray.actors
    assert actor.calls[-1] == ("run", (["-m", "program"], {"WORD": "10.0.0.1:7"}, os.getcwd(), "10.0.0.1"))
    assert runner.events() == [Ended(WORKER, 3)]
    assert (tmp_path / "worker-0.log").read_bytes() == b"one\n"
    runner.ask(WORKER)
    runner.kill(WORKER)
    assert ("signal", (15,)) in actor.calls and ray.killed == [actor]
    runner.close()
    assert not ray.is_up


def test_an_actor_that_lives_again(fake, tmp_path):
    """Output that was told twice is written once; a new life is told of; a lost answer is asked for again."""
    output = [("a", 4, b"one\n"), ("a", 8, b"one\ntwo\n"), RayError("lost"), ("b", 4, b"new\n")]
    ray, runner = fake({"place": [("h", 7)], "run": [None], "output": output})
    runner.start(WORKER)
    seen = [event for _ in range(6) for event in runner.events()]
    assert seen == [Revived(WORKER)]
    assert (tmp_path / "worker-0.log").read_bytes() == b"one\ntwo\nnew\n"
    asked = [given for name, given in ray.actors[0].calls if name == "output"]
    assert asked[:5] == [("", 0), ("a", 4), ("a", 8), ("a", 8), ("b", 4)]


def test_an_actor_that_is_lost_for_good(fake, tmp_path):
    _, runner = fake({"place": [("h", 7)], "run": [RayError("the node has gone")]})
    runner.start(WORKER)
    assert runner.events() == [Ended(WORKER, -9)]
    assert (tmp_path / "worker-0.log").read_text() == "RayError: the node has gone\n"


def test_actors_that_do_not_come_up(fake):
    with pytest.raises(NoRay, match="could not be started on Ray's nodes: no module named headrace"):
        fake({"place": [RayError("no module named headrace")]})


def test_no_room(fake, monkeypatch):
    def get(self, refs, timeout=None):
        raise TimeoutError

    monkeypatch.setattr(FakeRay, "get", get)
    with pytest.raises(NoRay, match=r"no room for 1 tasks with 0.5 CPUs within 60 s: 1 are free \(--cpus"):
        fake({})


def test_an_address_where_nobody_is(fake, monkeypatch):
    monkeypatch.setenv("RAY_ADDRESS", "10.0.0.9:6379")
    monkeypatch.setitem(sys.modules, "ray", FakeRay())
    with pytest.raises(NoRay, match="no Ray cluster answers at RAY_ADDRESS=10.0.0.9:6379"):
        RayActors([WORKER], None, 0, 1.0, None)


@pytest.mark.skipif(HAS_RAY, reason="Ray is installed")
def test_without_ray():
    with pytest.raises(NoRay, match=re.escape("pip install headrace[ray]")):
        ray_module()
