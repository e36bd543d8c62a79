"""Both ways, live: TensorFlow reads what we write, we read what TensorFlow writes.

Needs HEADRACE_TF_PYTHON, an interpreter with TensorFlow 2; skipped without it (golden files are always
read, see test_golden.py)."""

from __future__ import annotations

import os

import numpy as np
import pytest

import headrace as tf
from headrace.formats.checkpoints.bundle_writer import BundleWriter
from headrace.formats.checkpoints.checkpoint import open_checkpoint
from headrace.formats.checkpoints.checkpoint_v1 import Item, write
from headrace.formats.checkpoints.tensor_slice import full_slice, parse_slice
from tests.formats import golden_values
from tests.tensorflow_peer import needs_tensorflow, tensorflow

pytestmark = [pytest.mark.process, needs_tensorflow]


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as fresh:
        yield fresh


def plain(value):
    """A value as text, exact, for both sides."""
    if value.dtype == object:
        return [repr(text) for text in value.ravel()]
    return value.tobytes().hex()


READ = """
    def plain(value):
        value = np.asarray(value)
        if value.dtype == object:
            return [repr(text) for text in value.ravel()]
        return value.tobytes().hex()
    reader = v1.train.NewCheckpointReader("m")
    shapes = reader.get_variable_to_shape_map()
    print(json.dumps({name: [shapes[name], plain(reader.get_tensor(name))] for name in shapes}))
"""


def described(tensors):
    return {name: [list(value.shape), plain(value)] for name, value in tensors.items()}


def test_tensorflow_reads_our_checkpoint(tmp_path):
    tensors = golden_values.tensors()
    with BundleWriter(tmp_path / "m") as writer:
        for name, value in tensors.items():
            writer.add(name, value)
        for start, count in golden_values.PARTS:
            part = golden_values.PARTITIONED[start : start + count]
            writer.add_slice("partitioned", (10, 3), parse_slice(f"{start},{count}:-"), part)
        writer.finish()
    found = tensorflow(tmp_path, READ)
    assert found == described(tensors | {"partitioned": golden_values.PARTITIONED})


def test_tensorflow_reads_our_old_format(tmp_path):
    names = "float32 float64 int8 int16 int32 int64 uint8".split()  # those its reader knows
    tensors = {name: golden_values.number(name) for name in names}
    tensors["text"] = np.array([b"", b"one", b"\0"], object)
    write(tmp_path / "m", [Item(k, v, v.dtype, v.shape, full_slice(v.ndim)) for k, v in tensors.items()])
    assert tensorflow(tmp_path, READ) == described(tensors)


def test_tensorflow_finds_the_damage(tmp_path):
    """A flipped byte is a checksum error there too: it verifies what we write."""
    with BundleWriter(tmp_path / "m") as writer:
        writer.add("a", np.arange(1000.0))
        writer.finish()
    path = tmp_path / "m.data-00000-of-00001"
    data = bytearray(path.read_bytes())
    data[4000] ^= 4
    path.write_bytes(bytes(data))
    message = tensorflow(
        tmp_path,
        """
        try:
            v1.train.NewCheckpointReader("m").get_tensor("a")
        except Exception as error:
            print(json.dumps(str(error)))
        """,
    )
    assert "hecksum" in message


PROGRAM = """
x = tf.placeholder(tf.float32, [None, 3], name="x")
w = tf.get_variable(
    "w", initializer=np.arange(6, dtype=np.float32).reshape(3, 2), use_resource={resource}
)
b = tf.get_variable("b", initializer=np.float32([10, 20]), use_resource={resource})
with tf.variable_scope("cut", partitioner=tf.fixed_size_partitioner(2)):
    parts = tf.get_variable("parts", [4, 2], initializer=tf.ones_initializer())
y = tf.add(tf.matmul(x, w), b, name="y")
train = tf.train.AdamOptimizer(0.5).minimize(tf.reduce_sum(y * y), name="train")
saver = tf.train.Saver(sharded={sharded})
session = tf.Session()
session.run(tf.global_variables_initializer())
session.run(train, {{x: np.ones([2, 3])}})
saver.save(session, os.path.join(folder, "model"), global_step=1)
result = session.run(y, {{x: np.eye(3)}}).tolist()
"""
CONTINUE = """
saver = tf.train.import_meta_graph(os.path.join(folder, "model-1.meta"))
session = tf.Session()
saver.restore(session, tf.train.latest_checkpoint(folder))
result = session.run("y:0", {"x:0": np.eye(3)}).tolist()
session.run("train", {"x:0": np.ones([2, 3])})
result = [result, session.run("y:0", {"x:0": np.eye(3)}).tolist()]
"""
AS_V1 = "tf = v1; tf.disable_eager_execution(); folder = '.'\n"
SHOW = "\nprint(json.dumps(result))"


