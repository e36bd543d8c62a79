"""The language model of TensorFlow's PTB tutorial: two layers of LSTM, unrolled or as a loop."""

from __future__ import annotations

from typing import Any

import numpy as np

from bench.workloads import values
from bench.workloads.program import Program, Step
from bench.workloads.sizes import Sequences

LAYERS = 2
LONGEST_GRADIENT = 5.0


def unrolled(tf: Any, size: Sequences) -> Step:
    return language_model(tf, size, static_layers)


def looped(tf: Any, size: Sequences) -> Step:
    return language_model(tf, size, dynamic_layers)


def language_model(tf: Any, size: Sequences, layers: Any) -> Step:
    program, shape = Program(tf), (size.batch, size.steps)
    with program.building():
        inputs = tf.placeholder(tf.int32, shape)
        targets = tf.placeholder(tf.int32, shape)
        before = [tf.placeholder(tf.float32, [size.batch, size.hidden]) for _ in range(2 * LAYERS)]
        embedding = weights(program, "embedding", size, (size.vocabulary, size.hidden))
        outputs, after = layers(tf, size, tf.nn.embedding_lookup(embedding, inputs), before)
        adopt_cells(program, tf, size)
        w = weights(program, "softmax_w", size, (size.hidden, size.vocabulary))
        logits = tf.matmul(outputs, w) + program.filled("softmax_b", size.vocabulary, 0)
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(
            labels=tf.reshape(targets, [-1]), logits=logits
        )
        loss = tf.reduce_sum(losses) / size.batch
        variables = tf.trainable_variables()
        gradients = tf.gradients(loss, variables)
        clipped, _ = tf.clip_by_global_norm(gradients, LONGEST_GRADIENT)
        optimizer = tf.train.GradientDescentOptimizer(1.0)
        train = optimizer.apply_gradients(zip(clipped, variables))
    run, batch = program.start().run, values.forever(values.words(size))
    fetches, state = [loss, after, train], [np.zeros(before[0].shape.as_list(), np.float32)] * 4

    def step() -> float:
        """The state that a step ends with is the next one's first."""
        nonlocal state
        feeds = dict(zip([inputs, targets, *before], [*batch(), *state]))
        value, state, _ = run(fetches, feeds)
        return value / size.steps

    return Step(step, close=program.session.close, flops=flops(size))


def static_layers(tf: Any, size: Sequences, words: Any, before: list[Any]) -> tuple[Any, list[Any]]:
    """Outputs [batch * steps, hidden] and the last state; every step has nodes of its own."""
    cell = tf.nn.rnn_cell.MultiRNNCell([lstm(tf, size) for _ in range(LAYERS)])
    state = tuple(pair(tf, before, layer) for layer in range(LAYERS))
    outputs, state = tf.nn.static_rnn(cell, tf.unstack(words, axis=1), state)
    return tf.reshape(tf.concat(outputs, 1), [-1, size.hidden]), [x for s in state for x in s]


def dynamic_layers(tf: Any, size: Sequences, words: Any, before: list[Any]) -> tuple[Any, list[Any]]:
    """The same by `dynamic_rnn`: a loop for each layer."""
    x, after = tf.transpose(words, [1, 0, 2]), []
    for layer in range(LAYERS):
        cell, first = lstm(tf, size), pair(tf, before, layer)
        x, last = tf.nn.dynamic_rnn(cell, x, initial_state=first, time_major=True, scope=f"layer{layer}")
        after += last
    return tf.reshape(tf.transpose(x, [1, 0, 2]), [-1, size.hidden]), after


def lstm(tf: Any, size: Sequences) -> Any:
    return tf.nn.rnn_cell.BasicLSTMCell(size.hidden, forget_bias=0.0)


def pair(tf: Any, states: list[Any], layer: int) -> Any:
    return tf.nn.rnn_cell.LSTMStateTuple(*states[2 * layer : 2 * layer + 2])


def adopt_cells(program: Program, tf: Any, size: Sequences) -> None:
    """Give the kernels that the cells made their values: one pair of kernel and bias per layer."""
    kernels = [v for v in tf.trainable_variables() if v.op.name.endswith("kernel")]
    biases = [v for v in tf.trainable_variables() if v.op.name.endswith("bias")]
    for layer, (kernel, bias) in enumerate(zip(kernels, biases, strict=True)):
        program.given.append((kernel, lambda layer=layer: kernel_values(layer, size)))
        program.given.append((bias, lambda: np.zeros(4 * size.hidden, np.float32)))


def kernel_values(layer: int, size: Sequences) -> Any:
    """[input and hidden, gates]; gates in the order input, new, forget, output."""
    return values.uniform(f"lstm{layer}", (2 * size.hidden, 4 * size.hidden), size.scale)


def weights(program: Program, name: str, size: Sequences, shape: tuple[int, int]) -> Any:
    return program.variable(name, shape, lambda: values.uniform(name, shape, size.scale))


def flops(size: Sequences) -> float:
    per_word = LAYERS * 8 * size.hidden**2 + size.hidden * size.vocabulary
    return 3 * 2 * size.batch * size.steps * per_word
