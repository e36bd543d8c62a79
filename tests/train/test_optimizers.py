"""Optimizers: both kinds of variable and both kinds of gradient agree; names are TF's."""

from __future__ import annotations

import numpy as np
import pytest

import headrace as tf

OPTIMIZERS = {
    "sgd": lambda step: tf.train.GradientDescentOptimizer(0.1),
    "momentum": lambda step: tf.train.MomentumOptimizer(0.1, 0.9),
    "nesterov": lambda step: tf.train.MomentumOptimizer(0.1, 0.9, use_nesterov=True),
    "adagrad": lambda step: tf.train.AdagradOptimizer(0.1),
    "adagrad_da": lambda step: tf.train.AdagradDAOptimizer(0.1, step, l1_regularization_strength=0.01),
    "adadelta": lambda step: tf.train.AdadeltaOptimizer(0.5),
    "rms_prop": lambda step: tf.train.RMSPropOptimizer(0.1, momentum=0.5),
    "centered": lambda step: tf.train.RMSPropOptimizer(0.1, centered=True),
    "ftrl": lambda step: tf.train.FtrlOptimizer(0.1, l1_regularization_strength=0.01),
    "shrinking": lambda step: tf.train.FtrlOptimizer(0.1, l2_shrinkage_regularization_strength=0.1),
    "proximal": lambda step: tf.train.ProximalGradientDescentOptimizer(0.1, 0.01, 0.01),
    "proximal_adagrad": lambda step: tf.train.ProximalAdagradOptimizer(0.1, 0.1, 0.01, 0.01),
    "adam": lambda step: tf.train.AdamOptimizer(0.1),
}


def trained(name, by_handle, sparse, steps=4):
    """Rows 0 and 2 of a table have gradients; index 2 occurs twice where they are sparse."""
    with tf.Graph().as_default(), tf.Session() as session:
        start = np.arange(6, dtype=np.float32).reshape(3, 2) / 10
        v = tf.Variable(start, name="v", use_resource=by_handle)
        step = tf.train.get_or_create_global_step()
        rows = tf.constant([[1.0, -2.0], [0.5, 0.25], [0.5, 1.0]])
        if sparse:
            gradient = tf.IndexedSlices(rows, tf.constant([0, 2, 2]), tf.constant([3, 2]))
        else:
            gradient = tf.unsorted_segment_sum(rows, tf.constant([0, 2, 2]), 3)
        optimizer = OPTIMIZERS[name](step)
        train = optimizer.apply_gradients([(gradient, v)], global_step=step)
        session.run(tf.global_variables_initializer())
        for _ in range(steps):
            session.run(train)
        assert session.run(step) == steps
        return session.run(v)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_kinds_agree(name):
    wanted = trained(name, by_handle=False, sparse=False)
    np.testing.assert_allclose(trained(name, True, False), wanted, rtol=1e-5, atol=1e-6)
    for by_handle in (False, True):
        found = trained(name, by_handle, True)
        np.testing.assert_allclose(found[[0, 2]], wanted[[0, 2]], rtol=1e-5, atol=1e-6)


def test_names_are_tensorflows():
    with tf.Graph().as_default():
        w = tf.get_variable("net/w", [2])
        loss = tf.reduce_sum(w * w)
        optimizer = tf.train.AdamOptimizer()
        train = optimizer.minimize(loss)
        assert train.name == "Adam"
        assert [v.name for v in tf.global_variables()] == [
            "net/w:0",
            "beta1_power:0",
            "beta2_power:0",
            "net/w/Adam:0",
            "net/w/Adam_1:0",
        ]
        assert optimizer.get_slot_names() == ["m", "v"]
        assert optimizer.get_slot(w, "v").name == "net/w/Adam_1:0"
        assert train in tf.get_collection(tf.GraphKeys.TRAIN_OP)


def test_no_gradient_is_an_error():
    with tf.Graph().as_default():
        tf.Variable(1.0)
        with pytest.raises(ValueError, match="No gradients provided for any variable"):
            tf.train.GradientDescentOptimizer(0.1).minimize(tf.constant(1.0))


def test_averages_follow():
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.Variable(0.0, name="v")
        ema = tf.train.ExponentialMovingAverage(0.5)
        update = ema.apply([v])
        session.run(tf.global_variables_initializer())
        for value in (1.0, 2.0):
            session.run(v.assign(value))
            session.run(update)
        assert session.run(ema.average(v)) == 0.5 * (0.5 * 1.0) + 0.5 * 2.0
        assert ema.average_name(v) == "v/ExponentialMovingAverage"
        assert ema.variables_to_restore() == {"v/ExponentialMovingAverage": v}


def test_rates_decay():
    with tf.Graph().as_default(), tf.Session() as session:
        step = tf.placeholder(tf.int64, [])
        rates = {
            "exponential": tf.train.exponential_decay(1.0, step, 2, 0.5, staircase=True),
            "inverse": tf.train.inverse_time_decay(1.0, step, 1, 1.0),
            "polynomial": tf.train.polynomial_decay(1.0, step, 4, 0.0),
            "cosine": tf.train.cosine_decay(1.0, step, 4),
            "pieces": tf.train.piecewise_constant(step, [1, 3], [1.0, 0.5, 0.25]),
        }
        wanted = {0: [1, 1, 1, 1, 1], 2: [0.5, 1 / 3, 0.5, 0.5, 0.5], 4: [0.25, 0.2, 0, 0, 0.25]}
        for at, values in wanted.items():
            found = session.run(list(rates.values()), {step: at})
            np.testing.assert_allclose(found, values, atol=1e-6)
