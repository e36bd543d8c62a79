"""Classifiers of digits: softmax regression, and a network with two hidden layers."""

from __future__ import annotations

from typing import Any

from bench.workloads import values
from bench.workloads.program import Program, Step
from bench.workloads.sizes import Sizes

LAYERS = ((784, 512), (512, 512), (512, 10))
BATCH = 128


def softmax_mnist(tf: Any, size: Sizes) -> Step:
    """The first program of TensorFlow's tutorial; batch 100."""
    program = Program(tf)
    with program.building():
        x = tf.placeholder(tf.float32, [None, 784])
        labels = tf.placeholder(tf.float32, [None, 10])
        w = tf.Variable(tf.zeros([784, 10]))
        b = tf.Variable(tf.zeros([10]))
        logits = tf.matmul(x, w) + b
        losses = tf.nn.softmax_cross_entropy_with_logits(labels=labels, logits=logits)
        loss = tf.reduce_mean(losses)
        train = tf.train.GradientDescentOptimizer(0.05).minimize(loss)
    batch = values.forever((x, values.one_hot(y)) for x, y in values.digits(100))
    return program.training(loss, train, lambda: dict(zip((x, labels), batch())))


def mlp(tf: Any, size: Sizes) -> Step:
    """784-512-512-10 with ReLU, trained by Adam; batch 128."""
    program = Program(tf)
    with program.building():
        x = tf.placeholder(tf.float32, [None, 784])
        labels = tf.placeholder(tf.int32, [None])
        h = x
        for i, (inputs, outputs) in enumerate(LAYERS):
            w = program.variable(f"w{i}", (inputs, outputs), lambda i=i: values.for_relu(f"w{i}", LAYERS[i]))
            h = tf.matmul(h, w) + program.filled(f"b{i}", outputs, 0)
            if i < 2:
                h = tf.nn.relu(h)
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=h)
        loss = tf.reduce_mean(losses)
        train = tf.train.AdamOptimizer(2e-4).minimize(loss)
    batch = values.forever(values.digits(BATCH))
    return program.training(loss, train, lambda: dict(zip((x, labels), batch())), mlp_flops())


TOWERS, FLOORS, WIDTH, FEW = 4, 4, 256, 16


def tower_weights() -> dict[str, Any]:
    """By name: weights of each floor of each tower."""
    names = (f"tower{t}/w{i}" for t in range(TOWERS) for i in range(FLOORS))
    return {name: values.for_relu(name, (WIDTH, WIDTH)) for name in names}


def tower_batch() -> Any:
    return values.uniform("batch", (FEW, WIDTH), 1.0)


def towers(tf: Any, size: Sizes) -> Step:
    """Four towers of four layers, 256 wide, over one input; inference, batch 16, fed from NumPy."""
    program, batch = Program(tf), tower_batch()
    with program.building():
        x = tf.placeholder(tf.float32, batch.shape)
        tops = [x] * TOWERS
        for name, first in tower_weights().items():
            t = int(name[len("tower")])
            w = program.variable(name, first.shape, lambda first=first: first)
            tops[t] = tf.nn.relu(tf.matmul(tops[t], w))
        joined = tf.concat(tops, 1)
    run, feeds = program.start().run, {x: batch}
    return Step(
        lambda: run(joined, feeds)[0, 0],
        close=program.session.close,
        flops=2 * FEW * WIDTH * WIDTH * TOWERS * FLOORS,
    )


def mlp_flops() -> float:
    """Forward, and both gradients; the images need none."""
    forward = [2 * BATCH * inputs * outputs for inputs, outputs in LAYERS]
    return 3 * sum(forward) - forward[0]
