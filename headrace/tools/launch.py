"""headrace launch --ps 2 --workers 4 program.py args...: the tasks of a cluster, here or on Ray.

Each task runs the program as `headrace run` does, with TF_CONFIG in its environment; a program that defines
the flags ps_hosts, worker_hosts, job_name, task_index gets those that it defines.  When all workers (and the
chief) are done the parameter servers are ended.  Ctrl-C ends all tasks, a second one kills them.
"""

from __future__ import annotations

import argparse
import os
import secrets
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from headrace.distributed.launch import ports
from headrace.distributed.launch.flags import asked_flags
from headrace.distributed.launch.launcher import Launcher
from headrace.distributed.launch.lifecycle import Lifecycle
from headrace.distributed.launch.logs import Logs
from headrace.distributed.launch.processes import Command, Processes, Runner
from headrace.distributed.launch.progress import ServerProgress
from headrace.distributed.launch.ray_actors import NoRay, RayActors, ray_module
from headrace.distributed.launch.screen import Screen
from headrace.distributed.launch.tasks import CLASSIC, Layout, Role, Task, make_tasks, words_of
from headrace.distributed.security.settings import Security
from headrace.tools.run import MODULE, check, split

WITH_VALUE = "--ps --workers --evaluators --restarts --logs --show --port --on --cpus".split()
MOST_TASKS = 1000


def main(words: Sequence[str]) -> int:
    own, program = split(words, WITH_VALUE)
    made = parser()
    given = made.parse_args(own)
    tasks = asked_tasks(made, given)
    shown = which(made, given.show, tasks)
    check(made, program)
    logs = Logs(Path(given.logs or tempfile.mkdtemp(prefix="headrace-launch-")))
    asked = asked_flags(program, CLASSIC)

    def command_at(layout: Layout) -> Command:
        def command(task: Task) -> tuple[Sequence[str], Mapping[str, str]]:
            words = words_of(program, layout.flags(task, asked))
            return [sys.executable, "-m", "headrace", "run", *words], {"TF_CONFIG": layout.tf_config(task)}

        return command

    try:
        runner, layout = (on_ray if given.on == "ray" else here)(given, tasks, command_at, logs)
    except (ports.PortInUse, NoRay) as error:
        made.exit(1, f"{made.prog}: {error}\n")
    screen, progress = Screen(), ServerProgress(layout)
    screen.line(f"{listed(tasks)}; logs in {logs.folder}")
    try:
        return Launcher(Lifecycle(tasks, given.restarts), runner, logs, screen, progress, shown).run()
    finally:
        progress.close()


# -- who runs the tasks ----------------------------------------------------------------------------
CommandAt = Callable[[Layout], Command]


def here(given: Any, tasks: Sequence[Task], command_at: CommandAt, logs: Logs) -> tuple[Runner, Layout]:
    """Processes of this machine."""
    members = [task for task in tasks if task.in_cluster]
    chosen = ports.choose(len(members), given.port)
    layout = Layout({task: f"{ports.HOST}:{port}" for task, port in zip(members, chosen)})
    return Processes(command_at(layout), logs), layout


def on_ray(given: Any, tasks: Sequence[Task], command_at: CommandAt, logs: Logs) -> tuple[Runner, Layout]:
    """Actors of Ray.  Others may reach the nodes: the tasks share a secret, if only for this launch."""
    ray_module()
    if not Security.from_environment().knows_callers:
        os.environ["HEADRACE_CLUSTER_SECRET"] = secrets.token_hex(32)
    passed = {k: v for k, v in os.environ.items() if k.startswith("HEADRACE_") or k == "PYTHONPATH"}

    def with_settings(layout: Layout) -> Command:
        command = command_at(layout)

        def made(task: Task) -> tuple[Sequence[str], Mapping[str, str]]:
            words, environment = command(task)
            return words, {**passed, **environment}

        return made

    runner = RayActors(tasks, with_settings, given.restarts, given.cpus, logs)
    return runner, runner.layout


# -- the command line ------------------------------------------------------------------------------
def asked_tasks(made: argparse.ArgumentParser, given: Any) -> list[Task]:
    """The tasks that the flags ask for."""
    counts = {"chief": int(given.chief), "worker": given.workers, "ps": given.ps}
    tasks = make_tasks({**counts, "evaluator": given.evaluators})
    if not any(task.role is Role.TRAINS for task in tasks):
        made.error("a cluster needs a worker, or a chief, to do something: --workers 1")
    if len(tasks) > MOST_TASKS:
        made.error(f"{len(tasks)} tasks are more than one launch starts ({MOST_TASKS})")
    return tasks


def listed(tasks: Sequence[Task]) -> str:
    """How many of each job."""
    jobs = [task.job for task in tasks]
    return ", ".join(f"{jobs.count(job)} {job}" for job in dict.fromkeys(jobs))


def parser() -> argparse.ArgumentParser:
    """The parser of what stands before the program."""
    made = argparse.ArgumentParser(
        prog="headrace launch",
        usage="headrace launch [options] program.py [args ...]\n"
        f"       headrace launch [options] {MODULE} module [args ...]",
        description=__doc__,
        allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="Exit codes: 0 all that train are done; that of the first task that failed without a restart "
        "left\n(128 + n for signal n); 128 + n where the launcher itself was ended by signal n; 2 misused.",
    )
    add = made.add_argument
    add("--ps", type=count, default=1, metavar="N", help="parameter servers (1)")
    add("--workers", type=count, default=2, metavar="N", help="workers (2)")
    add("--chief", action="store_true", help="a chief beside the workers, as Estimators want it")
    add("--evaluators", type=count, default=0, metavar="N", help="tasks that evaluate checkpoints (0)")
    add("--restarts", type=count, default=0, metavar="N", help="new starts of each task that fails (0)")
    add("--logs", metavar="DIR", help="where each task's output goes (a new folder among temporary files)")
    add(
        "--show",
        metavar="TASKS",
        help="whose output is shown: all, none, worker:1,ps:0 (the first that trains)",
    )
    add("--port", type=count, metavar="N", help="the first of the tasks' ports (any that are free)")
    add("--on", choices=["here", "ray"], default="here", help="processes of this machine, or actors of Ray")
    add("--cpus", type=cpus, default=1.0, metavar="N", help="with --on ray: CPUs of each task (1)")
    return made


def cpus(text: str) -> float:
    """A number of CPUs, which may be a part of one."""
    try:
        found = float(text)
    except ValueError:
        found = -1.0
    if not 0 <= found <= 10_000:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of CPUs")
    return found


def count(text: str) -> int:
    """A number of the command line, not negative."""
    if not text.isdecimal() or len(text) > 9:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of things")
    return int(text)


def which(made: argparse.ArgumentParser, text: str | None, tasks: Sequence[Task]) -> list[Task]:
    """The tasks that --show names."""
    if text is None:
        return [next(task for task in tasks if task.role is Role.TRAINS)]
    by_name = {str(task): [task] for task in tasks} | {"all": list(tasks), "none": []}
    unknown = [name for name in text.split(",") if name not in by_name]
    if unknown:
        made.error(f"--show: no task {unknown[0]} (there are {', '.join(map(str, tasks))})")
    return [task for name in text.split(",") for task in by_name[name]]
