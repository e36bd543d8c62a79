"""Figures kept for another day: `--save` writes them, `--against` finds what became slower.

A time alone says nothing on another day.  What is kept is our time over that of the machine's own loop,
and over each peer's, taken in the same rounds, with the spread of the rounds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bench.frameworks import MACHINE, OURS
from bench.rounds import Row, measured

SLOWER = 1.15
Kept = dict[str, dict[str, list[float]]]  # workload, other one, least, median and largest ratio


def kept(steps: dict[str, Row]) -> Kept:
    result: Kept = {}
    for name, row in steps.items():
        row = measured(row)
        ours = row.pop(OURS, None)
        for other, figures in row.items() if ours else ():
            ratios = sorted(a / b for a, b in zip(ours["rounds"], figures["rounds"]))
            spread = [ratios[0], ratios[len(ratios) // 2], ratios[-1]]
            result.setdefault(name, {})[other] = spread
    return result


def save(steps: dict[str, Row], path: str) -> None:
    Path(path).write_text(json.dumps(kept(steps), indent=1) + "\n")


def slower(steps: dict[str, Row], path: str) -> dict[str, str]:
    """Workloads that became slower against everything they were compared with, and by how much.

    Slower means: by more than 15 %, and no round was as fast as the slowest of that day."""
    before, found = json.loads(Path(path).read_text()), {}
    for name, row in kept(steps).items():
        common = [other for other in row if other in before.get(name, {})]
        changes = {other: row[other][1] / before[name][other][1] for other in common}
        worse = [changes[o] > SLOWER and row[o][0] > before[name][o][2] for o in common]
        if common and all(worse):
            found[name] = ", ".join(f"{changes[o]:.2f} x ({title(o)})" for o in common)
    return found


def title(other: str) -> str:
    return "against a loop of the machine" if other == MACHINE else f"against {other}"


def summary(found: dict[str, Any], path: str) -> str:
    if not found:
        return f"nothing became slower since {path}"
    return "\n".join([f"slower than {path}:", *(f"  {n:<18} {text}" for n, text in found.items())])
