"""Transforms of graphs: what they change, that results stay, and that TensorFlow's tool does the same."""

from __future__ import annotations

import base64

import numpy as np
import pytest

import headrace as tf
from headrace.formats import proto
from headrace.tools import main as command
from headrace.tools.transforms.call import parse
from headrace.tools.transforms.transform_graph import TransformGraph
from tests.tensorflow_peer import needs_tensorflow, tensorflow

RNG = np.random.default_rng(0)
KERNEL = RNG.normal(size=(3, 3, 2, 4)).astype(np.float32)
IMAGE = {"x:0": RNG.normal(size=(1, 8, 8, 2)).astype(np.float32)}


def numbers(*shape):
    return np.random.default_rng(len(shape)).normal(size=shape).astype(np.float32)


def built(program):
    with tf.Graph().as_default() as graph:
        program()
    return graph.as_graph_def()


def run(graph_def, feeds, fetch="y:0"):
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.import_graph_def(graph_def, name="")
        return sess.run(fetch, feeds)


def image():
    return tf.placeholder(tf.float32, [1, 8, 8, 2], name="x")


def chain():
    x = tf.placeholder(tf.float32, [None, 4], name="x")
    with tf.device("/cpu:0"):
        w = tf.constant(numbers(4, 400), name="w")
        w2 = tf.identity(w, name="copy")
    h = tf.check_numerics(tf.matmul(x, w2), "bad", name="check")
    with tf.control_dependencies([tf.no_op(name="wait")]):
        h = tf.nn.relu(tf.identity(h, name="passed"))
    bias = tf.add(tf.constant(np.ones(400, np.float32)), 1.0, name="bias")
    tf.add(tf.concat([h, h], 1, name="twice"), tf.concat([bias, bias], 0), name="y")
    tf.square(x, name="unused")


def scaled_conv():
    conv = tf.nn.conv2d(image(), tf.constant(KERNEL, name="w"), [1, 1, 1, 1], "SAME", name="conv")
    tf.identity(tf.multiply(conv, tf.constant([1.0, 2, 3, 4]), name="scaled"), name="y")


def scaled_product():
    x = tf.placeholder(tf.float32, [1, 3], name="x")
    weights = tf.constant(numbers(3, 4), name="w")
    tf.multiply(tf.matmul(x, weights), tf.constant([1.0, 2, 3, 4]), name="y")


def norm(conv, count=4):
    rng = np.random.default_rng(1)
    mean, beta, gamma = (tf.constant(rng.normal(size=count), tf.float32) for _ in range(3))
    variance = tf.constant(rng.uniform(0.5, 2, size=count), tf.float32)
    out = tf.nn.fused_batch_norm(conv, gamma, beta, mean, variance, 0.01, is_training=False)[0]
    tf.identity(out, name="y")


def normed():
    norm(tf.nn.conv2d(image(), tf.constant(KERNEL), [1, 1, 1, 1], "SAME"))


def normed_depthwise():
    kernel = tf.constant(numbers(3, 3, 2, 2))
    norm(tf.nn.depthwise_conv2d_native(image(), kernel, [1, 1, 1, 1], "SAME"))


def normed_batches():
    x = tf.placeholder(tf.float32, [4, 8, 8, 2], name="x")
    conv = tf.nn.conv2d(x, tf.constant(KERNEL), [1, 1, 1, 1], "SAME")
    norm(tf.batch_to_space_nd(conv, [2, 2], [[0, 0], [0, 0]]))


def normed_concat():
    x = image()
    parts = [tf.nn.conv2d(x, tf.constant(KERNEL * i), [1, 1, 1, 1], "SAME", name=f"c{i}") for i in (1, 2)]
    norm(tf.concat(parts, 3), 8)


def atrous():
    spread = tf.space_to_batch_nd(image(), [2, 2], [[2, 2], [2, 2]])
    conv = tf.nn.conv2d(spread, tf.constant(KERNEL), [1, 1, 1, 1], "VALID")
    tf.identity(tf.batch_to_space_nd(conv, [2, 2], [[0, 0], [0, 0]], name="back"), name="y")


def padded(pads, resizes):
    def program():
        x = image()
        if resizes:
            x = tf.image.resize_bilinear(x, [12, 12])
        if pads:
            x = tf.pad(x, [[0, 0], [1, 1], [1, 1], [0, 0]], "REFLECT")
        tf.nn.conv2d(x, tf.constant(KERNEL), [1, 1, 1, 1], "VALID", name="y")

    return program


