"""Functions of a graph: bodies, shapes, gradients, branches and loops made of functions."""

from __future__ import annotations

import numpy as np
import pytest

import headrace as tf
from headrace.graph.attrs import FunctionName
from headrace.ops.control import function_call
from headrace.variables.functions.defun import Defun


def run(*fetches, feed=None):
    with tf.Session() as session:
        return session.run(fetches, feed)


@pytest.fixture(autouse=True)
def empty_graph():
    tf.reset_default_graph()


@Defun(tf.float32, tf.float32)
def add_and_subtract(x, y):
    return x + y, x - y


def library(graph=None):
    return (graph or tf.get_default_graph()).as_graph_def().library


def test_inlined_plan_has_no_call():
    from headrace.plan.inline import inline
    from headrace.plan.prune import prune

    a, _ = add_and_subtract(1.0, 2.0, name="f")
    plan = inline(prune(tf.get_default_graph(), [], [a], []))
    assert {n.op.name for n in plan.nodes.values()} <= {"Const", "AddV2", "Add"}
    assert "f/add" in plan.nodes


def test_shapes_go_into_the_body():
    from headrace.plan.inline import inline
    from headrace.plan.prune import prune

    a, _ = add_and_subtract(tf.zeros([2, 3]), tf.zeros([3]))
    plan = inline(prune(tf.get_default_graph(), [], [a], []))
    assert plan.shape(plan.fetches[0]).as_list() == [2, 3]


def test_generic_function_of_a_graph_def():
    """A FunctionDef whose types and counts are attributes of the call."""
    from headrace.formats import proto

    message = proto.from_text(
        """
        node { name: 'x' op: 'Const' attr { key: 'dtype' value { type: DT_INT32 } }
               attr { key: 'value' value { tensor { dtype: DT_INT32 tensor_shape { } int_val: 7 } } } }
        node { name: 'y' op: 'Twice' input: 'x' attr { key: 'T' value { type: DT_INT32 } } }
        library { function {
          signature { name: 'Twice' input_arg { name: 'a' type_attr: 'T' }
                      output_arg { name: 'b' type_attr: 'T' } attr { name: 'T' type: 'type' } }
          node_def { name: 'sum' op: 'Add' input: 'a' input: 'a'
                     attr { key: 'T' value { placeholder: 'T' } } }
          ret { key: 'b' value: 'sum:z:0' } } }
        versions { producer: 134 }""",
        proto.GraphDef(),
    )
    (y,) = tf.import_graph_def(message, return_elements=["y:0"])
    assert run(y) == (14,)


def test_body_with_a_missing_input_is_refused():
    from headrace.formats import proto

    message = proto.from_text(
        """
        node { name: 'y' op: 'F' }
        library { function { signature { name: 'F' output_arg { name: 'b' type: DT_FLOAT } }
          node_def { name: 'i' op: 'Identity' input: 'nowhere:output:0'
                     attr { key: 'T' value { type: DT_FLOAT } } }
          ret { key: 'b' value: 'i:output:0' } } }
        versions { producer: 134 }""",
        proto.GraphDef(),
    )
    (y,) = tf.import_graph_def(message, return_elements=["y:0"])
    with pytest.raises(tf.errors.InvalidArgumentError, match="nowhere:output:0"):
        run(y)


def test_two_functions_of_one_name():
    first = Defun(tf.float32, func_name="same")(lambda x: x + 1.0)
    second = Defun(tf.float32, func_name="same")(lambda x: x + 2.0)
    first(1.0)
    with pytest.raises(tf.errors.InvalidArgumentError, match="different function with the same"):
        second(1.0)


def test_loop_in_a_body_called_twice():
    @Defun(tf.int32)
    def to_ten(x):
        return tf.while_loop(lambda i: i < 10, lambda i: i + 2, [x])

    assert run(to_ten(1), to_ten(4)) == (11, 10)


def test_gradient_through_a_loop_in_a_body():
    @Defun(tf.float32)
    def cube(x):
        x = tf.reshape(x, [])
        return tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * x), [0, 1.0])[1]

    x = tf.constant(2.0)
    y = cube(x)
    assert run(y, tf.gradients(y, x)[0]) == (8.0, 12.0)


def test_second_gradient():
    cube = Defun(tf.float32)(lambda x: x * x * x)
    x = tf.constant(2.0)

    @Defun(tf.float32)
    def slope(x):
        return tf.gradients(cube(x), x)[0]

    assert run(slope(x), tf.gradients(slope(x), x)[0]) == (12.0, 12.0)


def test_effects_run_although_no_result_needs_them():
    v = tf.get_variable("v", [], initializer=tf.zeros_initializer(), use_resource=True)

    @Defun(tf.float32)
    def count(x):
        v.assign_add(x)
        return x

    y = count(3.0)
    with tf.Session() as session:
        session.run(v.initializer)
        assert session.run(y) == 3.0
        assert session.run(v.read_value()) == 3.0


def test_gradient_of_an_op_as_function():
    f = FunctionName("Mul", (("T", tf.float32),))
    x, y, dz = tf.constant(2.0), tf.constant(5.0), tf.constant(1.0)
    dx, dy = function_call.symbolic_gradient([x, y, dz], Tout=[tf.float32] * 2, f=f)
    assert run(dx, dy) == (5.0, 2.0)


