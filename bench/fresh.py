"""What only a fresh process shows: the time to its first step, and the memory that steps take."""

from __future__ import annotations

import statistics
import tempfile
from typing import IO, Any

from bench import frameworks, goals
from bench.rounds import Tell
from bench.workers import Lost, once

PATIENCE = 240.0  # seconds
STARTUP = ("softmax_mnist", "googlenet")
FIRST = tuple(dict.fromkeys(name for name, _ in goals.FIRST))  # beside TensorFlow alone
MEMORY = ("vgg_a", "alexnet")
LOOPS = ("backward_looped", "backward_unrolled")
NO_STARTUP = ("torch_cl", "torch_compile")
Figures = dict[str, dict[str, Any]]


def startup(peers: list[str], size: str, log: IO[bytes], tell: Tell, note: Tell) -> dict[str, Figures]:
    """Per workload and framework: parts of the time to the first step, in the middle of the repeats.

    For headrace twice: with an empty cache of kernels, then with the one that this filled."""
    results: dict[str, Figures] = {}
    for workload in (*STARTUP, *FIRST):
        row = results[workload] = {}
        words = ["first", workload, size]
        for name in [n for n in peers if n == "tf" or (workload in STARTUP and n not in NO_STARTUP)]:
            tell(f"startup of {workload}: {name}")
            runs = repeat(name, words, log, note, 2 if workload == "softmax_mnist" else 1)
            row[name] = middle(runs)
        tell(f"startup of {workload}: {frameworks.OURS}")
        cold, warm = [], []
        for _ in range(3 if workload in STARTUP else 1):
            with tempfile.TemporaryDirectory() as folder:
                cold += repeat(frameworks.OURS, words, log, note, 1, HEADRACE_CACHE=folder)
                warm += repeat(frameworks.OURS, words, log, note, 1, HEADRACE_CACHE=folder)
        row["cold"], row["warm"] = middle(cold), middle(warm)
    return results


def repeat(
    name: str, words: list[str], log: IO[bytes], note: Tell, times: int, **variables: str
) -> list[dict[str, float]]:
    runs = []
    for _ in range(times):
        try:
            runs.append(once(name, words, log, PATIENCE, **variables))
        except Lost as lost:
            note(str(lost))
    return runs


def middle(runs: list[dict[str, float]]) -> dict[str, float]:
    return {key: statistics.median(run[key] for run in runs) for key in (runs[0] if runs else ())}


def memory(peers: list[str], size: str, log: IO[bytes], tell: Tell, note: Tell) -> dict[str, Figures]:
    results: dict[str, Figures] = {}
    for workload in MEMORY:
        results[workload] = {}
        for name in [frameworks.OURS, *peers]:
            tell(f"memory of {workload}: {name}")
            runs = repeat(name, ["memory", workload, size], log, note, 1)
            results[workload] |= {name: runs[0]} if runs else {}
    return results


def loop_memory(size: str, log: IO[bytes], tell: Tell, note: Tell) -> Figures:
    """Megabytes that steps add to what was there before the first: with kernels compiled beforehand,
    so that the compiler's own memory is no part of it."""
    results: Figures = {}
    for workload in LOOPS:
        tell(f"memory of {workload}")
        words = ["memory", workload, size]
        runs = repeat(frameworks.OURS, words, log, note, 2)[1:]
        if runs:
            results[workload] = {**runs[0], "added": runs[0]["steps"] - runs[0]["before"]}
    return results
