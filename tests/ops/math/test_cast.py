"""Casts between all pairs of types, and the ones that round towards zero."""

import itertools

import ml_dtypes
import numpy as np
import pytest

import headrace as tf
from headrace.core import dtypes
from headrace.ops.math.cast import cast_array

pytestmark = pytest.mark.pure
NUMBERS = [d for d in dtypes.ALL if d.kind in "fiubc" and not d.is_quantized]


@pytest.mark.parametrize("source, target", list(itertools.product(NUMBERS, NUMBERS)), ids=lambda d: d.name)
def test_small_numbers_keep_their_value(source, target):
    x = np.array([0, 1, 3, 100]).astype(source.numpy)
    y = cast_array(x, target)
    assert y.dtype == target.numpy
    wanted = x.astype(bool) if target.kind == "b" else x
    np.testing.assert_array_equal(y.astype(complex), wanted.astype(complex))


def test_truth_is_what_is_not_zero():
    x = np.array([0.0, -0.0, 0.1, np.nan, -np.inf])
    assert cast_array(x, dtypes.bool_).tolist() == [False, False, True, True, True]
    assert cast_array(np.array([1j, 1 + 0j]), dtypes.bool_).tolist() == [False, True]


def test_fractions_are_cut_off():
    x = np.array([1.9, -1.9, 2.5])
    assert cast_array(x, dtypes.int32).tolist() == [1, -1, 2]


@pytest.mark.parametrize("target", [dtypes.bfloat16, dtypes.float16, dtypes.float32])
def test_truncation_never_moves_away_from_zero(target):
    x = np.random.default_rng(0).normal(size=1000)
    y = cast_array(x, target, truncate=True).astype(np.float64)
    assert (np.abs(y) <= np.abs(x)).all()
    spacing = 2.0 ** -int(ml_dtypes.finfo(target.numpy).nmant)
    assert (np.abs(x - y) <= spacing * np.abs(x)).all()


def test_truncation_leaves_what_is_no_number():
    x = np.array([np.nan, np.inf, -np.inf])
    np.testing.assert_array_equal(cast_array(x, dtypes.float32, True).astype(float), x)


def test_strings_can_not_be_cast():
    with tf.Graph().as_default(), tf.Session() as session:
        with pytest.raises(tf.errors.UnimplementedError, match="Cast string to int32"):
            session.run(tf.cast(tf.constant("1"), tf.int32))
