"""Shapes as Keras passes them: tuples, lists and dictionaries of tuples."""

from __future__ import annotations

from typing import Any, NamedTuple

from headrace.layers import ops
from headrace.layers.engine.config import floatx


class Leaf:
    """A shape where structures are walked."""

    def __init__(self, value: Any) -> None:
        self.value = value


class Pair(NamedTuple):
    """A shape and a type."""

    shape: Any
    dtype: Any


def is_shape(x: Any) -> bool:
    """Is it one shape, and not a structure of shapes?"""
    if isinstance(x, ops.TensorShape):
        return True
    if not isinstance(x, list | tuple):
        return False
    return all(i is None or isinstance(i, int) or hasattr(i, "__index__") or hasattr(i, "value") for i in x)


def as_tuples(shapes: Any, as_leaf: bool = False) -> Any:
    """A structure of shapes, each as a tuple (or, in a structure to walk, as a leaf with one)."""
    if is_shape(shapes):
        known = ops.as_shape(shapes)
        value = None if known.ndims is None else tuple(known.as_list())
        return Leaf(value) if as_leaf else value
    if isinstance(shapes, dict):
        return {key: as_tuples(value, as_leaf) for key, value in shapes.items()}
    return type(shapes)(as_tuples(value, as_leaf) for value in shapes)


def placeholders_of(shapes: Any) -> Any:
    """Placeholders for a structure of shapes."""
    if is_shape(shapes):
        return ops.placeholder(floatx(), shapes)
    if isinstance(shapes, dict):
        return {key: placeholders_of(value) for key, value in shapes.items()}
    return [placeholders_of(value) for value in shapes]