def ours(program, folder):
    """Run a program with headrace."""
    names = {"tf": tf, "np": np, "os": os, "folder": str(folder)}
    exec(program, names)
    names["session"].close()
    return names["result"]


@pytest.mark.parametrize("resource", [False, True])
@pytest.mark.parametrize("sharded", [False, True])
def test_training_goes_on_there(tmp_path, resource, sharded):
    """A model that is built, trained and saved here goes on in TensorFlow, from graph and checkpoint."""
    before = ours(PROGRAM.format(resource=resource, sharded=sharded), tmp_path)
    with tf.Graph().as_default():
        expected = ours(CONTINUE, tmp_path)
    there = tensorflow(tmp_path, AS_V1 + CONTINUE + SHOW)
    np.testing.assert_allclose(there[0], before, rtol=1e-6)
    np.testing.assert_allclose(there[1], expected[1], rtol=1e-5)


@pytest.mark.parametrize("resource", [False, True])
def test_training_goes_on_here(tmp_path, resource):
    """And the other way round."""
    program = PROGRAM.format(resource=resource, sharded=True)
    there = tensorflow(tmp_path, AS_V1 + program + SHOW)
    expected = tensorflow(tmp_path, AS_V1 + CONTINUE + SHOW)
    here = ours(CONTINUE, tmp_path)
    np.testing.assert_allclose(here[0], there, rtol=1e-6)
    np.testing.assert_allclose(here[1], expected[1], rtol=1e-5)


def test_checkpoint_of_tensorflow_2(tmp_path):
    """tf.train.Checkpoint: objects there, names here."""
    tensorflow(
        tmp_path,
        """
        dense = tf.keras.layers.Dense(2, name="dense")
        dense.build([None, 3])
        tf.train.Checkpoint(layer=dense, step=tf.Variable(7)).write("m")
        print(1)
        """,
    )
    with open_checkpoint(tmp_path / "m") as reader:
        names = [name for name, _, _ in reader.tensors()]
        assert reader.read("step/.ATTRIBUTES/VARIABLE_VALUE") == 7
        assert reader.read("layer/_kernel/.ATTRIBUTES/VARIABLE_VALUE").shape == (3, 2)
    assert "_CHECKPOINTABLE_OBJECT_GRAPH" in names


OBJECTS = """
class Model(tf.Module):
    def __init__(self):
        super().__init__("model")
        self.w = tf.get_variable(scope + "w", initializer=np.float32([1, 2]), use_resource=True)
        self.parts = [tf.get_variable(scope + "p", initializer=np.float32(3), use_resource=True)]
model, optimizer = Model(), tf.train.AdamOptimizer(0.1)
train = optimizer.minimize(tf.reduce_sum(model.w**2) + model.parts[0])
checkpoint = tf.train.Checkpoint(optimizer=optimizer, model=model)
session = tf.Session()
session.run(tf.global_variables_initializer())
"""
SAVE_OBJECTS = """
session.run(train)
checkpoint.save(os.path.join(folder, "objects"), session=session)
values = [model.w, model.parts[0], optimizer.get_slot(model.w, "m")]
result = [v.tolist() for v in session.run(values)]
"""
LOAD_OBJECTS = """
status = checkpoint.restore(os.path.join(folder, "objects-1"))
status.assert_consumed().run_restore_ops(session=session)
values = [model.w, model.parts[0], optimizer.get_slot(model.w, "m")]
result = [v.tolist() for v in session.run(values)]
"""


def test_objects(tmp_path):
    """tf.train.Checkpoint both ways; variables have other names on the other side."""
    here, there = "scope = ''\n", AS_V1 + "scope = 'there_'\n"
    saved = ours(here + OBJECTS + SAVE_OBJECTS, tmp_path)
    assert tensorflow(tmp_path, there + OBJECTS + LOAD_OBJECTS + SHOW) == saved
    saved = tensorflow(tmp_path, there + OBJECTS + "session.run(train)" + SAVE_OBJECTS + SHOW)
    with tf.Graph().as_default():
        assert ours(here + OBJECTS + LOAD_OBJECTS, tmp_path) == saved


@pytest.mark.parametrize("kind", ["", "GZIP", "ZLIB"])
def test_records(tmp_path, kind):
    with tf.io.TFRecordWriter(tmp_path / "ours", kind) as writer:
        for record in golden_values.RECORDS:
            writer.write(record)
    found = tensorflow(
        tmp_path,
        f"""
        found = [r.numpy() for r in tf.data.TFRecordDataset("ours", {kind!r})]
        with tf.io.TFRecordWriter("theirs", {kind!r}) as writer:
            for record in found:
                writer.write(record)
        print(json.dumps([r.hex() for r in found]))
        """,
    )
    assert found == [record.hex() for record in golden_values.RECORDS]
    back = tf.python_io.tf_record_iterator(tmp_path / "theirs", tf.io.TFRecordOptions(kind))
    assert list(back) == golden_values.RECORDS
