"""headrace mnist: softmax regression on MNIST through the TF1 API, with rising accuracy."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from typing import Any

import headrace as tf
from headrace import datasets


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="headrace mnist", description=__doc__)
    parser.add_argument("--data", help="directory with the idx files (default: HEADRACE_DATA, cache, pip)")
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--batch", type=int, default=100)
    arguments = parser.parse_args(words)
    return train(load(arguments.data), arguments.steps, arguments.batch)


def load(directory: str | None) -> Any:
    """MNIST, or, where neither files nor a package index are at hand, the drawn digits."""
    try:
        data = datasets.read_data_sets(directory, one_hot=True)
        print(f"MNIST: {data.train.num_examples} training images")
        return data
    except FileNotFoundError as error:
        print(f"{error}\nTraining on generated digits instead (this is not MNIST).")
        return datasets.load_generated_digits(one_hot=True)


def train(data: Any, steps: int, batch: int) -> int:
    x = tf.placeholder(tf.float32, [None, 784], name="x")
    y_ = tf.placeholder(tf.float32, [None, 10], name="labels")
    w = tf.Variable(tf.zeros([784, 10]), name="weights")
    b = tf.Variable(tf.zeros([10]), name="biases")
    logits = tf.matmul(x, w) + b
    loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits_v2(labels=y_, logits=logits))
    step = tf.train.GradientDescentOptimizer(0.5).minimize(loss)
    right = tf.equal(tf.argmax(logits, 1), tf.argmax(y_, 1))
    accuracy = tf.reduce_mean(tf.cast(right, tf.float32))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        test = {x: data.test.images, y_: data.test.labels}
        begin = time.perf_counter()
        for i in range(steps + 1):
            if i % max(1, steps // 10) == 0:
                print(f"step {i:>6}   test accuracy {session.run(accuracy, test):.4f}", flush=True)
            xs, ys = data.train.next_batch(batch)
            session.run(step, {x: xs, y_: ys})
        seconds = time.perf_counter() - begin
        print(f"{steps} steps of {batch} images in {seconds:.1f} s")
    return 0
