"""SavedModels between TensorFlow and us, live: those of its v1 API and of TF2 run here with its numbers,
and its loaders and `saved_model_cli` read ours."""

from __future__ import annotations

import numpy as np
import pytest

import headrace as tf
from tests.tensorflow_peer import needs_tensorflow, tensorflow

pytestmark = [pytest.mark.process, needs_tensorflow]

SAVE = """
def save(name, model, **feeds):
    # as a SavedModel, with what the default signature gives for some inputs
    signatures = getattr(model, "f", None)
    if callable(getattr(model, "export", None)) or hasattr(model, "layers"):
        model.save(name, save_format="tf")
    else:
        tf.saved_model.save(model, name, signatures=signatures)
    loaded = tf.saved_model.load(name).signatures["serving_default"]
    if not feeds:
        (key,) = loaded.structured_input_signature[1]
        spec = loaded.structured_input_signature[1][key]
        shape = [2, *spec.shape[1:]]
        if spec.dtype == tf.int32:
            feeds = {key: np.arange(np.prod(shape)).reshape(shape) % 7}
        else:
            feeds = {key: np.random.RandomState(0).randn(*shape)}
        feeds[key] = feeds[key].astype(spec.dtype.as_numpy_dtype)
    out = loaded(**{k: tf.constant(v) for k, v in feeds.items()})
    np.savez(name + "-in", **feeds)
    np.savez(name + "-out", **{k: v.numpy() for k, v in out.items()})
"""


def run_here(folder, name):
    """The outputs here and there."""
    feeds = np.load(folder / f"{name}-in.npz", allow_pickle=True)
    expected = np.load(folder / f"{name}-out.npz", allow_pickle=True)
    with tf.Graph().as_default(), tf.Session() as sess:
        model = tf.saved_model.load(sess, ["serve"], str(folder / name))
        signature = model.signature_def["serving_default"]
        fed = {signature.inputs[key].name: feeds[key] for key in feeds}
        fetched = {key: signature.outputs[key].name for key in expected}
        found = sess.run(fetched, fed)
    for key, value in found.items():
        if value.dtype == object:
            assert value.tolist() == expected[key].tolist()
        else:
            np.testing.assert_allclose(value, expected[key], rtol=1e-4, atol=1e-5, err_msg=name)


KERAS = """
import tf_keras
L = tf_keras.layers
tf_keras.utils.set_random_seed(0)
def keras(name, shape, *layers, dtype=None):
    save(name, tf_keras.Sequential([L.Input(shape, dtype=dtype), *layers]))
keras("cnn", (8, 8, 3), L.Conv2D(4, 3, padding="same"), L.BatchNormalization(), L.ReLU(), L.MaxPool2D(),
      L.DepthwiseConv2D(3), L.Conv2DTranspose(3, 3, strides=2), L.UpSampling2D(interpolation="bilinear"),
      L.GlobalAveragePooling2D(), L.Dropout(0.5), L.Dense(3, activation="softmax"))
keras("words", (4,), L.Embedding(10, 3, mask_zero=True), L.Bidirectional(L.GRU(3, return_sequences=True)),
      L.LSTM(4), L.Dense(1), dtype="int32")
inputs = L.Input((5, 8))
attended = L.LayerNormalization()(L.MultiHeadAttention(2, 4)(inputs, inputs) + inputs)
save("attention", tf_keras.Model(inputs, attended))
print(json.dumps(["cnn", "words", "attention"]))
"""


def test_keras_models_run_here(tmp_path):
    for name in tensorflow(tmp_path, SAVE + KERAS):
        run_here(tmp_path, name)


