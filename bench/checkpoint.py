"""Saving and restoring 1 GB: against writing and reading those bytes, and against TensorFlow's Saver where
HEADRACE_TF_PYTHON names an interpreter that has it.  One line each: name, value, goal.

    python bench/checkpoint.py [FOLDER] [MEGABYTES]
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np

ROUNDS = 3
COUNT = 8  # variables
PEER = """
import json, os, sys, time
import numpy as np
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow.compat.v1 as tf
tf.disable_eager_execution()
folder, size, rounds, count = sys.argv[1], *map(int, sys.argv[2:])
values = [tf.get_variable(f"v{i}", [size], use_resource=False) for i in range(count)]
saver, session = tf.train.Saver(), tf.Session()
session.run(tf.global_variables_initializer())
def timed(call):
    begin = time.perf_counter(); call(); return time.perf_counter() - begin
def save():
    saver.save(session, folder + "/tf", write_meta_graph=False); os.sync()
print(json.dumps([[timed(save), timed(lambda: saver.restore(session, folder + "/tf"))]
                  for _ in range(rounds)]))
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


def main() -> None:
    folder = tempfile.mkdtemp(dir=sys.argv[1] if len(sys.argv) > 1 else None)
    megabytes = int(sys.argv[2]) if len(sys.argv) > 2 else 1000
    size = megabytes * 10**6 // 4 // COUNT
    import headrace as tf

    for i in range(COUNT):
        tf.get_variable(f"v{i}", [size])
    saver = tf.train.Saver()
    try:
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            array = session.run("v0:0")
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            path = folder + "/model"
            saves, loads, raws = [], [], []
            for i in range(ROUNDS):
                raws.append(raw(folder, array))
                saves.append(timed(lambda: saver.save(session, path, write_meta_graph=False)))
                if i == 0:
                    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
                loads.append(timed(lambda: saver.restore(session, path)))
        write, read = (min(column) for column in zip(*raws))
        line(f"write {megabytes} MB", write, "s")
        line("save", min(saves), "s", f"<= {1.3 * write:.2f}")
        line("memory while saving", (after - before) / 1024, "MB", "<= 64")
        line(f"read {megabytes} MB", read, "s")
        line("restore", min(loads), "s", f"<= {1.3 * read:.2f}")
        peer = os.environ.get("HEADRACE_TF_PYTHON")
        if peer:
            arguments = [peer, "-c", PEER, folder, str(size), str(ROUNDS), str(COUNT)]
            done = subprocess.run(arguments, capture_output=True, text=True, check=True)
            save, load = (min(column) for column in zip(*json.loads(done.stdout.splitlines()[-1])))
            line("TensorFlow, save and sync", save, "s")
            line("TensorFlow, restore", load, "s")
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
