"""Recurrent layers, beside the same recurrences in NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import headrace as tf

keras = tf.keras


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default():
        yield


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def lstm(x, kernel, recurrent, bias):
    units = recurrent.shape[0]
    h = c = np.zeros((x.shape[0], units))
    found = []
    for t in range(x.shape[1]):
        i, f, new, o = np.split(x[:, t] @ kernel + h @ recurrent + bias, 4, axis=1)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(new)
        h = sigmoid(o) * np.tanh(c)
        found.append(h)
    return np.stack(found, 1)


def gru(x, kernel, recurrent, bias):
    units = recurrent.shape[0]
    h = np.zeros((x.shape[0], units))
    found = []
    for t in range(x.shape[1]):
        z, r, n = np.split(x[:, t] @ kernel + bias, 3, axis=1)
        uz, ur, un = np.split(recurrent, 3, axis=1)
        z, r = sigmoid(z + h @ uz), sigmoid(r + h @ ur)
        h = z * h + (1 - z) * np.tanh(n + (r * h) @ un)
        found.append(h)
    return np.stack(found, 1)


@pytest.mark.parametrize("unroll", [False, True])
@pytest.mark.parametrize(("layer", "reference"), [("LSTM", lstm), ("GRU", gru)])
def test_a_layer_is_its_recurrence(layer, reference, unroll):
    x = np.random.default_rng(0).normal(size=(3, 5, 4)).astype(np.float32)
    made = getattr(keras.layers, layer)(
        6, recurrent_activation="sigmoid", return_sequences=True, unroll=unroll, input_shape=(5, 4)
    )
    model = keras.Sequential([made])
    wanted = reference(x, *model.get_weights())
    np.testing.assert_allclose(model.predict(x), wanted, rtol=1e-4, atol=1e-5)


def test_both_directions():
    x = np.random.default_rng(1).normal(size=(2, 5, 3)).astype(np.float32)
    inner = keras.layers.LSTM(4, recurrent_activation="sigmoid", return_sequences=True)
    model = keras.Sequential([keras.layers.Bidirectional(inner, input_shape=(5, 3))])
    weights = model.get_weights()
    wanted = np.concatenate([lstm(x, *weights[:3]), lstm(x[:, ::-1], *weights[3:])[:, ::-1]], -1)
    np.testing.assert_allclose(model.predict(x), wanted, rtol=1e-4, atol=1e-5)


def test_masked_steps_do_not_count():
    x = np.random.default_rng(2).normal(size=(2, 6, 3)).astype(np.float32)
    x[:, 4:] = 0
    model = keras.Sequential(
        [keras.layers.Masking(input_shape=(6, 3)), keras.layers.LSTM(4, recurrent_activation="sigmoid")]
    )
    wanted = lstm(x[:, :4], *model.get_weights())[:, -1]
    np.testing.assert_allclose(model.predict(x), wanted, rtol=1e-4, atol=1e-5)


def test_a_stateful_layer_goes_on_where_it_was():
    x = np.random.default_rng(3).normal(size=(2, 6, 3)).astype(np.float32)
    layer = keras.layers.LSTM(4, recurrent_activation="sigmoid", stateful=True, batch_input_shape=(2, 3, 3))
    model = keras.Sequential([layer])
    wanted = lstm(x, *model.get_weights())
    for half in (0, 1):
        found = model.predict(x[:, 3 * half : 3 * half + 3], batch_size=2)
        np.testing.assert_allclose(found, wanted[:, 3 * half + 2], rtol=1e-4, atol=1e-5)
    model.reset_states()
    np.testing.assert_allclose(model.predict(x[:, :3], batch_size=2), wanted[:, 2], rtol=1e-4, atol=1e-5)


def test_constraints_have_names():
    for name in ("max_norm", "non_neg", "unit_norm", "min_max_norm"):
        made = keras.constraints.get(name)
        assert (
            keras.constraints.deserialize(keras.constraints.serialize(made)).get_config() == made.get_config()
        )


def test_a_variable_that_becomes_an_attribute_is_initialised():
    layer = keras.layers.Lambda(lambda x: x)
    layer.scale = tf.Variable(2.0, use_resource=True)
    assert layer.get_weights() == [2.0]
