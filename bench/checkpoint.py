"""Saving and restoring 1 GB: against writing and reading those bytes, and against TensorFlow's Saver where
HEADRACE_TF_PYTHON names an interpreter that has it.  One line each: name, value, goal.

    python bench/checkpoint.py [FOLDER] [MEGABYTES]
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np

ROUNDS = 5
COUNT = 8  # variables
PEER = """
import json, os, sys, time
import numpy as np
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow.compat.v1 as tf
tf.disable_eager_execution()
folder, size, count = sys.argv[1], *map(int, sys.argv[2:])
values = [tf.get_variable(f"v{i}", [size], use_resource=False) for i in range(count)]
saver, session = tf.train.Saver(max_to_keep=None), tf.Session()
session.run(tf.global_variables_initializer())
def timed(call):
    begin = time.perf_counter(); call(); return time.perf_counter() - begin
def save():
    saver.save(session, folder + "/tf", write_meta_graph=False)
    for name in os.listdir(folder):
        if name.startswith("tf."):
            with open(folder + "/" + name) as file: os.fsync(file.fileno())
def clear():
    for name in os.listdir(folder):
        if name.startswith("tf."): os.remove(folder + "/" + name)
print("ready", flush=True)
for line in sys.stdin:
    times = [timed(save), timed(lambda: saver.restore(session, folder + "/tf"))]
    clear()
    print(json.dumps(times), flush=True)
"""


def timed(call: Callable[[], Any]) -> float:
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


def line(name: str, value: float, unit: str, goal: str = "") -> None:
    print(f"{name:<44}{value:>10.2f} {unit:<4} {'goal ' + goal if goal else ''}", flush=True)


def raw(folder: str, array: Any) -> tuple[float, float]:
    """Seconds to write the bytes and bring them to the disk, and to read them."""
    path = folder + "/raw"

    def write() -> None:
        with open(path, "wb", buffering=0) as file:
            for _ in range(COUNT):
                file.write(array)
            os.fsync(file.fileno())

    def read() -> None:
        out = np.empty(COUNT * array.nbytes, np.uint8)
        with open(path, "rb", buffering=0) as file:
            done = 0
            while done < out.size:
                done += file.readinto(memoryview(out)[done:])

    times = timed(write), timed(read)
    os.remove(path)
    return times


def peak() -> int:
    """The most memory that this process has had since `reset_peak`, in kB (Linux)."""
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM"))


def reset_peak() -> int:
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")
    return peak()


def clear(folder: str) -> None:
    for name in os.listdir(folder):
        os.remove(f"{folder}/{name}")


class Peer:
    """TensorFlow's Saver in a process of its own, which saves and restores when it is told to."""

    def __init__(self, python: str, folder: str, size: int) -> None:
        self.process = subprocess.Popen(
            [python, "-c", PEER, folder, str(size), str(COUNT)],
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        assert self._line() == "ready\n"

    def _line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def round(self) -> list[float]:
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        times: list[float] = json.loads(self._line())
        return times

    def close(self) -> None:
        self.process.communicate()


def main() -> None:
    folder = tempfile.mkdtemp(dir=sys.argv[1] if len(sys.argv) > 1 else None)
    megabytes = int(sys.argv[2]) if len(sys.argv) > 2 else 1000
    size = megabytes * 10**6 // 4 // COUNT
    import headrace as tf

    for i in range(COUNT):
        tf.get_variable(f"v{i}", [size])
    saver = tf.train.Saver(max_to_keep=None)
    python = os.environ.get("HEADRACE_TF_PYTHON")
    peer = Peer(python, folder, size) if python else None
    try:
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            array = session.run("v0:0")
            before = reset_peak()
            path = folder + "/model"
            rows = []  # seconds of one round: ours, raw, the peer's; writing and reading
            for i in range(ROUNDS):
                save = timed(lambda: saver.save(session, path, write_meta_graph=False))
                if i == 0:
                    after = peak()
                load = timed(lambda: saver.restore(session, path))
                clear(folder)  # as the others begin: with no file of theirs
                rows.append([save, load, *raw(folder, array), *(peer.round() if peer else ())])
        show(megabytes, [list(column) for column in zip(*rows)], (after - before) / 1024)
    finally:
        if peer:
            peer.close()
        shutil.rmtree(folder)


def show(megabytes: int, columns: list[list[float]], memory: float) -> None:
    """Times, and the median of what they are to the others' in the same round."""
    saves, loads, writes, reads, *theirs = columns
    line(f"write {megabytes} MB and sync", min(writes), "s")
    line("save", min(saves), "s")
    line("save / write", ratio(saves, writes), "", "<= 1.3")
    line("memory while saving", memory, "MB", "<= 64")
    line(f"read {megabytes} MB", min(reads), "s")
    line("restore", min(loads), "s")
    line("restore / read", ratio(loads, reads), "", "<= 1.3")
    if theirs:
        line("TensorFlow, save and sync", min(theirs[0]), "s")
        line("TensorFlow, restore", min(theirs[1]), "s")
        line("save / TensorFlow's", ratio(saves, theirs[0]), "", "< 1")
        line("restore / TensorFlow's", ratio(loads, theirs[1]), "", "< 1")


def ratio(ours: list[float], theirs: list[float]) -> float:
    return statistics.median(a / b for a, b in zip(ours, theirs))


if __name__ == "__main__":
    main()
