"""tf.compat.v2: TF 2's names and orders of arguments."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import headrace as tf
from headrace.api import compat_v2, recorded

tf2 = tf.compat.v2


def run(value):
    with tf.Session() as session:
        return session.run(value)


@pytest.mark.parametrize("name", sorted({*compat_v2._arguments(), *compat_v2._MOVED, *compat_v2._OF}))
def test_name_of_a_table(name):
    """It is there, and TensorFlow 1.15 has it in its v2."""
    value = tf2
    for word in name.split("."):
        value = getattr(value, word)
    place, _, last = name.rpartition(".")
    assert last in recorded.names("v2")[place]


def test_order_of_arguments():
    x = tf.constant([[1.0, 5.0], [7.0, 2.0]])
    assert run(tf2.argmax(x, 1, tf.int32)).tolist() == [1, 0]
    assert run(tf2.gather(x, [1], None, 1)).tolist() == [[5.0], [2.0]]
    assert run(tf2.pad(x, [[0, 0], [1, 0]], "CONSTANT", 3.0))[:, 0].tolist() == [3.0, 3.0]
    assert run(tf2.math.in_top_k([1, 1], x, 1)).tolist() == [True, False]
    assert run(tf2.nn.dropout(tf.ones([1000]), 0.25)).mean() == pytest.approx(1.0, abs=0.2)
    assert tf2.nn.conv2d(tf.ones([1, 4, 4, 1]), tf.ones([2, 2, 1, 1]), 2, "VALID").shape == [1, 2, 2, 1]
    labels = tf.constant([[0.0, 1.0]])
    logits = tf.Variable([[1.0, 3.0]])
    loss = tf2.nn.softmax_cross_entropy_with_logits(labels, logits)
    assert tf.gradients(loss, logits)[0] is not None
    poisson = run(tf2.random.poisson([200], 3.0, seed=1))
    assert poisson.shape == (200,) and 2.5 < poisson.mean() < 3.5
    with pytest.raises(TypeError):
        tf2.reduce_sum(x, reduction_indices=0)


def test_same_function_at_the_same_place():
    assert tf2.math.abs is tf.abs and tf2.linalg.cholesky is tf.linalg.cholesky
    assert tf2.where is tf.where_v2 and "zeros" in dir(tf2)
    with pytest.raises(AttributeError, match="has no attribute 'placeholder'"):
        tf2.placeholder  # noqa: B018


def test_variables_are_by_handle():
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf2.Variable(np.float32(3.0), True, name="v")
        assert isinstance(v, tf2.Variable) and isinstance(v, tf.Variable) and v.op.type == "VarHandleOp"
        session.run(v.initializer)
        assert session.run(v + 1) == 4.0


def test_signatures_are_those_of_tf_2():
    assert list(inspect.signature(tf2.reduce_sum).parameters) == ["input_tensor", "axis", "keepdims", "name"]
    assert inspect.signature(tf2.reduce_sum).parameters["keepdims"].default is False
