"""What the path itself costs: steps with next to nothing to compute."""

from __future__ import annotations

import tempfile
from typing import Any

import numpy as np

from bench.workloads.program import Program, Step
from bench.workloads.sizes import Sizes


def null_step(tf: Any, size: Sizes) -> Step:
    """Count up by one; nothing is fed."""
    program = Program(tf)
    with program.building():
        counter = tf.get_variable("counter", [], initializer=tf.zeros_initializer())
        count = tf.assign_add(counter, 1.0)
    run = program.start().run
    return Step(lambda: run(count), close=program.session.close)


def null_feed(tf: Any, size: Sizes) -> Step:
    """Add one to what is fed."""
    program = Program(tf)
    with program.building():
        x = tf.placeholder(tf.float32, [])
        y = x + 1.0
    run = program.start().run
    return Step(lambda: run(y, {x: 2.0}), close=program.session.close)


def monitored(tf: Any, size: Sizes) -> Step:
    """Count up by one in a training session that saves, sums up, counts steps and will stop at one."""
    program, folder = Program(tf), tempfile.TemporaryDirectory()
    tf.logging.set_verbosity(tf.logging.ERROR)
    with program.building():
        count = tf.assign_add(tf.train.get_or_create_global_step(), 1)
        hooks = [tf.train.StopAtStepHook(last_step=10**12)]
        session = tf.train.MonitoredTrainingSession(checkpoint_dir=folder.name, hooks=hooks)

    def close() -> None:
        with program.building():
            session.close()
        folder.cleanup()

    return Step(lambda: session.run(count), close=close)


def wide(tf: Any, size: Sizes) -> Step:
    """Many additions that do not depend on one another."""
    program = Program(tf)
    with program.building():
        x = tf.placeholder(tf.float32, [])
        total = tf.reduce_sum(tf.stack([x + float(i) for i in range(size.many)]))
    run, feeds = program.start().run, {x: np.float32(1.5)}
    return Step(lambda: run(total, feeds), close=program.session.close)


def chain(tf: Any, size: Sizes) -> Step:
    """Many multiplications and additions, each waiting for the one before."""
    program = Program(tf)
    with program.building():
        x, a, b = (tf.placeholder(tf.float32, []) for _ in range(3))
        y = x
        for _ in range(size.many // 2):
            y = y * a + b
    run = program.start().run
    feeds = {x: np.float32(1.5), a: np.float32(0.999), b: np.float32(0.001)}
    return Step(lambda: run(y, feeds), close=program.session.close)
