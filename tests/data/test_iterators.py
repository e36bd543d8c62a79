"""Iterators: where they start, what names them, what they say when they are misused."""

from __future__ import annotations

import pytest

import headrace as tf

R = tf.data.Dataset.range


def test_one_that_is_started_again():
    size = tf.placeholder(tf.int64, [])
    iterator = R(size).make_initializable_iterator()
    following = iterator.get_next()
    with tf.Session() as session:
        with pytest.raises(tf.errors.FailedPreconditionError, match="has not been initialized"):
            session.run(following)
        for n in (2, 3):
            session.run(iterator.initializer, {size: n})
            assert [session.run(following) for _ in range(n)] == list(range(n))
            with pytest.raises(tf.errors.OutOfRangeError, match="End of sequence"):
                session.run(following)


def test_one_for_several_datasets():
    iterator = tf.data.Iterator.from_structure(tf.int64, [])
    following = iterator.get_next()
    first, second = iterator.make_initializer(R(2)), iterator.make_initializer(R(5, 7))
    with tf.Session() as session:
        for start, expected in ((first, [0, 1]), (second, [5, 6])):
            session.run(start)
            assert [session.run(following) for _ in range(2)] == expected
    with pytest.raises(TypeError, match="Expected output types"):
        iterator.make_initializer(R(2).map(lambda x: tf.cast(x, tf.int32)))


def test_one_that_is_fed():
    handle = tf.placeholder(tf.string, [])
    following = tf.data.Iterator.from_string_handle(handle, tf.int64, []).get_next()
    iterators = [R(3).make_one_shot_iterator(), R(10, 13).make_one_shot_iterator()]
    with tf.Session() as session:
        first, second = session.run([i.string_handle() for i in iterators])
        given = [session.run(following, {handle: h}) for h in (first, second, first, second)]
        assert given == [0, 10, 1, 11]
        with pytest.raises(tf.errors.InvalidArgumentError, match="Could not parse|device"):
            session.run(following, {handle: b"nonsense"})


def test_a_variable_in_a_one_shot_iterator_is_refused():
    variable = tf.get_variable("v", [], use_resource=True)
    dataset = R(3).map(lambda x: tf.cast(x, tf.float32) + variable)
    with pytest.raises(ValueError, match="does not support datasets that capture stateful objects"):
        dataset.make_one_shot_iterator()
    iterator = dataset.make_initializable_iterator()
    with tf.Session() as session:
        session.run(variable.assign(2.0))
        session.run(iterator.initializer)
        assert session.run(iterator.get_next()) == 2.0