MODULES = """
class Model(tf.Module):
    def __init__(self):
        super().__init__()
        self.w = tf.Variable(np.arange(12, dtype=np.float32).reshape(4, 3))
        self.calls = tf.Variable(0, dtype=tf.int64)
    @tf.function(input_signature=[tf.TensorSpec([None, 4], tf.float32, name="x")])
    def f(self, x):
        self.calls.assign_add(1)
        y = tf.matmul(x, self.w)
        for i in tf.range(3):
            y = tf.nn.relu(y) * 0.5 + 1.0
        y = y + 1 if tf.reduce_sum(y) > 0 else y - 1
        parts = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
        for i in tf.range(tf.shape(y)[0]):
            parts = parts.write(i, tf.cumsum(y[i]))
        y = tf.switch_case(tf.shape(x)[0] % 2, [lambda: parts.stack(), lambda: y * 2])
        return {"y": y, "calls": self.calls.read_value(), "rows": tf.einsum("ij,ij->i", y, y),
                "text": tf.strings.as_string(tf.cast(y[0], tf.int32))}
class Parser(tf.Module):
    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="e")])
    def f(self, e):
        kinds = {"a": tf.io.FixedLenFeature([2], tf.float32), "b": tf.io.VarLenFeature(tf.int64),
                 "c": tf.io.FixedLenFeature([], tf.string, "?")}
        found = tf.io.parse_example(e, kinds)
        return {"a": found["a"], "b": tf.sparse.to_dense(found["b"]), "c": found["c"]}
class Image(tf.Module):
    @tf.function(input_signature=[tf.TensorSpec([], tf.string, name="png")])
    def f(self, png):
        image = tf.image.resize(tf.cast(tf.image.decode_png(png, 3), tf.float32) / 255.0, [4, 4])
        return {"image": image, "rows": tf.map_fn(tf.reduce_max, image)}
def example(a, b):
    feature = {"a": tf.train.Feature(float_list=tf.train.FloatList(value=a)),
               "b": tf.train.Feature(int64_list=tf.train.Int64List(value=b))}
    return tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString()
png = tf.io.encode_png(np.random.RandomState(0).randint(0, 255, (6, 7, 3)).astype(np.uint8)).numpy()
save("model", Model(), x=np.random.RandomState(0).randn(4, 4).astype(np.float32))
save("parser", Parser(), e=np.array([example([1, 2], [3]), example([4, 5], [6, 7])], object))
save("image", Image(), png=np.array(png, object))
print(json.dumps(["model", "parser", "image"]))
"""


def test_modules_run_here(tmp_path):
    for name in tensorflow(tmp_path, SAVE + MODULES):
        run_here(tmp_path, name)


V1 = """
for resource in (False, True):
    name = f"resource{resource}"
    with tf.Graph().as_default(), v1.Session() as sess:
        x = v1.placeholder(tf.float32, [None, 4], name="x")
        w = v1.get_variable("w", initializer=np.ones((4, 3), np.float32), use_resource=resource)
        cut = v1.get_variable("cut", [4, 3], initializer=v1.ones_initializer(),
                              partitioner=v1.fixed_size_partitioner(2), use_resource=resource)
        h = tf.nn.relu(tf.matmul(x, w + tf.convert_to_tensor(cut)))
        c = v1.cond(tf.reduce_sum(h) > 0, lambda: h + 1, lambda: h - 1)
        y = v1.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * 2), [0, c])[1]
        sess.run(v1.global_variables_initializer())
        v1.saved_model.simple_save(sess, name, {"x": x}, {"y": y})
        fed = np.random.RandomState(0).randn(2, 4).astype(np.float32)
        np.savez(name + "-in", x=fed)
        np.savez(name + "-out", y=sess.run(y, {x: fed}))
        frozen = v1.graph_util.convert_variables_to_constants(
            sess, sess.graph_def, [y.op.name])
        with open(name + ".pb", "wb") as file:
            file.write(frozen.SerializeToString())
        last = y.name
print(json.dumps(last))
"""


def test_models_and_frozen_graphs_of_v1_run_here(tmp_path):
    output = tensorflow(tmp_path, V1)
    for name in ("resourceFalse", "resourceTrue"):
        run_here(tmp_path, name)
        graph_def = tf.GraphDef.FromString((tmp_path / f"{name}.pb").read_bytes())
        with tf.Graph().as_default(), tf.Session() as sess:
            (y,) = tf.import_graph_def(graph_def, return_elements=[output])
            x = np.load(tmp_path / f"{name}-in.npz")["x"]
            expected = np.load(tmp_path / f"{name}-out.npz")["y"]
            np.testing.assert_allclose(sess.run(y, {"import/x:0": x}), expected, rtol=1e-5)


