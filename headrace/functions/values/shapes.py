"""Shapes by what is known of them: nothing, the rank, or the sizes (as in TensorFlow's tensor_shape.py)."""

from __future__ import annotations

from headrace.core.shapes import Dimension, Shape

Size = int | Dimension | None


def unknown_shape(rank: int | None = None) -> Shape:
    """A shape of which at most the rank is known."""
    return Shape(None if rank is None else [None] * rank)


def scalar() -> Shape:
    """The shape of one number."""
    return Shape([])


def vector(length: Size) -> Shape:
    """The shape of a vector."""
    return Shape([length])


def matrix(rows: Size, cols: Size) -> Shape:
    """The shape of a matrix."""
    return Shape([rows, cols])
