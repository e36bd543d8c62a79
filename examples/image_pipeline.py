"""Train on JPEG files in TFRecords: parsed, decoded and resized on several threads, while a step trains."""

import os
import tempfile

import numpy as np
import tensorflow as tf

COUNT, SIZE, BATCH = 192, 16, 32
folder = tempfile.mkdtemp()


def write_records(path):
    """Bright and dark pictures, as JPEG."""
    rng = np.random.RandomState(0)
    pixels = tf.placeholder(tf.uint8, [None, None, 3])
    jpeg = tf.image.encode_jpeg(pixels)
    with tf.Session() as sess, tf.python_io.TFRecordWriter(path) as writer:
        for i in range(COUNT):
            label = i % 2
            picture = rng.randint(0, 120, size=(24, 20, 3)) + 130 * label
            features = {
                "image": tf.train.Feature(
                    bytes_list=tf.train.BytesList(value=[sess.run(jpeg, {pixels: picture})])
                ),
                "label": tf.train.Feature(int64_list=tf.train.Int64List(value=[label])),
            }
            example = tf.train.Example(features=tf.train.Features(feature=features))
            writer.write(example.SerializeToString())


def parse(record):
    features = tf.parse_single_example(
        record, {"image": tf.FixedLenFeature([], tf.string), "label": tf.FixedLenFeature([], tf.int64)}
    )
    picture = tf.image.decode_jpeg(features["image"], channels=3)
    picture = tf.image.resize_images(picture, [SIZE, SIZE])
    return picture / 255.0 - 0.5, features["label"]


path = os.path.join(folder, "pictures.tfrecord")
write_records(path)

dataset = tf.data.TFRecordDataset(path)
dataset = dataset.shuffle(64, seed=1).repeat()
dataset = dataset.map(parse, num_parallel_calls=tf.data.experimental.AUTOTUNE)
dataset = dataset.batch(BATCH).prefetch(2)
images, labels = dataset.make_one_shot_iterator().get_next()

hidden = tf.layers.dense(tf.layers.flatten(images), 8, activation=tf.nn.relu)
logits = tf.layers.dense(hidden, 2)
loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
train = tf.train.AdamOptimizer(0.01).minimize(loss)

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for step in range(40):
        _, error = sess.run([train, loss])
        if step % 10 == 0:
            print("step %2d  loss %.4f" % (step, error))
assert error < 0.3, error
