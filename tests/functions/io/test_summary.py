"""Summaries: names, what is in the file, what is kept from whom."""

import numpy as np
import pytest

import headrace as tf


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as g:
        yield g


def events(folder):
    (file,) = folder.iterdir()
    return list(tf.train.summary_iterator(str(file)))


def test_tags_follow_scopes():
    with tf.name_scope("outer"):
        first = tf.summary.scalar("a b", 1.0)
        second = tf.summary.scalar("x", 2.0, family="f")
    assert (first.op.name, second.op.name) == ("outer/a_b", "outer/f/x")
    with tf.Session() as sess:
        merged = tf.Summary.FromString(sess.run(tf.summary.merge_all()))
    assert [(v.tag, v.simple_value) for v in merged.value] == [("outer/a_b", 1.0), ("f/outer/f/x", 2.0)]


def test_histogram_counts_everything():
    values = np.concatenate([np.zeros(3), [1e-20, -1e30, 1e30], np.arange(5.0)])
    with tf.Session() as sess:
        data = sess.run(tf.summary.histogram("h", tf.constant(values)))
    histogram = tf.Summary.FromString(data).value[0].histo
    assert histogram.num == sum(histogram.bucket) == len(values)
    assert (histogram.min, histogram.max) == (-1e30, 1e30)
    assert len(histogram.bucket) == len(histogram.bucket_limit)


def test_picture_scaling():
    picture = np.array([[[[0.0], [np.nan]], [[1.0], [2.0]]]], np.float32)
    with tf.Session() as sess:
        data = sess.run(tf.summary.image("i", picture, max_outputs=1))
        value = tf.Summary.FromString(data).value[0]
        assert value.tag == "i/image" and value.image.colorspace == 1
        pixels = sess.run(tf.image.decode_png(value.image.encoded_image_string))
    assert pixels[..., 0].tolist() == [[0, 255], [127, 255]]


def test_file_writer(tmp_path, graph):
    summary = tf.summary.scalar("x", tf.constant(3.0))
    text = tf.summary.text("t", tf.constant("words"))
    with tf.Session() as sess, tf.summary.FileWriter(str(tmp_path), graph) as writer:
        for step in range(2):
            writer.add_summary(sess.run(tf.summary.merge([summary, text])), step)
    found = events(tmp_path)
    assert [e.WhichOneof("what") for e in found] == [
        "file_version",
        "graph_def",
        "meta_graph_def",
        "summary",
        "summary",
    ]
    written = tf.GraphDef.FromString(found[1].graph_def)
    assert {"x", "t"} <= {node.name for node in written.node}
    # What a plugin should know of a tag stands in the file once.
    assert [e.summary.value[1].HasField("metadata") for e in found[3:]] == [True, False]


def test_writer_as_a_resource(tmp_path):
    writer = tf.contrib.summary.create_file_writer(str(tmp_path), flush_millis=0)
    step = tf.train.get_or_create_global_step()
    with writer.as_default(), tf.contrib.summary.record_summaries_every_n_global_steps(2):
        tf.contrib.summary.scalar("loss", tf.constant(1.5))
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            tf.contrib.summary.initialize(session=sess)
            for _ in range(3):
                sess.run(tf.contrib.summary.all_summary_ops())
                sess.run(tf.assign_add(step, 1))
            sess.run(writer.close())
    found = [(e.step, e.summary.value[0].simple_value) for e in events(tmp_path)[1:]]
    assert found == [(0, 1.5), (2, 1.5)]
