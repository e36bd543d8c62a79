"""Step times, startup and memory beside the peers: `scripts/bench steps`; bench/README.md explains.

The exit code is 0 where every goal that could be judged holds and, with --against, nothing is slower."""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import IO, Any

from bench import frameworks, fresh, goals, history, tables
from bench.rounds import Crew, disagreement, measure, side_by_side
from bench.workloads.loops import BATCHES
from bench.workloads.sizes import WORKLOADS

DIFFERENT = 1e-2  # rounding alone does not do this
LATE = "little time is left (--minutes): one round each from here"
OTHERS = ("lengths", "startup", "memory", "loop_memory")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/bench steps", description=__doc__)
    parser.add_argument("--only", help=f"names of workloads, kinds, or {', '.join(OTHERS)}")
    parser.add_argument("--peers", help="tf,torch,torch_compile,jax or none; default: those there")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--minutes", type=float, default=25, help="after 2/3 of it: one round each")
    parser.add_argument("--json", help="write all results to this file")
    parser.add_argument("--table", help="write tables into this document")
    parser.add_argument("--save", help="keep ratios for --against")
    parser.add_argument("--against", help="compare with ratios that --save kept")
    parser.add_argument("--from", dest="source", help="measure nothing: read this file of --json")
    parser.add_argument("--size", choices=("full", "tiny"), default="full")
    parser.add_argument("--nice", type=int, help="priority of the workers on a shared machine")
    parser.add_argument("--log", default=str(Path(tempfile.gettempdir()) / "headrace-bench.log"))
    given = parser.parse_args()
    if given.rounds < 1:
        parser.error("--rounds must be at least 1")
    if given.against and not Path(given.against).is_file():
        parser.error(f"--against: there is no file {given.against}")
    return given


def chosen(only: str | None) -> list[str]:
    """Workloads in the order of the table, then the rest."""
    known = [*WORKLOADS, *OTHERS]
    if not only:
        return known
    words = set(only.split(","))
    kinds = {effort.kind for effort in WORKLOADS.values()}
    unknown = words - set(known) - kinds
    if unknown:
        raise SystemExit(f"not known: {', '.join(sorted(unknown))}; known: {', '.join(known)}")
    return [n for n in known if n in words or (n in WORKLOADS and WORKLOADS[n].kind in words)]


class Run:
    """One run of the benchmark: what is measured ends up in `results`, saved after every part."""

    def __init__(self, given: argparse.Namespace, log: IO[bytes]) -> None:
        self.given, self.log, self.begin = given, log, time.monotonic()
        self.peers = frameworks.peers(given.peers)
        names = [frameworks.OURS, *self.peers, frameworks.MACHINE]
        self.crew = Crew(names, given.size, log, self.note)
        self.results: dict[str, Any] = {
            "machine": machine(),
            "versions": self.crew.versions,
            "rounds": given.rounds,
            "size": given.size,
            "steps": {},
            "notes": [],
        }

    def all(self, names: list[str]) -> None:
        try:
            for name in names:
                if name in WORKLOADS:
                    self.step(name)
            if "lengths" in names:
                rounds = side_by_side(list(BATCHES), self.crew, self.rounds(), self.tell)
                self.results["lengths"] = rounds
        finally:
            self.crew.quit()
        self.rest(names)
        self.results["minutes"] = (time.monotonic() - self.begin) / 60
        self.keep()

    def step(self, name: str) -> None:
        row = measure(name, self.crew, self.rounds(), self.tell)
        self.results["steps"][name] = row
        if (disagreement(row) or 0) > DIFFERENT:
            self.note(f"{name}: losses differ from a peer's by {disagreement(row):.0e}")
        self.keep()
        self.show(tables.line(name, self.results["steps"]))

    def rounds(self) -> int:
        """As asked for; a single one when time is running out, for startup and memory come last."""
        late = time.monotonic() - self.begin > 60 * self.given.minutes * 2 / 3
        if late and self.given.rounds > 1 and LATE not in self.results["notes"]:
            self.note(LATE)
        return 1 if late else self.given.rounds

    def rest(self, names: list[str]) -> None:
        """What needs fresh processes, once the workers are gone."""
        size, log, results = self.given.size, self.log, self.results
        self.judge("lengths")
        if "startup" in names:
            results["startup"] = fresh.startup(self.peers, size, log, self.tell, self.note)
            self.judge("startup")
        if "memory" in names:
            results["memory"] = fresh.memory(self.peers, size, log, self.tell, self.note)
            self.judge("memory")
        if "loop_memory" in names:
            results["loop_memory"] = fresh.loop_memory(size, log, self.tell, self.note)
            self.judge("loop_memory")

    def judge(self, part: str) -> None:
        """Keep and show one part that is not about steps."""
        self.keep()
        alone = {part: self.results[part]} if part in self.results else {}
        for name, verdict in goals.other_verdicts(alone).items():
            self.show(f"{name:<42}{verdict.figure:>10}  goal {verdict.goal:<6} {verdict.word}")

    def keep(self) -> None:
        if self.given.json:
            part = Path(self.given.json + ".part")
            part.write_text(json.dumps(self.results, indent=1) + "\n")
            part.replace(self.given.json)

    def tell(self, text: str) -> None:
        """What is happening now: on a terminal, over the last such line."""
        if sys.stderr.isatty():
            print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)

    def show(self, text: str) -> None:
        self.tell("")
        print(text, flush=True)

    def note(self, text: str) -> None:
        self.results["notes"].append(text)
        self.tell("")
        print(f"  ! {text}", file=sys.stderr, flush=True)


def machine() -> dict[str, Any]:
    model = platform.processor()
    if Path("/proc/cpuinfo").exists():
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next((x.split(":")[1].strip() for x in lines if x.startswith("model name")), model)
    return {
        "date": datetime.date.today().isoformat(),
        "CPU": model,
        "cores": len(os.sched_getaffinity(0)),
        "Python": platform.python_version(),
        "load before": round(os.getloadavg()[0], 1),
    }


def conclude(given: argparse.Namespace, results: dict[str, Any]) -> bool:
    """Write what was asked for; whether all is well."""
    if given.table:
        tables.write(results, given.table)
    print(tables.verdicts_table(results), end="")
    well = all(v.holds is not False for v in goals.all_verdicts(results).values())
    if given.against:
        found = history.slower(results["steps"], given.against)
        print(history.summary(found, given.against))
        well = well and not found
    if given.save:
        history.save(results["steps"], given.save)
    return well


def main() -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # workers are ended on this way too
    given = arguments()
    names = chosen(given.only)
    if given.source:
        sys.exit(not conclude(given, json.loads(Path(given.source).read_text())))
    if given.nice is not None:
        os.environ["HEADRACE_BENCH_NICE"] = str(given.nice)
    with open(given.log, "ab") as log:
        run = Run(given, log)
        run.all(names)
    if run.results["notes"]:
        print(f"what went wrong is in {given.log}")
    sys.exit(not conclude(given, run.results))


if __name__ == "__main__":
    main()
