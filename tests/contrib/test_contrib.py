"""tf.contrib.layers and slim: default arguments by scope, names, batch normalisation, training."""

import numpy as np
import pytest

import headrace as tf

slim = tf.contrib.slim


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as g:
        yield g


@slim.add_arg_scope
def shown(*args, **kwargs):
    return args, kwargs


def test_arg_scope_nests_and_yields():
    with slim.arg_scope([shown], a=1, b=2) as scope:
        assert shown(0) == ((0,), {"a": 1, "b": 2})
        with slim.arg_scope([shown], b=3):
            assert shown(a=4) == ((), {"a": 4, "b": 3})
    assert shown() == ((), {})
    with slim.arg_scope(scope):
        assert shown() == ((), {"a": 1, "b": 2})
    with pytest.raises(ValueError, match="is not decorated"):
        with slim.arg_scope([len], a=1):
            pass


def test_names_of_a_small_net():
    x = tf.placeholder(tf.float32, [None, 8, 8, 3])
    with slim.arg_scope([slim.conv2d], normalizer_fn=slim.batch_norm):
        net = slim.repeat(x, 2, slim.conv2d, 4, [3, 3], scope="conv1")
    net = slim.max_pool2d(net, [2, 2], scope="pool1")
    net = slim.stack(slim.flatten(net), slim.fully_connected, [5, 6], scope="fc")
    assert net.shape.as_list() == [None, 6]
    assert [v.op.name for v in slim.get_model_variables("fc")] == [
        "fc/fc_1/weights",
        "fc/fc_1/biases",
        "fc/fc_2/weights",
        "fc/fc_2/biases",
    ]
    assert len(slim.get_variables_by_suffix("moving_mean")) == 2
    assert len(tf.get_collection(tf.GraphKeys.UPDATE_OPS)) == 4


def test_outputs_by_name():
    x = tf.ones([2, 3])
    slim.fully_connected(x, 4, scope="a", outputs_collections="ends")
    with tf.variable_scope("b"):
        slim.fully_connected(x, 4, scope="c", outputs_collections="ends")
    ends = slim.utils.convert_collection_to_dict("ends")
    assert list(ends) == ["a", "b/c"]


@pytest.mark.parametrize("rank", [2, 4])
def test_batch_norm_that_updates_by_itself(rank):
    data = np.random.RandomState(0).normal(3, 2, size=(16, *[4] * (rank - 2), 5)).astype("f")
    training = tf.placeholder_with_default(True, [])
    y = slim.batch_norm(
        tf.constant(data), decay=0.0, is_training=training, updates_collections=None, scope="bn"
    )
    mean = slim.get_unique_variable("bn/moving_mean")
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        trained = sess.run(y)
        axes = tuple(range(rank - 1))
        np.testing.assert_allclose(trained.mean(axes), 0, atol=1e-4)
        np.testing.assert_allclose(sess.run(mean), data.mean(axes), rtol=1e-4)
        applied = sess.run(y, {training: False})
        # The average has the variance over n - 1.
        np.testing.assert_allclose(applied, trained, rtol=5e-2, atol=1e-4)


def test_training_lowers_the_loss():
    rng = np.random.RandomState(1)
    x = rng.normal(size=(64, 4)).astype("f")
    y = slim.fully_connected(tf.constant(x), 1, activation_fn=None)
    slim.losses.mean_squared_error(y, tf.constant(x.sum(1, keepdims=True)))
    loss = slim.losses.get_total_loss()
    train = slim.learning.create_train_op(
        loss, tf.train.GradientDescentOptimizer(0.1), clip_gradient_norm=5.0
    )
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        losses = [sess.run(train) for _ in range(50)]
        assert losses[-1] < losses[0] / 20
        assert sess.run(tf.train.get_global_step()) == 50


def test_hparams():
    hparams = tf.contrib.training.HParams(rate=0.5, units=[1, 2], name="x", on=True)
    hparams.parse("rate=1,units=[3,4],on=false")
    assert hparams.values() == {"rate": 1.0, "units": [3, 4], "name": "x", "on": False}
    with pytest.raises(ValueError, match="Could not parse hparam 'rate'"):
        hparams.parse("rate=fast")
    with pytest.raises(ValueError, match="Unknown hyperparameter type for other"):
        hparams.parse("other=1")
