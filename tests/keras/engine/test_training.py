"""Training a model, beside the same steps in NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import headrace as tf

keras = tf.keras


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default():
        yield


def data(seed=0, count=64, features=5):
    generator = np.random.default_rng(seed)
    x = generator.normal(size=(count, features)).astype(np.float32)
    weights = generator.normal(size=(features, 2)).astype(np.float32)
    return x, (x @ weights + 0.1 * generator.normal(size=(count, 2))).astype(np.float32)


def linear(features=5):
    return keras.Sequential([keras.layers.Dense(2, input_shape=(features,))])


def descended(x, y, kernel, bias, rate, batch):
    """Gradient descent on the mean squared error, batch by batch: the losses and the weights."""
    losses = []
    for start in range(0, len(x), batch):
        rows, wanted = x[start : start + batch], y[start : start + batch]
        error = rows @ kernel + bias - wanted
        losses.append(np.mean(error**2))
        slope = 2 * error / error.size
        kernel, bias = kernel - rate * rows.T @ slope, bias - rate * slope.sum(0)
    return losses, kernel, bias


def test_fit_is_gradient_descent():
    x, y = data()
    model = linear()
    model.compile(keras.optimizers.SGD(0.1), "mse")
    kernel, bias = model.get_weights()
    history = model.fit(x, y, batch_size=16, epochs=2, shuffle=False, verbose=0).history
    for epoch in range(2):
        losses, kernel, bias = descended(x, y, kernel, bias, 0.1, 16)
        np.testing.assert_allclose(history["loss"][epoch], np.mean(losses), rtol=1e-4)
    for found, wanted in zip(model.get_weights(), (kernel, bias)):
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-6)


def test_evaluate_and_predict_are_the_formula():
    x, y = data()
    model = linear()
    model.compile("sgd", "mse", metrics=["mae"])
    kernel, bias = model.get_weights()
    wanted = x @ kernel + bias
    np.testing.assert_allclose(model.predict(x, batch_size=20), wanted, rtol=1e-4, atol=1e-5)
    loss, error = model.evaluate(x, y, batch_size=20, verbose=0)
    np.testing.assert_allclose(loss, np.mean((wanted - y) ** 2), rtol=1e-4)
    np.testing.assert_allclose(error, np.mean(np.abs(wanted - y)), rtol=1e-4)
    assert model.metrics_names == ["loss", "mean_absolute_error"]


def test_weights_of_examples_and_classes():
    x, y = data()
    own = np.random.default_rng(1).uniform(size=len(x)).astype(np.float32)
    model = linear()
    model.compile("sgd", "mse")
    kernel, bias = model.get_weights()
    per_example = np.mean((x @ kernel + bias - y) ** 2, axis=1)
    found = model.evaluate(x, y, sample_weight=own, batch_size=64, verbose=0)
    np.testing.assert_allclose(found, np.mean(per_example * own), rtol=1e-4)


def test_several_outputs_have_losses_of_their_own():
    x, y = data()
    inputs = keras.Input(shape=(5,))
    first, second = (keras.layers.Dense(2, name=name)(inputs) for name in ("first", "second"))
    model = keras.Model(inputs, [first, second])
    model.compile("sgd", ["mse", "mae"], loss_weights=[1.0, 0.5], metrics=[["mae"], []])
    found = dict(zip(model.metrics_names, model.evaluate(x, [y, y], batch_size=64, verbose=0)))
    assert list(found) == ["loss", "first_loss", "second_loss", "first_mean_absolute_error"]
    np.testing.assert_allclose(found["loss"], found["first_loss"] + 0.5 * found["second_loss"], rtol=1e-5)


def test_progress_is_shown_as_in_keras(capsys):
    x, y = data()
    model = linear()
    model.compile("sgd", "mse")
    model.fit(x, y, epochs=2, batch_size=32, validation_data=(x, y))
    lines = capsys.readouterr().out.replace("\r", "\n").replace("\b", "").splitlines()
    assert lines[0] == "Train on 64 samples, validate on 64 samples"
    assert "Epoch 1/2" in lines
    assert any(
        line.startswith("64/64 [==============================] - ")
        and "sample - loss: " in line
        and "val_loss" in line
        for line in lines
    )


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"x": np.zeros((4, 3), "f")}, ValueError, "expected dense_input to have shape"),
        ({"y": np.zeros((4, 3), "f")}, ValueError, "A target array with shape"),
        ({"y": np.zeros((5, 2), "f")}, ValueError, "same number of samples"),
    ],
)
def test_wrong_data_is_refused(change, error, message):
    model = linear()
    model.compile("sgd", "mse")
    given = {"x": np.zeros((4, 5), "f"), "y": np.zeros((4, 2), "f")} | change
    with pytest.raises(error, match=message):
        model.fit(**given, verbose=0)


def test_a_model_that_is_not_compiled_says_so():
    with pytest.raises(RuntimeError, match="You must compile your model"):
        linear().fit(np.zeros((4, 5)), np.zeros((4, 2)))
