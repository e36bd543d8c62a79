"""Step times, side by side: all build a workload, then take short turns, round after round.

Out: per workload and framework the median of every round's burst.  Two are compared within a round."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from random import Random
from typing import IO, Any

from bench import frameworks
from bench.workers import BURST, SETUP, Lost, Worker

FAR = 2.0  # a peer this much slower than the best peer is out after one round ...
LONG = 0.05  # ... if its step takes longer than this: its figure would decide nothing
TRIES = 3
Row = dict[str, dict[str, Any]]
Tell = Callable[[str], None]


class Crew:
    """The workers, started when first needed and again after one was lost; but for one that fails
    again and again without a good answer in between."""

    def __init__(self, names: list[str], size: str, log: IO[bytes], note: Tell) -> None:
        self.names, self.size, self.log, self.note = names, size, log, note
        self.workers: dict[str, Worker] = {}
        self.versions: dict[str, str] = {}
        self.failures = dict.fromkeys(names, 0)

    def ready(self) -> list[Worker]:
        for name in self.names:
            if name not in self.workers and self.failures[name] < TRIES:
                try:
                    self.workers[name] = Worker(name, self.size, self.log)
                    self.versions[name] = self.workers[name].version
                except Lost as lost:
                    self.failures[name] += 1
                    self.note(f"cannot start: {lost}")
        return [self.workers[name] for name in self.names if name in self.workers]

    def ask(self, worker: Worker, seconds: float, **question: Any) -> dict[str, Any]:
        """The answer; an error is an answer, and so is the loss of the worker."""
        try:
            answer = worker.ask(seconds, **question)
            self.failures[worker.name] = 0
            return answer
        except Lost as lost:
            self.failures[worker.name] += 1
            self.workers.pop(worker.name, None)
            return {"error": str(lost)}

    def quit(self) -> None:
        for worker in self.workers.values():
            worker.quit()
        self.workers.clear()


def measure(workload: str, crew: Crew, rounds: int, tell: Tell) -> Row:
    row, taking_part = {}, []
    for worker in crew.ready():
        if workload not in worker.has:
            continue
        tell(f"{workload}: {worker.name} builds")
        row[worker.name] = crew.ask(worker, SETUP, do="setup", workload=workload)
        if "error" in row[worker.name]:
            crew.note(f"{workload}: {worker.name}: {row[worker.name]['error']}")
        else:
            row[worker.name]["rounds"] = []
            taking_part.append(worker)
            for warning in row[worker.name].pop("warnings", ()):
                if worker.name == frameworks.OURS:
                    crew.note(f"{workload}: {warning}")
    for number in range(rounds):
        # Who runs after whom matters, by some percent: so no order is kept.
        for worker in Random(number).sample(taking_part, len(taking_part)):
            tell(f"{workload}: round {number + 1} of {rounds}: {worker.name}")
            burst = crew.ask(worker, BURST, do="burst", workload=workload)
            if "error" in burst:
                crew.note(f"{workload}: {worker.name}: {burst['error']}")
                row[worker.name]["error"] = burst["error"]
                taking_part.remove(worker)
            else:
                row[worker.name]["rounds"].append(burst["median"])
        if number == 0:
            behind = far_behind(row)
            for worker in [w for w in taking_part if w.name in behind]:
                taking_part.remove(worker)
    for worker in crew.ready():
        if workload in worker.has:
            crew.ask(worker, BURST, do="drop", workload=workload)
    for figures in row.values():
        if figures.get("rounds"):
            figures["median"] = statistics.median(figures["rounds"])
    return row


def far_behind(row: Row) -> set[str]:
    first = {n: f["rounds"][0] for n, f in row.items() if n in frameworks.INTERPRETERS and f.get("rounds")}
    return {n for n, t in first.items() if t > LONG and t > FAR * min(first.values())}


def ratio(ours: dict[str, Any], theirs: dict[str, Any]) -> float:
    """Median over rounds of the ratio within a round."""
    return statistics.median(a / b for a, b in zip(ours["rounds"], theirs["rounds"]))


def measured(row: Row | None) -> Row:
    """The part of a row that has figures and no error."""
    return {n: f for n, f in (row or {}).items() if f.get("median") and "error" not in f}


def disagreement(row: Row) -> float | None:
    """Largest relative difference of a peer's first losses from ours."""
    ours = row.get(frameworks.OURS, {}).get("losses") or []
    worst = None
    for name, figures in row.items():
        if name in frameworks.INTERPRETERS:
            for a, b in zip(ours, figures.get("losses") or []):
                worst = max(worst or 0.0, abs(a - b) / max(abs(a), abs(b), 1e-9))
    return worst


def side_by_side(names: list[str], crew: Crew, rounds: int, tell: Tell) -> dict[str, list[float]]:
    """Several programs of ours in one process, in turns: medians of their rounds."""
    ours = next((w for w in crew.ready() if w.name == frameworks.OURS), None)
    times: dict[str, list[float]] = {}
    for name in names if ours else []:
        tell(f"{name}: building")
        answer = crew.ask(ours, SETUP, do="setup", workload=name)
        if "error" in answer:
            crew.note(f"{name}: {answer['error']}")
            return {}
    for _ in range(rounds if ours else 0):
        for name in names:
            burst = crew.ask(ours, BURST, do="burst", workload=name)
            if "error" in burst:
                crew.note(f"{name}: {burst['error']}")
                return {}
            times.setdefault(name, []).append(burst["median"])
    for name in names if ours else []:
        crew.ask(ours, BURST, do="drop", workload=name)
    return times
