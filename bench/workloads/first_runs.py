"""What costs at its first run: many conditionals, a long loop, an unrolled network; and steps with work that
stays on the host: files of images, arrays that grow, rows that a loop gathers."""

from __future__ import annotations

from typing import Any

import numpy as np

from bench.workloads import values
from bench.workloads.program import Program, Step
from bench.workloads.sizes import Sizes


def conds(tf: Any, size: Sizes) -> Step:
    """Conditionals, each on what the one before gave."""
    program = Program(tf)
    with program.building():
        x, y = tf.placeholder(tf.float32, [4]), None
        y = x
        for _ in range(size.firsts.conds):
            y = tf.cond(y[0] < 1e9, lambda y=y: y * 0.5 + 1.0, lambda y=y: y - 1.0)
        total = tf.reduce_sum(y)
    run, feeds = program.start().run, {x: np.ones(4, np.float32)}
    return Step(lambda: run(total, feeds), close=program.session.close)


def long_loop(tf: Any, size: Sizes) -> Step:
    """Turns around two scalars."""
    program = Program(tf)
    with program.building():
        turns = tf.placeholder(tf.int32, [])
        _, last = tf.while_loop(lambda i, v: i < turns, lambda i, v: (i + 1, v * 0.5 + 1.0), [0, 1.0])
    run, feeds = program.start().run, {turns: size.firsts.turns}
    return Step(lambda: run(last, feeds), close=program.session.close)


def unrolled_network(tf: Any, size: Sizes) -> Step:
    """A training step of an LSTM without any loop, of plain ops: a graph of many small nodes."""
    s, program = size.firsts, Program(tf)
    with program.building():
        x = tf.placeholder(tf.float32, [s.steps, s.batch, s.width])
        shape = (2 * s.width, 4 * s.width)
        kernel = program.variable("kernel", shape, lambda: values.uniform("kernel", shape, 0.05))
        bias = program.filled("bias", 4 * s.width, 0.0)
        hidden = kept = tf.zeros([s.batch, s.width])
        for seen in tf.unstack(x):
            gates = tf.nn.bias_add(tf.matmul(tf.concat([seen, hidden], 1), kernel), bias)
            enter, new, forget, out = tf.split(gates, 4, 1)
            kept = kept * tf.sigmoid(forget + 1.0) + tf.sigmoid(enter) * tf.tanh(new)
            hidden = tf.tanh(kept) * tf.sigmoid(out)
        loss = tf.reduce_mean(tf.square(hidden - 1.0))
        train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    feeds = {x: values.uniform("sequences", (s.steps, s.batch, s.width), 1.0)}
    return program.training(loss, train, lambda: feeds)


def gather_in_loop(tf: Any, size: Sizes) -> Step:
    """The gradient of a table whose rows a loop gathers, one by one."""
    s, program = size.firsts, Program(tf)
    with program.building():
        table = tf.placeholder(tf.float32, [s.rows, s.width])
        places = tf.placeholder(tf.int32, [s.gathers])
        _, last = tf.while_loop(
            lambda i, v: i < s.gathers,
            lambda i, v: (i + 1, tf.tanh(v + tf.gather(table, places[i]))),
            [0, tf.zeros([s.width])],
        )
        slope = tf.gradients(tf.reduce_sum(last), table)[0]
        total = tf.reduce_sum(tf.convert_to_tensor(slope))
    feeds = {
        table: values.uniform("table", (s.rows, s.width), 1.0),
        places: values.generator("places").integers(0, s.rows, s.gathers).astype(np.int32),
    }
    run = program.start().run
    return Step(lambda: run(total, feeds), close=program.session.close)


def sampler(tf: Any, size: Sizes) -> Step:
    """GPT-2's sampler: in every turn a word is chosen and appended, and what the layers saw is kept."""
    s, program = size.firsts, Program(tf)
    with program.building():
        words = program.variable(
            "words", (s.vocabulary, s.wide), lambda: values.uniform("words", (s.vocabulary, s.wide), 0.1)
        )
        mixes = [
            program.variable(
                name, (s.wide, 3 * s.wide), lambda n=name: values.uniform(n, (s.wide, 3 * s.wide), 0.1)
            )
            for name in (f"mix{i}" for i in range(s.layers))
        ]
        first = tf.placeholder(tf.int32, [1, 1])

        def turn(tokens: Any, past: Any) -> tuple[Any, Any]:
            hidden, seen = tf.nn.embedding_lookup(words, tokens[:, -1:]), []
            for i, mix in enumerate(mixes):
                q, k, v = tf.split(tf.tensordot(hidden, mix, 1), 3, axis=2)
                k = tf.concat([past[:, i, 0], k], 1)
                v = tf.concat([past[:, i, 1], v], 1)
                seen.append(tf.stack([k, v], 1))
                hidden = hidden + tf.matmul(tf.nn.softmax(tf.matmul(q, k, transpose_b=True)), v)
            logits = tf.matmul(hidden[:, 0], words, transpose_b=True)
            word = tf.cast(tf.argmax(logits, 1), tf.int32)[:, None]
            return tf.concat([tokens, word], 1), tf.stack(seen, 1)

        tokens, _ = tf.while_loop(
            lambda tokens, past: tf.shape(tokens)[1] < s.said,
            turn,
            [first, tf.zeros([1, s.layers, 2, 0, s.wide])],
            shape_invariants=[tf.TensorShape([1, None]), tf.TensorShape([1, s.layers, 2, None, s.wide])],
            back_prop=False,
        )
        total = tf.cast(tf.reduce_sum(tokens), tf.float32)
    run, feeds = program.start().run, {first: np.ones((1, 1), np.int32)}
    return Step(lambda: run(total, feeds), close=program.session.close)


def jpeg_decode(tf: Any, size: Sizes) -> Step:
    """Files of pictures, one after the other."""
    s, program = size.firsts, Program(tf)
    walk = np.cumsum(values.generator("picture").normal(0, 6, (s.side, s.side, 3)), 1) + 128
    with program.building():
        picture = tf.placeholder(tf.uint8, [None, None, 3])
        file = tf.placeholder(tf.string, [])
        made = tf.image.encode_jpeg(picture, quality=90)
        pixels = tf.image.decode_jpeg(file, 3)
    session = program.start()
    feeds = {file: session.run(made, {picture: np.clip(walk, 0, 255).astype(np.uint8)})}

    def step() -> None:
        session.run(pixels, feeds)

    return Step(step, check=lambda: float(session.run(pixels, feeds).mean()), close=session.close)
