"""Denormal numbers: zero inside a step, numbers outside."""

import platform
import sys

import numpy as np
import pytest

import headrace as tf
from headrace.core.denormals import flushed

pytestmark = [
    pytest.mark.pure,
    pytest.mark.skipif(
        not sys.platform.startswith("linux")
        or platform.machine() != "x86_64"
        or platform.libc_ver()[0] != "glibc",
        reason="needs glibc on x86-64",
    ),
]
TINY = np.finfo(np.float64).tiny


def test_inside_and_outside():
    with flushed():
        assert TINY * 0.1 == 0
        with flushed(False):
            assert TINY * 0.1 != 0
        assert TINY * 0.1 == 0
    assert TINY * 0.1 != 0


def test_an_error_restores():
    with pytest.raises(KeyError), flushed():
        raise KeyError
    assert TINY * 0.1 != 0


def test_a_step_flushes_and_python_functions_do_not():
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float64)
        y = tf.py_func(lambda v: v * 0.1, [x], tf.float64)
        assert session.run(x * 0.1, {x: TINY}) == 0
        assert session.run(y, {x: TINY}) != 0
