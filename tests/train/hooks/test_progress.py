"""The bar of a training loop: what it says, and where it is drawn."""

from __future__ import annotations

import os
import pty
import subprocess
import sys

import numpy as np
import pytest

import headrace as tf
from headrace.train.hooks.progress import Pace, scalars

PROGRAM = """
import headrace as tf
step = tf.train.get_or_create_global_step()
loss = tf.cast(step, tf.float32) / 2
train = tf.assign_add(step, 1)
tf.logging.set_verbosity(tf.logging.INFO)
with tf.train.MonitoredSession(hooks=[tf.train.StopAtStepHook(last_step=300)]) as sess:
    while not sess.should_stop():
        sess.run([train, {"l": loss}])
"""


def test_rate_and_time_left():
    pace = Pace()
    assert pace.rate is None and pace.text(None, []) == "step 0"
    for second in range(30):
        pace.at(second * 100, float(second))
    assert pace.rate == 100.0
    text = pace.text(10000, [("loss", 0.012345)])
    assert text == "step 2,900 of 10,000 [######                ]  29%  100.0/s  1:11 left  loss 0.01235"
    pace.at(500, 30.0)  # back to a checkpoint: the rate begins anew
    assert pace.rate is None
    pace.at(600, 32.0)
    assert pace.rate == 50.0


def test_a_rate_is_that_of_the_last_seconds():
    pace = Pace()
    for second in range(100):
        pace.at(second, float(second))
    for second in range(100, 120):
        pace.at(99 + (second - 99) * 10, float(second))
    assert pace.rate == 10.0


def test_floating_scalars_have_names():
    with tf.Graph().as_default():
        loss = tf.constant(1.5, name="model/loss")
        fetches = {"a": [loss, tf.constant([1.0])], "b": "model/loss:0", "c": tf.no_op()}
        values = {"a": [np.float32(1.5), np.ones(1)], "b": np.float32(2.5), "c": None}
        assert list(scalars(fetches, values)) == [("loss", 1.5), ("loss", 2.5)]


@pytest.mark.parametrize("setting", ["1", "0", "no terminal"])
def test_a_bar_is_drawn_at_a_terminal_alone(setting):
    ours, theirs = pty.openpty()
    environment = {**os.environ, "HEADRACE_PROGRESS": "0" if setting == "0" else "1", "COLUMNS": "100"}
    error = subprocess.PIPE if setting == "no terminal" else theirs
    with subprocess.Popen([sys.executable, "-c", PROGRAM], stderr=error, env=environment) as process:
        os.close(theirs)
        text = b""
        if setting == "no terminal":
            _, text = process.communicate(timeout=120)
        else:
            while True:
                try:
                    piece = os.read(ours, 4096)
                except OSError:  # the other end is closed
                    break
                if not piece:
                    break
                text += piece
        assert process.wait(120) == 0
    os.close(ours)
    assert (b"of 300 [" in text) == (setting == "1")
    assert b"Graph was finalized" in text
