"""Steps over tasks beside TensorFlow's servers, on this machine, in one run: `scripts/bench clusters`.

For each row there is a cluster of each kind: one parameter server and some workers, each a process.  All are
up at once; they run in turn, a short burst each, round after round.  What is told is the ratio of steps per
second, ours over TensorFlow's, as the median over rounds; beside it, what a step costs all processors.

Kinds: `headrace` (all tasks ours), `grpc` (the same without the channels of our own), `mixed` (the
parameter server is TensorFlow's), `tf`; in the row `backup`, where the last worker is slowed, `healthy`: the
same without that."""

from __future__ import annotations

import argparse
import json
import os
import select
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from bench import frameworks
from bench.workers import end
from headrace.distributed.launch.ports import choose

SECONDS = 1.0  # of a burst
WAIT = 240.0  # seconds that a worker has to answer
UPDATES = 30  # of a burst, where workers update together
OURS, OVER_GRPC, MIXED, TF, HEALTHY = "headrace", "grpc", "mixed", "tf", "healthy"
KINDS = {  # (ps, workers)
    OURS: (OURS, OURS),
    OVER_GRPC: (OURS, OURS),
    MIXED: (TF, OURS),
    TF: (TF, TF),
    HEALTHY: (OURS, OURS),
}


@dataclass(frozen=True)
class Row:
    """A kind of step with so many workers, and the least ratios to TensorFlow that are wanted; or to
    another kind.  `slow`: by which factor the last worker is slowed."""

    work: str
    workers: int
    goals: dict[str, float]
    against: str = TF
    slow: float = 1.0

    @property
    def is_sync(self) -> bool:
        return self.work in ("mlp_sync", "mlp_backup")


ROWS = {
    "null_1": Row("null", 1, {OURS: 4.0, MIXED: 1.0}),
    "null_2": Row("null", 2, {OURS: 4.0, MIXED: 1.0}),
    "null_4": Row("null", 4, {OURS: 4.0, MIXED: 1.0}),
    "scalar": Row("scalar", 1, {OURS: 4.0}),
    "sparse": Row("sparse", 1, {OURS: 4.0}),
    "dense_10": Row("dense_10", 1, {OURS: 5.0, OVER_GRPC: 1.0}),
    "dense_100": Row("dense_100", 1, {OURS: 5.0, OVER_GRPC: 1.0}),
    "mlp_async_1": Row("mlp_async", 1, {OURS: 1.5}),
    "mlp_async_2": Row("mlp_async", 2, {OURS: 1.5}),
    "mlp_sync_1": Row("mlp_sync", 1, {OURS: 1.5}),
    "mlp_sync_2": Row("mlp_sync", 2, {OURS: 1.5}),
    "lstm": Row("lstm", 1, {OURS: 1.0}),
    "backup": Row("mlp_backup", 3, {OURS: 1 / 1.3}, against=HEALTHY, slow=10.0),
}


Rates = dict[str, list[tuple[float, float]]]


class Cluster:
    """Processes of one kind; the parameter server first."""

    def __init__(self, kind: str, row: Row, nice: int, log: IO[bytes]) -> None:
        addresses = [f"127.0.0.1:{port}" for port in choose(row.workers + 1)]
        cluster = {"ps": addresses[:1], "worker": addresses[1:]}
        of_ps, of_workers = KINDS[kind]
        extra = {"HEADRACE_TRANSPORTS": "grpc"} if kind == OVER_GRPC else {}
        slows = kind != HEALTHY
        self.row, self.processes, self.updates = row, [], 0
        for kind, job, index in [(of_ps, "ps", 0), *((of_workers, "worker", i) for i in range(row.workers))]:
            given = {"kind": kind, "job": job, "index": index, "cluster": cluster, "work": row.work}
            given["slow"] = row.slow if slows and job == "worker" and index == row.workers - 1 else 1.0
            command = [str(frameworks.interpreter(kind)), "-m", "bench.cluster_task", json.dumps(given)]
            self.processes.append(
                subprocess.Popen(
                    command,
                    cwd=frameworks.ROOT,
                    env=frameworks.environment(kind, **extra),
                    start_new_session=True,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=log,
                )
            )
            if nice:
                prefer(self.processes[-1].pid, nice)
        self.workers = self.processes[1:]

    def start(self) -> None:
        for worker in self.workers:
            hear(worker)
        for worker in self.workers:  # the chief first
            tell(worker, do="start")
            hear(worker)
        self.burst(10)  # compiled, and warm

    def burst(self, steps: int = 0) -> tuple[float, float]:
        """Steps per second of all workers together, and seconds of the processors per step.  Where workers
        update together, a step is an update: until a common one, since a worker that stopped after so many
        steps of its own would leave the others waiting."""
        is_sync = self.row.is_sync
        self.updates += steps or UPDATES
        todo = {"until": self.updates} if is_sync else {"steps": steps, "seconds": SECONDS}
        for worker in self.workers:
            tell(worker, do="burst", at=time.time() + 0.05, **todo)
        before = self.work()
        found = [hear(worker) for worker in self.workers]
        counted = found[:1] if is_sync else found
        rate = sum(f["steps"] / f["seconds"] for f in counted)
        return rate, (self.work() - before) / sum(f["steps"] for f in counted)

    def work(self) -> float:
        """Seconds that all tasks have worked."""
        fields = [Path(f"/proc/{p.pid}/stat").read_text().rpartition(")")[2].split() for p in self.processes]
        return sum(int(f[11]) + int(f[12]) for f in fields) / os.sysconf("SC_CLK_TCK")

    def end(self) -> None:
        for process in self.processes:
            end(process)


