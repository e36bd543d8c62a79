"""Results as tables of Markdown, and into the places that a document keeps for them.

A place begins with `<!-- table: NAME -->` and ends with `<!-- end -->`; the text around stays."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from bench import goals
from bench.frameworks import INTERPRETERS, MACHINE, OURS, TITLES
from bench.rounds import disagreement, measured

PLACE = re.compile(r"(<!-- table: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
Results = dict[str, Any]
STARTUP_PARTS = {
    "import": "import",
    "build": "build",
    "first": "first step",
    "total": "from process start",
    "second": "second step",
    "cpu": "CPU until the first step is done",
}


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    head = list(head)
    lines = [head, ["---"] * len(head), *map(list, rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def seconds(value: float) -> str:
    for limit, factor, unit in ((1e-3, 1e6, "us"), (1, 1e3, "ms")):
        if value < limit:
            return f"{value * factor:.3g} {unit}"
    return f"{value:.3g} s"


def small(value: float | None) -> str:
    return "" if value is None else f"{value:.0e}"


def frameworks_in(rows: dict[str, Any]) -> list[str]:
    present = {name for row in rows.values() for name in row}
    return [name for name in (OURS, *INTERPRETERS) if name in present]


def steps_table(results: Results) -> str:
    steps = results["steps"]
    names = frameworks_in(steps)
    head = ["workload", *(TITLES[n] for n in names), "ours / best", "goal", "holds", "agree"]

    def row(workload: str) -> list[str]:
        figures, verdict = measured(steps[workload]), goals.step_verdict(workload, steps)
        times = [seconds(figures[n]["median"]) if n in figures else "" for n in names]
        part = goals.share(workload, steps)
        agree = small(disagreement(steps[workload]))
        ours = "" if part is None else f"{part:.2f}"
        return [f"`{workload}`", *times, ours, verdict.goal, verdict.word, agree]

    return table(head, map(row, steps))


def rates_table(results: Results) -> str:
    """GFLOP/s of what is made of matrix products, and the part of the machine's rate."""
    steps = results["steps"]
    names, rate = frameworks_in(steps), goals.gemm_rate(steps)

    def figure(figures: dict[str, Any], flops: float) -> str:
        speed = flops / figures["median"]
        return f"{speed / 1e9:.0f}" + (f" ({100 * speed / rate:.0f} %)" if rate else "")

    rows = []
    for workload, row in steps.items():
        flops = row.get(OURS, {}).get("flops")
        if flops:
            rest = measured(row)
            cells = [figure(rest[n], flops) if n in rest else "" for n in names]
            rows.append([f"`{workload}`", f"{flops / 1e9:.3g}", *cells])
    return table(["workload", "GFLOP", *(TITLES[n] for n in names)], rows)


def startup_table(results: Results) -> str:
    titles = {"cold": "Headrace, empty cache", "warm": "Headrace, warm cache"} | TITLES
    rows = []
    for workload, row in results.get("startup", {}).items():
        for name, parts in row.items():
            if parts:
                goal = goals.STARTUP.get((workload, name))
                wanted = f"{goal:g} s" if goal else ""
                if (workload, name) in goals.FIRST:
                    wanted = f"{goals.FIRST[workload, name]:g} of TensorFlow's CPU time"
                cells = [f"{parts[part]:.2f} s" for part in STARTUP_PARTS if part in parts]
                rows.append([f"`{workload}`", titles[name], *cells, wanted])
    return table(["workload", "framework", *STARTUP_PARTS.values(), "goal"], rows)


def memory_table(results: Results) -> str:
    rows = []
    for workload, row in results.get("memory", {}).items():
        for name, figures in row.items():
            cells = [f"{figures[key]:.0f}" for key in ("before", "most", "steps")]
            rows.append([f"`{workload}`", TITLES[name], *cells])
    return table(["workload", "framework", "before, MB", "most ever, MB", "later steps, MB"], rows)


def loops_table(results: Results) -> str:
    rows = [
        [f"`{name}`", seconds(sorted(times)[len(times) // 2]), ""]
        for name, times in results.get("lengths", {}).items()
    ]
    rows += [
        [f"`{name}`", "", f"{figures['added']:.0f} MB"]
        for name, figures in results.get("loop_memory", {}).items()
    ]
    return table(["program", "step", "steps add"], rows)


def verdicts_table(results: Results) -> str:
    """Every goal that was judged and does not hold; or that there is none."""
    verdicts = goals.all_verdicts(results)
    judged = {n: v for n, v in verdicts.items() if v.holds is not None}
    missed = {n: v for n, v in judged.items() if not v.holds}
    text = f"{len(judged) - len(missed)} of {len(judged)} goals hold.\n"
    if missed:
        rows = [[n, v.figure, v.goal] for n, v in missed.items()]
        text += "\n" + table(["missed", "figure", "goal"], rows)
    return text


def machine_table(results: Results) -> str:
    facts = dict(results["machine"])
    rate = goals.gemm_rate(results["steps"])
    if rate:
        facts["matrix products of NumPy"] = f"{rate / 1e9:.0f} GFLOP/s"
    versions = {n: v for n, v in results["versions"].items() if n != MACHINE}
    facts |= {TITLES[n]: v for n, v in versions.items() if n not in ("torch_cl", "torch_compile")}
    return table(["", ""], ([name, str(fact)] for name, fact in facts.items()))


TABLES: dict[str, Callable[[Results], str]] = {
    "machine": machine_table,
    "verdicts": verdicts_table,
    "steps": steps_table,
    "rates": rates_table,
    "startup": startup_table,
    "memory": memory_table,
    "loops": loops_table,
}


def write(results: Results, path: str) -> None:
    """Fill the places of an existing document, or write a new one of tables alone."""
    file = Path(path)
    if file.exists() and PLACE.search(file.read_text()):
        fill = lambda place: place[1] + TABLES[place[2]](results) + place[3]
        file.write_text(PLACE.sub(fill, file.read_text()))
    else:
        file.write_text("\n".join(f"## {n}\n\n{make(results)}" for n, make in TABLES.items()))


def line(workload: str, steps: dict[str, Any]) -> str:
    """One workload on the screen."""
    ours, best = measured(steps[workload]).get(OURS), goals.best_peer(workload, steps)
    verdict, part = goals.step_verdict(workload, steps), goals.share(workload, steps)
    text = f"{workload:<18}{seconds(ours['median']) if ours else 'no result':>10}"
    text += f"{seconds(best[1]['median']) + ' ' + best[0]:>22}" if best else " " * 22
    text += f"{part:>7.2f}" if part is not None else " " * 7
    text += f"  goal {verdict.goal:<6} {verdict.word:<4}"
    agree = disagreement(steps[workload])
    return text + (f" agree {small(agree)}" if agree is not None else "")
