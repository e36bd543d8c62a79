"""Freezing, stripping and folding graphs, from files and in memory."""

import itertools

import numpy as np
import pytest

import headrace as tf
from headrace.formats import proto
from headrace.tools import main as command
from headrace.tools.freeze_graph import freeze_graph
from headrace.tools.inspect_checkpoint import print_tensors_in_checkpoint_file
from headrace.tools.optimize_for_inference import fold_batch_norms, optimize_for_inference
from headrace.tools.strip_unused import strip_unused

FLOAT = tf.float32.as_datatype_enum


def model(use_resource):
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    v = tf.get_variable("v", initializer=np.float32([[1, 2], [3, 4]]), use_resource=use_resource)
    unused = tf.get_variable("unused", initializer=1.0)
    tf.add(tf.matmul(x, v), 1.0, name="y")
    return unused


def run(graph_def, feeds, fetch="y:0"):
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.import_graph_def(graph_def, name="")
        return sess.run(fetch, feeds)


X = {"x:0": [[1.0, 1.0]]}


@pytest.mark.parametrize(
    "source, use_resource",
    [
        ("graph", False),  # a handle is not a variable to a Saver that is made of nodes, as in TF
        *itertools.product(["saver", "meta", "saved model"], [False, True]),
    ],
)
def test_freeze(tmp_path, use_resource, source):
    with tf.Graph().as_default() as graph, tf.Session() as sess:
        model(use_resource)
        sess.run(tf.global_variables_initializer())
        saver = tf.train.Saver()
        checkpoint = saver.save(sess, str(tmp_path / "model"))
        tf.train.write_graph(graph, str(tmp_path), "graph.pbtxt")
        (tmp_path / "saver.pbtxt").write_text(str(saver.as_saver_def()))
        x, y = graph.get_tensor_by_name("x:0"), graph.get_tensor_by_name("y:0")
        tf.saved_model.simple_save(sess, str(tmp_path / "saved"), {"x": x}, {"y": y})
    given = {
        "graph": {"input_graph": tmp_path / "graph.pbtxt"},
        "saver": {"input_graph": tmp_path / "graph.pbtxt", "input_saver": tmp_path / "saver.pbtxt"},
        "meta": {"input_meta_graph": checkpoint + ".meta", "input_binary": True},
        "saved model": {"input_saved_model_dir": str(tmp_path / "saved")},
    }[source]
    defaults = {
        "input_graph": "",
        "input_saver": "",
        "input_binary": False,
        "restore_op_name": "",
        "input_checkpoint": checkpoint,
        "filename_tensor_name": "",
        "clear_devices": True,
        "initializer_nodes": "",
    }
    with tf.Graph().as_default():
        frozen = freeze_graph(
            **defaults | given, output_node_names="y", output_graph=str(tmp_path / "frozen.pb")
        )
    assert not any("ariable" in n.op or n.op == "VarHandleOp" for n in frozen.node)
    written = proto.GraphDef.FromString((tmp_path / "frozen.pb").read_bytes())
    assert run(written, X).tolist() == [[5, 7]]


def test_the_command(tmp_path, capsys):
    with tf.Graph().as_default(), tf.Session() as sess:
        model(False)
        sess.run(tf.global_variables_initializer())
        checkpoint = tf.train.Saver().save(sess, str(tmp_path / "model"))
    words = ["freeze", "--input_meta_graph", checkpoint + ".meta", "--input_binary=true",
             "--input_checkpoint", checkpoint, "--output_node_names", "y",
             "--output_graph", str(tmp_path / "frozen.pb")]  # fmt: skip
    assert command.main(words) == 0
    assert "nodes in the frozen graph" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        command.main(["freeze", "--input_checkpoint", "nothing", "--output_node_names", "y"])
    assert "doesn't exist" in capsys.readouterr().err


def test_strip_unused():
    with tf.Graph().as_default() as graph:
        a = tf.constant([1.0, 2.0], name="a")
        b = tf.square(a, name="b")
        tf.add(b, 1.0, name="y")
        tf.identity(b, name="other")
    stripped = strip_unused(graph.as_graph_def(), ["b"], ["y"], FLOAT)
    assert {n.name for n in stripped.node} == {"b", "y/y", "y"}
    assert run(stripped, {"b:0": [3.0]}).tolist() == [4.0]
    with pytest.raises(KeyError, match="not found"):
        strip_unused(graph.as_graph_def(), ["nobody"], ["y"], FLOAT)
    with pytest.raises(ValueError, match="not a Operation"):
        strip_unused(graph.as_graph_def(), ["b:0"], ["y"], FLOAT)


