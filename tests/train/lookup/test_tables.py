"""Tables as users have them: tf.lookup and tf.contrib.lookup."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import headrace as tf
from tests.tensorflow_peer import needs_tensorflow, tensorflow

WORDS = "emerson lake and palmer"


@pytest.fixture
def vocabulary(tmp_path):
    path = tmp_path / "words.txt"
    path.write_text("\n".join(WORDS.split()) + "\n")
    return str(path)


def run(*fetches, before=()):
    with tf.Session() as sess:
        sess.run(tf.tables_initializer())
        for step in before:
            sess.run(step)
        return sess.run(list(fetches))


def test_words_to_ids_and_back(vocabulary):
    with tf.Graph().as_default():
        ids = tf.contrib.lookup.index_table_from_file(vocabulary, num_oov_buckets=2)
        words = tf.contrib.lookup.index_to_string_table_from_file(vocabulary)
        asked = tf.constant(["lake", "palmer", "king", "crimson"])
        found, size, back = run(ids.lookup(asked), ids.size(), words.lookup(tf.constant([1, 7], tf.int64)))
    assert found[:2].tolist() == [1, 3] and set(found[2:]) <= {4, 5}
    assert size == 6 and back.tolist() == [b"lake", b"UNK"]


def test_sparse_keys_and_a_vocabulary_of_buckets():
    with tf.Graph().as_default():
        init = tf.lookup.KeyValueTensorInitializer(
            [b"a", b"b"], tf.constant([0, 1], tf.int64), key_dtype=tf.string
        )
        table = tf.lookup.StaticVocabularyTable(init, 3)
        keys = tf.SparseTensor([[0, 0], [1, 2]], ["b", "z"], [2, 3])
        found, _ = run(table.lookup(keys), table.initializer)
        only = tf.lookup.StaticVocabularyTable(None, 4)
        (buckets,) = run(only.lookup(tf.constant(["x"])))
    assert found.values[0] == 1 and 2 <= found.values[1] < 5
    assert 0 <= buckets[0] < 4


def test_a_table_is_part_of_a_checkpoint(tmp_path):
    def build():
        table = tf.contrib.lookup.MutableHashTable(tf.string, tf.int64, -1, name="t1")
        dense = tf.lookup.experimental.DenseHashTable(tf.int64, tf.float32, [0.0, 0.0], 0, -1, 8, name="t2")
        return table, dense

    with tf.Graph().as_default(), tf.Session() as sess:
        table, dense = build()
        sess.run(table.insert(tf.constant(["a", "b"]), tf.constant([1, 2], tf.int64)))
        sess.run(dense.insert(tf.constant([5, 13], tf.int64), [[1.0, 2.0], [3.0, 4.0]]))
        sess.run(dense.remove(tf.constant([5], tf.int64)))
        path = tf.train.Saver().save(sess, str(tmp_path / "model"))
    names = dict(tf.train.list_variables(path))
    assert set(names) == {"t1-keys", "t1-values", "t2-keys", "t2-values"}
    with tf.Graph().as_default(), tf.Session() as sess:
        table, dense = build()
        sess.run(table.insert(tf.constant(["other"]), tf.constant([1], tf.int64)))
        tf.train.Saver().restore(sess, path)
        assert sess.run(table.lookup(tf.constant(["a", "b", "other"]))).tolist() == [1, 2, -1]
        assert sess.run(dense.lookup(tf.constant([5, 13], tf.int64))).tolist() == [[0, 0], [3, 4]]


def test_shapes_and_types_are_known_while_building():
    with tf.Graph().as_default():
        table = tf.contrib.lookup.MutableHashTable(tf.int64, tf.float32, [0.0, 1.0])
        keys = tf.placeholder(tf.int64, [None, 3])
        assert table.lookup(keys).shape.as_list() == [None, 3, 2]
        with pytest.raises(ValueError, match="Trying to read value with wrong dtype"):
            tf.raw_ops.LookupTableFindV2(
                table_handle=table.resource_handle, keys=tf.constant(["a"]), default_value=[0.0]
            )
        with pytest.raises(TypeError, match="Keys must be dtype"):
            table.remove(tf.constant(["a"]))


def test_errors_have_tensorflows_classes(vocabulary):
    with tf.Graph().as_default():
        table = tf.contrib.lookup.index_table_from_file(vocabulary)
        lookup = table.lookup(tf.constant(["lake"]))
        with tf.Session() as sess:
            with pytest.raises(tf.errors.FailedPreconditionError, match="Table not initialized"):
                sess.run(lookup)
        wrong = tf.contrib.lookup.index_table_from_tensor(tf.constant(["a", "a"]))
        with tf.Session() as sess, pytest.raises(tf.errors.FailedPreconditionError, match="different value"):
            sess.run(wrong.initializer)
        missing = tf.contrib.lookup.index_table_from_file(vocabulary + ".gone")
        with tf.Session() as sess, pytest.raises(tf.errors.NotFoundError):
            sess.run(missing.initializer)
        with pytest.raises(tf.errors.InvalidArgumentError, match="not initializable"), tf.Session() as sess:
            changing = tf.contrib.lookup.MutableHashTable(tf.string, tf.int64, -1)
            values = tf.constant([1], tf.int64)
            sess.run(
                tf.raw_ops.InitializeTableV2(
                    table_handle=changing.resource_handle, keys=tf.constant(["a"]), values=values
                )
            )


def test_many_threads_lose_nothing():
    with tf.Graph().as_default(), tf.Session() as sess:
        table = tf.contrib.lookup.MutableHashTable(tf.int64, tf.int64, -1)
        keys = tf.placeholder(tf.int64, [None])
        insert, lookup, size = table.insert(keys, keys * 2), table.lookup(keys), table.size()
        wrong = []

        def work(number):
            mine = np.arange(number, 20_000, 8)
            for part in np.array_split(mine, 25):
                sess.run(insert, {keys: part})
                if not np.array_equal(sess.run(lookup, {keys: part}), part * 2):
                    wrong.append(number)

        threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not wrong and sess.run(size) == 20_000


def test_older_ops_take_references():
    with tf.Graph().as_default(), tf.Session() as sess:
        handle = tf.raw_ops.MutableHashTable(key_dtype=tf.string, value_dtype=tf.int64, shared_name="old")
        keys, values = tf.constant(["a", "b"]), tf.constant([1, 2], tf.int64)
        sess.run(tf.raw_ops.LookupTableInsert(table_handle=handle, keys=keys, values=values))
        default = tf.constant(0, tf.int64)
        found = tf.raw_ops.LookupTableFind(table_handle=handle, keys=keys, default_value=default)
        assert sess.run(found).tolist() == [1, 2]
        assert sess.run(tf.raw_ops.LookupTableSize(table_handle=handle)) == 2


def test_a_table_in_a_loop_and_in_a_branch(vocabulary):
    with tf.Graph().as_default():
        words = tf.constant(["lake", "x", "palmer"])

        def body(i, total):
            table = tf.contrib.lookup.index_table_from_file(vocabulary, default_value=100)
            return i + 1, total + table.lookup(words[i])

        _, total = tf.while_loop(lambda i, _: i < 3, body, [0, tf.constant(0, tf.int64)])
        table = tf.contrib.lookup.index_table_from_file(vocabulary)
        chosen = tf.cond(tf.constant(True), lambda: table.lookup(words)[0], lambda: tf.constant(0, tf.int64))
        assert run(total, chosen) == [104, 1]


def test_tables_belong_to_a_task_of_a_cluster():
    server = tf.train.Server.create_local_server()
    with tf.Graph().as_default():
        table = tf.contrib.lookup.MutableHashTable(tf.string, tf.int64, -1, name="shared")
        insert = table.insert(tf.constant(["a"]), tf.constant([5], tf.int64))
        lookup = table.lookup(tf.constant(["a", "b"]))
        with tf.Session(server.target) as sess:
            sess.run(insert)
        with tf.Session(server.target) as other:
            assert other.run(lookup).tolist() == [5, -1]
            tf.Session.reset(server.target)
        with tf.Session(server.target) as sess:
            assert sess.run(lookup).tolist() == [-1, -1]


# -- SavedModels ---------------------------------------------------------------------------------------
def export(folder, vocabulary):
    with tf.Graph().as_default(), tf.Session() as sess:
        table = tf.contrib.lookup.index_table_from_file(vocabulary, num_oov_buckets=1)
        words = tf.placeholder(tf.string, [None], name="words")
        ids = tf.identity(table.lookup(words), name="ids")
        sess.run(tf.tables_initializer())
        tf.saved_model.simple_save(
            sess, folder, {"words": words}, {"ids": ids}, legacy_init_op=tf.tables_initializer()
        )


def test_a_vocabulary_goes_with_its_model(tmp_path, vocabulary):
    folder = tmp_path / "model"
    export(str(folder), vocabulary)
    assert (folder / "assets" / "words.txt").exists()
    tf.gfile.Remove(vocabulary)
    moved = tmp_path / "moved"
    folder.rename(moved)
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.saved_model.load(sess, ["serve"], str(moved))
        assert sess.run("ids:0", {"words:0": ["palmer", "?"]}).tolist() == [3, 4]


@pytest.mark.process
@needs_tensorflow
def test_vocabularies_of_ours_in_tensorflow_and_back(tmp_path, vocabulary):
    export(str(tmp_path / "ours"), vocabulary)
    found = tensorflow(
        tmp_path,
        f"""
        with tf.Graph().as_default(), v1.Session() as sess:
            v1.saved_model.load(sess, ["serve"], "ours")
            out = sess.run("ids:0", {{"words:0": ["lake", "palmer", "?"]}}).tolist()
        with tf.Graph().as_default(), v1.Session() as sess:
            init = tf.lookup.TextFileInitializer({vocabulary!r}, tf.string, -2, tf.int64, -1)
            table = tf.lookup.StaticVocabularyTable(init, 3)
            words = v1.placeholder(tf.string, [None], name="words")
            ids = tf.identity(table.lookup(words), name="ids")
            sess.run(v1.tables_initializer())
            v1.saved_model.simple_save(sess, "theirs", {{"words": words}}, {{"ids": ids}},
                                       legacy_init_op=v1.tables_initializer())
            more = sess.run(ids, {{words: ["lake", "x", "yy", "zzz"]}}).tolist()
        print(json.dumps([out, more]))
        """,
    )
    assert found[0] == [1, 3, 4]
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.saved_model.load(sess, ["serve"], str(tmp_path / "theirs"))
        assert sess.run("ids:0", {"words:0": ["lake", "x", "yy", "zzz"]}).tolist() == found[1]


@pytest.mark.process
@needs_tensorflow
def test_dense_tables_of_ours_are_read_by_tensorflow(tmp_path):
    """Its kernel takes the buckets as they are and searches them by its own hash."""
    words = np.array([f"word{n}".encode() * (n % 4 + 1) for n in range(50)], object)
    with tf.Graph().as_default(), tf.Session() as sess:
        dense = tf.lookup.experimental.DenseHashTable(tf.string, tf.int64, -1, "", "-", 4)
        sess.run(dense.insert(words.tolist(), np.arange(50)))
        sess.run(dense.remove(tf.constant(words[:5].tolist())))
        keys, values = sess.run(dense.export())
    np.savez(tmp_path / "table.npz", keys=keys.astype("S"), values=values, words=words.astype("S"))
    found = tensorflow(
        tmp_path,
        """
        held = np.load("table.npz")
        with tf.Graph().as_default(), v1.Session() as sess:
            dense = tf.lookup.experimental.DenseHashTable(tf.string, tf.int64, -1, "", "-", 4)
            keys, values = held["keys"].astype(object), held["values"]
            keys = v1.placeholder_with_default(tf.constant(keys.tolist(), tf.string), None)
            values = v1.placeholder_with_default(values, None)
            sess.run(tf.raw_ops.LookupTableImportV2(
                table_handle=dense.resource_handle, keys=keys, values=values))
            out = sess.run([dense.lookup(tf.constant(held["words"].astype(object).tolist())), dense.size()])
        print(json.dumps([out[0].tolist(), int(out[1])]))
        """,
    )
    assert found == [[-1] * 5 + list(range(5, 50)), 45]


@pytest.mark.process
@needs_tensorflow
def test_models_of_tensorflow_2_with_all_kinds_of_tables_run_here(tmp_path):
    found = tensorflow(
        tmp_path,
        """
        with open("words.txt", "w") as file:
            file.write("a\\nb\\nc\\n")
        int64 = tf.int64

        class Model(tf.Module):
            def __init__(self):
                init = tf.lookup.TextFileInitializer("words.txt", tf.string, -2, int64, -1)
                self.ids = tf.lookup.StaticVocabularyTable(init, 2)
                pairs = tf.lookup.KeyValueTensorInitializer(tf.constant([1, 2], int64), ["x", "y"])
                self.words = tf.lookup.StaticHashTable(pairs, "?")
                self.counts = tf.lookup.experimental.MutableHashTable(tf.string, int64, -1)
                self.counts.insert(["q", "a"], tf.constant([7, 8], int64))
                self.vectors = tf.lookup.experimental.DenseHashTable(int64, tf.float32, [0.0, 0.0], -1, -2)
                self.vectors.insert(tf.constant([3, 4], int64), [[1.0, 2.0], [3.0, 4.0]])

            @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
            def f(self, w):
                ids = self.ids.lookup(w)
                back = tf.strings.length(self.words.lookup(ids))
                counts, vectors = self.counts.lookup(w), self.vectors.lookup(ids + 3)
                return {"ids": ids, "back": back, "counts": counts, "vectors": vectors}

        model = Model()
        tf.saved_model.save(model, "model", signatures=model.f)
        os.remove("words.txt")
        out = model.f(tf.constant(["a", "b", "zzz", "q"]))
        print(json.dumps({k: v.numpy().tolist() for k, v in out.items()}))
        """,
    )
    with tf.Graph().as_default(), tf.Session() as sess:
        model = tf.saved_model.load(sess, ["serve"], str(tmp_path / "model"))
        signature = model.signature_def["serving_default"]
        (fed,) = signature.inputs.values()
        fetched = {key: info.name for key, info in signature.outputs.items()}
        values = sess.run(fetched, {fed.name: ["a", "b", "zzz", "q"]})
    assert {key: value.tolist() for key, value in values.items()} == found


def save_object(folder, vocabulary):
    """A module with two tables, saved as an object; what it gives."""

    class Model(tf.Module):
        def __init__(self):
            super().__init__()
            init = tf.lookup.TextFileInitializer(vocabulary, tf.string, -2, tf.int64, -1)
            self.ids = tf.lookup.StaticVocabularyTable(init, 2)
            pairs = tf.lookup.KeyValueTensorInitializer(
                tf.constant([1, 2], tf.int64), tf.constant(["x", "y"])
            )
            self.words = tf.lookup.StaticHashTable(pairs, "?")

        @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
        def f(self, w):
            ids = self.ids.lookup(w)
            return {"ids": ids, "back": self.words.lookup(ids)}

    with tf.Graph().as_default(), tf.Session() as sess:
        model = Model()
        tf.saved_model.save(model, folder, signatures=model.f)
        sess.run(tf.tables_initializer())
        return sess.run(model.f(tf.constant(["lake", "palmer", "?"])))


def test_tables_of_a_saved_object(tmp_path, vocabulary):
    folder = str(tmp_path / "model")
    expected = save_object(folder, vocabulary)
    tf.gfile.Remove(vocabulary)
    with tf.Graph().as_default(), tf.Session() as sess:
        model = tf.saved_model.load(sess, ["serve"], folder)
        signature = model.signature_def["serving_default"]
        (fed,) = signature.inputs.values()
        fetched = {key: info.name for key, info in signature.outputs.items()}
        found = sess.run(fetched, {fed.name: ["lake", "palmer", "?"]})
    assert {k: v.tolist() for k, v in found.items()} == {k: v.tolist() for k, v in expected.items()}
    assert found["ids"][:2].tolist() == [1, 3] and found["back"].tolist() == [b"x", b"?", b"?"]


@pytest.mark.process
@needs_tensorflow
def test_tables_of_a_saved_object_in_tensorflow(tmp_path, vocabulary):
    expected = save_object(str(tmp_path / "model"), vocabulary)
    tf.gfile.Remove(vocabulary)
    found = tensorflow(
        tmp_path,
        """
        model = tf.saved_model.load("model")
        out = model.signatures["serving_default"](w=tf.constant(["lake", "palmer", "?"]))
        print(json.dumps([out["ids"].numpy().tolist(), [t.decode() for t in out["back"].numpy()]]))
        """,
    )
    assert found == [expected["ids"].tolist(), [t.decode() for t in expected["back"].tolist()]]
