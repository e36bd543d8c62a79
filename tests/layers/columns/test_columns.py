"""Feature columns: what each makes of a batch, against NumPy; names of variables; errors."""

from __future__ import annotations

import numpy as np
import pytest

import headrace as tf
from headrace.layers.columns import base, embedding

fc = tf.feature_column


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default():
        yield


def run(value):
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.tables_initializer()])
        return session.run(value)


def sparse(rows):
    indices = [[i, j] for i, row in enumerate(rows) for j in range(len(row))]
    values = [value for row in rows for value in row]
    return tf.SparseTensor(indices, values, [len(rows), max(map(len, rows))])


def one_hots(ids, depth):
    return np.stack([np.bincount([i for i in row if 0 <= i < depth], minlength=depth) for row in ids])


def test_numbers_and_buckets():
    price = fc.numeric_column("price", shape=2, normalizer_fn=lambda x: x / 2.0)
    buckets = fc.bucketized_column(price, [0.0, 10.0])
    x = np.float32([[-2, 30], [4, 20]])
    found = run(fc.input_layer({"price": x}, [buckets, price]))
    expected = np.eye(3)[np.searchsorted([0.0, 10.0], x / 2, side="right")].reshape(2, -1)
    np.testing.assert_array_equal(found, np.concatenate([x / 2, expected], 1))


@pytest.mark.parametrize(
    "column, rows, ids, depth",
    [
        (fc.categorical_column_with_identity("a", 3), [[0, 2], [1]], [[0, 2], [1]], 3),
        (fc.categorical_column_with_identity("a", 3, default_value=1), [[7, -1], [2]], [[1, 1], [2]], 3),
        (fc.categorical_column_with_vocabulary_list("a", ["x", "y"]), [["y", "q"], ["x"]], [[1, -1], [0]], 2),
        (
            fc.categorical_column_with_vocabulary_list("a", [10, 20], num_oov_buckets=1),
            [[20, 5], [10]],
            [[1, 2], [0]],
            3,
        ),
    ],
)
def test_categories(column, rows, ids, depth):
    found = run(fc.input_layer({"a": sparse(rows)}, [fc.indicator_column(column)]))
    np.testing.assert_array_equal(found, one_hots(ids, depth))


def test_vocabulary_file(tmp_path):
    path = tmp_path / "words"
    path.write_text("x\ny\nz\n")
    column = fc.categorical_column_with_vocabulary_file("a", str(path))
    assert column.vocabulary_size == 3
    found = run(fc.input_layer({"a": [["z", "x"], ["", "y"]]}, fc.indicator_column(column)))
    np.testing.assert_array_equal(found, [[1, 0, 1], [0, 1, 0]])


def test_hashes_and_crosses():
    column = fc.categorical_column_with_hash_bucket("a", 7)
    crossed = fc.crossed_column(["a", fc.categorical_column_with_identity("b", 2)], 11)
    features = {"a": sparse([["u", "v"], ["w"]]), "b": [[0], [1]]}
    columns = [fc.indicator_column(column), fc.indicator_column(crossed)]
    found = run(fc.input_layer(features, columns))
    assert crossed.name == "a_X_b" and found.shape == (2, 18)
    assert found[:, :11].sum(1).tolist() == [2.0, 1.0] == found[:, 11:].sum(1).tolist()
    hashes = run(tf.strings.to_hash_bucket_fast(["u", "v", "w"], 7))
    np.testing.assert_array_equal(found[:, 11:], one_hots([hashes[:2], hashes[2:]], 7))


@pytest.mark.parametrize("combiner", ["sum", "mean", "sqrtn"])
def test_embeddings_with_weights(combiner):
    table = np.float32([[1, 2], [3, 5], [7, 11]])
    column = fc.weighted_categorical_column(fc.categorical_column_with_identity("a", 3), "w")
    made = fc.embedding_column(
        column, 2, combiner, initializer=lambda shape, dtype, partition_info=None: table
    )
    features = {"a": sparse([[0, 2], [1]]), "w": sparse([[0.5, 2.0], [3.0]])}
    found = run(fc.input_layer(features, [made]))
    divisor = {"sum": (1, 1), "mean": (2.5, 3), "sqrtn": (np.sqrt(4.25), 3)}[combiner]
    expected = [(0.5 * table[0] + 2 * table[2]) / divisor[0], 3 * table[1] / divisor[1]]
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    names = [v.name for v in tf.global_variables()]
    assert names == ["input_layer/a_weighted_by_w_embedding/embedding_weights:0"]


