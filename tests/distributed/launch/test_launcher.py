"""Launches of small processes: their ends, signals, and what is left of them."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from headrace.distributed.launch import lifecycle
from headrace.distributed.launch.launcher import Launcher, NoProgress
from headrace.distributed.launch.lifecycle import Lifecycle, Signalled
from headrace.distributed.launch.logs import Logs
from headrace.distributed.launch.processes import Processes
from headrace.distributed.launch.screen import Screen
from headrace.distributed.launch.tasks import Task, make_tasks
from tests.timing import PATIENCE, wait_until

FOREVER = "import time\nprint('ready', flush=True)\ntime.sleep(600)"
STUBBORN = "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + FOREVER
PARENT = "import subprocess, sys\nprint(subprocess.Popen(['sleep', '600']).pid, flush=True)\n"

pytestmark = pytest.mark.process


class Launch:
    """A launch in a thread: `programs` by job, or by task."""

    def __init__(self, folder, programs, restarts=0, shown=(), **counts):
        def command(task):
            source = programs.get(str(task), programs.get(task.job))
            return [sys.executable, "-c", source], {"TASK": str(task)}

        self.out, self.copies = io.StringIO(), io.BytesIO()
        self.logs = Logs(folder)
        self.runner = Processes(command, self.logs)
        self.launcher = Launcher(
            Lifecycle(make_tasks(counts), restarts),
            self.runner,
            self.logs,
            Screen(self.out, self.copies),
            NoProgress(),
            shown,
        )
        self.code = None
        self.thread = threading.Thread(target=self._run)
        self.thread.start()

    def _run(self):
        self.code = self.launcher.run()

    def ended(self):
        self.thread.join(PATIENCE)
        assert not self.thread.is_alive()
        return self.code

    def signal(self, number):
        self.launcher._events.append(Signalled(number))

    def wait_for(self, task, text=b"ready"):
        path = self.logs.path(task)
        wait_until(lambda: path.exists() and text in path.read_bytes())


def is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


def test_servers_end_after_the_workers(tmp_path):
    launch = Launch(
        tmp_path,
        {"ps": FOREVER, "worker": "import os; print(os.environ['TASK'])"},
        shown=[Task("worker", 1)],
        ps=1,
        worker=2,
    )
    assert launch.ended() == 0
    assert launch.logs.path(Task("worker", 0)).read_text() == "worker:0\n"
    assert launch.copies.getvalue() == b"worker:1\n"


def test_the_task_that_fails_is_named_with_its_last_lines(tmp_path):
    launch = Launch(
        tmp_path, {"ps": FOREVER, "worker:0": FOREVER, "worker:1": "print('so bad'); raise SystemExit(5)"},
        ps=1, worker=2,
    )  # fmt: skip
    assert launch.ended() == 5
    text = launch.out.getvalue()
    assert "worker:1 failed with exit code 5; ending the other tasks" in text
    assert "worker:1| so bad" in text and str(tmp_path / "worker-1.log") in text


def test_a_task_that_is_killed_is_started_again(tmp_path):
    source = (
        "import os, pathlib\nmark = pathlib.Path(os.environ['HOME_OF_TEST']) / 'mark'\n"
        "if not mark.exists():\n    mark.touch()\n    os.kill(os.getpid(), 9)\nprint('second')"
    ).replace("os.environ['HOME_OF_TEST']", repr(str(tmp_path)))
    launch = Launch(tmp_path / "logs", {"worker": source}, restarts=1, worker=1)
    assert launch.ended() == 0
    assert "worker:0 was ended by SIGKILL; start 1 of 1 again in 1 s" in launch.out.getvalue()
    assert launch.logs.path(Task("worker", 0)).read_text() == "second\n"


def test_a_signal_ends_all(tmp_path):
    launch = Launch(tmp_path, {"ps": FOREVER, "worker": FOREVER}, ps=1, worker=1)
    for task in (Task("ps", 0), Task("worker", 0)):
        launch.wait_for(task)
    launch.signal(signal.SIGINT)
    assert launch.ended() == 130


def test_a_second_signal_kills_who_ignores_the_first(tmp_path):
    launch = Launch(tmp_path, {"worker": STUBBORN}, worker=1)
    launch.wait_for(Task("worker", 0))
    launch.signal(signal.SIGINT)
    wait_until(lambda: "once more kills" in launch.out.getvalue())
    launch.signal(signal.SIGINT)
    assert launch.ended() == 130
    assert "killing the tasks that are left" in launch.out.getvalue()


def test_who_ignores_the_end_is_killed_after_a_while(tmp_path, monkeypatch):
    monkeypatch.setattr(lifecycle, "GRACE", 0.5)
    launch = Launch(tmp_path, {"ps": STUBBORN, "worker": FOREVER}, ps=1, worker=1)
    launch.wait_for(Task("ps", 0))
    os.kill(launch.runner.pid(Task("worker", 0)), signal.SIGKILL)
    assert launch.ended() == 137


def test_what_a_task_has_started_ends_with_it(tmp_path):
    launch = Launch(tmp_path, {"worker": PARENT}, worker=1)
    assert launch.ended() == 0
    child = int(launch.logs.path(Task("worker", 0)).read_text())
    wait_until(lambda: not is_alive(child))


def test_tasks_end_when_their_launcher_is_killed(tmp_path):
    """By a pipe that the launcher holds; nobody else could tell them."""
    source = f"""
import os, sys, time
from pathlib import Path
from headrace.distributed.launch.logs import Logs
from headrace.distributed.launch.processes import Processes
from headrace.distributed.launch.tasks import Task
child = "from headrace.distributed.launch import lifeline; lifeline.hold(); import time; time.sleep(600)"
runner = Processes(lambda task: ([sys.executable, "-c", child], {{}}), Logs(Path({str(tmp_path)!r})))
runner.start(Task("worker", 0))
print(runner.pid(Task("worker", 0)), flush=True)
time.sleep(600)
"""
    launcher = subprocess.Popen([sys.executable, "-c", source], stdout=subprocess.PIPE, text=True)
    pid = int(launcher.stdout.readline())
    wait_until(lambda: b"lifeline" in Path(f"/proc/{pid}/cmdline").read_bytes())
    launcher.kill()
    launcher.communicate()
    wait_until(lambda: not is_alive(pid))
