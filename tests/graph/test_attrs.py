"""Constants are compared by content, large ones without being copied."""

from __future__ import annotations

import numpy as np
import pytest

from headrace.core import dtypes
from headrace.graph.attrs import Literal


@pytest.mark.parametrize("size", [3, 100_000])
def test_equal_content(size):
    values = np.arange(size, dtype=np.float32)
    values[1] = np.nan
    one, same = Literal(values, dtypes.float32), Literal(values.copy(), dtypes.float32)
    assert one == same and hash(one) == hash(same)
    other = values.copy()
    other[size - 1 - size // 3] = 77
    assert one != Literal(other, dtypes.float32)
    assert one != Literal(values.view(np.int32), dtypes.int32)
    assert one != Literal(values.reshape(1, -1), dtypes.float32)
    assert one != "text"


def test_large_constants_are_not_copied():
    big = Literal(np.zeros((1 << 20, 1 << 10), np.uint8), dtypes.uint8)  # untouched memory
    assert hash(big) == hash(Literal(np.zeros((1 << 20, 1 << 10), np.uint8), dtypes.uint8))
    assert big._key is None


def test_text():
    def text(*values):
        return Literal(np.array(values, object), dtypes.string)

    assert text(b"a", b"b") == text(b"a", b"b") != text(b"a", b"c")
