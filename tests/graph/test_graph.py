"""The graph: look-up, collections, scopes and what they give to new nodes, the end of building."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import headrace as tf


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as fresh:
        yield fresh


# -- look-up -------------------------------------------------------------------------------------
def test_elements_by_name(graph):
    a = tf.constant(1.0, name="s/a")
    assert graph.get_operation_by_name("s/a") is a.op
    assert graph.get_tensor_by_name("s/a:0") is a
    assert graph.as_graph_element(a.op) is a.op
    assert graph.as_graph_element("s/a:0", allow_operation=False) is a


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda g: g.get_tensor_by_name("a"), ValueError, "refers to an Operation, not a Tensor"),
        (lambda g: g.get_tensor_by_name("b"), ValueError, "looks like an .invalid. Operation name"),
        (lambda g: g.get_tensor_by_name("a:1"), KeyError, "has 1 outputs"),
        (lambda g: g.get_tensor_by_name("b:0"), KeyError, "no node .b. in the graph"),
        (lambda g: g.get_tensor_by_name("a:x"), ValueError, "is not a tensor.s"),
        (lambda g: g.get_tensor_by_name("a:-1"), ValueError, "is not a tensor.s"),
        (lambda g: g.get_operation_by_name("a:0"), ValueError, "appears to refer to a Tensor"),
        (lambda g: g.get_operation_by_name("b"), KeyError, "Operation not in the graph"),
        (lambda g: g.get_operation_by_name(3), TypeError, "names are strings"),
        (lambda g: g.as_graph_element(3.5), TypeError, "Can not convert a float into a Tensor"),
        (lambda g: g.as_graph_element(None), TypeError, "Can not convert a NoneType"),
    ],
)
def test_what_is_not_there(graph, call, error, message):
    tf.constant(1.0, name="a")
    with pytest.raises(error, match=message):
        call(graph)


def test_elements_of_another_graph(graph):
    other = tf.Graph()
    with other.as_default():
        a = tf.constant(1.0)
    with pytest.raises(ValueError, match="is not an element of this graph"):
        graph.as_graph_element(a)
    with pytest.raises(ValueError, match="must be from the same graph"):
        tf.add(a, tf.constant(2.0))


def test_order_and_users(graph):
    a = tf.constant(1.0)
    b, c = -a, tf.exp(a)
    assert [n.name for n in graph.get_operations()] == ["Const", "Neg", "Exp"]
    assert a.consumers() == [b.op, c.op] and graph.version == 3


# -- collections ---------------------------------------------------------------------------------
def test_collections(graph):
    graph.add_to_collection("things", 1)
    graph.add_to_collections(["things", "others"], 2)
    assert graph.get_collection("things") == [1, 2]
    assert graph.get_collection("others") == [2]
    assert graph.get_collection("nothing") == []
    graph.get_collection("things").append(9)
    assert graph.get_collection("things") == [1, 2], "a copy"
    graph.get_collection_ref("things").append(3)
    assert graph.get_collection("things") == [1, 2, 3], "the list itself"
    graph.clear_collection("things")
    assert graph.get_collection("things") == []
    assert set(graph.get_all_collection_keys()) == {"others"}


def test_collections_by_scope(graph):
    with tf.name_scope("s"):
        inside = tf.constant(1.0, name="a")
    outside = tf.constant(1.0, name="a")
    for item in (inside, outside, "has no name"):
        tf.add_to_collection("things", item)
    assert tf.get_collection("things", "s/") == [inside]
    assert tf.get_collection("things", ".*a") == [inside, outside]


# -- scopes --------------------------------------------------------------------------------------
def test_devices_merge():
    with tf.device("/job:worker"):
        with tf.device("/task:1"):
            with tf.device("/cpu:0"):
                inner = tf.no_op()
            with tf.device(None):
                free = tf.no_op()
        with tf.device("/job:ps"):
            other = tf.no_op()
    assert inner.device == "/job:worker/task:1/device:CPU:0"
    assert (free.device, other.device) == ("", "/job:ps")


def test_a_device_function_sees_the_node():
    with tf.device(lambda node: "/gpu:0" if node.type == "NoOp" else "/cpu:0"):
        with tf.device("/job:a"):
            assert tf.no_op().device == "/device:GPU:0"
            assert tf.constant(1).op.device == "/device:CPU:0"


def test_bad_devices():
    for name in ("/job:a/bogus:1", "/cpu:x", "/cpu:0/gpu:0"):
        with pytest.raises(ValueError):
            with tf.device(name):
                pass


def test_control_inputs():
    a, b = tf.no_op(name="a"), tf.no_op(name="b")
    with tf.control_dependencies([a]):
        x = tf.constant(1.0)
        with tf.control_dependencies([b]):
            y = tf.exp(x)
        with tf.control_dependencies(None):
            z = tf.constant(2.0)
    assert x.op.control_inputs == [a]
    assert y.op.control_inputs == [b], "x already waits for a"
    assert z.op.control_inputs == []


def test_colocation_takes_the_device():
    with tf.device("/cpu:3"):
        a = tf.constant(1.0, name="a")
    with tf.device("/cpu:5"), tf.colocate_with(a.op):
        b = tf.constant(2.0)
        with tf.colocate_with(None, ignore_existing=True):
            c = tf.constant(3.0)
    assert b.op.device == "/device:CPU:3" and b.op.colocation_groups() == [b"loc:@a"]
    assert c.op.colocation_groups() == [b"loc:@" + c.op.name.encode()]


def test_containers_and_attributes(graph):
    with graph.container("box"):
        v = tf.Variable(1.0)
    assert v.op.get_attr("container") == b"box"
    with graph._attr_scope({"_mark": tf.AttrValue(s=b"x")}):
        assert tf.no_op().get_attr("_mark") == b"x"
    with pytest.raises(ValueError, match="no attr named '_mark'"):
        tf.no_op().get_attr("_mark")


def test_seeds(graph):
    graph.seed = 7
    assert tf.random_uniform([1]).op.inputs[0].op.graph.seed == 7
    tf.set_random_seed(9)
    assert graph.seed == 9


def test_scopes_of_threads_are_their_own(graph):
    """Names and control inputs are per thread."""
    names = []

    def build():
        with graph.as_default():
            names.append(tf.no_op(name="other").name)

    with tf.name_scope("s"), tf.control_dependencies([tf.no_op()]):
        thread = threading.Thread(target=build)
        thread.start()
        thread.join()
    assert names == ["other"]
    assert graph.get_operation_by_name("other").control_inputs == []


def test_many_threads_build_one_graph(graph):
    def build():
        with graph.as_default():
            for _ in range(50):
                tf.constant(1.0, name="c")

    threads = [threading.Thread(target=build) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len({n.name for n in graph.get_operations()}) == 200


# -- defaults ------------------------------------------------------------------------------------
def test_default_graphs_nest(graph):
    assert tf.get_default_graph() is graph
    with tf.Graph().as_default() as inner:
        assert tf.get_default_graph() is inner
        with pytest.raises(AssertionError, match="nested graphs"):
            tf.reset_default_graph()
    assert tf.get_default_graph() is graph


def test_scopes_end_with_an_exception(graph):
    with pytest.raises(ZeroDivisionError):
        with tf.name_scope("s"), tf.device("/cpu:1"), tf.control_dependencies([tf.no_op()]):
            raise ZeroDivisionError
    node = tf.no_op(name="after")
    assert (node.name, node.device, node.control_inputs) == ("after", "", [])


# -- the end of building -------------------------------------------------------------------------
def test_a_finalized_graph_does_not_grow(graph):
    x = tf.constant([1.0, 2.0])
    before = graph.version
    graph.finalize()
    assert graph.finalized
    changes = [
        lambda: x + 1,
        lambda: tf.constant(1),
        lambda: tf.placeholder(tf.float32),
        lambda: tf.Variable(1.0),
        lambda: tf.gradients(x, x),
        lambda: tf.import_graph_def(tf.GraphDef(node=[tf.NodeDef(name="n", op="NoOp")])),
        lambda: graph.add_to_collection("things", 1),
        lambda: graph.clear_collection("things"),
    ]
    for change in changes:
        with pytest.raises(RuntimeError, match="Graph is finalized and cannot be modified"):
            change()
    assert graph.version == before
    with tf.Session() as session:
        np.testing.assert_array_equal(session.run(x), [1, 2])
    graph._unsafe_unfinalize()
    assert (x + 1).shape == [2]


def test_unfeedable_and_unfetchable(graph):
    a = tf.constant(1.0, name="a")
    graph.prevent_feeding(a)
    graph.prevent_fetching(a.op)
    with tf.Session() as session:
        with pytest.raises(ValueError, match="may not be fed"):
            session.run(tf.exp(a), {a: 2.0})
        with pytest.raises(ValueError, match="'a' has been marked as not fetchable"):
            session.run(a)