def small_net():
    conv = tf.nn.conv2d(image(), tf.constant(KERNEL), [1, 1, 1, 1], "SAME")
    h = tf.nn.max_pool(tf.nn.relu(conv), [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
    weights = tf.constant(numbers(64, 5) / 8)
    out = tf.nn.bias_add(tf.matmul(tf.reshape(h, [1, 64]), weights), tf.constant([0.1] * 5))
    tf.identity(out, name="y")


def array():
    x = tf.placeholder(tf.float32, [3], name="x")
    tf.identity(tf.TensorArray(tf.float32, 3).unstack(x).stack(), name="y")


X = {"x:0": RNG.normal(size=(2, 4)).astype(np.float32)}
# transforms, program, feeds, and the largest relative change of the result
SAME = [
    ("strip_unused_nodes", chain, X, 0),
    ("remove_nodes(op=Identity, op=CheckNumerics)", chain, X, 0),
    ("fold_constants(ignore_errors=true)", chain, X, 0),
    ("fold_constants fold_batch_norms", scaled_conv, IMAGE, 1e-5),
    ("fold_batch_norms", scaled_product, {"x:0": np.ones((1, 3))}, 1e-5),
    ("fold_old_batch_norms", normed, IMAGE, 1e-5),
    ("fold_old_batch_norms", normed_depthwise, IMAGE, 1e-5),
    ("fold_old_batch_norms", normed_batches, {"x:0": RNG.normal(size=(4, 8, 8, 2))}, 1e-5),
    ("fold_old_batch_norms", normed_concat, IMAGE, 1e-5),
    ("flatten_atrous_conv", atrous, IMAGE, 1e-5),
    ("fuse_pad_and_conv", padded(True, False), IMAGE, 1e-5),
    ("fuse_resize_and_conv", padded(False, True), IMAGE, 1e-5),
    ("fuse_resize_pad_and_conv", padded(True, True), IMAGE, 1e-5),
    ("quantize_weights(minimum_size=100)", chain, X, 0.03),
    ("round_weights(num_steps=200)", chain, X, 0.03),
    ("obfuscate_names", chain, X, 0),
    ("merge_duplicate_nodes", chain, X, 0),
    ("sort_by_execution_order", chain, X, 0),
    ("add_default_attributes", chain, X, 0),
    ("remove_device", chain, X, 0),
    ('set_device(device="/cpu:0", if_default=true)', chain, X, 0),
    ("remove_attribute(attribute_name=_output_shapes)", chain, X, 0),
    ("remove_control_dependencies", chain, X, 0),
    ("rename_op(old_op_name=Relu, new_op_name=Relu6)", chain, {"x:0": np.ones((1, 4)) * 0.1}, 0),
    ("backport_concatv2", chain, X, 0),
    ("quantize_weights(minimum_size=20) quantize_nodes strip_unused_nodes", small_net, IMAGE, 0.1),
    ("quantize_nodes(fallback_min=-20, fallback_max=20)", small_net, IMAGE, 0.2),
]


@pytest.mark.parametrize("transforms, program, feeds, change", SAME, ids=[str(c[0]) for c in SAME])
def test_results_stay(transforms, program, feeds, change):
    before = built(program)
    after = TransformGraph(before, ["x"], ["y"], [transforms])
    expected, found = run(before, feeds), run(after, feeds)
    if "Relu6" in transforms:
        assert {n.op for n in after.node} & {"Relu", "Relu6"} == {"Relu6"}
    size = np.abs(expected).max()
    assert np.abs(found - expected).max() <= change * size
    assert after.versions == before.versions


def kinds(graph):
    return {node.op for node in graph.node}


def test_what_is_left():
    graph = built(chain)
    left = TransformGraph(graph, ["x"], ["y"], ["remove_nodes(op=Identity, op=CheckNumerics)"])
    assert not kinds(left) & {"Identity", "CheckNumerics"}
    left = TransformGraph(graph, ["x"], ["y"], ["fold_constants"])
    assert kinds(left) == {"Placeholder", "Const", "MatMul", "CheckNumerics", "NoOp", "Identity",
                           "Relu", "ConcatV2", "AddV2", "Add"} & kinds(left)  # fmt: skip
    assert not {"unused", "bias", "copy"} & {n.name for n in left.node if n.op != "Const"}
    assert "Concat" in kinds(TransformGraph(graph, [], [], ["backport_concatv2"]))
    assert kinds(TransformGraph(built(scaled_conv), ["x"], ["y"], ["fold_batch_norms"])) == {
        "Placeholder",
        "Const",
        "Conv2D",
        "Identity",
    }
    assert "BatchToSpaceND" not in kinds(TransformGraph(built(atrous), ["x"], ["y"], ["flatten_atrous_conv"]))
    eight = kinds(TransformGraph(built(small_net), ["x"], ["y"], ["quantize_nodes"]))
    assert {"QuantizedConv2D", "QuantizedRelu", "QuantizedMaxPool", "QuantizedMatMul"} <= eight
    assert not eight & {"Conv2D", "Relu", "MaxPool", "MatMul"}


def test_shapes_that_are_known_are_constants():
    def program():
        x = tf.placeholder(tf.float32, [2, 3], name="x")
        tf.reshape(x, tf.stack([tf.size(x), 1]), name="y")

    after = TransformGraph(built(program), ["x"], ["y"], ["fold_constants"])
    assert kinds(after) == {"Placeholder", "Const", "Reshape"}


def test_new_placeholders():
    after = TransformGraph(built(chain), ["passed"], ["y"], ['strip_unused_nodes(type=float, shape="2,400")'])
    assert run(after, {"passed:0": np.ones((2, 400))}).shape == (2, 800)
    call = "strip_unused_nodes(name=passed, type_for_name=int32, name=x)"
    with pytest.raises(tf.errors.InvalidArgumentError, match="for every 'name'"):
        TransformGraph(built(chain), ["passed"], ["y"], [call])


def test_bytes_are_fed():
    call = "quantize_nodes(input_min=-1, input_max=1)"
    after = TransformGraph(built(small_net), ["x"], ["y"], [call])
    image = np.linspace(-1, 1, 128, dtype=np.float32).reshape(1, 8, 8, 2)
    bytes_ = np.round((image + 1) * 127.5).astype(np.uint8)
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.import_graph_def(after, name="")
        found = sess.run("y:0", {"x:0": bytes_.astype(tf.quint8.as_numpy_dtype)})
    expected = run(built(small_net), {"x:0": image})
    assert np.abs(found - expected).max() < 0.1 * np.abs(expected).max()


def test_trained_ranges_take_the_place_of_found_ones():
    def program():
        conv = tf.nn.conv2d(image(), tf.constant(KERNEL), [1, 1, 1, 1], "SAME")
        h = tf.nn.relu(conv)
        h = tf.fake_quant_with_min_max_vars(h, tf.constant(0.0), tf.constant(20.0))
        tf.identity(h, name="y")

    before = built(program)
    after = TransformGraph(before, ["x"], ["y"], ["quantize_nodes", "strip_unused_nodes"])
    assert "FakeQuantWithMinMaxVars" not in kinds(after)
    assert "RequantizationRange" not in kinds(after)
    expected, found = run(before, IMAGE), run(after, IMAGE)
    assert np.abs(found - expected).max() < 0.3


def test_logging_and_frozen_ranges(tmp_path, capfd):
    quantized = TransformGraph(built(small_net), ["x"], ["y"], ["quantize_nodes"])
    call = 'insert_logging(op=RequantizationRange, show_name=true, message="__requant_min_max:")'
    logged = TransformGraph(quantized, ["x"], ["y"], [call])
    expected = run(logged, IMAGE)
    log = capfd.readouterr().err
    assert "__print__;__requant_min_max:[" in log
    (tmp_path / "log").write_text(log)
    call = f'freeze_requantization_ranges(min_max_log_file="{tmp_path}/log")'
    frozen = TransformGraph(quantized, ["x"], ["y"], [call])
    assert "RequantizationRange" not in kinds(frozen)
    np.testing.assert_allclose(run(frozen, IMAGE), expected, atol=1e-3)


def test_loops_are_sorted():
    def program():
        x = tf.placeholder(tf.float32, [], name="x")
        out = tf.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, v * 2), [0, x])[1]
        tf.identity(out, name="y")

    graph = built(program)
    backwards = proto.GraphDef(versions=graph.versions)
    backwards.node.extend(reversed(graph.node))
    after = TransformGraph(backwards, ["x"], ["y"], ["sort_by_execution_order"])
    assert run(after, {"x:0": 1.0}) == 8.0
    seen = set()
    for node in after.node:
        ends = [i for i in node.input if i.removeprefix("^").split(":")[0] not in seen]
        assert not ends or node.op == "Merge"
        seen.add(node.name)