def ours(folder, use_resource):
    with tf.Graph().as_default() as graph, tf.Session() as sess:
        x = tf.placeholder(tf.float32, [None, 3], name="x")
        w = tf.get_variable(
            "w", initializer=np.arange(6, dtype=np.float32).reshape(3, 2), use_resource=use_resource
        )
        h = tf.layers.batch_normalization(tf.matmul(x, w), fused=False)
        h = tf.cond(tf.reduce_sum(h) > 0, lambda: h * 2, lambda: h - 1)
        y = tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a + 1), [0, h])[1]
        y = tf.identity(y, name="y")
        sess.run(tf.global_variables_initializer())
        tf.saved_model.simple_save(sess, str(folder / "model"), {"x": x}, {"y": y})
        frozen = tf.graph_util.convert_variables_to_constants(sess, graph.as_graph_def(), ["y"])
        (folder / "frozen.pb").write_bytes(frozen.SerializeToString())
        return sess.run(y, {x: [[1, 2, 3]]})


READ = """
with v1.Session(graph=tf.Graph()) as sess:
    model = v1.saved_model.load(sess, ["serve"], "model")
    outputs = model.signature_def["serving_default"].outputs
    loaded = sess.run(outputs["y"].name, {"x:0": [[1, 2, 3]]})
with tf.Graph().as_default() as graph, v1.Session() as sess:
    graph_def = v1.GraphDef.FromString(open("frozen.pb", "rb").read())
    tf.import_graph_def(graph_def, name="")
    frozen = sess.run("y:0", {"x:0": [[1, 2, 3]]})
served = tf.saved_model.load("model").signatures["serving_default"](x=tf.constant([[1.0, 2, 3]]))
print(json.dumps([v.tolist() for v in (loaded, frozen, served["y"].numpy())]))
"""
COMMAND = """
import contextlib, io, sys
from tensorflow.python.tools import saved_model_cli
sys.argv = ["saved_model_cli", *{words!r}]
out = io.StringIO()
with contextlib.redirect_stdout(out):
    try:
        saved_model_cli.main()
    except SystemExit as end:
        assert not end.code, end
print()
print(json.dumps(out.getvalue()))
"""


@pytest.mark.parametrize("use_resource", [False, True])
def test_tensorflow_reads_ours(tmp_path, use_resource):
    expected = ours(tmp_path, use_resource)
    for found in tensorflow(tmp_path, READ):
        np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_its_command_reads_ours(tmp_path):
    expected = ours(tmp_path, True)
    shown = tensorflow(tmp_path, COMMAND.format(words=["show", "--dir", "model", "--all"]))
    for text in ("serving_default", "inputs['x']", "outputs['y']", "shape: (-1, 3)", "predict"):
        assert text in shown
    words = ["run", "--dir", "model", "--tag_set", "serve", "--signature_def", "serving_default",
             "--input_exprs", "x=[[1.0,2.0,3.0]]", "--outdir", "."]  # fmt: skip
    tensorflow(tmp_path, COMMAND.format(words=words))
    np.testing.assert_allclose(np.load(tmp_path / "y.npy"), expected, rtol=1e-5)


@pytest.mark.process
@needs_tensorflow
def test_a_frozen_recurrent_network_runs_in_tensorflow(tmp_path):
    """Its loops read variables by reference; frozen, they read constants, by no RefEnter."""
    x = np.random.default_rng(0).normal(size=(2, 5, 3)).astype(np.float32)
    with tf.Graph().as_default(), tf.Session() as sess:
        fed = tf.placeholder(tf.float32, [None, 5, 3], name="x")
        cells = tf.nn.rnn_cell.BasicLSTMCell(4), tf.nn.rnn_cell.GRUCell(4)
        outputs, _ = tf.nn.bidirectional_dynamic_rnn(*cells, fed, dtype=tf.float32)
        out = tf.concat(outputs, -1, name="out")
        sess.run(tf.global_variables_initializer())
        frozen = tf.graph_util.convert_variables_to_constants(sess, sess.graph.as_graph_def(), ["out"])
        expected = sess.run(out, {fed: x})
    (tmp_path / "frozen.pb").write_bytes(frozen.SerializeToString())
    np.save(tmp_path / "x.npy", x)
    found = tensorflow(
        tmp_path,
        """
        graph = v1.GraphDef.FromString(open("frozen.pb", "rb").read())
        with tf.Graph().as_default(), v1.Session() as sess:
            v1.import_graph_def(graph, name="")
            print(json.dumps(sess.run("out:0", {"x:0": np.load("x.npy")}).tolist()))
        """,
    )
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
