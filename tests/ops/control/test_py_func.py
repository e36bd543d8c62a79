"""What an exception of the user's function is to the step."""

from __future__ import annotations

import pytest

import headrace as tf

MEANINGS = [
    (StopIteration, tf.errors.OutOfRangeError),
    (ValueError, tf.errors.InvalidArgumentError),
    (UnicodeError, tf.errors.InvalidArgumentError),
    (TypeError, tf.errors.InvalidArgumentError),
    (MemoryError, tf.errors.ResourceExhaustedError),
    (NotImplementedError, tf.errors.UnimplementedError),
    (InterruptedError, tf.errors.UnknownError),
    (KeyError, tf.errors.UnknownError),
    (RuntimeError, tf.errors.UnknownError),
    (lambda text: tf.errors.AbortedError(None, None, text), tf.errors.UnknownError),
]


@pytest.mark.parametrize("compiled", ["0", "1"])
@pytest.mark.parametrize("raised, seen", MEANINGS)
def test_exceptions_as_tensorflow_sees_them(monkeypatch, compiled, raised, seen):
    monkeypatch.setenv("HEADRACE_COMPILE", compiled)

    def fails():
        raise raised("on purpose")

    with tf.Graph().as_default(), tf.Session() as session:
        y = tf.py_func(fails, [], tf.float32)
        for _ in range(2):
            with pytest.raises(seen, match="on purpose") as caught:
                session.run(y + 1.0)
            assert type(caught.value) is seen