@pytest.mark.parametrize(
    "call, message",
    [
        ("nothing_known", "'nothing_known' not recognized"),
        ("remove_nodes", "at least one 'op'"),
        ("rename_op(old_op_name=a)", "exactly one 'new_op_name'"),
        ("fold_constants(", "parameter name"),
        ("fold_constants(a)", "Looking for ="),
        ("fold_constants(a=", "parameter value"),
        ("=", "transform name"),
        ("round_weights(num_steps=many)", "should be a number"),
        ("set_device(if_default=perhaps)", "true or false"),
        ("quantize_nodes(input_min=1)", "both input_min and input_max"),
    ],
)
def test_refused(call, message):
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        TransformGraph(built(chain), ["x"], ["y"], [call])


def test_errors_can_be_ignored():
    graph = built(chain)
    assert TransformGraph(graph, ["x"], [], ["fold_constants(ignore_errors=true)"]) == graph


def test_calls_are_parsed():
    calls = parse(' a  b(c=1, d="x,y", c=2)\n\te() ')
    assert [(c.name, c.parameters) for c in calls] == [
        ("a", {}),
        ("b", {"c": ["1", "2"], "d": ["x,y"]}),
        ("e", {}),
    ]


def test_the_command(tmp_path, capsys):
    (tmp_path / "in.pb").write_bytes(built(chain).SerializeToString())
    words = ["transform", "--in_graph", str(tmp_path / "in.pb"), "--inputs", "x", "--outputs", "y"]
    out = ["--out_graph", str(tmp_path / "out.pbtxt"), "--output_as_text"]
    assert command.main([*words, *out, "--transforms", "strip_unused_nodes obfuscate_names"]) == 0
    assert "nodes became" in capsys.readouterr().out
    again = [*words, "--out_graph", str(tmp_path / "out.pb"), "--transforms", "fold_constants"]
    again[2] = str(tmp_path / "out.pbtxt")
    assert command.main(again) == 0
    found = proto.GraphDef.FromString((tmp_path / "out.pb").read_bytes())
    np.testing.assert_array_equal(run(found, X), run(built(chain), X))
    with pytest.raises(SystemExit):
        command.main([*words, *out, "--transforms", "unknown"])
    assert "not recognized" in capsys.readouterr().err


