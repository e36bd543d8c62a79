"""headrace inspect: one look at every kind of file, and at files of no kind."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import headrace as tf
from headrace.tools import main as command
from headrace.tools.inspect import describe

TESTS = Path(__file__).parent.parent
GOLDEN = TESTS / "formats" / "golden"


def shown(path, limit=12):
    what, lines = describe(str(path), limit)
    return what + "\n" + "\n".join(lines)


def test_graphs(tmp_path):
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 3], name="x")
        tf.nn.relu(x @ tf.ones([3, 2]), name="y")
        tf.train.export_meta_graph(str(tmp_path / "model.meta"))
    for name, as_text in (("graph.pb", False), ("graph.pbtxt", True)):
        tf.train.write_graph(graph, str(tmp_path), name, as_text)
        text = shown(tmp_path / name)
        assert text.startswith("graph in text format" if as_text else "graph, ")
        assert "Relu 1" in text and "x  Placeholder  float32 [?,3]" in text
    assert shown(tmp_path / "model.meta").startswith("meta graph")


@pytest.mark.parametrize(
    "name, words",
    [
        ("v2", ["checkpoint", "large", "int32", "[9000]", "36.0 kB", "more (--all"]),
        ("v2.index", ["checkpoint"]),
        ("v2.data-00000-of-00001", ["checkpoint"]),
        ("v1", ["checkpoint (V1)", "compressible"]),
        ("saver", ["latest", "model-3", "also", "in 3 slices"]),
        ("saver/model-3.meta", ["meta graph", "partitioned"]),
        ("recordsgzip.tfrecord", ["gzip, 5 records"]),
        ("recordszlib.tfrecord", ["zlib, 5 records"]),
        ("events.tfevents", ["4 events", "loss", "steps 0 to 100", "last -1"]),
        (".", ["folder", "records.tfrecord"]),
    ],
)
def test_files_of_tensorflow(name, words):
    text = shown(GOLDEN / name)
    assert all(word in text for word in words), text


def test_saved_model():
    text = shown(TESTS / "train/golden/tf1")
    assert "serving_default" in text and "tensorflow/serving/predict" in text
    assert shown(TESTS / "train/golden/tf1/saved_model.pb") == text


def test_examples(tmp_path):
    path = tmp_path / "data.tfrecord"
    with tf.io.TFRecordWriter(str(path)) as writer:
        for i in range(3):
            example = tf.train.Example()
            example.features.feature["image"].bytes_list.value.append(b"x")
            example.features.feature["ids"].int64_list.value.extend(range(i + 1))
            if i:
                example.features.feature["weight"].float_list.value.append(0.5)
            writer.write(example.SerializeToString())
    text = shown(path)
    assert "ids     int64  1 to 3 values" in text
    assert "weight  float  1 values       in 2 of 3" in text


def test_the_command(capsys):
    assert command.main(["inspect", str(GOLDEN / "v1"), "--limit", "1"]) == 0
    assert "more (--all shows them)" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        command.main(["inspect", "/nowhere"])
    assert "No such file" in capsys.readouterr().err


@given(st.one_of(st.binary(max_size=200), st.text(max_size=100).map(str.encode)))
def test_other_files_are_refused_or_described(tmp_path, data):
    path = tmp_path / "file"
    path.write_bytes(data)
    try:
        assert shown(path)
    except (tf.errors.OpError, ValueError, OSError):
        pass
