"""Sets along the last dimension (tf.sets.*)."""

from __future__ import annotations

from typing import Any

from headrace.functions.sparse.sparse import parts
from headrace.functions.sparse.tensor import SparseTensor, convert_to_tensor_or_sparse_tensor
from headrace.graph.tensor import Tensor
from headrace.ops.array import sets

_TYPES = frozenset(sets.ELEMENTS)


def set_size(a: Any, validate_indices: bool = True) -> Tensor:
    """How many different elements each row of a sparse tensor has.

    Args:
      a: a `SparseTensor` of integers or strings, with row-major indices.
      validate_indices: refuse indices that are out of order or out of range.

    Returns:
      An int32 tensor of rank n-1.
    """
    a = convert_to_tensor_or_sparse_tensor(a, name="a")
    if not isinstance(a, SparseTensor):
        raise TypeError(f"Expected `SparseTensor`, got {a}.")
    if a.values.dtype.base not in _TYPES:
        raise TypeError(f"Invalid dtype {a.values.dtype}.")
    return sets.set_size(*parts(a), validate_indices)


def set_intersection(a: Any, b: Any, validate_indices: bool = True) -> SparseTensor:
    """The elements of each row that are in both.

    Args:
      a: a dense or sparse tensor of integers or strings; all but the last dimension as in `b`.
      b: another one; sparse if `a` is.
      validate_indices: refuse sparse indices that are out of order or out of range.

    Returns:
      A `SparseTensor` with the sorted results in its rows.
    """
    a, b, _ = _converted(a, b)
    return _operation(a, b, "intersection", validate_indices)


def set_difference(a: Any, b: Any, aminusb: bool = True, validate_indices: bool = True) -> SparseTensor:
    """The elements of each row of `a` that are not in `b`; the other way round without `aminusb`."""
    a, b, flipped = _converted(a, b)
    if flipped:  # a and b changed places
        aminusb = not aminusb
    return _operation(a, b, "a-b" if aminusb else "b-a", validate_indices)


def set_union(a: Any, b: Any, validate_indices: bool = True) -> SparseTensor:
    """The elements of each row that are in one of both."""
    a, b, _ = _converted(a, b)
    return _operation(a, b, "union", validate_indices)


def _converted(a: Any, b: Any) -> tuple[Any, Any, bool]:
    """Both as tensors; a sparse one beside a dense one comes second."""
    a = convert_to_tensor_or_sparse_tensor(a, name="a")
    if a.dtype.base not in _TYPES:
        raise TypeError(f"'a' invalid dtype {a.dtype}.")
    b = convert_to_tensor_or_sparse_tensor(b, name="b")
    if b.dtype.base is not a.dtype.base:
        raise TypeError(f"Types don't match, {a.dtype} vs {b.dtype}.")
    if isinstance(a, SparseTensor) and not isinstance(b, SparseTensor):
        return b, a, True
    return a, b, False


def _operation(a: Any, b: Any, operation: str, validate: bool) -> SparseTensor:
    if isinstance(a, SparseTensor):
        if not isinstance(b, SparseTensor):
            raise AssertionError("a sparse operand comes second")
        found = sets.sparse_to_sparse_set_operation(*parts(a), *parts(b), operation, validate)
    elif isinstance(b, SparseTensor):
        found = sets.dense_to_sparse_set_operation(a, *parts(b), operation, validate)
    else:
        found = sets.dense_to_dense_set_operation(a, b, operation, validate)
    return SparseTensor(*found)
