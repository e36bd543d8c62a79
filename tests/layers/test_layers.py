"""Layers against NumPy: names, sharing, losses and updates, batch normalisation in training."""

import copy

import numpy as np
import pytest

import headrace as tf


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as g:
        yield g


def run(fetches, feed=None):
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        return sess.run(fetches, feed)


def test_names_of_variables_and_nodes(graph):
    x = tf.placeholder(tf.float32, [None, 3])
    y = tf.layers.dense(tf.layers.dense(x, 4, tf.nn.relu), 2)
    assert y.op.name == "dense_1/BiasAdd"
    names = ["dense/kernel:0", "dense/bias:0", "dense_1/kernel:0", "dense_1/bias:0"]
    assert [v.name for v in tf.trainable_variables()] == names


def test_convolution_has_no_scope_of_its_own():
    y = tf.layers.conv2d(tf.zeros([1, 5, 5, 3]), 2, 3, name="c", activation=tf.nn.relu)
    assert [n.name for n in y.graph.get_operations() if n.type == "Conv2D"] == ["c/Conv2D"]
    assert y.shape.as_list() == [1, 3, 3, 2]


def test_sharing_by_name_and_by_layer():
    x = tf.ones([2, 3])
    tf.layers.dense(x, 4, name="d")
    with pytest.raises(ValueError, match="already exists"):
        tf.layers.dense(x, 4, name="d")
    tf.layers.dense(x, 4, name="d", reuse=True)
    layer = tf.layers.Dense(4, name="e")
    layer(x), layer(x)
    assert len(tf.global_variables()) == 4
    assert layer.scope_name == "e" and layer.count_params() == 16


def test_dense_of_higher_rank():
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    layer = tf.layers.Dense(5, bias_initializer=tf.ones_initializer())
    y = layer(tf.constant(x))
    kernel, value = run([layer.kernel, y])
    np.testing.assert_allclose(value, x @ kernel + 1, rtol=1e-5)


def test_regularizers_make_losses():
    x = tf.ones([2, 3])
    regularizer = lambda w: 0.5 * tf.reduce_sum(w * w)
    layer = tf.layers.Dense(4, kernel_regularizer=regularizer, activity_regularizer=tf.reduce_sum)
    layer(x)
    assert len(layer.losses) == 2
    assert len(layer.get_losses_for(None)) == len(layer.get_losses_for(x)) == 1
    assert len(tf.losses.get_regularization_losses()) == 2


def test_batch_normalisation_updates_its_averages():
    data = np.random.RandomState(0).normal(2.0, 3.0, size=(64, 5)).astype(np.float32)
    for training in (True, tf.placeholder_with_default(True, [])):
        layer = tf.layers.BatchNormalization(momentum=0.5, fused=False)
        y = layer(tf.constant(data), training=training)
        updates = layer.updates
        assert set(updates) <= set(tf.get_collection(tf.GraphKeys.UPDATE_OPS))
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            value, _ = sess.run([y, updates])
            mean, variance = sess.run([layer.moving_mean, layer.moving_variance])
        np.testing.assert_allclose(value.mean(0), 0, atol=1e-5)
        np.testing.assert_allclose(mean, 0.5 * data.mean(0), rtol=1e-4)
        np.testing.assert_allclose(variance, 0.5 + 0.5 * data.var(0), rtol=1e-4)


@pytest.mark.parametrize("data_format", ["channels_last", "channels_first"])
def test_pooling_formats(data_format):
    x = np.random.RandomState(1).normal(size=(2, 4, 6, 3)).astype(np.float32)
    first = data_format == "channels_first"
    given = x.transpose(0, 3, 1, 2) if first else x
    y = run(tf.layers.max_pooling2d(tf.constant(given), 2, 2, data_format=data_format))
    wanted = x.reshape(2, 2, 2, 3, 2, 3).max(axis=(2, 4))
    np.testing.assert_array_equal(y.transpose(0, 2, 3, 1) if first else y, wanted)


def test_transposed_convolution_is_the_transpose():
    x = tf.constant(np.random.RandomState(2).normal(size=(1, 4, 4, 2)).astype(np.float32))
    layer = tf.layers.Conv2DTranspose(3, 3, strides=2, padding="same", use_bias=False)
    y = layer(x)
    back = tf.nn.conv2d(y, layer.kernel, [1, 2, 2, 1], "SAME")
    assert y.shape.as_list() == [1, 8, 8, 3] and back.shape == x.shape
    # <Tx, y> = <x, Ty>
    left, right = run([tf.reduce_sum(y * y), tf.reduce_sum(x * back)])
    np.testing.assert_allclose(left, right, rtol=1e-4)


def test_training_reaches_layers_inside():
    class Outer(tf.layers.Layer):
        def build(self, shape):
            self.drop = tf.layers.Dropout(0.9)

        def call(self, x, training=False):
            return self.drop(x)

    x = tf.ones([100])
    kept, dropped = run([Outer()(x, training=False), Outer()(x, training=True)])
    assert kept.all() and not dropped.all()


def test_a_constructor_that_calls_no_other():
    class Bare(tf.layers.Layer):
        def __init__(self):
            pass

        def build(self, shape):
            self.w = self.add_weight("w", [], initializer=tf.ones_initializer())

        def call(self, x):
            return x * self.w

    layer = Bare()
    assert run(layer(tf.constant(2.0))) == 2.0
    assert [v.name for v in layer.variables] == ["bare/w:0"]


def _used(layer):
    shapes = {tf.layers.Conv2D: [2, 5, 5, 3], tf.contrib.rnn.ConvLSTMCell: [2, 5, 3]}
    x = tf.ones(shapes.get(type(layer), [2, 3]))
    if isinstance(layer, tf.nn.rnn_cell.RNNCell):
        return layer(x, layer.zero_state(2, tf.float32))
    return layer(x)


@pytest.mark.parametrize("use_resource", [False, True])
@pytest.mark.parametrize(
    "make",
    [
        lambda: tf.layers.Dense(4),
        lambda: tf.layers.Conv2D(2, 3),
        lambda: tf.layers.BatchNormalization(),
        lambda: tf.nn.rnn_cell.LSTMCell(4, use_peepholes=True),
        lambda: tf.nn.rnn_cell.MultiRNNCell([tf.nn.rnn_cell.GRUCell(3) for _ in range(2)]),
        lambda: tf.nn.rnn_cell.DropoutWrapper(tf.nn.rnn_cell.BasicRNNCell(3), 0.5),
        lambda: tf.contrib.rnn.LayerNormBasicLSTMCell(4),
        lambda: tf.contrib.rnn.ConvLSTMCell(1, [5, 3], 2, [3]),
    ],
)
def test_a_copy_of_a_built_layer_shares_its_variables(make, use_resource):
    with tf.variable_scope("s", use_resource=use_resource):
        layer = make()
        _used(layer)
        copied = copy.deepcopy(layer)
        _used(copied)
    assert copied is not layer and len(copied.weights) == len(layer.weights)
    assert all(a is b for a, b in zip(copied.weights, layer.weights))


def test_a_copy_of_a_layer_with_a_partitioned_kernel():
    with tf.variable_scope("s", partitioner=tf.fixed_size_partitioner(2)):
        layer = tf.nn.rnn_cell.BasicRNNCell(4)
        _used(layer)
        _used(copy.deepcopy(layer))
    assert len(tf.global_variables()) == 4  # two parts of the kernel, two of the bias
