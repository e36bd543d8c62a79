"""Python's [] on tensors and variables: TF's node names, NumPy's values, assignment."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headrace as tf
from headrace.ops.array.slices.slice_update import resource_strided_slice_assign, strided_slice_assign

X = np.arange(24.0).reshape(2, 3, 4)


@pytest.fixture
def session():
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def test_node_names_are_tensorflows(session):
    tf.constant(X, name="x")[0, 1:, ..., None]
    names = [(n.name, n.type) for n in session.graph.get_operations()]
    assert names[1:] == [
        ("strided_slice/stack", "Const"),
        ("strided_slice/stack_1", "Const"),
        ("strided_slice/stack_2", "Const"),
        ("strided_slice", "StridedSlice"),
    ]


def test_an_index_may_be_a_tensor(session):
    row = tf.placeholder(tf.int32, [])
    taken = tf.constant(X)[row, :, 1:row]
    assert taken.shape.as_list() == [3, None]
    np.testing.assert_array_equal(session.run(taken, {row: 1}), X[1, :, 1:1])


def test_int64_bounds_make_all_bounds_int64(session):
    taken = tf.constant(X)[tf.constant(1, tf.int64)]
    assert taken.op.inputs[1].dtype == tf.int64
    np.testing.assert_array_equal(session.run(taken), X[1])


def test_a_mask_of_booleans(session):
    np.testing.assert_array_equal(session.run(tf.constant(X)[X > 10]), X[X > 10])


@pytest.mark.parametrize("index", [1.5, "a", np.array([0, 1]), [0.5]])
def test_other_indices_are_refused(session, index):
    with pytest.raises(TypeError, match="valid indices"):
        tf.constant(X)[index]


bound = st.none() | st.integers(-5, 5)
part = st.builds(slice, bound, bound, st.none() | st.integers(-3, 3).filter(bool))
index = st.lists(part | st.integers(-2, 1) | st.just(None), max_size=4).filter(
    lambda parts: sum(p is not None for p in parts) <= 3
)


@settings(max_examples=60)
@given(index, st.booleans())
def test_any_index_means_what_it_means_to_numpy(parts, with_ellipsis):
    key = (*parts, ...) if with_ellipsis else tuple(parts)
    with tf.Graph().as_default(), tf.Session() as session:
        taken = tf.constant(X)[key]
        wanted = X[key]
        assert taken.shape.as_list() == list(wanted.shape)
        np.testing.assert_array_equal(session.run(taken), wanted)


@pytest.mark.parametrize("use_resource", [False, True])
def test_a_slice_of_a_variable_can_be_assigned(session, use_resource):
    variable = tf.get_variable("v", initializer=X, use_resource=use_resource)
    session.run(variable.initializer)
    before = session.run(variable)
    session.run(variable[1, ::2].assign(np.zeros((2, 4))))
    wanted = X.copy()
    wanted[1, ::2] = 0
    np.testing.assert_array_equal(session.run(variable), wanted)
    np.testing.assert_array_equal(before, X)  # what was read does not change


def test_a_slice_of_a_tensor_can_not_be_assigned(session):
    with pytest.raises(ValueError, match="only supported for variables"):
        tf.constant(X)[0].assign(X[0])


@pytest.mark.parametrize("op", [strided_slice_assign, resource_strided_slice_assign])
def test_assignment_does_not_broadcast(session, op):
    is_resource = op is resource_strided_slice_assign
    variable = tf.get_variable("v", initializer=X, use_resource=is_resource)
    session.run(variable.initializer)
    target = variable.handle if is_resource else variable._ref()
    change = op(target, [0], [1], [1], np.zeros((3, 4)))
    with pytest.raises(tf.errors.UnimplementedError, match="Automatic broadcasting"):
        session.run(change)
