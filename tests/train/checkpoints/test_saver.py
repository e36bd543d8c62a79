"""Saving and restoring: what TF's own tests do not say of it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import headrace as tf
from headrace.formats import proto

HERE = Path(__file__).parent
GOLDEN = HERE.parents[1] / "formats" / "golden"


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as fresh:
        yield fresh


def two_variables(use_resource):
    a = tf.get_variable("a", initializer=[1.0, 2.0], use_resource=use_resource)
    b = tf.get_variable("b", initializer=[[3, 4]], use_resource=use_resource)
    return a, b


def flip(path, place=0):
    data = bytearray(Path(path).read_bytes())
    data[place] ^= 1
    Path(path).write_bytes(bytes(data))


@pytest.mark.parametrize("use_resource", [False, True])
@pytest.mark.parametrize("damage", ["data", "shape", "type", "name", "index"])
def test_nothing_is_partially_restored(tmp_path, use_resource, damage):
    """Whatever is wrong with a checkpoint, variables keep their values."""
    path = str(tmp_path / "m")
    a, b = two_variables(use_resource)
    saver = tf.train.Saver()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        saver.save(session, path)
    expected = tf.errors.DataLossError
    if damage == "data":
        flip(path + ".data-00000-of-00001", 10)
    elif damage == "index":
        flip(path + ".index", 10)
    else:
        expected = tf.errors.NotFoundError if damage == "name" else tf.errors.InvalidArgumentError
        other = {"shape": [[[3, 4]]], "type": [[3.0, 4.0]], "name": [[3, 4]]}[damage]
        with tf.Graph().as_default(), tf.Session() as session:
            tf.get_variable("a", initializer=[1.0, 2.0])
            tf.get_variable("c" if damage == "name" else "b", initializer=other)
            session.run(tf.global_variables_initializer())
            tf.train.Saver().save(session, path)
    with tf.Session() as session:
        session.run([a.assign([7.0, 8.0]), b.assign([[9, 9]])])
        with pytest.raises(expected) as caught:
            saver.restore(session, path)
        assert path in str(caught.value) or "tensor_name = b" in str(caught.value)
        assert session.run(a).tolist() == [7, 8] and session.run(b).tolist() == [[9, 9]]


def test_damaged_shard_changes_nothing(tmp_path):
    path = str(tmp_path / "m")
    parts = []
    for i in range(3):
        with tf.device(f"/cpu:{i}"):
            parts.append(tf.Variable(tf.fill([50], float(i)), name=f"p{i}"))
    saver = tf.train.Saver(sharded=True)
    with tf.Session(config=tf.ConfigProto(device_count={"CPU": 3})) as session:
        session.run(tf.global_variables_initializer())
        assert saver.save(session, path) == path
        assert sorted(os.listdir(tmp_path)) == [
            "checkpoint",
            *[f"m.data-0000{i}-of-00003" for i in range(3)],
            "m.index",
            "m.meta",
        ]
        saver.restore(session, path)
        session.run([p.assign(p - 100) for p in parts])
        flip(path + ".data-00002-of-00003")
        with pytest.raises(tf.errors.DataLossError, match="tensor p2"):
            saver.restore(session, path)
        assert [session.run(p)[0] for p in parts] == [-100, -99, -98]


@pytest.mark.parametrize("count", [1, 2, 5])
def test_another_partitioning(tmp_path, count):
    """Saved in three parts, restored in others; TensorFlow's file and ours."""
    from tests.formats.golden_values import PARTITIONED

    cut = tf.fixed_size_partitioner(count)
    with tf.variable_scope("", partitioner=cut):
        parts = tf.get_variable("partitioned", [10, 3])
    step = tf.get_variable("step", initializer=np.int64(0))
    saver = tf.train.Saver()
    with tf.Session() as session:
        saver.restore(session, str(GOLDEN / "saver" / "model-3"))
        assert session.run(parts.as_tensor()).tolist() == PARTITIONED.tolist()
        assert session.run(step) == 3
        path = saver.save(session, str(tmp_path / "m"))
    assert tf.train.load_variable(path, "partitioned").tolist() == PARTITIONED.tolist()


def test_meta_graph_of_tensorflow():
    """A graph that TensorFlow exported restores what TensorFlow saved."""
    saver = tf.train.import_meta_graph(str(GOLDEN / "saver" / "model-3.meta"))
    with tf.Session() as session:
        saver.restore(session, tf.train.latest_checkpoint(GOLDEN / "saver"))
        assert session.run("step:0") == 3


