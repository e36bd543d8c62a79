"""The costs of the path itself: import, building, an empty step.  One line each: name, value, goal."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np


def cpu_of(code: str) -> float:
    """CPU seconds of a fresh interpreter that runs `code`."""
    program = f"{code}\nimport resource as r; u = r.getrusage(r.RUSAGE_SELF); print(u.ru_utime + u.ru_stime)"
    runs = [
        float(
            subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
        )
        for _ in range(5)
    ]
    return min(runs)


def micro(call: Callable[[], object], rounds: int = 7, count: int = 2000) -> float:
    """Microseconds of one call: the median over rounds of the mean within a round."""
    call()
    times = []
    for _ in range(rounds):
        begin = time.perf_counter()
        for _ in range(count):
            call()
        times.append((time.perf_counter() - begin) / count * 1e6)
    return statistics.median(times)


def line(name: str, value: float, unit: str, goal: str) -> None:
    print(f"{name:<44}{value:>10.2f} {unit:<4} goal {goal}", flush=True)


def main() -> None:
    line(
        "import headrace, CPU beyond numpy", cpu_of("import headrace") - cpu_of("import numpy"), "s", "<= 0.2"
    )
    import headrace as tf

    def build() -> None:
        with tf.Graph().as_default():
            x = tf.constant(1.0)
            for _ in range(10_000):
                x = tf.add(x, x)

    begin = time.perf_counter()
    build()
    line("build 10,000 nodes", time.perf_counter() - begin, "s", "< 1")
    with tf.Graph().as_default(), tf.Session() as session:
        nothing = tf.no_op()
        x = tf.placeholder(tf.float32, [None, 4])
        y = tf.identity(x)
        value = np.ones((2, 4), np.float32)
        line("null step, nothing fed", micro(lambda: session.run(nothing)), "us", "<= 20 (6 compiled)")
        line(
            "null step, one array fed and fetched",
            micro(lambda: session.run(y, {x: value})),
            "us",
            "<= 12 compiled",
        )


if __name__ == "__main__":
    main()
