"""A framework's process: builds workloads and times them, on command.

    python -m bench.worker NAME serve [tiny]            obeys lines of JSON: setup, burst, drop, quit
    python -m bench.worker NAME first WORKLOAD [tiny]   one step from a fresh start, then ends
    python -m bench.worker NAME memory WORKLOAD [tiny]  what a step takes, then ends

Every answer is one line of JSON; whatever a framework prints goes to the log."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import statistics
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from typing import Any

now = time.perf_counter
STARTED = now()

from bench import frameworks  # noqa: E402  (the clock starts before anything is imported)
from bench.workloads.program import Step  # noqa: E402
from bench.workloads.sizes import BY_NAME, WORKLOADS, Effort, Sizes  # noqa: E402

SHORT = 2e-4  # steps below this are timed in groups of about a millisecond
LOSSES = 5


class Server:
    def __init__(self, builders: dict[str, Callable[[Sizes], Step]], size: Sizes) -> None:
        self.builders, self.size = builders, size
        self.built: dict[str, Step] = {}

    def setup(self, workload: str) -> dict[str, Any]:
        """Build, warm up.  Warnings are part of the answer: one says that a region runs uncompiled."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UserWarning)
            answer = self.warmed_up(workload)
        return {**answer, "warnings": sorted({str(w.message) for w in caught})}

    def warmed_up(self, workload: str) -> dict[str, Any]:
        begin = now()
        step = self.builders[workload](self.size)
        built = now()
        losses = [step.run()]
        first = now()
        warm = WORKLOADS[workload].warm if workload in WORKLOADS else 3
        losses += [step.run() for _ in range(warm - 1)]
        kept = [step.check()] if step.check else losses[:LOSSES]
        self.built[workload] = step
        return {
            "build": built - begin,
            "first": first - built,
            "flops": step.flops,
            "losses": [float(loss) for loss in kept if loss is not None],
        }

    def burst(self, workload: str) -> dict[str, Any]:
        return timed(self.built[workload].run, WORKLOADS.get(workload, Effort("", 0.3, 3)))

    def drop(self, workload: str) -> dict[str, Any]:
        step = self.built.pop(workload, None)
        if step:
            step.close()
        del step
        gc.collect()
        return {}

    def answer(self, line: str) -> dict[str, Any]:
        """Whatever goes wrong is an answer too: the other frameworks go on."""
        asked = json.loads(line)
        try:
            return getattr(self, asked.pop("do"))(**asked)
        except Exception as problem:
            traceback.print_exc()
            return {"error": f"{type(problem).__name__}: {str(problem)[:300]}"}


def timed(run: Callable[[], Any], effort: Effort) -> dict[str, Any]:
    """The median step of one burst."""
    begin = now()
    run()
    once = now() - begin
    group = 1 if once > SHORT else max(1, int(1e-3 / max(once, 1e-7)))
    times = [once] if group == 1 else []
    end, steps = begin + effort.seconds, len(times)
    while not times or (steps < effort.most and now() < end):
        start = now()
        for _ in range(group):
            run()
        times.append((now() - start) / group)
        steps += group
    return {"median": statistics.median(times), "steps": steps}


def first(build: Callable[[Sizes], Step], size: Sizes) -> dict[str, float]:
    """Parts of the time to the first step; and the second, which may be the one that compiles."""
    imported, before = now(), time.process_time()
    step = build(size)
    built = now()
    step.run()
    done, after = now(), time.process_time()
    step.run()
    return {
        "cpu": after - before,
        "import": imported - STARTED,
        "build": built - imported,
        "first": done - built,
        "second": now() - done,
    }


def memory(build: Callable[[Sizes], Step], size: Sizes) -> dict[str, float]:
    """Megabytes: resident before the first step, at most ever, at most in steps after the second."""
    step = build(size)
    gc.collect()
    before = status("VmRSS")
    step.run()
    step.run()
    most = status("VmHWM")
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")  # the high-water mark starts anew
    step.run()
    step.run()
    later = status("VmHWM")
    return {"before": before, "most": max(most, later), "steps": later}


def status(field: str) -> float:
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) / 1024 for line in file if line.startswith(field))


def raise_priority(wanted: str) -> None:
    """On a shared machine.  Linux weighs sessions first, and each worker is a session of its own."""
    with contextlib.suppress(OSError), open("/proc/self/autogroup", "w") as file:
        file.write(wanted)
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, int(wanted))


def main(name: str, task: str, *words: str) -> None:
    raise_priority(os.environ.get("HEADRACE_BENCH_NICE", "0"))
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def say(answer: dict[str, Any]) -> None:
        print(json.dumps(answer), file=out, flush=True)

    version, builders = frameworks.load(name)
    size = BY_NAME["tiny" if words[-1:] == ("tiny",) else "full"]
    if task == "serve":
        server = Server(builders, size)
        say({"version": version, "has": sorted(builders)})
        for line in sys.stdin:
            if json.loads(line)["do"] == "quit":
                break
            say(server.answer(line))
    else:
        say({"first": first, "memory": memory}[task](builders[words[0]], size))
    os._exit(0)  # no framework's threads can hold the process


if __name__ == "__main__":
    main(*sys.argv[1:])
