"""Models in HDF5 files: the same model, weights and optimizer come back."""

from __future__ import annotations

import numpy as np
import pytest

import headrace as tf

h5py = pytest.importorskip("h5py", reason="models in HDF5 files need h5py")
keras = tf.keras


def test_a_model_comes_back_and_trains_on(tmp_path):
    generator = np.random.default_rng(0)
    x, y = generator.normal(size=(32, 6)).astype("f"), generator.normal(size=(32, 2)).astype("f")
    with tf.Graph().as_default():
        inputs = keras.Input(shape=(6,))
        shared = keras.layers.Dense(6, activation="tanh")
        outputs = keras.layers.Dense(2)(keras.layers.add([shared(inputs), shared(shared(inputs))]))
        model = keras.Model(inputs, outputs)
        model.compile("adam", "mse", metrics=["mae"])
        model.fit(x, y, verbose=0, shuffle=False)
        wanted = model.predict(x)
        model.save(str(tmp_path / "model.h5"))
        later = model.fit(x, y, epochs=2, verbose=0, shuffle=False).history["loss"]
    with tf.Graph().as_default():
        again = keras.models.load_model(str(tmp_path / "model.h5"))
        np.testing.assert_allclose(again.predict(x), wanted, rtol=1e-5, atol=1e-6)
        found = again.fit(x, y, epochs=2, verbose=0, shuffle=False).history["loss"]
    np.testing.assert_allclose(found, later, rtol=1e-4)  # Adam's averages are back, too


def test_a_weight_that_is_missing_is_named(tmp_path):
    with tf.Graph().as_default():
        keras.Sequential([keras.layers.Dense(2, input_shape=(3,))]).save_weights(str(tmp_path / "w.h5"))
        other = keras.Sequential([keras.layers.Dense(2, input_shape=(3,)), keras.layers.Dense(2)])
        with pytest.raises(ValueError, match="containing 1 layers into a model with 2 layers"):
            other.load_weights(str(tmp_path / "w.h5"))


def test_an_unknown_layer_is_named():
    text = '{"class_name": "Wonder", "config": {}}'
    with pytest.raises(ValueError, match="Unknown layer: Wonder"):
        keras.models.model_from_json(text)
