"""Signals: what comes back after a transform and its inverse, and sizes that are not known."""

import numpy as np
import pytest

import headrace as tf

SIGNAL = np.random.default_rng(0).normal(size=(2, 1000)).astype(np.float32)


def run(build, *arrays, hidden=False):
    with tf.Graph().as_default(), tf.Session() as session:
        if hidden:
            inputs = [tf.placeholder(a.dtype) for a in arrays]
            return session.run(build(*inputs), dict(zip(inputs, arrays)))
        return session.run(build(*map(tf.constant, arrays)))


@pytest.mark.parametrize("hidden", [False, True])
@pytest.mark.parametrize("length, step", [(256, 64), (400, 160), (100, 100)])
def test_inverse_stft_undoes_stft(length, step, hidden):
    def there_and_back(x):
        window = tf.signal.hamming_window
        spectra = tf.signal.stft(x, length, step, window_fn=window)
        undo = tf.signal.inverse_stft_window_fn(step, forward_window_fn=window)
        return tf.signal.inverse_stft(spectra, length, step, window_fn=undo)

    out = run(there_and_back, SIGNAL, hidden=hidden)
    inside = slice(length, 1000 - 2 * length if length < 400 else 600)
    np.testing.assert_allclose(out[:, inside], SIGNAL[:, inside], atol=1e-5)


@pytest.mark.parametrize("length, step", [(5, 3), (3, 5), (4, 4), (2, 1)])
def test_frames_added_up_count_how_often_they_overlap(length, step):
    ones = np.ones((3, 20), np.float32)
    out = run(lambda x: tf.signal.frame(x, length, step), ones)
    starts = range(0, 20 - length + 1, step)
    assert out.shape == (3, len(starts), length)
    if step <= length:
        added = run(lambda x: tf.signal.overlap_and_add(x, step), out)
        wanted = np.zeros((3, (len(starts) - 1) * step + length))
        for start in starts:
            wanted[:, start : start + length] += 1
        np.testing.assert_array_equal(added, wanted)


@pytest.mark.parametrize("type_", [1, 2, 3])
@pytest.mark.parametrize("hidden", [False, True])
def test_idct_undoes_dct(type_, hidden):
    def there_and_back(x):
        return tf.signal.idct(tf.signal.dct(x, type=type_), type=type_)

    x = SIGNAL[:, :50]
    if hidden:
        with tf.Graph().as_default(), tf.Session() as session:
            signal = tf.placeholder(tf.float32, [None, None])
            out = session.run(there_and_back(signal), {signal: x})
    else:
        out = run(there_and_back, x)
    scale = 2 * (50 - (type_ == 1))
    np.testing.assert_allclose(out / scale, x, atol=1e-5)


def test_dct_ortho_keeps_lengths():
    out = run(lambda x: tf.signal.dct(x, norm="ortho"), SIGNAL)
    np.testing.assert_allclose((out**2).sum(), (SIGNAL**2).sum(), rtol=1e-4)


@pytest.mark.parametrize("fft_length", [8, 15, 30])
@pytest.mark.parametrize("hidden", [False, True])
def test_rfft_cuts_and_fills(fft_length, hidden):
    x = SIGNAL[:, :20]
    out = run(lambda x: tf.signal.rfft(x, [fft_length]), x, hidden=hidden)
    np.testing.assert_allclose(out, np.fft.rfft(x, fft_length), atol=1e-5)