def test_partitioned_call():
    function = add_and_subtract.function
    function.add_to_graph(tf.get_default_graph())
    a, b = function_call.partitioned_call(
        [tf.constant(5.0), tf.constant(3.0)], Tout=[tf.float32] * 2, f=add_and_subtract
    )
    assert run(a, b) == (8.0, 2.0)


@pytest.mark.parametrize("op", [function_call.if_, function_call.stateless_if])
def test_if(op):
    then = Defun(tf.float32)(lambda x: (x + 1.0, x * 10.0))
    other = Defun(tf.float32)(lambda x: (x - 1.0, x))
    pred = tf.placeholder(tf.bool, [])
    out = op(pred, [tf.constant(2.0)], Tout=[tf.float32] * 2, then_branch=then, else_branch=other)
    assert run(*out, feed={pred: True}) == (3.0, 20.0)
    assert run(*out, feed={pred: False}) == (1.0, 2.0)


def test_gradient_of_if_and_call():
    then = Defun(tf.float32)(lambda x: x * x)
    other = Defun(tf.float32)(lambda x: 5.0 * x)
    pred, x = tf.placeholder(tf.bool, []), tf.constant(3.0)
    (y,) = function_call.if_(pred, [x], Tout=[tf.float32], then_branch=then, else_branch=other)
    (z,) = function_call.partitioned_call([x], Tout=[tf.float32], f=then)
    dx, dz = tf.gradients(y, x)[0], tf.gradients(z, x)[0]
    assert run(dx, dz, feed={pred: True}) == (6.0, 6.0)
    assert run(dx, dz, feed={pred: False}) == (5.0, 6.0)


def test_if_runs_one_branch():
    @Defun(tf.float32)
    def fails(x):
        with tf.control_dependencies([tf.Assert(False, [x])]):
            return tf.identity(x)

    fine = Defun(tf.float32)(lambda x: x)
    pred = tf.placeholder(tf.bool, [])
    out = function_call.if_(pred, [1.0], Tout=[tf.float32], then_branch=fine, else_branch=fails)
    assert run(*out, feed={pred: True}) == (1.0,)
    with pytest.raises(tf.errors.InvalidArgumentError, match="assertion failed"):
        run(*out, feed={pred: False})


@pytest.mark.parametrize(("value", "expected"), [(3, 1.0), (0, 2.0), (b"a", 1.0), (b"", 2.0)])
def test_if_with_a_condition_that_is_not_bool(value, expected):
    one = Defun()(lambda: tf.constant(1.0))
    two = Defun()(lambda: tf.constant(2.0))
    out = function_call.if_(tf.constant(value), [], Tout=[tf.float32], then_branch=one, else_branch=two)
    assert run(*out) == (expected,)


@pytest.mark.parametrize("op", [function_call.while_, function_call.stateless_while])
def test_while(op):
    cond = Defun(tf.int32, tf.float32)(lambda i, x: i < 4)
    body = Defun(tf.int32, tf.float32)(lambda i, x: (i + 1, x * 2.0))
    out = op([tf.constant(0), tf.constant(3.0)], cond=cond, body=body)
    assert run(*out) == (4, 48.0)


def test_while_whose_shapes_grow():
    cond = Defun(tf.float32)(lambda x: tf.size(x) < 8)
    body = Defun(tf.float32)(lambda x: tf.concat([x, x], 0))
    (out,) = function_call.while_([tf.constant([1.0])], cond=cond, body=body)
    assert run(out)[0].shape == (8,)


def test_while_in_if_in_while():
    step = Defun(tf.int32)(lambda i: i + 3)
    below = Defun(tf.int32)(lambda i: i < 10)

    @Defun(tf.int32)
    def inner(i):
        return function_call.while_([i], cond=below, body=step)[0]

    keep = Defun(tf.int32)(lambda i: i + 1)

    @Defun(tf.int32)
    def outer(i):
        return function_call.if_(i < 5, [i], Tout=[tf.int32], then_branch=inner, else_branch=keep)[0]

    small = Defun(tf.int32)(lambda i: i < 15)
    (out,) = function_call.while_([tf.constant(0)], cond=small, body=outer)
    assert run(out) == (15,)  # 0 -> 12 by threes, then one by one


def test_for_and_case():
    body = Defun(tf.int32, tf.float32)(lambda i, x: x + tf.cast(i, tf.float32))
    (total,) = function_call.for_(0, 5, 2, [tf.constant(1.0)], body=body)
    branches = [_scale(k) for k in (1.0, 2.0)]
    index = tf.placeholder(tf.int32, [])
    (chosen,) = function_call.case(index, [total], Tout=[tf.float32], branches=branches)
    assert run(chosen, feed={index: 1}) == (14.0,)
    assert run(chosen, feed={index: 9}) == (14.0,)
    assert run(chosen, feed={index: 0}) == (7.0,)


def _scale(k):
    return Defun(tf.float32)(lambda x: x * k)


