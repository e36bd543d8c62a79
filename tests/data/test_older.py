"""Transformations of tf.contrib.data, beside what says the same today."""

from __future__ import annotations

import pytest

import headrace as tf
from tests.data.pipelines import elements

data = tf.contrib.data
numbers = tf.data.Dataset.range


def test_batches_without_remainder():
    assert elements(lambda: numbers(7).apply(data.batch_and_drop_remainder(3))) == [[0, 1, 2], [3, 4, 5]]
    rows = elements(
        lambda: (
            numbers(5)
            .map(lambda x: tf.fill([x], x))
            .apply(data.padded_batch_and_drop_remainder(2, [None], tf.constant(9, tf.int64)))
        )
    )
    assert rows == [[[9], [1]], [[2, 2, 9], [3, 3, 3]]]


@pytest.mark.parametrize("shift, stride", [(1, 1), (2, 1), (1, 2), (3, 2)])
def test_sliding_windows(shift, stride):
    found = elements(
        lambda: numbers(9).apply(data.sliding_window_batch(3, window_shift=shift, window_stride=stride))
    )
    windows = [list(range(i, i + 3 * stride, stride)) for i in range(0, 9, shift)]
    assert found == [w for w in windows if w[-1] < 9]
    with pytest.raises(ValueError, match="Cannot specify both"):
        data.sliding_window_batch(3, stride=1, window_shift=1)


def test_sloppy_interleave_gives_all():
    found = elements(lambda: numbers(4).apply(data.sloppy_interleave(numbers, cycle_length=2)))
    assert sorted(found) == sorted(x for n in range(4) for x in range(n))


def test_shapes_are_asserted():
    def rows(sizes):
        return tf.data.Dataset.from_generator(lambda: ([1.0] * n for n in sizes), tf.float32)

    dataset = rows([2, 2]).apply(data.assert_element_shape([2]))
    assert dataset.output_shapes.as_list() == [2]
    with pytest.raises(tf.errors.InvalidArgumentError, match="not compatible"):
        elements(lambda: rows([2, 3]).apply(data.assert_element_shape([2])))
    with pytest.raises(ValueError):
        numbers(3).apply(data.assert_element_shape([2]))


def test_reduce_and_features(tmp_path):
    reducer = tf.data.experimental.Reducer(
        lambda _: tf.constant(0, tf.int64), lambda a, b: a + b, lambda x: x
    )
    path = str(tmp_path / "examples")
    with tf.python_io.TFRecordWriter(path) as writer:
        for i in range(3):
            feature = tf.train.Feature(int64_list=tf.train.Int64List(value=[i]))
            features = tf.train.Features(feature={"a": feature})
            writer.write(tf.train.Example(features=features).SerializeToString())
    wanted = {"a": tf.FixedLenFeature([], tf.int64)}
    batch = data.read_batch_features(path, 3, wanted, randomize_input=False, num_epochs=1)
    with tf.Session() as session:
        assert session.run(data.reduce_dataset(numbers(5), reducer)) == 10
        assert session.run(batch)["a"].tolist() == [0, 1, 2]
