"""A task of Ray without Ray: what its actor does on a node."""

from __future__ import annotations

import os
import signal
import sys
import threading
from types import SimpleNamespace

import pytest

from headrace.distributed.launch import ray_task
from headrace.distributed.launch.ray_task import RayTask
from tests.timing import PATIENCE, wait_until

pytestmark = pytest.mark.process


@pytest.fixture(autouse=True)
def node(monkeypatch):
    """Ray as far as a task asks for it."""
    util = SimpleNamespace(get_node_ip_address=lambda: "127.0.0.1")
    monkeypatch.setitem(sys.modules, "ray", SimpleNamespace(util=util))


def run(task, source, host=""):
    return task.run(["-c", source], {"WORD": "given"}, os.getcwd(), host)


def test_runs_a_program_and_keeps_what_it_writes(capsys):
    task = RayTask()
    assert run(task, "import os; print(os.environ['WORD'], flush=True); os._exit(3)") == 3
    life, taken, fresh = task.output("", 0)
    assert (taken, fresh) == (6, b"given\n")
    assert task.output(life, 0) == (life, 6, b"given\n")  # nobody has confirmed it
    assert task.output(life, 6) == (life, 6, b"")
    assert run(task, "print('again')") == 0
    assert task.output(life, 6) == (life, 12, b"again\n")
    assert task.output("a life before", 100) == (life, 12, b"again\n")
    assert capsys.readouterr().out == "given\nagain\n"  # Ray's log of the actor


def test_output_that_nobody_fetches_is_limited(monkeypatch):
    monkeypatch.setattr(ray_task, "MOST", 10)
    task = RayTask()
    run(task, "print('x' * 100 + '0123456789', end='')")
    assert task.output("", 0)[1:] == (110, b"0123456789")


def test_a_place():
    host, port = RayTask().place()
    assert host == "127.0.0.1" and 0 < port < 65536
    assert RayTask().pid() == os.getpid()


def test_a_task_that_came_back_on_another_node():
    task = RayTask()
    assert run(task, "print('not run')", host="10.0.0.7") == 1
    assert task.output("", 0)[2] == b"this task was at 10.0.0.7 and is at 127.0.0.1 now: launch again\n"


def test_signals_reach_the_program():
    task, codes = RayTask(), []
    task.signal(signal.SIGTERM)  # nothing runs yet
    source = "import time; print('ready', flush=True); time.sleep(600)"
    thread = threading.Thread(target=lambda: codes.append(run(task, source)))
    thread.start()
    wait_until(lambda: task.output("", 0)[2])
    task.signal(signal.SIGTERM)
    thread.join(PATIENCE)
    assert codes == [-signal.SIGTERM]
    task.signal(signal.SIGTERM)
