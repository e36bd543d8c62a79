"""Rows of keys against a dictionary of Python's, by random operations."""

from __future__ import annotations

import numpy as np
import pytest

from headrace.codegen.accelerate import boosts
from headrace.core import hooks
from headrace.core.dtypes import int32, int64, string
from headrace.ops.lookup.key_rows import DictRows

TYPES = [int32, int64, string]


def made(kind, dtype):
    if kind == "dictionary":
        return DictRows(dtype.numpy)
    boosts.install()
    rows = hooks.native_key_rows.value(dtype)
    if rows is None:
        pytest.skip("this machine or Python has no native form")
    return rows


def keys_of(rng, dtype, count, range_):
    numbers = rng.integers(-range_, range_, count)
    if dtype is not string:
        return numbers.astype(dtype.numpy)
    out = np.empty(count, object)
    out[:] = [b"x" * (n % 13) + str(n).encode() if n else b"" for n in numbers.tolist()]
    return out


@pytest.mark.parametrize("kind", ["dictionary", "native"])
@pytest.mark.parametrize("dtype", TYPES, ids=lambda d: d.name)
def test_equals_a_dictionary(kind, dtype):
    rng = np.random.default_rng(7)
    rows, model, next_row = made(kind, dtype), {}, 0
    for _ in range(60):
        keys = keys_of(rng, dtype, int(rng.integers(0, 200)), 300)
        what = rng.integers(3)
        if what == 0:
            found, used = rows.add(keys, np.arange(next_row, next_row + len(keys)))
            for key in keys.tolist():
                model.setdefault(key, next_row + used)  # which of the fresh rows is not said
            for key, row in zip(keys.tolist(), found.tolist()):
                model[key] = row
            next_row += used
        elif what == 1:
            gone = rows.remove(keys).tolist()
            assert gone == [model.pop(key, -1) for key in keys.tolist()]
        else:
            assert rows.find(keys).tolist() == [model.get(key, -1) for key in keys.tolist()]
        assert len(rows) == len(model) == len(set(model.values()))
    held, at = rows.items()
    assert dict(zip(held.tolist(), at.tolist())) == model


def test_keys_of_several_elements():
    rows = DictRows(np.dtype(np.int64), 2)
    keys = np.array([[1, 2], [2, 1], [1, 2]])
    found, used = rows.add(keys, np.arange(3))
    assert (found.tolist(), used) == ([0, 1, 0], 2)
    held, at = rows.items()
    assert held.tolist() == [[1, 2], [2, 1]] and at.tolist() == [0, 1]
    assert rows.remove(np.array([[2, 1], [3, 3]])).tolist() == [1, -1]