def test_sparse_weights_become_a_table():
    def program():
        weights = np.zeros((6, 1), np.float32)
        weights[[1, 4]] = [[2.0], [3.0]]
        ids = tf.placeholder(tf.int64, [None], name="x")
        tf.identity(tf.gather(tf.identity(tf.constant(weights, name="w")), ids), name="y")

    after = TransformGraph(built(program), ["x"], ["y"], ["sparsify_gather"])
    assert {"HashTable", "InitializeTable", "LookupTableFind"} <= kinds(after)
    assert "w" not in {n.name for n in after.node}


# -- TensorFlow's tool -----------------------------------------------------------------------------
EQUAL = [
    ("remove_nodes(op=Identity, op=CheckNumerics)", chain),
    ("strip_unused_nodes", chain),
    ("fold_batch_norms", scaled_conv),
    ("fold_batch_norms", scaled_product),
    ("flatten_atrous_conv", atrous),
    ("fuse_pad_and_conv", padded(True, False)),
    ("fuse_resize_and_conv", padded(False, True)),
    ("quantize_weights(minimum_size=100)", chain),
    ("obfuscate_names", chain),
    ("merge_duplicate_nodes", chain),
    ("remove_device", chain),
    ("fuse_resize_pad_and_conv", padded(True, True)),
    ("backport_tensor_array_v3", array),
    ('set_device(device="/cpu:1")', chain),
    ("backport_concatv2", chain),
    ("rename_op(old_op_name=Relu, new_op_name=Relu6)", chain),
    ("rename_attribute(old_attribute_name=T, new_attribute_name=U, op_name=Relu)", chain),
    ("remove_attribute(attribute_name=T, op_name=Relu)", chain),
    ("remove_control_dependencies", chain),
]


@pytest.mark.process
@needs_tensorflow
def test_tensorflow_makes_the_same_graphs(tmp_path):
    asked = [(call, base64.b64encode(built(p).SerializeToString()).decode()) for call, p in EQUAL]
    answers = tensorflow(
        tmp_path,
        f"""
        import base64
        from tensorflow.python.util import _pywrap_transform_graph as tool
        out = []
        for call, graph in {asked!r}:
            found = tool.TransformGraphWithStringInputs(base64.b64decode(graph), "x", "y", call)
            out.append(base64.b64encode(found).decode())
        print(json.dumps(out))
        """,
    )
    for (call, program), answer in zip(EQUAL, answers):
        theirs = proto.GraphDef.FromString(base64.b64decode(answer))
        ours = TransformGraph(built(program), ["x"], ["y"], [call])
        assert described(ours) == described(theirs), call


def described(graph):
    """The nodes by name, with values that may be one step apart; what TensorArrayV2 has no attribute for."""
    dropped = ("value", "_output_shapes", "identical_element_shapes")
    out = {}
    for node in graph.node:
        attrs = {k: str(v) for k, v in node.attr.items() if k not in dropped}
        value = tf.make_ndarray(node.attr["value"].tensor) if node.op == "Const" else np.zeros(1)
        shown = (value.shape, np.round(np.abs(value.astype(float)).sum(), 1))
        out[node.name] = (node.op, sorted(i.removesuffix(":0") for i in node.input), attrs, shown)
    return out
