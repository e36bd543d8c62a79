"""Write the golden files with TensorFlow 2.21:  PYTHON_WITH_TENSORFLOW tests/formats/make_golden.py"""

from __future__ import annotations

import os
import shutil
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import golden_values  # noqa: E402
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

OUT = os.path.join(HERE, "golden")
v1 = tf.compat.v1


def v2_checkpoint(path):
    """Whole tensors, a tensor in slices, a variant."""
    found = golden_values.tensors()
    names, values, slices = list(found), list(found.values()), [""] * len(found)
    rows, columns = golden_values.PARTITIONED.shape
    for start, count in golden_values.PARTS:
        names.append("partitioned")
        values.append(golden_values.PARTITIONED[start : start + count])
        slices.append(f"{rows} {columns} {start},{count}:-")
    items = tf.raw_ops.TensorListFromTensor(
        tensor=np.arange(3.0, dtype=np.float32), element_shape=np.zeros(0, np.int32)
    )
    snappy = tf.raw_ops.CompressElement(components=[tf.constant(golden_values.COMPRESSIBLE)])
    tf.raw_ops.SaveV2(
        prefix=path,
        tensor_names=[*names, "variant", "snappy"],
        shape_and_slices=[*slices, "", ""],
        tensors=[*[tf.constant(v) for v in values], items, snappy],
    )


def saver_checkpoints(folder):
    """What a Saver of TF1 leaves: sharded, with partitioned variables, several steps, a state file."""
    with tf.Graph().as_default(), v1.Session() as session:
        with v1.device("/cpu:0"):
            parts = v1.get_variable(
                "partitioned",
                golden_values.PARTITIONED.shape,
                use_resource=False,
                partitioner=v1.fixed_size_partitioner(3, axis=0),
            )
            step = v1.get_variable("step", initializer=np.int64(0), use_resource=False)
        session.run(v1.global_variables_initializer())
        for part, (start, count) in zip(parts, golden_values.PARTS):
            session.run(part.assign(golden_values.PARTITIONED[start : start + count]))
        saver = v1.train.Saver(sharded=True, max_to_keep=2, save_relative_paths=True)
        for count in (1, 2, 3):
            session.run(step.assign(count))
            saver.save(session, folder + "/model", global_step=count)


def v1_checkpoint(path):
    found = golden_values.old_tensors()
    with tf.Graph().as_default(), v1.Session() as session:
        variables = {k: v1.Variable(v, name=k.replace(" ", "_")) for k, v in found.items()}
        session.run(v1.global_variables_initializer())
        saver = v1.train.Saver(variables, write_version=v1.train.SaverDef.V1)
        saver.save(session, path, write_meta_graph=False, write_state=False)


def records(folder):
    for kind in ("", "GZIP", "ZLIB"):
        options = tf.io.TFRecordOptions(compression_type=kind)
        with tf.io.TFRecordWriter(f"{folder}/records{kind.lower()}.tfrecord", options) as writer:
            for record in golden_values.RECORDS:
                writer.write(record)


def events(folder):
    with tf.Graph().as_default():
        writer = v1.summary.FileWriter(folder + "/log")
        for step, value in golden_values.EVENT_STEPS:
            part = v1.Summary.Value(tag="loss", simple_value=value)
            writer.add_summary(v1.Summary(value=[part]), step)
        writer.close()
    (name,) = os.listdir(folder + "/log")
    shutil.move(f"{folder}/log/{name}", f"{folder}/events.tfevents")
    os.rmdir(folder + "/log")


def main():
    shutil.rmtree(OUT, ignore_errors=True)
    os.makedirs(OUT + "/saver")
    v2_checkpoint(OUT + "/v2")
    saver_checkpoints(OUT + "/saver")
    v1_checkpoint(OUT + "/v1")
    records(OUT)
    events(OUT)


if __name__ == "__main__":
    main()
