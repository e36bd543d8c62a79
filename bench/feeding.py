"""Queues, tables and training loops beside TensorFlow 2.21, by turns: what it costs to feed and drive a step.

python -m bench.feeding                needs HEADRACE_TF_PYTHON, an interpreter with TensorFlow
python -m bench.feeding --only tables  some of them
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from bench.pipelines import by_turns

TITLES = {
    "queue": "enqueue and dequeue a row of 784 floats, round trips",
    "batches": "enqueue_many and dequeue_many of 100 rows, round trips",
    "tables": "look-ups of strings among 1,000,000, 10,000 a step: keys",
    "small": "look-ups of strings among 1,000, 100 a step: steps",
    "hooks": "steps of a MonitoredTrainingSession with checkpoints and summaries",
    "plain": "the same steps in a Session",
    "fed": "training steps of an MLP whose batches come from shuffle, map, batch, prefetch",
    "unfed": "the same steps on a constant batch",
}
SECONDS = 0.6  # that one measurement takes


def per_second(step: Callable[[], Any], count: int = 1) -> tuple[float, float]:
    """How often a second it runs: of CPU time, of the clock."""
    for _ in range(30):
        step()
    done, cpu, clock = 0, time.process_time(), time.perf_counter()
    while time.perf_counter() - clock < SECONDS:
        for _ in range(10):
            step()
        done += 10
    return done * count / (time.process_time() - cpu), done * count / (time.perf_counter() - clock)


def queue(tf: Any, rows: int | None) -> tuple[float, float]:
    found = tf.FIFOQueue(200, [tf.float32], shapes=[[784]])
    value = tf.constant(np.ones([784] if rows is None else [rows, 784], np.float32))
    put = found.enqueue(value) if rows is None else found.enqueue_many(value)
    take = (found.dequeue() if rows is None else found.dequeue_many(rows)).op
    with tf.Session() as session:
        first, second = session.make_callable(put), session.make_callable(take)

        def trip() -> None:
            first()
            second()

        return per_second(trip)


def lookups(tf: Any, keys: int, each: int) -> tuple[float, float]:
    words = np.array([f"word-{i}" for i in range(keys)], object)
    table = tf.lookup.StaticHashTable(
        tf.lookup.KeyValueTensorInitializer(words, np.arange(keys, dtype=np.int64)), -1
    )
    asked = np.random.RandomState(0).choice(words, each)
    with tf.Session() as session:
        asked_for = tf.Variable(asked, trainable=False)
        session.run(
            [table.initializer if hasattr(table, "initializer") else table._initializer.initialize(table)]
        )
        session.run(asked_for.initializer)
        return per_second(session.make_callable(table.lookup(asked_for).op), each if keys > 1000 else 1)


def network(tf: Any, x: Any, y: Any) -> Any:
    """A training step."""
    for width in (256, 128):
        size = int(x.shape[1])
        w = tf.Variable(tf.random_normal([size, width], stddev=0.05, seed=1))
        x = tf.nn.relu(tf.matmul(x, w))
    out = tf.matmul(x, tf.Variable(tf.zeros([128, 10])))
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=out))
    step = tf.train.get_or_create_global_step()
    return tf.train.GradientDescentOptimizer(0.01).minimize(loss, global_step=step)


def training(tf: Any, is_fed: bool) -> tuple[float, float]:
    rows, labels = np.random.RandomState(0).rand(10000, 784).astype(np.float32), np.arange(10000) % 10
    if is_fed:
        data = tf.data.Dataset.from_tensor_slices((rows, labels.astype(np.int32))).shuffle(5000, seed=1)
        data = data.map(lambda x, y: (x * 0.5, y)).repeat().batch(200, drop_remainder=True).prefetch(2)
        iterator = tf.data.make_initializable_iterator(data)
        x, y = iterator.get_next()
        start = iterator.initializer
    else:
        x, y = tf.constant(rows[:200]), tf.constant(labels[:200].astype(np.int32))
        start = tf.no_op()
    train = network(tf, x, y)
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), start])
        return per_second(session.make_callable(train))


def steps(tf: Any, is_monitored: bool) -> tuple[float, float]:
    """Steps that do next to nothing."""
    add = tf.assign_add(tf.train.get_or_create_global_step(), 1).op
    with tempfile.TemporaryDirectory() as folder:
        if is_monitored:
            session = tf.train.MonitoredTrainingSession(checkpoint_dir=folder)
        else:
            session = tf.Session()
            session.run(tf.global_variables_initializer())
        with session:
            return per_second(lambda: session.run(add))


MEASURES: dict[str, Callable[[Any], tuple[float, float]]] = {
    "queue": lambda tf: queue(tf, None),
    "batches": lambda tf: queue(tf, 100),
    "tables": lambda tf: lookups(tf, 1_000_000, 10_000),
    "small": lambda tf: lookups(tf, 1000, 100),
    "hooks": lambda tf: steps(tf, True),
    "plain": lambda tf: steps(tf, False),
    "fed": lambda tf: training(tf, True),
    "unfed": lambda tf: training(tf, False),
}


def measure(which: str, name: str) -> tuple[float, float]:
    """In this process: `which` is ours or TensorFlow."""
    if which == "ours":
        import headrace as tf
    else:
        os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
        import tensorflow.compat.v1 as tf  # type: ignore[no-redef]

        tf.disable_v2_behavior()
    tf.logging.set_verbosity(tf.logging.ERROR)
    with tf.Graph().as_default():
        return MEASURES[name](tf)


def table(found: dict[str, dict[str, Any]]) -> str:
    lines = ["| what | ours / s | TensorFlow / s | CPU | clock |", "|---|---|---|---|---|"]
    clocks = {}
    for name, both in found.items():
        cpu = {w: statistics.median(x[0] for x in rounds) for w, rounds in both.items()}
        clock = clocks[name] = {w: statistics.median(x[1] for x in rounds) for w, rounds in both.items()}
        lines.append(
            f"| {TITLES[name]} | {clock['ours']:,.0f} | {clock['tensorflow']:,.0f} | "
            f"{cpu['ours'] / cpu['tensorflow']:.1f}x | {clock['ours'] / clock['tensorflow']:.1f}x |"
        )
    for what, slow, fast in (("hooks add", "hooks", "plain"), ("input adds", "fed", "unfed")):
        if slow in clocks and fast in clocks:
            more = {w: 1e6 / clocks[slow][w] - 1e6 / clocks[fast][w] for w in clocks[slow]}
            share = {w: more[w] * clocks[fast][w] / 1e4 for w in more}
            lines.append(
                f"\n{what} per step: " + ", ".join(f"{w} {more[w]:.0f} us ({share[w]:.0f} %)" for w in more)
            )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", choices=TITLES)
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(measure(*given.one[:2])))
        return
    print(table(by_turns("bench.feeding", given.only or list(TITLES), "")))


if __name__ == "__main__":
    main()
