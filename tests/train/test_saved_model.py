"""SavedModels: written and read here, and by TensorFlow where it is at hand."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import headrace as tf
from headrace.formats import proto
from tests.tensorflow_peer import needs_tensorflow, tensorflow

GOLDEN = Path(__file__).parent / "golden"
SERVING = tf.saved_model.SERVING
X = np.array([[1.0, 2.0, 3.0]], np.float32)


def save(folder, asset=None):
    """A model with a variable, and a string that its init op reads from an asset."""
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(tf.float32, [None, 3], name="x")
        w = tf.get_variable("w", initializer=np.arange(6, dtype=np.float32).reshape(3, 2))
        y = tf.matmul(x, w, name="y")
        text = tf.Variable("", trainable=False, name="text", collections=["local_variables"])
        init = None
        if asset is not None:
            path = tf.constant(str(asset))
            tf.add_to_collection(tf.GraphKeys.ASSET_FILEPATHS, path)
            init = tf.group(tf.assign(text, tf.read_file(path)))
        sess.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        outputs = {"y": y, "text": text.value()}
        tf.saved_model.simple_save(sess, str(folder), {"x": x}, outputs, legacy_init_op=init)
        return sess.run(y, {x: X})


def run(folder, name="serving_default", scope=None):
    """The outputs of a model's signature for X."""
    with tf.Session(graph=tf.Graph()) as sess:
        model = tf.saved_model.load(sess, [SERVING], str(folder), import_scope=scope)
        signature = model.signature_def[name]
        prefix = f"{scope}/" if scope else ""
        feeds = {prefix + info.name: X for info in signature.inputs.values()}
        return {k: sess.run(prefix + o.name, feeds) for k, o in signature.outputs.items()}


@pytest.mark.parametrize("scope", [None, "inner"])
def test_round_trip_with_assets(tmp_path, scope):
    (tmp_path / "words.txt").write_text("a b")
    expected = save(tmp_path / "model", tmp_path / "words.txt")
    (tmp_path / "model").rename(tmp_path / "moved")
    (tmp_path / "words.txt").unlink()
    found = run(tmp_path / "moved", scope=scope)
    np.testing.assert_array_equal(found["y"], expected)
    assert found["text"] == b"a b"
    assert sorted(os.listdir(tmp_path / "moved")) == ["assets", "saved_model.pb", "variables"]


def test_text_format_and_several_graphs(tmp_path):
    builder = tf.saved_model.Builder(str(tmp_path / "model"))
    with pytest.raises(AssertionError, match="has not been saved yet"):
        builder.add_meta_graph(["eval"])
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.get_variable("v", initializer=3.0)
        sess.run(tf.global_variables_initializer())
        builder.add_meta_graph_and_variables(sess, ["train", "gpu"])
        with pytest.raises(AssertionError, match="already been saved"):
            builder.add_meta_graph_and_variables(sess, ["again"])
    with tf.Graph().as_default():
        tf.get_variable("v", initializer=0.0) * 2
        builder.add_meta_graph(["eval"])
    builder.save(as_text=True)
    with tf.Session(graph=tf.Graph()) as sess:
        tf.saved_model.load(sess, ["eval"], str(tmp_path / "model"))
        assert sess.run("mul:0") == 6.0
        with pytest.raises(RuntimeError, match="tags 'train' could not be found"):
            tf.saved_model.load(sess, ["train"], str(tmp_path / "model"))


def test_a_folder_with_something_in_it_is_refused(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(AssertionError, match="isn't empty"):
        tf.saved_model.Builder(str(tmp_path))


def test_incomplete_signatures_are_refused(tmp_path):
    builder = tf.saved_model.Builder(str(tmp_path / "model"))
    nameless = tf.saved_model.build_signature_def({"x": proto.TensorInfo(dtype=1)}, {}, "m")
    untyped = tf.saved_model.build_signature_def({"x": proto.TensorInfo(name="x:0")}, {}, "m")
    with tf.Graph().as_default(), tf.Session() as sess:
        for signature, message in ((nameless, "'encoding' fields"), (untyped, "dtype field")):
            with pytest.raises(AssertionError, match=message):
                builder.add_meta_graph_and_variables(sess, ["a"], {"s": signature})
        with pytest.raises(KeyError, match="reserved for initialization"):
            fine = tf.saved_model.build_signature_def({}, {}, "m")
            builder.add_meta_graph_and_variables(sess, ["a"], {"__saved_model_init_op": fine})


def test_files_of_one_name_become_two_assets(tmp_path):
    for folder, text in (("a", "1"), ("b", "2"), ("c", "1")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "words.txt").write_text(text)
    builder = tf.saved_model.Builder(str(tmp_path / "model"))
    with tf.Graph().as_default(), tf.Session() as sess:
        paths = [tf.constant(str(tmp_path / f / "words.txt")) for f in "abc"]
        builder.add_meta_graph_and_variables(sess, ["a"], assets_collection=paths)
    assets = tmp_path / "model" / "assets"
    assert {f: (assets / f).read_text() for f in os.listdir(assets)} == {"words.txt": "1", "words.txt_1": "2"}


def damaged(folder, change):
    save(folder)
    message = proto.SavedModel.FromString((folder / "saved_model.pb").read_bytes())
    change(message.meta_graphs[0])
    (folder / "saved_model.pb").write_bytes(message.SerializeToString())


def test_an_asset_outside_of_its_folder_is_refused(tmp_path):
    def change(graph):
        graph.asset_file_def.add(filename="../../etc/passwd").tensor_info.name = "x:0"

    damaged(tmp_path / "model", change)
    with pytest.raises(tf.errors.DataLossError, match="outside of its folder"):
        run(tmp_path / "model")


def test_unreadable_models(tmp_path):
    assert not tf.saved_model.contains_saved_model(str(tmp_path))
    with pytest.raises(IOError, match="SavedModel file does not exist"):
        run(tmp_path)
    (tmp_path / "saved_model.pb").write_bytes(b"not a model")
    assert tf.saved_model.contains_saved_model(str(tmp_path))
    with pytest.raises(IOError, match="Cannot parse file.*saved_model.pb"):
        run(tmp_path)
    save(tmp_path / "model")
    (tmp_path / "model/variables/variables.index").unlink()
    with pytest.raises((tf.errors.NotFoundError, ValueError), match="variables"):
        run(tmp_path / "model")


@pytest.mark.parametrize("name", ["tf1", "tf2"])
def test_models_of_tensorflow(name):
    """Written by TensorFlow 2.21: by its v1 API, and by tf.saved_model.save of a tf.Module whose
    function has a loop and a conditional."""
    found = run(GOLDEN / name)
    np.testing.assert_allclose(found["y"], np.load(GOLDEN / f"{name}.npy"), rtol=1e-6)


@pytest.mark.process
@needs_tensorflow
def test_tensorflow_runs_our_model(tmp_path):
    (tmp_path / "words.txt").write_text("a b")
    expected = save(tmp_path / "model", tmp_path / "words.txt")
    program = """
        with v1.Session(graph=tf.Graph()) as sess:
            model = v1.saved_model.load(sess, ["serve"], "model")
            outputs = model.signature_def["serving_default"].outputs
            y, text = (sess.run(outputs[k].name, {"x:0": [[1, 2, 3]]}) for k in ("y", "text"))
            print(json.dumps([y.tolist(), text.decode()]))
    """
    assert tensorflow(tmp_path, program) == [expected.tolist(), "a b"]
