"""Losses and metrics against NumPy."""

import numpy as np
import pytest

import headrace as tf


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as g:
        yield g


RNG = np.random.RandomState(0)
A, B = RNG.normal(size=(2, 4, 3)).astype(np.float32)
W = np.array([[1.0], [0.0], [2.0], [1.0]], np.float32)


def test_reductions():
    error = (A - B) ** 2
    reductions = {
        tf.losses.Reduction.SUM: (error * W).sum(),
        tf.losses.Reduction.MEAN: (error * W).sum() / (W.sum() * 3),
        tf.losses.Reduction.SUM_BY_NONZERO_WEIGHTS: (error * W).sum() / 9,
        tf.losses.Reduction.SUM_OVER_BATCH_SIZE: (error * W).mean(),
        tf.losses.Reduction.NONE: error * W,
    }
    for reduction, wanted in reductions.items():
        loss = tf.losses.mean_squared_error(A, B, W, reduction=reduction)
        with tf.Session() as sess:
            np.testing.assert_allclose(sess.run(loss), wanted, rtol=1e-5)
    assert len(tf.losses.get_losses()) == len(reductions)


def test_weights_that_do_not_fit():
    with pytest.raises(ValueError, match="weights can not be broadcast to values"):
        tf.losses.absolute_difference(A, B, W[:, 0])
    weights = tf.placeholder(tf.float32)
    loss = tf.losses.absolute_difference(A, B, weights)
    with tf.Session() as sess:
        with pytest.raises(tf.errors.InvalidArgumentError, match="weights can not be broadcast"):
            sess.run(loss, {weights: W[:, 0]})
        sess.run(loss, {weights: W})


def streamed(metric, batches, *placeholders):
    value, update = metric
    with tf.Session() as sess:
        sess.run(tf.local_variables_initializer())
        for batch in batches:
            last = sess.run(update, dict(zip(placeholders, batch)))
        result = sess.run(value)
    np.testing.assert_allclose(result, last)
    return result


def test_streaming_mean_and_accuracy():
    x, y = tf.placeholder(tf.float32, [None]), tf.placeholder(tf.int64, [None])
    assert streamed(tf.metrics.mean(x), [[[1, 2]], [[6]]], x) == 3.0
    accuracy = tf.metrics.accuracy(y, tf.constant([1, 2, 3]))
    assert streamed(accuracy, [[[1, 2, 0]], [[1, 2, 3]]], y) == pytest.approx(5 / 6)
    assert [v.name for v in tf.get_collection(tf.GraphKeys.METRIC_VARIABLES)] == [
        "mean/total:0",
        "mean/count:0",
        "accuracy/total:0",
        "accuracy/count:0",
    ]


def test_auc_of_a_perfect_and_of_a_random_order():
    labels = np.array([0, 0, 1, 1])
    for scores, wanted in (([0.1, 0.2, 0.8, 0.9], 1.0), ([0.9, 0.8, 0.2, 0.1], 0.0)):
        area = streamed(tf.metrics.auc(labels, tf.constant(scores)), [()])
        assert area == pytest.approx(wanted, abs=1e-2)


def test_precision_and_recall_at_k():
    scores = tf.constant([[0.1, 0.3, 0.2, 0.4], [0.4, 0.3, 0.2, 0.1]])
    labels = tf.constant([[1], [3]], tf.int64)
    assert streamed(tf.metrics.precision_at_k(labels, scores, 2), [()]) == 0.25
    assert streamed(tf.metrics.recall_at_k(labels, scores, 2), [()]) == 0.5
    assert streamed(tf.metrics.average_precision_at_k(labels, scores, 2), [()]) == 0.25


def test_mean_iou_leaves_out_classes_that_do_not_occur():
    value, update = tf.metrics.mean_iou(tf.constant([0, 0, 1]), tf.constant([0, 1, 1]), 3)
    with tf.Session() as sess:
        sess.run(tf.local_variables_initializer())
        assert sess.run(update).tolist() == [[1, 1, 0], [0, 1, 0], [0, 0, 0]]
        assert sess.run(value) == pytest.approx(0.5)
