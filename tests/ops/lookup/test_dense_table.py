"""The dense table: buckets as TensorFlow's kernel would find them."""

from __future__ import annotations

import numpy as np
import pytest

from headrace.core.dtypes import int64, string
from headrace.core.errors import InvalidArgumentError
from headrace.ops.array.hashing import hash64
from headrace.ops.lookup.dense_table import DenseTable


def made(buckets=8, empty=0, deleted=-1):
    return DenseTable(int64, (), int64, np.array(empty), np.array(deleted), buckets, 0.8)


def probed(keys, hash_of, key, empty):
    """Where a search for a key ends: TensorFlow's way through the buckets."""
    at, size = hash_of(key) % len(keys), len(keys)
    for probe in range(1, size + 1):
        if keys[at][0] in (key, empty):
            return at
        at = (at + probe) % size
    raise AssertionError("endless")


@pytest.mark.parametrize("seed", range(4))
def test_every_key_is_found_from_its_hash(seed):
    rng = np.random.default_rng(seed)
    table, model = made(), {}
    for _ in range(30):
        keys = rng.integers(1, 400, rng.integers(1, 9))
        if rng.integers(3):
            table.insert(keys, keys * 2)
            model |= {int(k): int(k) * 2 for k in keys}
        else:
            table.remove(keys)
            for key in keys.tolist():
                model.pop(key, None)
    keys, values = table.export()
    assert len(keys) & (len(keys) - 1) == 0
    for key, value in model.items():
        at = probed(keys, lambda k: k, key, 0)
        assert keys[at, 0] == key and values[at, 0] == value
    assert sorted(k for k in keys[:, 0].tolist() if k > 0) == sorted(model)
    other = made()
    other.replace(keys, values)
    assert len(other) == len(model)
    wanted = np.array(sorted(model))
    assert np.array_equal(other.find(wanted, np.array(-1)), wanted * 2)


def test_texts_are_hashed_as_in_tensorflow():
    empty, deleted = np.array(b"", object), np.array(b"-", object)
    table = DenseTable(int64, (), string, empty, deleted, 4, 0.8)
    words = np.array([b"a", b"bc", b"def", b"ghij", b"klmnop"], object)
    table.insert(words, np.arange(5))
    keys, values = table.export()
    assert len(keys) == 8
    for n, word in enumerate(words.tolist()):
        assert values[probed(keys, hash64, word, b""), 0] == n


def test_a_deleted_key_leaves_its_mark():
    table = made()
    table.insert(np.array([11, 12]), np.array([1, 2]))
    table.remove(np.array([12]))
    keys, values = table.export()
    assert sorted(keys[:, 0].tolist()) == [-1, 0, 0, 0, 0, 0, 0, 11]
    assert values[keys[:, 0] == -1].tolist() == [[2]]


def test_buckets_of_any_number_are_taken():
    table = made()
    keys = np.array([[3], [0], [5], [0], [7], [9], [-1]])
    table.replace(keys, keys * 10)
    assert len(table) == 4
    again, values = table.export()
    assert len(again) == 8 and sorted(again[again[:, 0] > 0, 0].tolist()) == [3, 5, 7, 9]


def test_what_is_refused():
    with pytest.raises(InvalidArgumentError, match="must be at least 4 and a power of 2, got: 12"):
        made(12)
    with pytest.raises(InvalidArgumentError, match="Empty and deleted keys cannot be equal"):
        made(empty=-1)
    table = made()
    for name, key in (("empty", 0), ("deleted", -1)):
        with pytest.raises(InvalidArgumentError, match=f"Using the {name}_key as a table key"):
            table.insert(np.array([1, key]), np.array([1, 2]))
    pairs = DenseTable(int64, (), int64, np.array([0, 0]), np.array([-1, -1]), 8, 0.8)
    pairs.insert(np.array([[1, 2], [2, 1]]), np.array([1, 2]))
    assert pairs.find(np.array([[2, 1], [2, 2]]), np.array(0)).tolist() == [2, 0]
    with pytest.raises(InvalidArgumentError, match="must end with the table's key shape"):
        pairs.find(np.array([[1, 2, 3]]), np.array(0))
