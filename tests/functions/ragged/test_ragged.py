"""Ragged tensors: making, indexing, other forms, gradients."""

import numpy as np
import pytest

import headrace as tf

NESTED = [[[1], [2, 3]], [], [[4, 5, 6], [], [7]]]


def run(fetches, feeds=None):
    with tf.Session() as session:
        value = session.run(fetches, feeds)
    return value.to_list() if hasattr(value, "to_list") else value.tolist()


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default():
        yield


@pytest.mark.parametrize(
    "method, rows",
    [
        ("from_row_splits", [0, 2, 2, 3]),
        ("from_row_lengths", [2, 0, 1]),
        ("from_value_rowids", [0, 0, 2]),
        ("from_row_starts", [0, 2, 2]),
        ("from_row_limits", [2, 2, 3]),
    ],
)
def test_rows_said_in_five_ways(method, rows):
    assert run(getattr(tf.RaggedTensor, method)([1, 2, 3], rows)) == [[1, 2], [], [3]]


@pytest.mark.parametrize(
    "key, expected",
    [
        (2, [[4, 5, 6], [], [7]]),
        (slice(1, None), [[], [[4, 5, 6], [], [7]]]),
        (slice(None, None, 2), [[[1], [2, 3]], [[4, 5, 6], [], [7]]]),
        ((slice(None), slice(1, None)), [[[2, 3]], [], [[], [7]]]),
        ((slice(None), slice(None), slice(None, -1)), [[[], [2]], [], [[4, 5], [], []]]),
        ((2, 0), [4, 5, 6]),
    ],
    ids=str,
)
def test_indexing(key, expected):
    assert run(tf.ragged.constant(NESTED)[key]) == expected


def test_a_column_can_not_be_asked_for():
    with pytest.raises(ValueError, match="Cannot index into an inner ragged dimension"):
        tf.ragged.constant(NESTED)[:, 0]


def test_dense_and_back():
    x = tf.ragged.constant([[1, 2], [], [3]])
    assert run(x.to_tensor(-1)) == [[1, 2], [-1, -1], [3, -1]]
    assert run(tf.RaggedTensor.from_tensor(x.to_tensor(-1), padding=-1)) == [[1, 2], [], [3]]
    assert run(tf.RaggedTensor.from_sparse(x.to_sparse())) == [[1, 2], [], [3]]
    assert run(tf.ragged.constant(NESTED).bounding_shape()) == [3, 3, 3]


def test_gradient_reaches_the_values():
    values = tf.constant([1.0, 2.0, 3.0])
    dense = tf.RaggedTensor.from_row_splits(values, [0, 1, 3]).to_tensor()
    assert run(tf.gradients(dense * dense, values)[0]) == [2, 4, 6]


def test_operators_and_stacking():
    x = tf.ragged.constant([[1, 2], [3]])
    assert run(10 - x * 2) == [[8, 6], [4]]
    assert run(tf.ragged.stack([x, x], axis=1)) == [[[1, 2], [1, 2]], [[3], [3]]]
    assert run(tf.ragged.boolean_mask(x, tf.ragged.constant([[True, False], [True]]))) == [[1], [3]]


def test_feeding():
    x = tf.ragged.placeholder(tf.int32, 1)
    value = tf.ragged.constant_value([[1], [2, 3]], dtype=np.int32)
    assert run(x + 1, {x: value}) == [[2], [3, 4]]


def test_rows_are_checked_when_they_run():
    values = tf.placeholder_with_default([1, 2, 3], [None])
    with pytest.raises(tf.errors.InvalidArgumentError, match="do not form a valid RaggedTensor"):
        run(tf.RaggedTensor.from_row_splits(values, [0, 2, 4]))


@pytest.mark.parametrize("make", [tf.ragged.constant, tf.ragged.constant_value])
@pytest.mark.parametrize("pylist", [[], [[]], [[], [[]]]])
def test_a_rank_that_no_tensor_has_is_refused(make, pylist):
    with pytest.raises(ValueError, match="Invalid ragged_rank=.*at most 254 dimensions"):
        make(pylist, dtype="int32", ragged_rank=8968073515812833920)
    assert len(make(pylist, dtype="int32", ragged_rank=20).shape) == 21


def test_a_placeholder_of_a_rank_that_no_tensor_has_is_refused():
    with pytest.raises(ValueError, match="at most 254 dimensions"):
        tf.ragged.placeholder(tf.int32, ragged_rank=2**40)
