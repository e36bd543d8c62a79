"""Partial shapes: merging is commutative, associative, idempotent; broadcasting is NumPy's."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.core.shapes import Dimension, Shape, broadcast_sizes, make_shape

dims = st.one_of(st.none(), st.integers(0, 3))
shapes = st.one_of(st.none(), st.lists(dims, max_size=3)).map(make_shape)


def merged(a, b):
    try:
        return a.merge_with(b)._sizes
    except ValueError:
        return "conflict"


@given(shapes, shapes)
def test_merge_commutes(a, b):
    assert merged(a, b) == merged(b, a)


@given(shapes)
def test_merge_is_idempotent(a):
    assert merged(a, a) == a._sizes


@given(shapes, shapes, shapes)
def test_merge_associates(a, b, c):
    def fold(x, y, z):
        first = merged(x, y)
        return "conflict" if first == "conflict" else merged(make_shape(first), z)

    left, right = fold(a, b, c), fold(b, c, a)
    assert left == right


@given(st.lists(st.integers(1, 3), max_size=3), st.lists(st.integers(1, 3), max_size=3))
def test_broadcasts_like_numpy(a, b):
    try:
        expected = np.broadcast_shapes(tuple(a), tuple(b))
    except ValueError:
        with pytest.raises(ValueError):
            broadcast_sizes(tuple(a), tuple(b))
    else:
        assert broadcast_sizes(tuple(a), tuple(b)) == expected


def test_unknown_sizes_broadcast():
    assert broadcast_sizes((None, 3), (1, 3)) == (None, 3)
    assert broadcast_sizes((None,), (4,)) == (4,)
    assert broadcast_sizes((2, None), (None,)) == (2, None)


def test_text():
    assert str(Shape([None, 784])) == "(?, 784)"
    assert str(Shape([3])) == "(3,)"
    assert str(Shape(None)) == "<unknown>"
    assert repr(Shape([2, None])) == "TensorShape([Dimension(2), Dimension(None)])"


def test_dimension_arithmetic_with_unknown():
    assert (Dimension(3) + None).value is None
    assert (Dimension(7) // 2).value == 3
    assert (Dimension(None) == 3) is None
    with pytest.raises(ValueError, match="must be >= 0"):
        Dimension(-1)


def test_slices_of_unknown_rank():
    assert Shape(None)[0].value is None
    assert Shape([1, 2, 3])[1:].as_list() == [2, 3]
