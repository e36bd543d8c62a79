"""Sentences about the weather or about music.  Words become numbers by a vocabulary in a file; words that are
not in it get one of a few buckets.  The input comes from a queue of lines, and hooks drive the training:
they stop it, print the loss and save checkpoints.  The trained model is exported with its vocabulary and
asked from there.

    headrace run examples/classify_sentences.py
"""

import os
import tempfile

import numpy as np
import tensorflow as tf

WEATHER = "rain snow wind cloud sun storm frost fog warm cold wet dry".split()
MUSIC = "song violin drum chord piano choir tune melody loud quiet fast slow".split()
COMMON = "the a is was very and today again we heard saw".split()
LONGEST, BUCKETS, STEPS = 6, 4, 200


def sentences(count, seed):
    """Lines "label<tab>words", the words of one topic among common ones."""
    random = np.random.RandomState(seed)
    for _ in range(count):
        label = random.randint(2)
        topic = random.choice((WEATHER, MUSIC)[label], 2)
        words = [*topic, *random.choice(COMMON, random.randint(1, LONGEST - 1))]
        random.shuffle(words)
        yield "%d\t%s" % (label, " ".join(words))


def ids_of(texts, vocabulary):
    """[batch, LONGEST] numbers of the words; -1 behind the end of a sentence."""
    words = tf.sparse_tensor_to_dense(tf.string_split(texts), default_value="")
    words = tf.pad(words, [[0, 0], [0, LONGEST]])[:, :LONGEST]
    table = tf.contrib.lookup.index_table_from_file(vocabulary, num_oov_buckets=BUCKETS)
    return tf.where(tf.equal(words, ""), -tf.ones_like(words, tf.int64), table.lookup(words)), table.size()


def scores(ids, size):
    """How much each topic fits: the mean of the words' vectors, and a layer."""
    table = tf.get_variable("words", [size, 8], initializer=tf.random_normal_initializer(0, 0.1))
    used = tf.cast(ids >= 0, tf.float32)[:, :, None]
    vectors = tf.nn.embedding_lookup(table, tf.maximum(ids, 0)) * used
    return tf.layers.dense(tf.reduce_sum(vectors, 1) / tf.reduce_sum(used, 1), 2, name="topics")


def train(lines, vocabulary, size, folder):
    with tf.Graph().as_default():
        tf.set_random_seed(1)
        files = tf.train.string_input_producer([lines])
        _, line = tf.TextLineReader().read(files)
        label, text = tf.decode_csv(line, [[0], [""]], field_delim="\t")
        labels, texts = tf.train.shuffle_batch([label, text], 32, capacity=512, min_after_dequeue=256, seed=1)
        ids, _ = ids_of(texts, vocabulary)
        loss = tf.losses.sparse_softmax_cross_entropy(labels, scores(ids, size))
        step = tf.train.get_or_create_global_step()
        update = tf.train.AdamOptimizer(0.03).minimize(loss, global_step=step)
        hooks = [
            tf.train.StopAtStepHook(last_step=STEPS),
            tf.train.NanTensorHook(loss),
            tf.train.LoggingTensorHook({"step": step, "loss": loss}, every_n_iter=50),
        ]
        with tf.train.MonitoredTrainingSession(checkpoint_dir=folder, hooks=hooks) as session:
            while not session.should_stop():
                session.run(update)


def export(vocabulary, size, checkpoints, folder):
    """The model with the newest checkpoint's values; the vocabulary goes with it."""
    with tf.Graph().as_default(), tf.Session() as session:
        texts = tf.placeholder(tf.string, [None], name="texts")
        ids, _ = ids_of(texts, vocabulary)
        music = tf.nn.softmax(scores(ids, size))[:, 1]
        tf.train.Saver().restore(session, tf.train.latest_checkpoint(checkpoints))
        session.run(tf.tables_initializer())
        start = tf.tables_initializer()
        tf.saved_model.simple_save(session, folder, {"texts": texts}, {"music": music}, legacy_init_op=start)


def ask(folder, texts):
    with tf.Graph().as_default(), tf.Session() as session:
        model = tf.saved_model.load(session, ["serve"], folder)
        signature = model.signature_def["serving_default"]
        return session.run(signature.outputs["music"].name, {signature.inputs["texts"].name: texts})


def main():
    tf.logging.set_verbosity(tf.logging.INFO)
    with tempfile.TemporaryDirectory() as folder:
        vocabulary, lines = os.path.join(folder, "vocabulary.txt"), os.path.join(folder, "lines.tsv")
        words = WEATHER + MUSIC + COMMON
        with open(vocabulary, "w") as file:
            file.write("\n".join(words) + "\n")
        with open(lines, "w") as file:
            file.write("\n".join(sentences(2000, 0)) + "\n")
        size, checkpoints = len(words) + BUCKETS, os.path.join(folder, "checkpoints")
        train(lines, vocabulary, size, checkpoints)
        export(vocabulary, size, checkpoints, os.path.join(folder, "model"))
        os.remove(vocabulary)  # the exported model has its own
        texts = [line.split("\t") for line in sentences(200, 1)]
        found = ask(os.path.join(folder, "model"), [text for _, text in texts])
        right = np.mean([(p > 0.5) == (label == "1") for p, (label, _) in zip(found, texts)])
        print("right: %.0f %%" % (100 * right))
        for text in ("the rain was very cold", "we heard a loud xylophone and a choir"):
            print("%-40s music: %.2f" % (text, ask(os.path.join(folder, "model"), [text])[0]))


if __name__ == "__main__":
    main()
