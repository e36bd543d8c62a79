"""Clipping by value and by norms; confusion matrices and counts."""

import numpy as np
import pytest

import headrace as tf

pytestmark = pytest.mark.pure


@pytest.fixture(autouse=True)
def session():
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def test_by_value(session):
    assert session.run(tf.clip_by_value([-1.0, 0.5, 3.0], 0.0, 1.0)).tolist() == [0, 0.5, 1]
    with pytest.raises(ValueError):
        tf.clip_by_value(tf.ones([2]), tf.zeros([3, 2]), 1.0)


def test_by_norm(session):
    assert session.run(tf.clip_by_norm([3.0, 4.0], 1.0)).tolist() == pytest.approx([0.6, 0.8])
    assert session.run(tf.clip_by_norm([0.3, 0.4], 1.0)).tolist() == pytest.approx([0.3, 0.4])
    rows = session.run(tf.clip_by_norm([[3.0, 4.0], [0.0, 2.0]], 1.0, axes=[1]))
    np.testing.assert_allclose(rows, [[0.6, 0.8], [0, 1]], rtol=1e-6)


def test_the_gradient_of_a_norm_of_zeros_is_a_number(session):
    x = tf.constant([0.0, 0.0])
    assert np.isfinite(session.run(tf.gradients(tf.clip_by_norm(x, 1.0), x)[0])).all()


def test_by_global_norm(session):
    parts = [tf.constant([3.0, 0.0]), None, tf.constant([[4.0]])]
    clipped, norm = tf.clip_by_global_norm(parts, 1.0)
    assert clipped[1] is None
    first, second, length = session.run([clipped[0], clipped[2], norm])
    assert length == pytest.approx(5)
    np.testing.assert_allclose(first, [0.6, 0], rtol=1e-6)
    np.testing.assert_allclose(second, [[0.8]], rtol=1e-6)


def test_a_norm_without_end_gives_nan(session):
    clipped, _ = tf.clip_by_global_norm([tf.constant([np.inf, 1.0])], 1.0)
    assert np.isnan(session.run(clipped[0])).all()


def test_slices_stay_slices(session):
    slices = tf.IndexedSlices(tf.constant([[3.0, 4.0]]), tf.constant([7]), tf.constant([9, 2]))
    clipped = tf.clip_by_norm(slices, 1.0)
    assert isinstance(clipped, tf.IndexedSlices)
    assert session.run(clipped.values)[0].tolist() == pytest.approx([0.6, 0.8])


def test_confusion(session):
    found = session.run(tf.math.confusion_matrix([1, 2, 2], [1, 2, 1], weights=[1, 2, 3]))
    assert found.tolist() == [[0, 0, 0], [0, 1, 0], [0, 3, 2]]
    with pytest.raises(tf.errors.InvalidArgumentError, match="`labels` out of bound"):
        session.run(tf.math.confusion_matrix([5], [0], num_classes=2))


def test_counts(session):
    assert session.run(tf.bincount([1, 1, 3], minlength=6)).tolist() == [0, 2, 0, 1, 0, 0]
    assert session.run(tf.bincount([1, 1, 3], maxlength=2)).tolist() == [0, 2]
    assert session.run(tf.bincount([], dtype=tf.int64)).tolist() == []
    values = [-1.0, 0.0, 1.5, 2.0, 5.0, 15.0]
    assert session.run(tf.histogram_fixed_width(values, [0.0, 5.0], 5)).tolist() == [2, 1, 1, 0, 2]
    bins = tf.histogram_fixed_width_bins(values, [0.0, 5.0], 5)
    assert session.run(bins).tolist() == [0, 0, 1, 2, 4, 4]