def test_recursive_function_runs():
    """A function may call itself through the library; the plan keeps that call."""
    from headrace.formats import proto

    message = proto.from_text(
        """
        node { name: 'x' op: 'Placeholder' attr { key: 'dtype' value { type: DT_INT32 } } }
        node { name: 'y' op: 'Sum' input: 'x' }
        library {
          function { signature { name: 'Sum' input_arg { name: 'n' type: DT_INT32 }
                                 output_arg { name: 'r' type: DT_INT32 } is_stateful: true }
            node_def { name: 'zero' op: 'Const' attr { key: 'dtype' value { type: DT_INT32 } }
              attr { key: 'value' value { tensor { dtype: DT_INT32 tensor_shape { } int_val: 0 } } } }
            node_def { name: 'more' op: 'Greater' input: 'n' input: 'zero:output:0'
                       attr { key: 'T' value { type: DT_INT32 } } }
            node_def { name: 'if' op: 'If' input: 'more:z:0' input: 'n'
              attr { key: 'Tcond' value { type: DT_BOOL } }
              attr { key: 'Tin' value { list { type: DT_INT32 } } }
              attr { key: 'Tout' value { list { type: DT_INT32 } } }
              attr { key: 'then_branch' value { func { name: 'Again' } } }
              attr { key: 'else_branch' value { func { name: 'Same' } } } }
            ret { key: 'r' value: 'if:output:0' } }
          function { signature { name: 'Again' input_arg { name: 'n' type: DT_INT32 }
                                 output_arg { name: 'r' type: DT_INT32 } is_stateful: true }
            node_def { name: 'one' op: 'Const' attr { key: 'dtype' value { type: DT_INT32 } }
              attr { key: 'value' value { tensor { dtype: DT_INT32 tensor_shape { } int_val: 1 } } } }
            node_def { name: 'less' op: 'Sub' input: 'n' input: 'one:output:0'
                       attr { key: 'T' value { type: DT_INT32 } } }
            node_def { name: 'rest' op: 'Sum' input: 'less:z:0' }
            node_def { name: 'sum' op: 'Add' input: 'n' input: 'rest:r:0'
                       attr { key: 'T' value { type: DT_INT32 } } }
            ret { key: 'r' value: 'sum:z:0' } }
          function { signature { name: 'Same' input_arg { name: 'n' type: DT_INT32 }
                                 output_arg { name: 'r' type: DT_INT32 } }
            ret { key: 'r' value: 'n' } } }
        versions { producer: 134 }""",
        proto.GraphDef(),
    )
    x, y = tf.import_graph_def(message, return_elements=["x:0", "y:0"])
    assert run(y, feed={x: 4}) == (10,)


def test_library_survives_a_round_trip():
    a, b = add_and_subtract(1.0, 2.0, name="f")
    message = tf.get_default_graph().as_graph_def()
    with tf.Graph().as_default() as other:
        tf.import_graph_def(message, name="")
        assert other.as_graph_def() == message


def test_custom_gradient():
    @tf.custom_gradient
    def log1pexp(x):
        e = tf.exp(x)
        return tf.log(1 + e), lambda dy: dy * (1 - 1 / (1 + e))

    x = tf.constant(100.0)
    np.testing.assert_allclose(run(tf.gradients(log1pexp(x), x)[0])[0], 1.0)


def test_recompute_grad_and_pass_through():
    x = tf.constant([0.4, 1.6])
    y = tf.recompute_grad(lambda t: t * t)(x)
    z = tf.grad_pass_through(tf.round)(x)
    dy, dz = run(tf.gradients(y, x)[0], tf.gradients(z, x)[0])
    np.testing.assert_allclose(dy, [0.8, 3.2])
    np.testing.assert_allclose(dz, [1.0, 1.0])


def test_tf_function():
    v = tf.get_variable("v", initializer=1.0, use_resource=True)

    @tf.function
    def step(x, by=2.0):
        v.assign_add(x * by)
        return {"now": v.read_value(), "nothing": None}, [x]

    first = step(tf.constant(3.0))
    with tf.control_dependencies([first[0]["now"]]):
        second = step(tf.constant(1.0), by=10.0)
    with tf.Session() as session:
        session.run(v.initializer)
        a, b, c = session.run([first[0]["now"], second[0]["now"], first[1]])
    assert (a, b, c) == (7.0, 17.0, [3.0])
    assert first[0]["nothing"] is None


def test_tf_function_is_traced_once_per_type():
    traced = []

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
    def total(x):
        traced.append(x.shape.as_list())
        return tf.reduce_sum(x)

    x = tf.constant([1.0, 2.0])
    y, z = total(x), total([1.0, 2.0, 3.0])
    assert traced == [[None]]
    assert run(y, z) == (3.0, 6.0)
    np.testing.assert_array_equal(run(tf.gradients(y, x)[0])[0], [1.0, 1.0])
    with pytest.raises(ValueError, match="incompatible with input_signature"):
        total([[1.0]])


def test_wrap_function():
    f = tf.wrap_function(lambda x: x + 1, [tf.TensorSpec([], tf.int32)])
    assert run(f(tf.constant(4))) == (5,)