def test_linear_model_and_its_variables():
    price = fc.numeric_column("price")
    body = fc.categorical_column_with_vocabulary_list("body", ["x", "y"])
    variables = {}
    features = {"price": [[2.0], [3.0]], "body": sparse([["y"], ["x", "y"]])}
    y = fc.linear_model(features, [price, body], cols_to_vars=variables)
    assert [v.name for v in tf.trainable_variables()] == [
        "linear_model/body/weights:0",
        "linear_model/price/weights:0",
        "linear_model/bias_weights:0",
    ]
    assert variables["bias"] == [tf.trainable_variables()[2]]
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.tables_initializer()])
        for variable, value in zip(tf.trainable_variables(), ([[1.0], [10.0]], [[100.0]], [1000.0])):
            variable.load(np.float32(value), session)
        assert session.run(y).tolist() == [[1210.0], [1311.0]]


def test_shared_embeddings():
    a, b = (fc.categorical_column_with_identity(key, 3) for key in "ab")
    columns = fc.shared_embedding_columns([a, b], 2)
    fc.input_layer({"a": [[0]], "b": [[1]]}, columns)
    assert [v.name for v in tf.global_variables()] == ["input_layer/a_b_shared_embedding/embedding_weights:0"]
    newer = embedding.shared_embeddings([a, b], 2)
    layer = tf.keras.layers.DenseFeatures(newer)
    found = run(layer({"a": [[1]], "b": [[1]]}))
    np.testing.assert_array_equal(found[:, :2], found[:, 2:])
    with pytest.raises(ValueError, match="same number of buckets"):
        fc.shared_embedding_columns([a, fc.categorical_column_with_identity("c", 4)], 2)


def test_sequences():
    column = fc.sequence_categorical_column_with_identity("a", 3)
    numbers = fc.sequence_numeric_column("n")
    layer = tf.keras.experimental.SequenceFeatures([fc.indicator_column(column), numbers])
    features = {"a": sparse([[0, 2], [1]]), "n": sparse([[0.5, 1.0], [2.0]])}
    found, lengths = run(layer(features))
    assert lengths.tolist() == [2, 1]
    expected = [[[1, 0, 0, 0.5], [0, 0, 1, 1.0]], [[0, 1, 0, 2.0], [0, 0, 0, 0]]]
    np.testing.assert_array_equal(found, expected)
    old, old_lengths = run(
        tf.contrib.feature_column.sequence_input_layer(features, [fc.indicator_column(column)])
    )
    np.testing.assert_array_equal(old, np.asarray(expected)[:, :, :3])
    assert old_lengths.tolist() == [2, 1]


def test_examples_are_parsed_by_the_columns():
    columns = [
        fc.numeric_column("price", default_value=1.0),
        fc.indicator_column(fc.categorical_column_with_hash_bucket("body", 5)),
    ]
    spec = fc.make_parse_example_spec(columns)
    assert spec == {
        "price": tf.FixedLenFeature((1,), tf.float32, (1.0,)),
        "body": tf.VarLenFeature(tf.string),
    }
    example = tf.train.Example()
    example.features.feature["body"].bytes_list.value.append(b"x")
    features = tf.parse_example([example.SerializeToString()], spec)
    assert run(fc.input_layer(features, columns)).sum() == 2.0


def test_errors():
    with pytest.raises(ValueError, match="Feature price is not in features dictionary"):
        fc.input_layer({"other": [[1.0]]}, [fc.numeric_column("price")])
    with pytest.raises(ValueError, match="must be a _DenseColumn"):
        fc.input_layer({"a": [[1]]}, [fc.categorical_column_with_identity("a", 3)])
    with pytest.raises(ValueError, match="Duplicate feature column name"):
        fc.input_layer({"a": [[1.0]]}, [fc.numeric_column("a"), fc.numeric_column("a", shape=2)])
    with pytest.raises(ValueError, match=r"Batch size .* \(a, b\): \(1, 2\)"):
        fc.input_layer({"a": [[1.0]], "b": [[1.0], [2.0]]}, [fc.numeric_column("a"), fc.numeric_column("b")])
    with pytest.raises(ValueError, match="cannot have rank 0"):
        fc.input_layer({"a": 1.0}, [fc.numeric_column("a")])
    ids = fc.indicator_column(fc.categorical_column_with_identity("a", 3))
    with pytest.raises(tf.errors.InvalidArgumentError, match="exceeds number of buckets"):
        run(fc.input_layer({"a": [[3]]}, [ids]))
    assert base.is_feature_column_v2([ids])


def test_a_column_of_the_older_protocol():
    class Doubled(base.OldDenseColumn):
        name = "doubled"
        _variable_shape = tf.TensorShape([1])
        _parse_example_spec = {"a": tf.FixedLenFeature((1,), tf.float32)}

        def _transform_feature(self, inputs):
            return inputs.get("a") * 2.0

        def _get_dense_tensor(self, inputs, weight_collections=None, trainable=None):
            return inputs.get(self)

    columns = [Doubled(), fc.numeric_column("a")]
    assert run(fc.input_layer({"a": [[3.0]]}, columns)).tolist() == [[3.0, 6.0]]
    assert "a" in tf.feature_column.make_parse_example_spec(columns)