def test_same_nodes_as_tensorflow():
    """A saver adds the nodes that TensorFlow's adds, under the same names."""
    message = proto.MetaGraphDef.FromString((GOLDEN / "saver" / "model-3.meta").read_bytes())
    theirs = {n.name: n.op for n in message.graph_def.node if n.name.startswith("save/")}
    with tf.device("/cpu:0"):
        tf.get_variable("partitioned", [10, 3], partitioner=tf.fixed_size_partitioner(3))
        tf.get_variable("step", initializer=np.int64(0))
    tf.train.Saver(sharded=True, max_to_keep=2)
    nodes = tf.get_default_graph().get_operations()
    ours = {n.name: n.type for n in nodes if n.name.startswith("save/")}
    # TensorFlow 2 chooses another temporary name on some file systems; 1.15 joins a constant
    assert ours.pop("save/StringJoin/inputs_1") == "Const"
    for name in ("StaticRegexFullMatch", "Const_1", "Const_2", "Select"):
        del theirs[f"save/{name}"]
    assert ours == theirs


def test_keeping(tmp_path, monkeypatch):
    """Old ones go; one an hour stays; the state file names what is there."""
    now = [1000.0]
    monkeypatch.setattr("time.time", lambda: now[0])
    v = tf.Variable(0)
    saver = tf.train.Saver(max_to_keep=2, keep_checkpoint_every_n_hours=1)
    with tf.Session() as session:
        session.run(v.initializer)
        for step in range(6):
            now[0] += 1900
            saver.save(session, str(tmp_path / "m"), global_step=step)
    kept = sorted(p.name for p in tmp_path.glob("*.index"))
    assert kept == ["m-1.index", "m-3.index", "m-4.index", "m-5.index"]
    state = tf.train.get_checkpoint_state(tmp_path)
    assert [os.path.basename(p) for p in state.all_model_checkpoint_paths] == ["m-4", "m-5"]
    assert saver.last_checkpoints == list(state.all_model_checkpoint_paths)
    assert len(tf.train.get_checkpoint_mtimes([str(tmp_path / "m-4"), "none"])) == 1
    tf.train.remove_checkpoint(str(tmp_path / "m-5"))
    assert not list(tmp_path.glob("m-5*")) and tf.train.latest_checkpoint(tmp_path) is None
    again = tf.train.Saver(max_to_keep=2)
    again.recover_last_checkpoints(saver.last_checkpoints)
    assert again.last_checkpoints == [str(tmp_path / "m-4")]


def test_a_folder_that_moves(tmp_path):
    v = tf.Variable(5)
    saver = tf.train.Saver(save_relative_paths=True)
    (tmp_path / "old").mkdir()
    with tf.Session() as session:
        session.run(v.initializer)
        saver.save(session, str(tmp_path / "old" / "m"))
    os.rename(tmp_path / "old", tmp_path / "new")
    assert tf.train.latest_checkpoint(tmp_path / "new") == str(tmp_path / "new" / "m")
    assert tf.train.list_variables(tmp_path / "new") == [("Variable", [])]


def test_old_format(tmp_path):
    path = str(tmp_path / "m")
    a, b = two_variables(False)
    saver = tf.train.Saver(write_version=tf.train.SaverDef.V1)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert saver.save(session, path, write_meta_graph=False) == path
        assert sorted(os.listdir(tmp_path)) == ["checkpoint", "m"]
        session.run(a.assign([0.0, 0.0]))
        saver.restore(session, path)
        assert session.run(a).tolist() == [1, 2]
        read = tf.raw_ops.RestoreSlice(
            file_pattern=path, tensor_name="b", shape_and_slice="1 2 -:1,1", dt=tf.int32
        )
        assert read.shape == (1, 1) and session.run(read) == [[4]]
    reader = tf.train.NewCheckpointReader(path)
    assert reader.debug_string() == b"a (DT_FLOAT) [2]\nb (DT_INT32) [1,2]\n"
    assert reader.get_variable_to_dtype_map() == {"a": tf.float32, "b": tf.int32}


@pytest.mark.process
@pytest.mark.parametrize("mode, rounds", [("same", 8), ("numbered", 6), ("sharded", 6)])
def test_killed_while_saving(tmp_path, mode, rounds):
    kill(tmp_path, mode, rounds)


@pytest.mark.slow
@pytest.mark.process
@pytest.mark.parametrize("mode, rounds", [("same", 80), ("numbered", 60), ("sharded", 60)])
def test_killed_while_saving_200_times(tmp_path, mode, rounds):
    kill(tmp_path, mode, rounds)


def kill(folder, mode, rounds):
    environment = os.environ | {"HEADRACE_COMPILE": "0", "PYTHONPATH": os.getcwd()}
    done = subprocess.run(
        [sys.executable, HERE / "killed_saver.py", folder, mode, str(rounds)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=600 + 10 * rounds,
    )
    assert done.returncode == 0 and f"{rounds} rounds" in done.stdout, done.stdout + done.stderr
