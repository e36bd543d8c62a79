"""Programs as sessions run them: what is computed, what is shared, what happens when it fails."""

from __future__ import annotations

import numpy as np
import pytest

import headrace as tf
from headrace.runtime.containers import Containers
from tests.codegen.compare import Runner

pytestmark = pytest.mark.native


def test_a_target_is_computed():
    """Nobody sees the value, but the user asked for the op to run."""
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [64, 8])
        y = tf.exp(x)
        runner = Runner(graph, [x], [], [y.op])
        runner.run(Containers(), [np.ones((64, 8), np.float32)])
        (unit,) = runner.program.units
        (found,) = unit.compiled.programs.values()
        assert len(found.program.entries) == 1


def test_a_target_fails_as_a_fetch_does():
    with tf.Graph().as_default():
        x = tf.placeholder(tf.int32, [2])
        y = tf.gather(tf.constant([1.0, 2.0]), x)
        with tf.Session() as sess:
            for _ in range(3):
                with pytest.raises(tf.errors.InvalidArgumentError, match="not in"):
                    sess.run(y.op, {x: [0, 7]})
