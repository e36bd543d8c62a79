"""Graphs and SavedModels with pipelines go to TensorFlow and come from there, and give the same elements."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from tests import timing

PROGRAM = """
import json, sys
if sys.argv[1] == "tensorflow":
    import tensorflow.compat.v1 as tf
    tf.disable_v2_behavior()
else:
    import headrace as tf
path = sys.argv[3]
if sys.argv[2] == "write":
    data = tf.data.Dataset
    first = data.range(10).shuffle(4, seed=3).map(lambda x: (x * 2, tf.cast(x, tf.float32)))
    first = first.filter(lambda a, b: a < 14).batch(3).prefetch(1)
    second = data.from_tensor_slices([3, 1, 2]).flat_map(lambda x: data.range(tf.cast(x, tf.int64)))
    second = second.interleave(lambda x: data.range(x + 1), 2, 1).padded_batch(4, [], drop_remainder=True)
    experimental = tf.data.experimental
    third = data.range(12).map(lambda x: x * 3, num_parallel_calls=2).batch(2).enumerate(5)
    third = third.map(lambda i, x: tf.reduce_sum(x) + i, num_parallel_calls=experimental.AUTOTUNE)
    third = third.apply(experimental.scan(tf.constant(0, tf.int64), lambda s, x: (s + x, s + x)))
    third = third.interleave(data.range, 2, 1, num_parallel_calls=2).with_options(tf.data.Options())
    third = third.apply(experimental.parallel_interleave(lambda x: data.range(x % 3), 2)).window(2)
    third = third.flat_map(lambda x: x.batch(2)).cache().repeat(2)
    third = third.apply(experimental.group_by_window(lambda x: x[0] % 2, lambda k, x: x.take(3), 4))
    once = tf.data.make_one_shot_iterator(first).get_next()
    iterator = tf.data.make_initializable_iterator(second)
    example = tf.train.Example()
    example.features.feature["a"].int64_list.value.append(7)
    features = {"a": tf.FixedLenFeature([], tf.int64)}
    parsed = data.from_tensors([tf.constant(example.SerializeToString())] * 2)
    parsed = parsed.apply(experimental.parse_example_dataset(features, 2))
    more = [tf.data.make_one_shot_iterator(x).get_next() for x in (third, parsed.map(lambda x: x["a"]))]
    names = [once[0].name, once[1].name, iterator.get_next().name, iterator.initializer.name]
    names += [x.name for x in more]
    tf.train.write_graph(tf.get_default_graph().as_graph_def(), path, "graph.pb", as_text=False)
    json.dump(names, open(path + "/names", "w"))
else:
    names = json.load(open(path + "/names"))
    graph = tf.GraphDef()
    graph.ParseFromString(open(path + "/graph.pb", "rb").read())
    tf.import_graph_def(graph, name="")
found = []
with tf.Session() as session:
    session.run(names[3])
    for fetches in (names[:2], names[2:3], *[[name] for name in names[4:]]):
        while True:
            try:
                found.append([value.tolist() for value in session.run(fetches)])
            except tf.errors.OutOfRangeError:
                break
print(json.dumps(found))
"""


SAVED_MODEL = """
import json, sys
if sys.argv[1] == "tensorflow":
    import tensorflow.compat.v1 as tf
    tf.disable_v2_behavior()
else:
    import headrace as tf
path = sys.argv[3] + "/model"
with tf.Session() as session:
    if sys.argv[2] == "write":
        with open(sys.argv[3] + "/words", "w") as file:
            file.write("a\\nb\\nc\\n")
        index = tf.lookup.TextFileIndex
        source = tf.lookup.TextFileInitializer(
            file.name, tf.string, index.WHOLE_LINE, tf.int64, index.LINE_NUMBER
        )
        table = tf.lookup.StaticHashTable(source, -1)
        factor = tf.Variable(3, dtype=tf.int64, use_resource=True)
        words = tf.placeholder(tf.string, [None], name="words")
        dataset = tf.data.Dataset.from_tensor_slices(words).map(lambda w: table.lookup(w) * factor, 2)
        iterator = tf.data.make_initializable_iterator(dataset.batch(2).prefetch(1))
        following = tf.identity(iterator.get_next(), name="next")
        tf.group(iterator.initializer, name="start")
        session.run([tf.global_variables_initializer(), tf.tables_initializer()])
        init = tf.tables_initializer()
        tf.saved_model.simple_save(session, path, {"w": words}, {"n": following}, legacy_init_op=init)
    else:
        tf.saved_model.loader.load(session, ["serve"], path)
    found = []
    session.run("start", {"words:0": list("acxbc")})
    while True:
        try:
            found.append(session.run("next:0").tolist())
        except tf.errors.OutOfRangeError:
            break
print(json.dumps(found))
"""


@pytest.mark.slow
@pytest.mark.process
@pytest.mark.parametrize("program", [PROGRAM, SAVED_MODEL], ids=["graph", "saved_model"])
def test_both_ways(program, tmp_path):
    python = os.environ.get("HEADRACE_TF_PYTHON")
    if not python:
        pytest.skip("HEADRACE_TF_PYTHON does not name an interpreter with TensorFlow")
    interpreters = {"tensorflow": python, "headrace": sys.executable}

    def run(which, what, folder):
        command = [interpreters[which], "-c", program, which, what, str(folder)]
        done = subprocess.run(
            command, capture_output=True, text=True, check=True, timeout=5 * timing.PATIENCE
        )
        return json.loads(done.stdout.splitlines()[-1])

    for writer, reader in (("headrace", "tensorflow"), ("tensorflow", "headrace")):
        folder = tmp_path / writer
        folder.mkdir()
        written = run(writer, "write", folder)
        assert run(reader, "read", folder) == written
