"""Optionals: tensors, or nothing, in one variant."""

import numpy as np
import pytest

import headrace as tf

raw = tf.raw_ops


@pytest.fixture(autouse=True)
def session():
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def full(*values):
    return raw.OptionalFromValue(components=[tf.constant(v) for v in values])


def value_of(optional, types, shapes):
    return raw.OptionalGetValue(optional=optional, output_types=types, output_shapes=shapes)


def test_what_goes_in_comes_out(session):
    held = full([1.0, 2.0], 3)
    found = session.run(value_of(held, [tf.float32, tf.int32], [[2], []]))
    np.testing.assert_array_equal(found[0], [1, 2])
    assert found[1] == 3
    assert session.run(raw.OptionalHasValue(optional=held))


def test_nothing(session):
    nothing = raw.OptionalNone()
    assert not session.run(raw.OptionalHasValue(optional=nothing))
    with pytest.raises(tf.errors.InvalidArgumentError, match="does not have a value"):
        session.run(value_of(nothing, [tf.float32], [[]]))


@pytest.mark.parametrize(
    "types, shapes, message",
    [([tf.int32], [[2]], "holds float, not int32"), ([tf.float32], [[3]], "of shape .2., not")],
)
def test_what_is_asked_for_must_fit(session, types, shapes, message):
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        session.run(value_of(full([1.0, 2.0]), types, shapes))


def test_other_variants_are_refused(session):
    items = raw.EmptyTensorList(element_shape=[2], max_num_elements=3, element_dtype=tf.float32)
    with pytest.raises(tf.errors.InvalidArgumentError, match="not an optional"):
        session.run(raw.OptionalHasValue(optional=items))


def test_gradient(session):
    x = tf.constant([1.0, 2.0])
    held = raw.OptionalFromValue(components=[x])
    [y] = value_of(held, [tf.float32], [[2]])
    np.testing.assert_array_equal(session.run(tf.gradients(y * y, x)[0]), [2, 4])
