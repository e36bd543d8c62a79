"""Meta graphs: collections, scopes, loops whose gradients still work after a round trip."""

from __future__ import annotations

import pytest

import headrace as tf
from headrace.graph.collection_protos import register_proto_function
from headrace.train.meta_graph.meta_graph import import_scoped_meta_graph, read_meta_graph_file
from headrace.train.meta_graph.meta_graph_export import export_scoped_meta_graph


@pytest.fixture(autouse=True)
def empty_graph():
    tf.reset_default_graph()


def test_variables_are_shared_among_collections():
    tf.get_variable("v", initializer=1.0, use_resource=True)
    tf.get_variable("w", initializer=1.0, trainable=False)
    message = tf.train.export_meta_graph()
    with tf.Graph().as_default() as graph:
        variables, _ = import_scoped_meta_graph(message, import_scope="in")
        assert set(variables) == {"v:0", "w:0"}
        (trained,) = graph.get_collection("trainable_variables")
        assert trained is variables["v:0"]
        assert trained.name == "in/v:0"
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            assert session.run(variables["w:0"]) == 1.0


def test_loop_of_a_scope_has_a_gradient_after_import():
    def slope(output, var):
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            return session.run(tf.gradients(output, var)[0])

    with tf.name_scope("export"):
        var = tf.Variable(3.0, name="v")
        _, output = tf.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * x), [0, var])
    message, _ = export_scoped_meta_graph(export_scope="export")
    expected = slope(output, var)
    with tf.Graph().as_default() as graph:
        import_scoped_meta_graph(message, import_scope="import")
        again, _ = export_scoped_meta_graph(export_scope="import")
        assert again.graph_def == message.graph_def
        assert again.collection_def["while_context"] == message.collection_def["while_context"]
        output = graph.get_tensor_by_name(output.name.replace("export", "import"))
        assert slope(output, graph.get_tensor_by_name("import/v:0")) == expected


def test_conditional_in_a_loop_after_import():
    x = tf.placeholder(tf.float32, [], name="x")

    def body(i, y):
        return i + 1, tf.cond(y < 10.0, lambda: y * x, lambda: y)

    _, y = tf.while_loop(lambda i, y: i < 5, body, [0, x])
    message, _ = export_scoped_meta_graph()
    with tf.Graph().as_default() as graph:
        import_scoped_meta_graph(message)
        x, y = graph.get_tensor_by_name("x:0"), graph.get_tensor_by_name(y.name)
        slope = tf.gradients(y, x)[0]
        with tf.Session() as session:
            assert session.run([y, slope], {x: 3.0}) == [27.0, 27.0]


def test_unbound_inputs():
    outside = tf.placeholder(tf.float32, [], name="outside")
    with tf.name_scope("s"):
        tf.multiply(outside, 2.0, name="twice")
    message, _ = export_scoped_meta_graph(export_scope="s")
    assert message.collection_def["unbound_inputs"].bytes_list.value == [b"$unbound_inputs_outside"]
    with tf.Graph().as_default() as graph:
        with pytest.raises(ValueError, match="unbound inputs"):
            import_scoped_meta_graph(message, import_scope="t")
        one = tf.constant(1.0)
        import_scoped_meta_graph(message, import_scope="t", input_map={"$unbound_inputs_outside": one})
        with tf.Session() as session:
            assert session.run(graph.get_tensor_by_name("t/twice:0")) == 2.0


def test_defaults_and_devices_are_stripped():
    with tf.device("/job:ps"):
        tf.constant(1.0, name="c")
    tf.reduce_sum(tf.zeros([2]), name="s")
    message = tf.train.export_meta_graph(strip_default_attrs=True, clear_devices=True)
    nodes = {n.name: n for n in message.graph_def.node}
    assert nodes["c"].device == ""
    assert "keep_dims" not in nodes["s"].attr
    assert message.meta_info_def.stripped_default_attrs
    assert "Sum" in [op.name for op in message.meta_info_def.stripped_op_list.op]


def test_plain_collections_and_own_messages(tmp_path):
    for key, value in (("texts", "a"), ("numbers", 7), ("floats", 0.5), ("nodes", tf.no_op(name="n"))):
        tf.add_to_collection(key, value)
    register_proto_function(
        "points",
        tf.train.Feature,
        lambda p, export_scope=None: tf.train.Feature(int64_list=tf.train.Int64List(value=p)),
        lambda m, import_scope=None: tuple(m.int64_list.value),
    )
    tf.add_to_collection("points", (3, 4))
    tf.add_to_collection("strange", object())
    path = str(tmp_path / "graph.meta")
    tf.train.export_meta_graph(path, as_text=True, save_debug_info=True)
    message = read_meta_graph_file(path)
    assert "strange" not in message.collection_def
    with tf.Graph().as_default() as graph:
        import_scoped_meta_graph(path)
        assert graph.get_collection("texts") == ["a"]
        assert graph.get_collection("numbers") == [7]
        assert graph.get_collection("floats") == [0.5]
        assert graph.get_collection("nodes")[0].name == "n"
        assert graph.get_collection("points") == [(3, 4)]
    assert tf.gfile.Exists(str(tmp_path / "graph.debug"))


def test_bad_file(tmp_path):
    with pytest.raises(OSError, match="does not exist"):
        read_meta_graph_file(str(tmp_path / "none"))
    (tmp_path / "bad").write_bytes(b"\xff\xfe not a graph")
    with pytest.raises(OSError, match="Cannot parse"):
        read_meta_graph_file(str(tmp_path / "bad"))


def test_damaged_items_of_collections(tmp_path):
    with tf.Graph().as_default():
        tf.get_variable("v", [2])
        message = tf.train.export_meta_graph()
    message.collection_def["variables"].bytes_list.value[0] = b"\xff\xff"
    with tf.Graph().as_default():
        with pytest.raises(tf.errors.DataLossError, match="collection variables"):
            tf.train.import_meta_graph(message)
