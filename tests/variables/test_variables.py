"""Variables of both kinds: what conformance to TensorFlow's own tests does not show."""

from __future__ import annotations

import numpy as np
import pytest

import headrace as tf

both = pytest.mark.parametrize("by_handle", [False, True])


@pytest.fixture
def session():
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def initialized(session):
    session.run(tf.global_variables_initializer())


@both
def test_a_fetched_value_never_changes(session, by_handle):
    v = tf.get_variable("v", initializer=np.zeros(3, np.float32), use_resource=by_handle)
    add = v.assign_add([1.0, 2.0, 3.0])
    initialized(session)
    before = session.run(v)
    session.run(add)
    assert before.tolist() == [0, 0, 0]
    assert session.run(v).tolist() == [1, 2, 3]


@both
def test_an_initial_value_is_not_written(session, by_handle):
    array = np.zeros((4, 2), np.float32)
    v = tf.get_variable("v", initializer=array, use_resource=by_handle)
    update = v.scatter_add(tf.IndexedSlices(tf.ones([1, 2]), tf.constant([3])))
    initialized(session)
    session.run(update)
    session.run(v.initializer)
    assert not array.any() and not session.run(v).any()


@both
def test_rows_are_updated_in_place(session, by_handle):
    """A table is not copied while nobody else holds its array."""
    v = tf.get_variable("v", [1000, 8], initializer=tf.zeros_initializer(), use_resource=by_handle)
    update = v.scatter_add(tf.IndexedSlices(tf.ones([2, 8]), tf.constant([3, 3]))).op
    initialized(session)
    session.run(update)
    slot = session._containers.find("", "variable", "v")
    address = slot.value.__array_interface__["data"][0]
    session.run(update)
    assert slot.value.__array_interface__["data"][0] == address
    assert session.run(v)[3].tolist() == [4] * 8


@both
def test_definition_and_back(session, by_handle):
    with tf.name_scope("outer"), tf.variable_scope("a"):
        v = tf.Variable([1.0], name="v", use_resource=by_handle, trainable=False)
    again = tf.Variable.from_proto(v.to_proto())
    assert (again.name, again.trainable, type(again)) == (v.name, False, type(v))
    assert v.to_proto(export_scope="other") is None


def test_initial_values_may_depend_on_other_variables(session):
    a = tf.Variable([1.0, 2.0], name="a")
    b = tf.Variable(a * 2.0, name="b")
    c = tf.Variable(a.initialized_value() + 1.0, name="c")
    initialized(session)
    assert session.run([b, c])[1].tolist() == [2, 3]


def test_scopes_share_by_name(session):
    with tf.variable_scope("s", reuse=tf.AUTO_REUSE) as scope:
        v = tf.get_variable("v", [2])
        assert tf.get_variable("v") is v
    with pytest.raises(ValueError, match="already exists, disallowed"):
        with tf.variable_scope("s"):
            tf.get_variable("v", [2])
    with tf.variable_scope(scope, reuse=True):
        with pytest.raises(ValueError, match="but specified shape"):
            tf.get_variable("v", [3])
        with pytest.raises(ValueError, match="does not exist"):
            tf.get_variable("w", [3])


def test_default_names_count_up_per_scope(session):
    names = []
    for _ in range(2):
        with tf.variable_scope(None, "layer"):
            names.append(tf.get_variable("v", []).name)
    assert names == ["layer/v:0", "layer_1/v:0"]


def test_parts_know_their_place(session):
    v = tf.get_variable(
        "v", [5, 2], partitioner=tf.fixed_size_partitioner(2), initializer=tf.ones_initializer()
    )
    assert [p.shape.as_list() for p in v] == [[3, 2], [2, 2]]
    assert [p._get_save_slice_info().spec for p in v] == ["5 2 0,3:0,2", "5 2 3,2:0,2"]
    initialized(session)
    assert session.run(tf.convert_to_tensor(v)).shape == (5, 2)


def test_creators_nest(session):
    made = []

    def creator(label):
        def make(next_creator, **arguments):
            made.append(label)
            return next_creator(**arguments)

        return make

    with tf.variable_creator_scope(creator("outer")), tf.variable_creator_scope(creator("inner")):
        tf.Variable(1.0)
    assert made == ["inner", "outer"]


def test_regularizers_collect_losses(session):
    with tf.variable_scope("s", regularizer=lambda v: tf.reduce_sum(v * v)):
        tf.get_variable("v", [2])
        tf.get_variable("w", [2], regularizer=tf.no_regularizer)
    (loss,) = tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)
    assert loss.op.name.startswith("s/v/Regularizer/")


def test_uninitialized_variables_are_named(session):
    tf.Variable(1.0, name="a")
    b = tf.get_variable("b", [], use_resource=True)
    missing = tf.report_uninitialized_variables()
    assert session.run(missing).tolist() == [b"a", b"b"]
    session.run(b.initializer)
    assert session.run(missing).tolist() == [b"a"]
    with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized value a"):
        session.run("a:0")


def test_ops_on_a_reference_live_beside_it(session):
    with tf.device("/cpu:0"):
        v = tf.Variable(1.0, name="v")
    with tf.device("/device:CPU:7"):
        done = v.assign(2.0).op
    assert done.device == "/device:CPU:0"
    assert done.colocation_groups() == [b"loc:@v"]


@pytest.mark.parametrize("name", ["orthogonal", "variance_scaling", "identity", "glorot_normal"])
def test_initializers_describe_themselves(name):
    kind = getattr(tf.initializers, name)
    made = kind.from_config(kind().get_config())
    with tf.Graph().as_default(), tf.Session() as session:
        value = session.run(made([4, 4]))
    if name in ("orthogonal", "identity"):
        np.testing.assert_allclose(value @ value.T, np.eye(4), atol=1e-5)


def test_initializers_of_the_second_version_repeat_with_a_seed(session):
    from headrace.variables.initializers import initializers_v2

    v = tf.get_variable("v", [3, 5], initializer=initializers_v2.Orthogonal(seed=3))
    w = tf.get_variable("w", [3, 5], initializer=initializers_v2.Orthogonal(seed=3))
    initialized(session)
    a, b = session.run([v, w])
    assert (a == b).all()
    np.testing.assert_allclose(a @ a.T, np.eye(3), atol=1e-5)


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("kind", ["convolutional_orthogonal_{}d", "convolutional_delta_orthogonal"])
def test_orthogonal_convolutions_keep_norms(session, kind, rank):
    """The transform of the kernel is orthogonal at every frequency; here at 0 and at 1/2."""
    initializer = getattr(tf.contrib.framework, kind.format(rank))(seed=1)
    kernel = session.run(initializer([3] * rank + [2, 4]))
    signs = np.indices([3] * rank).sum(axis=0) % 2 * -2.0 + 1
    for weights in (np.ones([3] * rank), signs):
        total = np.tensordot(weights, kernel, rank)
        np.testing.assert_allclose(total @ total.T, np.eye(2), atol=1e-5)
