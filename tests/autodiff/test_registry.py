"""What has no gradient rule is an error, as in TensorFlow: a gradient that is None trains nothing."""

from __future__ import annotations

import pytest

import headrace as tf
from headrace.ops.declaration.declare import GRADIENTS, Op
from headrace.ops.declaration.signature import Arg
from tests.ops.declared import ops
from tests.tensorflow_peer import needs_tensorflow, tensorflow

X = [[[1.0, 2.0, 3.0]]]
THROUGH = {
    "ScatterUpdate": lambda x: tf.scatter_update(tf.Variable([1.0, 2.0]), [0], x[0, 0, :1]),
    "ScatterMax": lambda x: tf.scatter_max(tf.Variable([1.0, 2.0]), [0], x[0, 0, :1]),
    "StridedSliceAssign": lambda x: tf.Variable([1.0, 2.0])[:1].assign(x[0, 0, :1]),
    "HSVToRGB": tf.image.hsv_to_rgb,
    "Unique": lambda x: tf.unique(x[0, 0]).y,
    "RandomShuffle": tf.random_shuffle,
    "Bitcast": lambda x: tf.bitcast(x, tf.float32),
    "ApplyGradientDescent": lambda x: tf.raw_ops.ApplyGradientDescent(
        var=tf.Variable(1.0)._ref(), alpha=0.1, delta=x[0, 0, 0]
    ),
}


@pytest.mark.parametrize("name", THROUGH)
def test_no_rule_is_an_error(name):
    x = tf.constant(X)
    with pytest.raises(LookupError, match=f"No gradient defined for operation .*op type: {name}"):
        tf.gradients(THROUGH[name](x), x)


@pytest.mark.parametrize("update", [tf.scatter_add, tf.scatter_sub, tf.scatter_mul, tf.scatter_div])
def test_scatters_that_end_gradients(update):
    x = tf.constant([1.0])
    assert tf.gradients(update(tf.Variable([1.0, 2.0]), [0], x), x) == [None]


def _may_be_float(op: Op, output: Arg) -> bool:
    if output.dtype is not None:
        return output.dtype.base.kind in "fc"
    allowed = op.signature.attrs[output.type_attr].allowed if output.type_attr else ()
    return not allowed or any(t.kind in "fc" for t in allowed)


@needs_tensorflow
def test_gradients_end_in_silence_only_where_tensorflows_do(tmp_path):
    theirs = tensorflow(
        tmp_path,
        """
        from tensorflow.python.framework import ops
        rules = ops.gradient_registry._registry
        print(json.dumps([name for name, rule in rules.items() if rule["type"] is None]))
        """,
    )
    ours = {
        op.name
        for op in ops()
        if GRADIENTS.get(op.name, ...) is None
        and op.signature.inputs
        and any(_may_be_float(op, output) for output in op.signature.outputs)
    }
    assert ours - set(theirs) == {"EuclideanNorm"}  # TensorFlow 2 has a rule for it, 1.15 has not
