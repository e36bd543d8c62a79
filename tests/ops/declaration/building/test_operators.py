"""Operators of tensors: which op, which name, which type; in both directions."""

import numpy as np
import pytest

import headrace as tf

pytestmark = pytest.mark.pure


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def made(tensor):
    return tensor.op.type, tensor.op.name, tensor.dtype


X = 5.0


@pytest.mark.parametrize(
    "build, op, name, value",
    [
        (lambda x: x + 2, "AddV2", "add", 7),
        (lambda x: 2 + x, "AddV2", "add", 7),
        (lambda x: x - 2, "Sub", "sub", 3),
        (lambda x: 2 - x, "Sub", "sub", -3),
        (lambda x: x * 2, "Mul", "mul", 10),
        (lambda x: 2 * x, "Mul", "mul", 10),
        (lambda x: x / 2, "RealDiv", "truediv", 2.5),
        (lambda x: 2 / x, "RealDiv", "truediv", 0.4),
        (lambda x: x // 2, "FloorDiv", "floordiv", 2),
        (lambda x: 12 // x, "FloorDiv", "floordiv", 2),
        (lambda x: x % 3, "FloorMod", "mod", 2),
        (lambda x: 7 % x, "FloorMod", "mod", 2),
        (lambda x: x**2, "Pow", "pow", 25),
        (lambda x: 2**x, "Pow", "pow", 32),
        (lambda x: -x, "Neg", "Neg", -5),
        (abs, "Abs", "Abs", 5),
        (lambda x: x < 6, "Less", "Less", True),
        (lambda x: 6 > x, "Less", "Less", True),
        (lambda x: x >= 6, "GreaterEqual", "GreaterEqual", False),
    ],
)
def test_numbers(build, op, name, value):
    y = build(tf.constant(X, name="x"))
    assert (y.op.type, y.op.name) == (op, name)
    with tf.Session() as session:
        assert session.run(y) == pytest.approx(value)


def test_integers_divide_to_floats():
    assert (tf.constant(3) / tf.constant(2)).dtype == tf.float64
    assert (tf.constant(3, tf.int8) / tf.constant(2, tf.int8)).dtype == tf.float32
    assert (tf.constant(3) // tf.constant(2)).dtype == tf.int32


def test_types_must_agree():
    with pytest.raises(TypeError, match="must have the same dtype"):
        tf.constant(3) / tf.constant(2.0)
    with pytest.raises(TypeError, match="type float32 that does not match type int32"):
        tf.constant(3) + tf.constant(2.0)


def test_arrays_leave_the_operator_to_the_tensor():
    y = np.ones(3, np.float32) + tf.constant([1.0, 2.0, 3.0])
    assert isinstance(y, tf.Tensor) and y.op.type == "AddV2"


def test_logic():
    a, b = tf.constant([True, True, False]), tf.constant([True, False, False])
    with tf.Session() as session:
        both, either, one, no = session.run([a & b, a | b, a ^ b, ~a])
    assert both.tolist() == [True, False, False] and either.tolist() == [True, True, False]
    assert one.tolist() == [False, True, False] and no.tolist() == [False, False, True]


def test_matrices():
    a = tf.ones([2, 3])
    assert (a @ tf.ones([3, 4])).op.type == "MatMul"
    assert (tf.ones([5, 2, 3]) @ tf.ones([5, 3, 4])).op.type == "BatchMatMulV2"


def test_equality_is_identity():
    a, b = tf.constant(1), tf.constant(1)
    assert a == a and a != b and len({a, b}) == 2


def test_texts_are_joined():
    y = tf.constant("a") + "b"
    assert y.op.type == "Add"
    with tf.Session() as session:
        assert session.run(y) == b"ab"


def test_an_object_that_knows_tensors_gets_its_turn():
    class Other:
        def __radd__(self, tensor):
            return "mine", tensor

    x = tf.constant(1.0)
    assert x + Other() == ("mine", x)


def test_slices_become_dense():
    slices = tf.IndexedSlices(tf.constant([[3.0]]), tf.constant([1]), tf.constant([2, 1]))
    with tf.Session() as session:
        for y in (tf.constant(2.0) * slices, slices * tf.constant(2.0)):
            assert session.run(y).tolist() == [[0], [6]]


def test_sparse_stays_sparse():
    sparse = tf.SparseTensor([[0, 1]], [2.0], [2, 2])
    with tf.Session() as session:
        assert session.run(tf.constant(3.0) * sparse).values.tolist() == [6]


def test_operators_work_in_the_graph_of_the_tensor():
    x = tf.constant(1.0)
    with tf.Graph().as_default():
        assert (x + 1.0).graph is x.graph
