"""Tasks as actors of a Ray cluster: Ray places them, and starts again those that it loses.

One placement group holds a bundle per task, so that all run or none does.  A program that ends with an error
is the launch's affair (`lifecycle.py`); an actor that is lost, with its process or its node, is Ray's
(`max_restarts`), and we only see that it lives again.
"""

from __future__ import annotations

import importlib
import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from headrace.distributed.launch.lifecycle import Ended, Event, Revived
from headrace.distributed.launch.logs import Logs
from headrace.distributed.launch.processes import Command
from headrace.distributed.launch.ray_task import KILL, TERMINATE, RayTask
from headrace.distributed.launch.tasks import Layout, Task

PLACING = 60.0  # seconds that Ray has to find room for all tasks
EVERY = 0.25  # seconds between two questions for output
LOST = -9  # what a lost actor's program ended with, as far as anybody knows


class NoRay(Exception):
    """The text says what is missing."""


def ray_module() -> Any:
    """The library, which is only there with the extra `ray`."""
    try:
        return importlib.import_module("ray")
    except ImportError:
        raise NoRay("--on ray needs Ray: pip install headrace[ray]") from None


class RayActors:
    """Actors for the tasks, on an existing Ray cluster or on one of this machine that is started for them."""

    def __init__(
        self,
        tasks: Sequence[Task],
        command: Callable[[Layout], Command],
        restarts: int,
        cpus: float,
        logs: Logs,
    ) -> None:
        self._ray, self._logs = ray_module(), logs
        self._connect(len(tasks) * cpus)
        self._group = self._room([{"CPU": cpus}] * len(tasks))
        self._actors = {task: self._actor(task, i, restarts, cpus) for i, task in enumerate(tasks)}
        self._running: dict[Task, Any] = {}
        self._lives: dict[Task, tuple[str, int]] = {}
        self._asked: dict[Task, Any] = {}
        self._next = 0.0
        members = [t for t in tasks if t.in_cluster]
        try:
            places = self._ray.get([self._actors[t].place.remote() for t in members])
        except self._ray.exceptions.RayError as error:
            self.close()
            raise NoRay(f"the tasks could not be started on Ray's nodes: {error}") from None
        self.layout = Layout({t: f"{host}:{port}" for t, (host, port) in zip(members, places)})
        self._command = command(self.layout)

    # -- the cluster -----------------------------------------------------------------------------
    def _connect(self, cpus: float) -> None:
        how: Mapping[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
        try:
            self._ray.init(address="auto", **how)
        except ConnectionError:
            if os.environ.get("RAY_ADDRESS"):
                raise NoRay(f"no Ray cluster answers at RAY_ADDRESS={os.environ['RAY_ADDRESS']}") from None
            self._ray.init(num_cpus=max(int(cpus + 1), os.cpu_count() or 1), include_dashboard=False, **how)

    def _room(self, bundles: list[dict[str, float]]) -> Any:
        group = self._ray.util.placement_group(bundles, strategy="SPREAD")
        try:
            self._ray.get(group.ready(), timeout=PLACING)
        except self._ray.exceptions.GetTimeoutError:
            free = self._ray.available_resources().get("CPU", 0)
            self._ray.util.remove_placement_group(group)
            self._ray.shutdown()
            wanted = sum(bundle["CPU"] for bundle in bundles)
            raise NoRay(
                f"Ray found no room for {len(bundles)} tasks with {wanted:g} CPUs within {PLACING:g} s: "
                f"{free:g} are free (--cpus says how many a task needs)"
            ) from None
        return group

    def _actor(self, task: Task, bundle: int, restarts: int, cpus: float) -> Any:
        strategies = importlib.import_module("ray.util.scheduling_strategies")
        place = strategies.PlacementGroupSchedulingStrategy(self._group, placement_group_bundle_index=bundle)
        made = self._ray.remote(RayTask).options(
            name=f"headrace-{self._group.id.hex()[:8]}-{task.job}-{task.index}",
            num_cpus=cpus,
            max_restarts=restarts,
            max_task_retries=restarts,
            max_concurrency=4,  # a task is asked for output while it runs
            scheduling_strategy=place,
        )
        return made.remote()

    # -- what a launcher asks --------------------------------------------------------------------
    def start(self, task: Task) -> None:
        (_, *words), environment = self._command(task)  # the interpreter is the node's own
        host = self.layout.addresses.get(task, "").rpartition(":")[0]
        run = self._actors[task].run
        self._running[task] = run.remote(words, dict(environment), os.getcwd(), host)
        self._logs.open(task).close()

    def ask(self, task: Task) -> None:
        self._actors[task].signal.remote(TERMINATE)

    def kill(self, task: Task) -> None:
        self._actors[task].signal.remote(KILL)
        self._ray.kill(self._actors[task], no_restart=True)  # also where nobody answers any more

    def pid(self, task: Task) -> int:
        """The process of a task's actor."""
        found: int = self._ray.get(self._actors[task].pid.remote())
        return found

    def events(self) -> list[Event]:
        if time.monotonic() < self._next:
            return []
        self._next = time.monotonic() + EVERY
        found = [event for task in list(self._asked) for event in self._written(task)]
        for task in [t for t, ref in self._running.items() if self._ray.wait([ref], timeout=0)[0]]:
            found += self._end(task)
        for task in self._running:
            if task not in self._asked:
                self._asked[task] = self._actors[task].output.remote(*self._lives.get(task, ("", 0)))
        return found

    def _written(self, task: Task, timeout: float = 0) -> list[Event]:
        """What a task has written since it was last asked, if the answer has come."""
        ref = self._asked[task]
        if not self._ray.wait([ref], timeout=timeout)[0]:
            return []
        del self._asked[task]
        try:
            life, taken, fresh = self._ray.get(ref)
        except self._ray.exceptions.RayError:
            return []  # lost; its next life is asked again
        before, had = self._lives.get(task, ("", 0))
        if life == before:
            fresh = fresh[max(len(fresh) - (taken - had), 0) :]
        self._lives[task] = life, taken
        with self._logs.open(task) as file:
            file.write(fresh)
        return [Revived(task)] if before not in ("", life) else []

    def _end(self, task: Task) -> list[Event]:
        """The task's program has ended, or its actor is lost for good."""
        ref = self._running.pop(task)
        try:
            code = int(self._ray.get(ref))
        except self._ray.exceptions.RayError as error:
            with self._logs.open(task) as file:
                file.write(f"{type(error).__name__}: {error}\n".encode())
            return [Ended(task, LOST)]
        self._asked[task] = self._actors[task].output.remote(*self._lives.get(task, ("", 0)))
        revived = self._written(task, timeout=5)  # its last words
        return [*revived, Ended(task, code)]

    def close(self) -> None:
        for actor in self._actors.values():
            self._ray.kill(actor, no_restart=True)
        self._ray.util.remove_placement_group(self._group)
        self._ray.shutdown()
