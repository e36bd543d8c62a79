"""Scopes, raw ops, tf.compat, tf.test: the parts that TF's own tests do not reach."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import headrace as tf


@pytest.fixture(autouse=True)
def empty_graph():
    tf.reset_default_graph()


def test_name_scope():
    scope = tf.name_scope(None, "default", [])
    assert scope.name == "default"
    with scope as name:
        assert name == "default/"
    with scope as name:  # the object may be entered again
        assert name == "default_1/"
    with pytest.raises(ValueError, match="At least one of name"):
        tf.name_scope(None, None, [1]).__enter__()
    with pytest.raises(TypeError, match="`default_name` type"):
        tf.name_scope("a", [1])
    a = tf.constant(1)
    with tf.Graph().as_default():
        with tf.name_scope("s", values=[a]):
            assert tf.get_default_graph() is a.graph
        with pytest.raises(ValueError, match="must be from the same graph"):
            with tf.name_scope("s", values=[a, tf.constant(2)]):
                pass


def test_raw_ops():
    x = tf.raw_ops.Add(x=1.0, y=2.0, name="sum")
    assert x.op.name == "sum"
    y = tf.raw_ops.Sum(input=[[1.0, 2.0]], axis=[1], keep_dims=True)
    with tf.Session() as session:
        assert session.run(x) == 3.0
        np.testing.assert_array_equal(session.run(y), [[3.0]])
    with pytest.raises(TypeError):
        tf.raw_ops.Add(1.0, 2.0)
    with pytest.raises(AttributeError):
        tf.raw_ops.NoSuchOp  # noqa: B018
    assert "Conv2D" in tf.registered_ops() and "Conv2D" in dir(tf.raw_ops)


def test_compat():
    assert tf.compat.as_bytes("ü") == b"\xc3\xbc"
    assert tf.compat.as_text(b"\xc3\xbc") == tf.compat.as_str("ü") == "ü"
    assert tf.compat.as_str_any(3) == "3"
    with pytest.raises(TypeError, match="Expected binary or unicode string"):
        tf.compat.as_bytes(3)
    assert isinstance(np.int8(1), tf.compat.integral_types)
    assert tf.compat.forward_compatible(2019, 1, 1)
    with tf.compat.forward_compatibility_horizon(2018, 1, 1):
        assert not tf.compat.forward_compatible(2019, 1, 1)
    assert tf.compat.v1.Graph is tf.Graph


def test_modes():
    assert not tf.executing_eagerly()
    tf.disable_eager_execution()
    tf.disable_v2_behavior()
    tf.constant(1)  # somebody has built a graph
    with pytest.raises(ValueError, match="must be called at program startup"):
        tf.enable_eager_execution()
    assert not tf.executing_eagerly()
    with pytest.raises(tf.errors.NotFoundError, match="no_such_file"):
        tf.load_op_library("/no_such_file.so")


class ExampleTest(tf.test.TestCase):
    def test_close(self):
        with self.cached_session():
            x = tf.constant([1.0, 2.0])
            self.assertAllClose(x * x, [1.0, 4.0])
            self.assertAllClose({"a": [x, 1.0]}, {"a": [[1.0, 2.0], 1.0]})
            self.assertAllEqual(tf.constant([b"a", b"b"]), ["a", "b"])
            self.assertNotAllClose(x, x + 1)
            self.assertAllInRange(x, 1, 2)
            self.assertShapeEqual(np.zeros(2), x)
            with self.assertRaises(AssertionError):
                self.assertAllClose(x, [1.0, 2.1])
            with self.assertRaisesOpError("assertion failed"):
                tf.Assert(tf.less(x[0], 0), [x]).run()

    def test_gradient(self):
        with self.cached_session():
            x = tf.constant([[1.0, 2.0], [3.0, 4.0]], tf.float64)
            self.assertLess(tf.test.compute_gradient_error(x, [2, 2], tf.exp(x), [2, 2]), 1e-4)

    def test_sessions_place_softly(self):
        with tf.device("/gpu:0"):
            x = tf.constant(1) + 1
        for opened in (self.session, self.cached_session, self.test_session):
            with opened() as session:
                self.assertEqual(2, session.run(x))
        with self.session(force_gpu=True) as session:
            with self.assertRaisesOpError("Cannot assign a device"):
                session.run(x)
        with self.session(config=tf.ConfigProto()) as session:
            with self.assertRaisesOpError("Cannot assign a device"):
                session.run(x)

    def test_a_cached_session_is_asked_for_alike(self):
        with self.cached_session() as first:
            pass
        with self.test_session(force_gpu=True) as second:
            self.assertIs(first, second)
        with self.assertRaisesRegex(ValueError, "The force_gpu used to get the cached session"):
            with self.cached_session(force_gpu=True):
                pass

    def test_graph_is_fresh(self):
        self.assertEqual([], tf.get_default_graph().get_operations())


def test_remove_training_nodes_passes_checks_by():
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, name="x")
        y = tf.identity(tf.check_numerics(tf.identity(x), "bad"), name="y")
        tf.sqrt(y, name="z")
    short = tf.graph_util.remove_training_nodes(graph.as_graph_def())
    assert [(n.name, list(n.input)) for n in short.node] == [("x", []), ("z", ["x"])]


def test_freeze_and_run():
    v = tf.get_variable("v", initializer=[2.0, 3.0])
    w = tf.get_variable("w", initializer=[5.0], use_resource=True)
    tf.multiply(v, w, name="out")
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        frozen = tf.graph_util.convert_variables_to_constants(session, session.graph_def, ["out"])
    assert not {"VariableV2", "VarHandleOp", "ReadVariableOp"} & {n.op for n in frozen.node}
    with tf.Graph().as_default(), tf.Session() as session:
        (out,) = tf.import_graph_def(frozen, return_elements=["out:0"])
        np.testing.assert_array_equal(session.run(out), [10.0, 15.0])


def test_the_library_is_where_the_package_is():
    assert tf.sysconfig.get_lib() == str(Path(tf.__file__).parent)
