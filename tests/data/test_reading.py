"""Whole pipelines from files."""

from __future__ import annotations

import sqlite3

import numpy as np
import pytest

import headrace as tf
from tests.data.pipelines import elements

X = tf.data.experimental


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("a,b,c\n1,2.5,x\n3,4,y\n5,,z\n")
    return str(path)


def test_csv_as_dicts(table):
    found = elements(lambda: X.make_csv_dataset(table, 2, label_name="c", num_epochs=1, shuffle=False))
    assert found == [({"a": [1, 3], "b": [2.5, 4.0]}, [b"x", b"y"]), ({"a": [5], "b": [0.0]}, [b"z"])]


def test_csv_with_chosen_columns(table):
    def make():
        return X.make_csv_dataset(table, 3, select_columns=["a", 2], num_epochs=1, shuffle=False)

    assert elements(make) == [{"a": [1, 3, 5], "c": [b"x", b"y", b"z"]}]
    with pytest.raises(ValueError, match="must be one of the columns"):
        X.make_csv_dataset(table, 2, label_name="d")


def test_csv_rows_with_quotes_over_lines(tmp_path):
    path = tmp_path / "quoted.csv"
    path.write_text('1,"x,y"\n2,"q""z\nw"\n,k\n')
    found = elements(lambda: X.CsvDataset(str(path), [tf.constant([7]), tf.string]))
    assert found == [(1, b"x,y"), (2, b'q"z\nw'), (7, b"k")]


def test_batches_of_examples(tmp_path):
    path = str(tmp_path / "examples")
    with tf.python_io.TFRecordWriter(path) as writer:
        for i in range(5):
            value = tf.train.Feature(int64_list=tf.train.Int64List(value=[i]))
            features = tf.train.Features(feature={"i": value})
            writer.write(tf.train.Example(features=features).SerializeToString())
    wanted = {"i": tf.FixedLenFeature([], tf.int64)}

    def make():
        return X.make_batched_features_dataset(path, 2, wanted, num_epochs=1, shuffle=False)

    assert elements(make) == [{"i": [0, 1]}, {"i": [2, 3]}, {"i": [4]}]


def test_lines_records_and_pieces(tmp_path):
    path = tmp_path / "text"
    path.write_bytes(b"one\ntwo\r\n\nlast")
    assert elements(lambda: tf.data.TextLineDataset(str(path))) == [b"one", b"two", b"", b"last"]
    pieces = elements(lambda: tf.data.FixedLengthRecordDataset(str(path), 4, 1, 1))
    assert pieces == [b"ne\nt", b"wo\r\n", b"\nlas"]
    with pytest.raises(tf.errors.InvalidArgumentError, match="not an exact multiple"):
        elements(lambda: tf.data.FixedLengthRecordDataset(str(path), 4))
    assert elements(lambda: tf.data.Dataset.list_files(str(tmp_path / "*"), shuffle=False)) == [
        str(path).encode()
    ]


def test_a_damaged_record_is_an_error(tmp_path):
    path = tmp_path / "records"
    with tf.python_io.TFRecordWriter(str(path)) as writer:
        for word in (b"first", b"second"):
            writer.write(word)
    data = bytearray(path.read_bytes())
    data[-6] ^= 1
    path.write_bytes(bytes(data))
    following = tf.data.TFRecordDataset(str(path)).make_one_shot_iterator().get_next()
    with tf.Session() as session:
        assert session.run(following) == b"first"
        with pytest.raises(tf.errors.DataLossError, match="corrupted record"):
            session.run(following)
    left = elements(lambda: tf.data.TFRecordDataset(str(path)).apply(X.ignore_errors()))
    assert left == [b"first"]


def test_rows_of_a_query(tmp_path):
    path = str(tmp_path / "data.sqlite")
    connection = sqlite3.connect(path)
    connection.execute("create table t (name text, n integer, x real)")
    connection.executemany("insert into t values (?, ?, ?)", [("a", 1, 0.5), ("b", None, 2.0)])
    connection.commit()
    connection.close()
    types = (tf.string, tf.int32, tf.float64)
    found = elements(lambda: X.SqlDataset("sqlite", path, "select name, n, x from t order by name", types))
    assert found == [(b"a", 1, 0.5), (b"b", 0, 2.0)]


def test_a_cache_in_files(tmp_path):
    prefix = str(tmp_path / "cache")
    calls = []

    def make():
        def noted(x):
            calls.append(int(x))
            return np.int64(x)

        return tf.data.Dataset.range(3).map(lambda x: tf.py_func(noted, [x], tf.int64)).cache(prefix)

    assert elements(make) == [0, 1, 2]
    assert elements(make) == [0, 1, 2]
    assert calls == [0, 1, 2]
