"""tf.function: arguments of several tensors, and how often a function is traced for them."""

from __future__ import annotations

import numpy as np
import pytest

import headrace as tf


def slices():
    return tf.IndexedSlices(tf.constant([[1.0]]), tf.constant([1]), tf.constant([3, 1]))


def composites():
    yield "sparse", lambda: tf.SparseTensor([[0], [2]], [1, 2], [4]), tf.sparse.to_dense
    yield "ragged", lambda: tf.ragged.constant([[1], [2, 3]]), lambda x: x.to_tensor()
    yield "slices", slices, lambda x: x.values * 2.0
    optional = tf.data.experimental.Optional
    yield "optional", lambda: optional.from_value((1, [2.0])), lambda x: x.get_value()[1]
    yield "dataset", lambda: tf.data.Dataset.range(4), lambda x: x.reduce(np.int64(0), lambda a, b: a + b)


@pytest.mark.parametrize("name, make, use", [*composites()], ids=lambda x: x if isinstance(x, str) else "")
def test_composite_arguments_are_traced_once(name, make, use):
    traces = []

    @tf.function
    def function(nest):
        traces.append(1)
        return use(nest["x"])

    results = [function({"x": make()}) for _ in range(2)]
    with tf.Session() as sess:
        expected = sess.run(use(make()))
        for found in sess.run(results):
            np.testing.assert_array_equal(found, expected)
    assert len(traces) == 1


def test_another_kind_of_composite_is_another_trace():
    traces = []

    @tf.function
    def values(x):
        traces.append(1)
        return x.values

    values(tf.SparseTensor([[0]], [1], [4]))
    values(tf.ragged.constant([[1], [2, 3]]))
    values(tf.SparseTensor([[0]], [1.0], [4]))
    assert len(traces) == 3
