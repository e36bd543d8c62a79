"""Datasets in eager mode: `for` loops, iterators as values and as arguments of functions."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import headrace as tf
from headrace.eager.context import eager_mode
from tests.timing import wait_until


@pytest.fixture(autouse=True)
def eager():
    with eager_mode():
        yield


def values(dataset):
    return [x.numpy().tolist() for x in dataset]


def test_for_loops_give_values_again_and_again():
    dataset = tf.data.Dataset.range(5).map(lambda x: x * x).filter(lambda x: x > 0).batch(3)
    assert values(dataset) == [[1, 4, 9], [16]]
    assert values(dataset) == [[1, 4, 9], [16]]


def test_functions_of_elements_use_variables_and_values():
    variable, value = tf.Variable(2.0), tf.constant(10.0)
    dataset = tf.data.Dataset.from_tensor_slices([1.0, 2.0]).map(lambda x: x * variable + value)
    assert values(dataset) == [12.0, 14.0]
    variable.assign(3.0)
    assert values(dataset) == [13.0, 16.0]


def test_structures():
    sparse = tf.SparseTensor([[0], [2]], [1, 2], [4])
    for row, (x, more) in tf.data.Dataset.from_tensors(({"a": [1, 2]}, (sparse, "text"))):
        assert row["a"].numpy().tolist() == [1, 2]
        assert x.values.numpy().tolist() == [1, 2] and more.numpy() == b"text"


def test_datasets_of_datasets():
    windows = tf.data.Dataset.range(5).window(2)
    assert [values(w) for w in windows] == [[0, 1], [2, 3], [4]]


def test_an_iterator_by_hand():
    iterator = tf.data.Dataset.range(2).make_one_shot_iterator()
    assert iterator.get_next().numpy() == 0 and next(iterator).numpy() == 1
    with pytest.raises(StopIteration):
        next(iterator)
    with pytest.raises(tf.errors.OutOfRangeError, match="End of sequence"):
        iterator.get_next()
    assert tf.data.experimental.get_next_as_optional(iterator).has_value().numpy() == np.False_


def test_initializable_iterators_are_for_graphs():
    with pytest.raises(RuntimeError, match="not supported when eager execution is enabled"):
        tf.data.Dataset.range(2).make_initializable_iterator()
    with tf.Graph().as_default(), pytest.raises(RuntimeError, match="eager execution is enabled"):
        iter(tf.data.Dataset.range(2))


def test_an_iterator_is_an_argument_of_a_function():
    calls = []

    @tf.function
    def tenfold(iterator):
        calls.append(1)
        return next(iterator) * 10

    first, second = iter(tf.data.Dataset.range(3)), iter(tf.data.Dataset.range(5, 8))
    assert [tenfold(first).numpy(), tenfold(second).numpy(), tenfold(first).numpy()] == [0, 50, 10]
    assert next(first).numpy() == 2 and len(calls) == 1


def test_loops_in_the_body_of_a_function_are_refused():
    """They would never end."""

    @tf.function
    def total(elements):
        return sum(elements)

    for made in (tf.data.Dataset.range(3), iter(tf.data.Dataset.range(3))):
        with pytest.raises(RuntimeError, match="never ends|only supported"):
            total(made)


def test_an_error_names_the_line_and_the_next_element_comes():
    dataset = tf.data.Dataset.from_tensor_slices([1.0, -1.0, 3.0])
    iterator = iter(dataset.map(lambda x: tf.debugging.check_numerics(tf.math.log(x), "a log")))
    assert next(iterator).numpy() == 0
    with pytest.raises(tf.errors.InvalidArgumentError, match="test_owned_iterator"):
        next(iterator)
    assert next(iterator).numpy() == np.log(np.float32(3))


def test_what_nobody_holds_ends():
    ended = []

    def numbers():
        try:
            yield from range(100)
        finally:
            ended.append(1)

    dataset = tf.data.Dataset.from_generator(numbers, tf.int32).prefetch(2)
    for x in dataset:
        if x.numpy() == 3:
            break
    iterator = iter(dataset)
    next(iterator)
    del x, iterator
    gc.collect()
    wait_until(lambda: len(ended) == 2)
