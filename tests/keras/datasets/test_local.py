"""Datasets from local files."""

from __future__ import annotations

import numpy as np
import pytest

import headrace as tf

datasets = tf.keras.datasets


def test_digits(tmp_path):
    images = np.arange(2 * 4, dtype=np.uint8).reshape(2, 2, 2)
    labels = np.array([3, 1])
    path = tmp_path / "digits.npz"
    np.savez(path, x_train=images, y_train=labels, x_test=images[:1], y_test=labels[:1])
    (x, y), (x_test, y_test) = datasets.mnist.load_data(str(path))
    assert (x == images).all() and (y == labels).all() and len(x_test) == len(y_test) == 1


def test_texts_are_cut_to_known_words(tmp_path):
    rows = np.empty(2, object)
    rows[:] = [[1, 2, 9], [3]]
    path = tmp_path / "texts.npz"
    np.savez(path, x_train=rows, y_train=[0, 1], x_test=rows, y_test=[0, 1])
    (x, y), _ = datasets.imdb.load_data(str(path), num_words=8)
    found = {tuple(text): label for text, label in zip(x, y)}
    assert found == {(1, 4, 5, 2): 0, (1, 6): 1}


def test_a_file_that_is_missing_is_named():
    with pytest.raises(FileNotFoundError, match=r"no_such_file.npz is not there: put it at"):
        datasets.mnist.load_data("no_such_file.npz")
