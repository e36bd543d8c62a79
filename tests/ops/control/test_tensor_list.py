"""Lists of tensors: values that never change, gradients, what they refuse; arrays made of them."""

import numpy as np
import pytest

import headrace as tf
from headrace.functions.control import tensor_lists as lists

pytestmark = pytest.mark.pure


@pytest.fixture(autouse=True)
def session():
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def stacked(handle, dtype=tf.float32):
    return lists.tensor_list_stack(handle, dtype)


def test_a_list_never_changes(session):
    empty = lists.empty_tensor_list([], tf.float32)
    one = lists.tensor_list_push_back(empty, 1.0)
    two, other = lists.tensor_list_push_back(one, 2.0), lists.tensor_list_push_back(one, 3.0)
    shorter, last = lists.tensor_list_pop_back(two, tf.float32)
    found = session.run([stacked(x) for x in (empty, one, two, other, shorter)] + [last])
    assert [np.asarray(x).tolist() for x in found] == [[], [1], [1, 2], [1, 3], [1], 2]


def test_items_that_are_not_set_are_zero(session):
    held = lists.tensor_list_reserve([2], 3, tf.float32)
    held = lists.tensor_list_set_item(held, 1, [1.0, 2.0])
    assert session.run(stacked(held)).tolist() == [[0, 0], [1, 2], [0, 0]]
    grown = lists.tensor_list_set_item(held, 3, [3.0, 4.0], resize_if_index_out_of_bounds=True)
    assert session.run(stacked(grown)).shape == (4, 2)


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda h: lists.tensor_list_get_item(h, 3, tf.float32), "element 3 in a list with 2"),
        (lambda h: lists.tensor_list_set_item(h, -1, 1.0), "modify element -1"),
        (lambda h: stacked(lists.empty_tensor_list(None, tf.float32)), "empty list with non-fully"),
        (
            lambda h: lists.tensor_list_pop_back(lists.empty_tensor_list([], tf.float32), tf.float32)[1],
            "pop from an empty list",
        ),
        (lambda h: lists.tensor_list_push_back(lists.empty_tensor_list([], tf.float32, 0), 1.0), "full list"),
        (lambda h: lists.tensor_list_gather(h, [5], tf.float32), "Index 5 out o range"),
    ],
)
def test_misuse(session, make, message):
    held = lists.tensor_list_from_tensor([1.0, 2.0], [])
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        session.run(make(held))


def test_types_and_shapes_are_checked_while_building():
    held = lists.tensor_list_from_tensor([1.0, 2.0], [])
    with pytest.raises(ValueError, match="wrong element dtype"):
        lists.tensor_list_push_back(held, 1)
    with pytest.raises(ValueError, match="rank"):
        lists.tensor_list_set_item(held, 0, [1.0])
    assert lists.tensor_list_get_item(held, 0, tf.float32).shape.as_list() == []


def test_gradients(session):
    x = tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    held = lists.tensor_list_from_tensor(x, [2])
    held = lists.tensor_list_push_back(held, x[0] * 2.0)
    held = lists.tensor_list_set_item(held, 1, x[2] * 3.0)
    y = tf.reduce_sum(stacked(held) * [[1.0], [10.0], [100.0], [1000.0]])
    assert session.run(tf.gradients(y, x)[0]).tolist() == [[2001, 2001], [0, 0], [130, 130]]
    z = lists.tensor_list_concat(lists.tensor_list_split(x, [None, 2], [1, 2]), tf.float32)
    assert session.run(tf.gradients(z * z, x)[0]).tolist() == (2 * session.run(x)).tolist()
    picked = lists.tensor_list_gather(lists.tensor_list_from_tensor(x, [2]), [2, 0], tf.float32)
    grad = tf.gradients(picked, x, [tf.constant([[1.0, 1.0], [5.0, 5.0]])])[0]
    assert session.run(grad).tolist() == [[5, 5], [0, 0], [1, 1]]


def test_a_list_in_a_loop_and_its_gradient(session):
    x = tf.constant(2.0)

    def body(i, held):
        return i + 1, lists.tensor_list_push_back(held, x * tf.cast(i, tf.float32))

    start = lists.empty_tensor_list([], tf.float32)
    _, held = tf.while_loop(lambda i, _: i < 4, body, [0, start])
    y = tf.reduce_sum(stacked(held))
    assert session.run(y) == 12.0


def test_an_array_made_of_a_list(session):
    spec = tf.TensorArraySpec([2], tf.float32)
    plain = tf.TensorArray(tf.float32, 2).unstack([[1.0, 2.0], [3.0, 4.0]])
    assert spec.is_compatible_with(plain)
    array = spec._from_components(spec._to_components(plain))
    assert array.element_shape.as_list() == [2]
    changed = array.write(0, [5.0, 6.0])
    values = [array.stack(), changed.stack(), changed.read(0), array.size(), changed.concat()]
    found = [v.tolist() for v in session.run(values)]
    assert found == [[[1, 2], [3, 4]], [[5, 6], [3, 4]], [5, 6], 2, [5, 6, 3, 4]]
