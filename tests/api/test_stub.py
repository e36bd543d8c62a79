"""headrace/__init__.pyi: as scripts/stub writes it; users' programs are checked by it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent

GOOD = """
from __future__ import annotations

from typing import Any

import headrace as tf


def model(x: tf.Tensor, units: int) -> tf.Tensor:
    with tf.variable_scope("model"):
        w = tf.get_variable("w", [784, units], initializer=tf.zeros_initializer())
        return tf.nn.relu(tf.matmul(x, w, transpose_b=False)) + 1.0


x = tf.placeholder(tf.float32, [None, 784], name="x")
y = tf.placeholder(tf.int64, [None])
logits = model(x, 10)
loss: tf.Tensor = tf.reduce_mean(
    tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits)
)
optimizer = tf.train.AdamOptimizer(learning_rate=1e-3)
train: tf.Operation = optimizer.minimize(loss, global_step=tf.train.get_or_create_global_step())
hits = tf.cast(tf.equal(tf.argmax(logits, 1), y), tf.float32)
scaled = -2 * loss[0] / 3 if loss.shape.ndims else loss


class Cell(tf.nn.rnn_cell.RNNCell):
    pass


class Doubling(tf.train.Optimizer):
    pass


def train_it(images: Any, labels: Any) -> None:
    with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as sess:
        sess.run(tf.global_variables_initializer())
        for _ in range(3):
            sess.run([train, loss], feed_dict={x: images, y: labels})
        try:
            tf.train.Saver(max_to_keep=2).save(sess, "model.ckpt")
        except tf.errors.OpError as error:
            print(error.message)
    print(logits.op.name, logits.get_shape().as_list(), tf.float32.name, tf.__version__)
"""

BAD = {
    "tf.matmull(1, 2)": "attr-defined",
    "tf.nn.sofmax(1)": "attr-defined",
    'tf.nn.relu(1, nmae="x")': "call-arg",
    "tf.matmul(1)": "call-arg",
    "tf.train.AdamOptimizer().minimise(1)": "attr-defined",
    "number: int = tf.constant(1)": "assignment",
    "tf.constant(1, name=3)": "arg-type",
}


def mypy(tmp_path, program):
    pytest.importorskip("mypy")
    (tmp_path / "program.py").write_text(program)
    return subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--config-file=", "program.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | {"MYPYPATH": str(ROOT)},
    )


@pytest.mark.process
def test_it_is_up_to_date():
    done = subprocess.run(
        [sys.executable, "scripts/stub", "--check"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.process
def test_a_users_program_is_typed(tmp_path):
    done = mypy(tmp_path, GOOD)
    assert done.returncode == 0, done.stdout


@pytest.mark.process
def test_a_users_faults_are_found(tmp_path):
    """One for each line, and each of its kind."""
    said = mypy(tmp_path, "\n".join(["import headrace as tf", *BAD])).stdout
    found = re.findall(r"^program.py:(\d+): error: .*\[([\w-]+)\]$", said, re.MULTILINE)
    assert found == [(str(line), kind) for line, kind in enumerate(BAD.values(), 2)], said
