"""What tables do and refuse."""

from __future__ import annotations

import numpy as np
import pytest

from headrace.core.dtypes import float32, int64, string
from headrace.core.errors import (
    AbortedError,
    FailedPreconditionError,
    InvalidArgumentError,
    UnimplementedError,
)
from headrace.ops.lookup.table import StaticTable, Table


def texts(*words):
    out = np.empty(len(words), object)
    out[:] = words
    return out


def test_values_come_and_go():
    table = Table(string, int64)
    table.insert(texts(b"a", b"b", b"a"), np.array([1, 2, 3]))
    assert table.find(texts(b"a", b"b", b"c"), np.array(-1)).tolist() == [3, 2, -1]
    table.remove(texts(b"a", b"z"))
    assert len(table) == 1
    table.insert(texts(b"d"), np.array([4]))
    assert table.find(texts(b"a", b"d"), np.array(-1)).tolist() == [-1, 4]
    table.replace(texts(b"q"), np.array([9]))
    keys, values = table.export()
    assert (keys.tolist(), values.tolist()) == ([b"q"], [9])


def test_values_are_vectors():
    table = Table(int64, float32, (), (2,))
    table.insert(np.array([[1], [2]]), np.arange(4, dtype=np.float32).reshape(2, 1, 2))
    found = table.find(np.array([[2, 5]]), np.array([7, 7], np.float32))
    assert found.tolist() == [[[2, 3], [7, 7]]]
    with pytest.raises(InvalidArgumentError, match=r"Expected shape \[1,2\] for value, got \[1,3\]"):
        table.insert(np.array([1]), np.zeros((1, 3), np.float32))
    with pytest.raises(InvalidArgumentError, match=r"Expected shape \[2\] for default value, got \[\]"):
        table.find(np.array([1]), np.float32(0))


def test_rows_of_removed_keys_are_used_again():
    table = Table(int64, int64)
    for start in range(0, 400, 10):
        keys = np.arange(start, start + 10)
        table.insert(keys, keys)
        table.remove(keys[:9])
    assert len(table) == 40 and len(table._values) <= 128
    assert table.find(np.arange(400), np.array(-1)).tolist() == [n if n % 10 == 9 else -1 for n in range(400)]


@pytest.mark.parametrize("dtype", [int64, string], ids=lambda d: d.name)
def test_many_keys(dtype):
    """Beyond the size where native code takes over."""
    rng = np.random.default_rng(3)
    numbers = rng.permutation(20_000)
    keys = numbers if dtype is int64 else texts(*(b"k%d" % n for n in numbers))
    table = Table(dtype, int64)
    for part in np.array_split(np.arange(len(keys)), 7):
        table.insert(keys[part], numbers[part])
    table.remove(keys[::3])
    wanted = numbers.copy()
    wanted[::3] = -1
    assert np.array_equal(table.find(keys, np.array(-1)), wanted)
    held, values = table.export()
    assert len(held) == len(table) == (wanted >= 0).sum()
    assert np.array_equal(np.sort(values), np.sort(wanted[wanted >= 0]))


def test_an_initialised_table_does_not_change():
    table = StaticTable(int64, int64)
    with pytest.raises(FailedPreconditionError, match="Table not initialized"):
        table.find(np.array([1]), np.array(0))
    with pytest.raises(AbortedError, match="not initialized"):
        table.export()
    with pytest.raises(InvalidArgumentError, match="cannot be empty"):
        table.initialize(np.array([], np.int64), np.array([], np.int64))
    with pytest.raises(FailedPreconditionError, match="Key 5 has 1 and trying to add value 2"):
        table.initialize(np.array([5, 5]), np.array([1, 2]))
    assert len(table) == 0
    table.initialize(np.array([5, 6, 5]), np.array([1, 2, 1]))
    assert table.find(np.array([5, 6]), np.array(0)).tolist() == [1, 2]
    table.initialize(np.array([7, 8]), np.array([1, 2]))  # as many: TF takes it for the same
    with pytest.raises(FailedPreconditionError, match="different data"):
        table.initialize(np.array([7]), np.array([1]))
    for change in (table.insert, lambda keys, _: table.remove(keys)):
        with pytest.raises(UnimplementedError, match="not supported"):
            change(np.array([1]), np.array([1]))
