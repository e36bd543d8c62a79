"""Shapes and vectors that are numbers early or tensors late, beside NumPy."""

from __future__ import annotations

import numpy as np

import headrace as tf
from headrace.distributions import shapes
from headrace.distributions.matrices import rotate_transpose


def fed(tensor, values):
    with tf.Session() as sess:
        return sess.run(tensor, values)


def test_what_is_known_is_numbers():
    with tf.Graph().as_default():
        known, unknown = tf.zeros([2, 3]), tf.placeholder(tf.float32)
        assert shapes.prefer_static_rank(known) == 2
        assert shapes.prefer_static_shape(known).tolist() == [2, 3]
        assert shapes.dimension_size(known, -1) == 3 and shapes.maybe_get_static_value(None) is None
        assert shapes.prefer_static_broadcast_shape([2, 1], [5]) == [2, 5]
        late = [shapes.prefer_static_rank(unknown), shapes.prefer_static_shape(unknown)]
        late.append(shapes.prefer_static_broadcast_shape(tf.shape(unknown), [4, 1, 1]))
        rank, sizes, both = fed(late, {unknown: np.zeros([5, 6])})
    assert rank == 2 and sizes.tolist() == [5, 6] and both.tolist() == [4, 5, 6]


def test_one_of_two_vectors():
    with tf.Graph().as_default():
        which = tf.placeholder(tf.bool)
        picked = shapes.pick_vector(which, [1, 2], [3])
        assert fed(picked, {which: True}).tolist() == [1, 2] and fed(picked, {which: False}).tolist() == [3]
        assert shapes.pick_vector(True, "first", "second") == "first"
        same = [shapes.same_dynamic_shape(tf.zeros([2]), x) for x in (tf.ones([2]), tf.ones([2, 1]))]
        assert fed(same, {}) == [True, False]


def test_seeds_differ_by_salt():
    first, second = (shapes.gen_new_seed(7, salt) for salt in ("a", "b"))
    assert first != second and first == shapes.gen_new_seed(7, "a") and shapes.gen_new_seed(None, "a") is None


def test_dimensions_moved_round():
    x = np.zeros([1, 2, 3, 4])
    with tf.Graph().as_default():
        shift = tf.placeholder(tf.int32, [])
        for places in (-5, -1, 0, 1, 2, 6):
            expected = np.transpose(x, np.roll(np.arange(4), places)).shape
            assert tuple(rotate_transpose(x, places).shape) == expected
            assert fed(rotate_transpose(x, shift), {shift: places}).shape == expected


def test_counts_with_an_axis_for_the_classes():
    """A total count of the concentration's rank stands beside the classes as it is."""
    concentration = np.random.RandomState(0).rand(4, 3) + 1.0
    plain = tf.distributions.DirichletMultinomial([7.0, 8.0, 9.0, 10.0], concentration.astype("float32"))
    beside = tf.distributions.DirichletMultinomial(
        [[7.0], [8.0], [9.0], [10.0]], concentration.astype("float32")
    )
    with tf.Session() as sess:
        for one, other in zip(
            sess.run([plain.mean(), plain.covariance()]), sess.run([beside.mean(), beside.covariance()])
        ):
            np.testing.assert_allclose(one, other, rtol=1e-6)
