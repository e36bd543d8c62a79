"""Ragged tensors from nested lists, and placeholders for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from headrace.core.dtypes import DType, DTypeLike, as_dtype, int64
from headrace.core.shapes import Shape
from headrace.functions.array import array
from headrace.functions.ragged.tensor import RaggedTensor, is_ragged
from headrace.functions.ragged.value import RaggedTensorValue
from headrace.functions.values.structure import name_scope
from headrace.graph.tensor import Tensor
from headrace.ops.array.constant import constant as dense_constant

_MOST_DIMENSIONS = 254  # of any tensor, as in TF


# -- constants ----------------------------------------------------------------------------------
def constant(
    pylist: Any,
    dtype: DTypeLike | None = None,
    ragged_rank: int | None = None,
    inner_shape: Sequence[int] | None = None,
    name: str | None = None,
    row_splits_dtype: DTypeLike = int64,
) -> Any:
    """A ragged tensor from nested lists.

    Args:
      pylist: nested lists or tuples; all scalars lie at the same depth.
      dtype: the type of the values.
      ragged_rank: how many dimensions are ragged; as many as possible by default.
      inner_shape: the shape of the innermost values.
      name: name of the scope.
      row_splits_dtype: int32 or int64.

    Returns:
      A `RaggedTensor`, or a dense tensor where nothing can be ragged.

    Example:
      >>> tf.ragged.constant([[1, 2], [3]])
    """

    def rows(values: Any, splits: list[int]) -> RaggedTensor:
        ends = dense_constant(splits, dtype=row_splits_dtype)
        result: RaggedTensor = RaggedTensor.from_row_splits(values, ends, validate=False)
        return result

    def inner(values: Any, dtype: Any, shape: Any, name: str = "Const") -> Tensor:
        return dense_constant(values, dtype=dtype, shape=shape, name=name)

    with name_scope(name, "RaggedConstant"):
        return _from_lists(rows, inner, pylist, dtype, ragged_rank, inner_shape)


def constant_value(
    pylist: Any,
    dtype: DTypeLike | None = None,
    ragged_rank: int | None = None,
    inner_shape: Sequence[int] | None = None,
    row_splits_dtype: DTypeLike = "int64",
) -> Any:
    """A RaggedTensorValue, or an array, from nested lists.  Arguments as in `tf.ragged.constant`."""
    if isinstance(dtype, DType):
        dtype = dtype.as_numpy_dtype
    kind = as_dtype(row_splits_dtype).as_numpy_dtype

    def rows(values: Any, splits: list[int]) -> RaggedTensorValue:
        return RaggedTensorValue(values, np.array(splits, dtype=kind))

    def inner(values: Any, dtype: Any, shape: Any, name: str = "") -> Any:
        found = np.array(values, dtype=dtype)
        return found if shape is None else found.reshape(shape)

    return _from_lists(rows, inner, pylist, dtype, ragged_rank, inner_shape)


def _is_list(value: Any) -> bool:
    return isinstance(value, (list, tuple)) or np.ndim(value) != 0


def _from_lists(
    rows: Callable[..., Any],
    inner: Callable[..., Any],
    pylist: Any,
    dtype: DTypeLike | None,
    ragged_rank: int | None,
    inner_shape: Sequence[int] | None,
) -> Any:
    if is_ragged(pylist):
        raise TypeError("pylist may not be a RaggedTensor or RaggedTensorValue.")
    if not _is_list(pylist):
        if ragged_rank:
            raise ValueError(f"Invalid pylist={pylist!r}: incompatible with ragged_rank={ragged_rank}")
        if inner_shape:
            raise ValueError(
                f"Invalid pylist={pylist!r}: incompatible with dim(inner_shape)={len(inner_shape)}"
            )
        return inner(pylist, dtype, ())
    _check_rank(ragged_rank)
    scalars, deepest = _depths(pylist)
    if scalars is not None and deepest > scalars:
        raise ValueError(
            f"Invalid pylist={pylist!r}: empty list nesting is greater than scalar value nesting"
        )
    if inner_shape is not None and ragged_rank is not None:
        expected = ragged_rank + len(inner_shape) + 1
        if expected != scalars if scalars is not None else expected < deepest:
            raise ValueError(
                f"Invalid pylist={pylist!r}: incompatible with ragged_rank={ragged_rank} and "
                f"dim(inner_shape)={len(inner_shape)}"
            )
    below = 0 if inner_shape is None else len(inner_shape)
    if ragged_rank == 0 or (ragged_rank is None and deepest - below < 2):
        return inner(pylist, dtype, inner_shape)
    if inner_shape is None:
        inner_shape = () if ragged_rank is None else _inner_shape(pylist, ragged_rank)
    if ragged_rank is None:
        depth = deepest if scalars is None else scalars - len(inner_shape)
        ragged_rank = max(1, depth - 1)
    nested, values = [], pylist
    for _ in range(ragged_rank):
        nested.append([0, *np.cumsum([len(row) for row in values]).tolist()])
        values = [item for row in values for item in row]
    result = inner(values, dtype, (len(values), *inner_shape), name="values")
    for splits in reversed(nested):
        result = rows(result, splits)
    return result


def _check_rank(ragged_rank: int | None) -> None:
    if ragged_rank is not None and ragged_rank < 0:
        raise ValueError(f"Invalid ragged_rank={ragged_rank!r}: must be nonnegative")
    if ragged_rank is not None and ragged_rank >= _MOST_DIMENSIONS:
        # An empty list has no depth of its own that would bound it.
        raise ValueError(
            f"Invalid ragged_rank={ragged_rank!r}: a tensor has at most {_MOST_DIMENSIONS} dimensions"
        )


def _depths(pylist: Any) -> tuple[int | None, int]:
    """The depth of the scalars (None without any), and of the deepest list."""
    if not _is_list(pylist):
        return 0, 0
    scalars, deepest = None, 1
    for child in pylist:
        below, depth = _depths(child)
        if below is not None:
            if scalars not in (None, below + 1):
                raise ValueError("all scalar values must have the same nesting depth")
            scalars = below + 1
        deepest = max(deepest, depth + 1)
    return scalars, deepest


def _inner_shape(pylist: Any, ragged_rank: int) -> tuple[int, ...]:
    """The shape of the values below the ragged dimensions."""
    values = pylist
    for dim in range(ragged_rank):
        if not all(_is_list(v) for v in values):
            raise ValueError(
                f"pylist has scalar values depth {dim + 1}, but ragged_rank={ragged_rank} requires "
                f"scalar value depth greater than {ragged_rank}"
            )
        values = [item for row in values for item in row]
    shape: list[int] = []
    first = values
    while _is_list(first):
        shape.append(len(first))
        if not len(first):
            break
        first = first[0]
    _check_inner(values, shape)
    return tuple(shape[1:])


def _check_inner(item: Any, shape: list[int]) -> None:
    if _is_list(item) != bool(shape) or (shape and len(item) != shape[0]):
        raise ValueError("inner values have inconsistent shape")
    for child in item if shape else ():
        _check_inner(child, shape[1:])


def placeholder(dtype: Any, ragged_rank: int, value_shape: Any = None, name: str | None = None) -> Any:
    """A ragged tensor that must be fed, with a RaggedTensorValue.

    Args:
      dtype: the type of the values.
      ragged_rank: how many dimensions are ragged.
      value_shape: the shape of the innermost values.
      name: name of the scope.
    """
    if ragged_rank == 0:
        return array.placeholder(dtype, value_shape, name)
    _check_rank(ragged_rank)
    with name_scope(name, "RaggedPlaceholder", []):
        flat = Shape([None]).concatenate(value_shape)
        result: Any = array.placeholder(dtype, flat, "flat_values")
        for i in reversed(range(ragged_rank)):
            splits = array.placeholder(int64, [None], f"row_splits_{i}")
            result = RaggedTensor(result, splits, internal=True)
        return result
