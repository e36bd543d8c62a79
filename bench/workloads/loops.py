"""Loops: many turns around next to nothing; sequences of different lengths; a long backward pass."""

from __future__ import annotations

from typing import Any

import numpy as np

from bench.workloads import values
from bench.workloads.program import Program, Step
from bench.workloads.sizes import Sequences, Sizes


def while_loop(tf: Any, size: Sizes) -> Step:
    """A counter and a product of 8x8 matrices."""
    program = Program(tf)
    with program.building():
        x = tf.placeholder(tf.float32, [8, 8])
        shrink = tf.constant(0.9999 * np.eye(8, dtype=np.float32))
        _, last = tf.while_loop(
            lambda i, v: i < size.turns, lambda i, v: (i + 1, tf.matmul(v, shrink)), [tf.constant(0), x]
        )
        total = tf.reduce_sum(last)
    run, feeds = program.start().run, {x: np.ones((8, 8), np.float32)}
    return Step(lambda: run(total, feeds), close=program.session.close)


# What a batch of `lengths` holds, as parts of the padded length: (longest member, the others).
BATCHES = {
    "lengths_quarter": (0.25, 0.25),
    "lengths_half": (0.5, 0.5),
    "lengths_mixed": (1.0, 0.25),
    "lengths_full": (1.0, 1.0),
}


def lengths(tf: Any, size: Sizes, name: str) -> Step:
    """A training step of `dynamic_rnn` with `sequence_length`; the batch is always padded to the end."""
    s, (longest, others) = size.lengths, BATCHES[name]
    program = Program(tf)
    with program.building():
        x = tf.placeholder(tf.float32, [s.batch, None, s.hidden])
        steps = tf.placeholder(tf.int32, [s.batch])
        cell = tf.nn.rnn_cell.BasicLSTMCell(s.hidden)
        _, last = tf.nn.dynamic_rnn(cell, x, steps, dtype=tf.float32)
        loss, train = pull(tf, program, s, last.h)
    many = np.full(s.batch, int(s.steps * others), np.int32)
    many[0] = int(s.steps * longest)
    feeds = {x: values.uniform("sequences", (s.batch, s.steps, s.hidden), 1.0), steps: many}
    return program.training(loss, train, lambda: feeds)


def backward(tf: Any, size: Sizes, name: str) -> Step:
    """One long LSTM, as a loop or unrolled: what its backward pass keeps in memory."""
    s, program = size.long, Program(tf)
    with program.building():
        x = tf.placeholder(tf.float32, [s.steps, s.batch, s.hidden])
        cell = tf.nn.rnn_cell.BasicLSTMCell(s.hidden)
        if name == "backward_looped":
            _, last = tf.nn.dynamic_rnn(cell, x, dtype=tf.float32, time_major=True)
        else:
            _, last = tf.nn.static_rnn(cell, tf.unstack(x), dtype=tf.float32)
        loss, train = pull(tf, program, s, last.h)
    feeds = {x: values.uniform("sequences", (s.steps, s.batch, s.hidden), 1.0)}
    return program.training(loss, train, lambda: feeds)


def pull(tf: Any, program: Program, s: Sequences, last: Any) -> tuple[Any, Any]:
    """Push the last output towards one."""
    kernel, bias = tf.trainable_variables()
    shape = (2 * s.hidden, 4 * s.hidden)
    program.given.append((kernel, lambda: values.uniform("kernel", shape, s.scale)))
    program.given.append((bias, lambda: np.zeros(4 * s.hidden, np.float32)))
    loss = tf.reduce_mean(tf.square(last - 1.0))
    return loss, tf.train.GradientDescentOptimizer(0.1).minimize(loss)
