"""Datasets against lists that say what their elements are (those of TensorFlow 2.21)."""

from __future__ import annotations

import numpy as np
import pytest

import headrace as tf
from tests.data.pipelines import elements

D, X, R = tf.data.Dataset, tf.data.experimental, tf.data.Dataset.range

CASES = {
    "take": (lambda: R(10).take(3), [0, 1, 2]),
    "skip": (lambda: R(10).skip(7), [7, 8, 9]),
    "shard": (lambda: R(10).shard(3, 1), [1, 4, 7]),
    "filter": (lambda: R(10).filter(lambda x: tf.equal(x % 2, 0)), [0, 2, 4, 6, 8]),
    "zip": (lambda: D.zip((R(2), {"a": R(5)})), [(0, {"a": 0}), (1, {"a": 1})]),
    "concatenate": (lambda: R(2).concatenate(R(3)), [0, 1, 0, 1, 2]),
    "enumerate": (lambda: R(5, 7).enumerate(3), [(3, 5), (4, 6)]),
    "parallel map": (lambda: R(5).map(lambda x: x * x, num_parallel_calls=4).batch(3), [[0, 1, 4], [9, 16]]),
    "flat_map": (lambda: R(4).flat_map(D.range), [0, 0, 1, 0, 1, 2]),
    "interleave": (
        lambda: R(1, 6).interleave(lambda x: D.from_tensors(x).repeat(x), 2, 3),
        [1, 2, 2, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 5],
    ),
    "prefetch": (lambda: R(5).prefetch(2), [0, 1, 2, 3, 4]),
    "prefetch tuned": (lambda: R(5).prefetch(X.AUTOTUNE), [0, 1, 2, 3, 4]),
    "padded_batch": (
        lambda: R(1, 4).map(lambda x: tf.fill([x], x)).padded_batch(2, [None]),
        [[[1, 0], [2, 2]], [[3, 3, 3]]],
    ),
    "window": (
        lambda: R(7).window(3, 2, 1).flat_map(lambda w: w.batch(3)),
        [[0, 1, 2], [2, 3, 4], [4, 5, 6], [6]],
    ),
    "unbatch": (lambda: R(5).batch(3).unbatch(), [0, 1, 2, 3, 4]),
    "cache": (lambda: R(3).cache().repeat(2), [0, 1, 2, 0, 1, 2]),
    "scan": (lambda: R(5).apply(X.scan(np.int64(0), lambda s, x: (s + x, s * x))), [0, 0, 2, 9, 24]),
    "shuffle and repeat": (
        lambda: R(10).shuffle(5, seed=7).repeat(2).batch(10),
        [[2, 4, 0, 3, 8, 1, 6, 5, 7, 9], [4, 0, 3, 7, 2, 6, 1, 8, 9, 5]],
    ),
    "group_by_window": (
        lambda: R(10).apply(X.group_by_window(lambda x: x % 3, lambda k, w: w.batch(2), 2)),
        [[0, 3], [1, 4], [2, 5], [6, 9], [7], [8]],
    ),
    "unique": (lambda: D.from_tensor_slices([1, 2, 1, 3]).apply(X.unique()), [1, 2, 3]),
    "take_while": (lambda: R(10).apply(X.take_while(lambda x: x < 2)), [0, 1]),
    "choose": (
        lambda: X.choose_from_datasets(
            [R(3), R(10, 13)], D.from_tensor_slices(np.array([0, 1, 1, 0, 1, 0, 0], np.int64))
        ),
        [0, 10, 11, 1, 12, 2],
    ),
    "sample": (
        lambda: X.sample_from_datasets([R(4), R(10, 14)], [0.3, 0.7], seed=4),
        [10, 11, 0, 12, 13, 1, 2, 3],
    ),
    "random": (lambda: X.RandomDataset(seed=4).take(2), [3128586565, 2023892699]),
    "counter": (lambda: X.Counter(2, 3).take(3), [2, 5, 8]),
    "generator": (
        lambda: D.from_generator(lambda: iter([(1, "a"), (2, "b")]), (tf.int32, tf.string), ((), ())),
        [(1, b"a"), (2, b"b")],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_elements(name):
    make, expected = CASES[name]
    assert elements(make) == expected


def test_errors_of_elements_leave_the_others():
    def make():
        inverse = D.from_tensor_slices([1.0, 0.0, 2.0]).map(lambda x: tf.check_numerics(1 / x, "no"))
        return inverse.apply(X.ignore_errors())

    assert elements(make) == [1.0, 0.5]


def test_options_merge():
    options = tf.data.Options()
    options.experimental_deterministic = False
    with tf.Graph().as_default():
        dataset = R(3).with_options(options)
        assert dataset.map(lambda x: x).options().experimental_deterministic is False
        other = tf.data.Options()
        other.experimental_deterministic = True
        with pytest.raises(ValueError, match="Cannot merge"):
            dataset.with_options(other)