def prefer(pid: int, nice: int) -> None:
    """A priority; where Linux shares processors among sessions first, of its session, too."""
    os.setpriority(os.PRIO_PROCESS, pid, nice)
    group = Path(f"/proc/{pid}/autogroup")
    if group.exists():
        group.write_text(str(nice))


def tell(process: subprocess.Popen[bytes], **what: Any) -> None:
    assert process.stdin
    process.stdin.write(json.dumps(what).encode() + b"\n")
    process.stdin.flush()


def hear(process: subprocess.Popen[bytes]) -> dict[str, Any]:
    assert process.stdout
    ready, _, _ = select.select([process.stdout], [], [], WAIT)
    line = process.stdout.readline() if ready else b""
    if not line:
        raise RuntimeError(f"a worker {'died' if ready else f'gave no answer in {WAIT:.0f} s'}")
    return json.loads(line)


def measure(name: str, kinds: list[str], given: argparse.Namespace, log: IO[bytes]) -> Rates:
    """Rates by kind, one for each round."""
    row, clusters = ROWS[name], {}
    rates: Rates = {kind: [] for kind in kinds}
    try:
        for kind in kinds:
            clusters[kind] = Cluster(kind, row, given.nice, log)
            clusters[kind].start()
        for _ in range(given.rounds):
            for kind in kinds:
                rates[kind].append(clusters[kind].burst())
    finally:
        for cluster in clusters.values():
            cluster.end()
    return rates


def line(name: str, rates: Rates) -> tuple[str, bool]:
    """A row of the table, and whether its goals hold."""
    words, holds = [f"{name:<12}"], True
    for kind, found in rates.items():
        text = f"{kind} {statistics.median(rate for rate, _ in found):.0f}/s"
        text += f" {1e3 * statistics.median(work for _, work in found):.2f} ms"
        peer = ROWS[name].against
        if kind != peer and peer in rates:
            ratio = statistics.median(a / b for (a, _), (b, _) in zip(found, rates[peer]))
            goal = ROWS[name].goals.get(kind)
            text += f" = {ratio:.2f}x" + (f" (goal {goal:.2g})" if goal else "")
            holds = holds and (goal is None or ratio >= goal)
        words.append(text)
    return "  ".join(words), holds


def main() -> None:
    parser = argparse.ArgumentParser(prog="scripts/bench clusters", description=__doc__)
    parser.add_argument("--only", help=f"of {', '.join(ROWS)}")
    parser.add_argument(
        "--kinds", help=f"of {', '.join(KINDS)}; default: what the row has goals for, and its peer"
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--nice", type=int, default=0, help="priority of the tasks on a shared machine")
    parser.add_argument("--json", help="write all results to this file")
    given = parser.parse_args()
    results, well = {}, True
    has_peer = bool(frameworks.interpreter(TF))
    log_path = os.path.join(tempfile.gettempdir(), "headrace-bench-clusters.log")
    with open(log_path, "ab") as log:
        for name in given.only.split(",") if given.only else ROWS:
            kinds = given.kinds.split(",") if given.kinds else [*ROWS[name].goals, ROWS[name].against]
            kinds = [k for k in kinds if has_peer or TF not in KINDS[k]]
            try:
                results[name] = measure(name, kinds, given, log)
            except (RuntimeError, OSError) as error:
                print(f"{name:<12}  {error}; see {log_path}", flush=True)
                well = False
                continue
            text, holds = line(name, results[name])
            well = well and holds
            print(text, flush=True)
    if given.json:
        with open(given.json, "w") as out:
            json.dump(results, out, indent=1)
    sys.exit(not well)


if __name__ == "__main__":
    main()