def normalized(kind, shared=False):
    rng = np.random.default_rng(0)
    x = tf.placeholder(tf.float32, [1, 6, 6, 2], name="x")
    if kind == "depthwise":
        kernel = tf.constant(rng.normal(size=(3, 3, 2, 2)), tf.float32)
        conv = tf.nn.depthwise_conv2d(x, kernel, [1, 1, 1, 1], "SAME")
    else:
        kernel = tf.constant(rng.normal(size=(3, 3, 2, 4)), tf.float32)
        conv = tf.nn.conv2d(x, kernel, [1, 1, 1, 1], "SAME")
    mean, beta, gamma = (tf.constant(rng.normal(size=4), tf.float32) for _ in range(3))
    variance = tf.constant(rng.uniform(0.5, 2, size=4), tf.float32)
    y = tf.nn.fused_batch_norm(conv, gamma, beta, mean, variance, 0.01, is_training=False)[0]
    tf.identity(y + tf.reduce_sum(conv) if shared else y, name="y")


@pytest.mark.parametrize("kind", ["ordinary", "depthwise"])
def test_fold_batch_norms(kind):
    with tf.Graph().as_default() as graph:
        normalized(kind)
    before = graph.as_graph_def()
    after = fold_batch_norms(before)
    assert any("BatchNorm" in n.op for n in before.node)
    assert not any("BatchNorm" in n.op for n in after.node)
    feeds = {"x:0": np.random.default_rng(1).normal(size=(1, 6, 6, 2))}
    np.testing.assert_allclose(run(after, feeds), run(before, feeds), rtol=1e-4, atol=1e-5)


def test_a_convolution_that_others_use_is_not_folded():
    with tf.Graph().as_default() as graph:
        normalized("ordinary", shared=True)
    assert any("BatchNorm" in n.op for n in fold_batch_norms(graph.as_graph_def()).node)


@pytest.mark.parametrize("pads, resizes", [(True, False), (False, True), (True, True)])
def test_resizing_and_padding_are_fused(pads, resizes):
    rng = np.random.default_rng(0)
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [1, 4, 4, 1], name="x")
        image = tf.image.resize_bilinear(x, [8, 8]) if resizes else x
        if pads:
            image = tf.pad(image, [[0, 0], [1, 1], [1, 1], [0, 0]], "REFLECT")
        kernel = tf.constant(rng.normal(size=(3, 3, 1, 2)), tf.float32)
        tf.nn.conv2d(image, kernel, [1, 1, 1, 1], "VALID", name="y")
    before = graph.as_graph_def()
    after = optimize_for_inference(before, ["x"], ["y"], FLOAT)
    kinds = {n.op for n in after.node}
    assert kinds & {"FusedPadConv2D", "FusedResizeAndPadConv2D"}
    assert not kinds & {"Conv2D", "ResizeBilinear", "MirrorPad"}
    feeds = {"x:0": rng.normal(size=(1, 4, 4, 1))}
    np.testing.assert_allclose(run(after, feeds), run(before, feeds), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("word", ["strip", "optimize"])
def test_commands_of_graphs(tmp_path, capsys, word):
    with tf.Graph().as_default() as graph:
        normalized("ordinary")
        tf.train.write_graph(graph, str(tmp_path), "in.pbtxt")
    words = [
        word,
        "--input_graph",
        str(tmp_path / "in.pbtxt"),
        "--output_graph",
        str(tmp_path / "out.pb"),
        "--input_node_names",
        "x",
    ]
    assert command.main([*words, "--output_node_names", "y"]) == 0
    found = proto.GraphDef.FromString((tmp_path / "out.pb").read_bytes())
    feeds = {"x:0": np.random.default_rng(1).normal(size=(1, 6, 6, 2))}
    expected = run(graph.as_graph_def(), feeds)
    np.testing.assert_allclose(run(found, feeds), expected, rtol=1e-4, atol=1e-5)
    with pytest.raises(SystemExit):
        command.main([*words, "--output_node_names", "nobody"])
    assert "nobody" in capsys.readouterr().err


def test_tensors_of_a_checkpoint_are_printed(tmp_path, capsys):
    with tf.Graph().as_default(), tf.Session() as sess:
        sess.run(tf.get_variable("v", initializer=np.float32([1, 2])).initializer)
        sess.run(tf.get_variable("step", initializer=7).initializer)
        path = tf.train.Saver().save(sess, str(tmp_path / "model"))
    print_tensors_in_checkpoint_file(path, "v", False)
    assert capsys.readouterr().out == ("tensor: v (float32) [2]\n[1. 2.]\n# Total number of params: 3\n")
    print_tensors_in_checkpoint_file(path, "", True, count_exclude_pattern="st.*")
    assert "tensor: step (int32) []\n7\n" in capsys.readouterr().out
    print_tensors_in_checkpoint_file(path, "", False)
    assert "v (DT_FLOAT) [2]" in capsys.readouterr().out
    print_tensors_in_checkpoint_file(path, "nobody", False)
    assert "Key nobody not found" in capsys.readouterr().out
