"""The value of a list of tensors: an element of a variant tensor that never changes."""

from __future__ import annotations

import numpy as np

from headrace.core.errors import require
from headrace.core.shapes import UNKNOWN, make_shape, show
from headrace.ops.array.fill import zeros_array, zeros_like
from headrace.ops.control.tensor_array_state import partly_known, refuse, shown
from headrace.ops.declaration.messages.node_def import type_name


class TensorList:
    """Arrays of one type; None for an element that was not set.  `max_size` -1: no limit."""

    __slots__ = ("items", "dtype", "element_shape", "max_size")

    def __init__(self, items, dtype, element_shape, max_size=-1):
        self.items, self.dtype = tuple(items), dtype
        self.element_shape, self.max_size = element_shape, max_size

    def with_items(self, items):
        return TensorList(items, self.dtype, self.element_shape, self.max_size)

    def __len__(self):
        return len(self.items)

    def __repr__(self):
        return f"<list of {len(self)} {self.dtype.name}{partly_known(self.element_shape)}>"

    # -- as an element of a tensor -----------------------------------------------------------
    def zeros_like(self):
        """A list of as many zeros."""
        return self.with_items(None if x is None else zeros_like.compute([x], {}) for x in self.items)

    def __add__(self, other):
        require(
            self.dtype is other.dtype,
            "Trying to add two lists of tensors of different dtypes. One is "
            f"{type_name(self.dtype)} and the other is {type_name(other.dtype)}",
        )
        require(
            self.element_shape.is_compatible_with(other.element_shape),
            "Trying to add two lists of tensors with incompatible element shapes. One is "
            f"{partly_known(self.element_shape)} and the other is "
            f"{partly_known(other.element_shape)}",
        )
        require(
            len(self) == len(other),
            "Trying to add two lists of tensors with different lengths. One is "
            f"{len(self)} and the other is {len(other)}",
        )
        shape = self.element_shape.merge_with(other.element_shape)
        return TensorList(map(_sum, self.items, other.items), self.dtype, shape, self.max_size)

    # -- shapes ------------------------------------------------------------------------------
    def shape_with(self, shape, items=None):
        """What is known of the elements: by the list, the op, and those that are set."""
        found = merge_shapes(shape, self.element_shape)
        if not self.element_shape.is_full:
            for item in self.items if items is None else items:
                if item is not None:
                    found = merge_shapes(found, make_shape(item.shape))
        return found

    def zeros(self, shape):
        return zeros_array(shape.sizes, self.dtype)


def _sum(a, b):
    if a is None or b is None:
        return b if a is None else a
    return np.asarray(np.add(a, b), a.dtype)


def merge_shapes(a, b):
    if None not in (a.rank, b.rank) and a.rank != b.rank:
        refuse(f"Incompatible ranks during merge: {a.rank} vs. {b.rank}")
    if not a.is_compatible_with(b):
        refuse(f"Incompatible shapes during merge: {partly_known(a)} vs. {partly_known(b)}")
    return a.merge_with(b)


def boxed(value):
    """A list as a scalar tensor."""
    out = np.empty((), object)
    out[()] = value
    return out


def unboxed(tensor, dtype=None):
    """The list in a scalar tensor, of this type."""
    if tensor.ndim:
        refuse(f"Input list must be a scalar saw: {shown(tensor.shape)}")
    found = tensor[()]
    if not isinstance(found, TensorList):
        refuse(f"Input handle is not a list. Saw: '{found!r}'")
    if dtype is not None and dtype is not found.dtype:
        refuse(
            f"Invalid data types; op elements {type_name(dtype)} but list elements {type_name(found.dtype)}"
        )
    return found


def described(vector):
    """A shape given as a tensor: -1 for an unknown size; the scalar -1 for an unknown rank."""
    if not vector.ndim:
        if vector != -1:
            refuse("The only valid scalar shape tensor is the fully unknown shape specified as -1.")
        return UNKNOWN
    require(vector.ndim == 1, f"A shape must be a vector, not an array of shape {show(vector.shape)}")
    for size in vector.tolist():
        require(size >= -1, f"Dimension {size} must be >= -1")
    return make_shape(None if s < 0 else int(s) for s in vector)
