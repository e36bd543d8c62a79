"""Assertions about ranks, shapes and types: refused while the graph is built where they are known,
else checked by Assert."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.core.dtypes import DType
from headrace.core.families import named, takes
from headrace.functions.array.checks import PRINTED, Assert, printing
from headrace.functions.control.grouping import with_dependencies
from headrace.functions.sparse.tensor import SparseTensor
from headrace.functions.values.structure import name_scope
from headrace.graph.node import Node
from headrace.graph.tensor import Tensor, label
from headrace.ops.array import source
from headrace.ops.declaration import array
from headrace.ops.declaration.constants import constant_value
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.math import comparison, logical


# -- rank ---------------------------------------------------------------------------------------
class _Mismatch(Exception):
    """The rank is known and wrong."""


def _rank_check(
    x: Tensor,
    ranks: list[Tensor],
    static: Callable[[int, list[int]], bool],
    dynamic: Callable[[Tensor, list[Tensor]], Tensor],
    data: Any,
    summarize: int | None,
) -> Node:
    for rank in ranks:
        assert_type(rank, dtypes.int32)
    known = [constant_value(rank) for rank in ranks]
    if all(value is not None for value in known):
        if any(value.ndim for value in known):
            raise ValueError("Rank must be a scalar.")
        if x.shape.rank is not None:
            if not static(x.shape.rank, [int(value) for value in known]):
                raise _Mismatch
            return source.no_op(name="static_checks_determined_all_ok")
    condition = dynamic(array.rank_of(x), ranks)
    for rank, value in zip(ranks, known):
        if value is None:
            check = assert_rank(rank, 0, data=["Rank must be a scalar. Received rank: ", rank])
            condition = with_dependencies([check], condition)
    return Assert(condition, data, summarize=summarize)


def _rank_assert(
    called: str,
    argument: str,
    has: str,
    wrong: str,
    words: str,
    static: Callable[..., bool],
    dynamic: Callable[..., Tensor],
) -> Callable[..., Node]:
    """A check of `x` and its argument, `rank` or `ranks`, with the words of its docstring and its message."""
    given = (
        "scalar int32 tensors or numbers" if argument == "ranks" else "a scalar int32 `Tensor` or a number"
    )

    @takes(printing, first=f"x {argument}")
    @named(
        called,
        f"""Asserts that `x` has {has}.

    Args:
      x: a `Tensor`.
      {argument}: {given}.
      data: what to print when it does not hold; by default the shape of `x`.{PRINTED.format(wrong)}
    Raises:
      ValueError: it is known already that {wrong}.
    """,
    )
    def check(x: Any, data: Any, summarize: Any, message: Any, name: Any, **wanted: Any) -> Node:
        ranks = wanted["ranks"] if argument == "ranks" else [wanted["rank"]]
        with name_scope(name, called, [x, *ranks, *(data or [])]):
            x = convert_to_tensor(x, name="x")
            ranks = [convert_to_tensor(rank, name="rank") for rank in ranks]
            return _named_rank_check(x, ranks, words, static, dynamic, data, summarize, message)

    return check


def _is_any(actual: Tensor, ranks: list[Tensor]) -> Tensor:
    result = convert_to_tensor(False)
    for i, rank in enumerate(ranks):
        same = comparison.equal(rank, actual)
        result = logical.logical_or(result, same) if i else same
    return result


assert_rank = _rank_assert(
    "assert_rank",
    "rank",
    "a rank",
    "the rank is another",
    "rank",
    lambda a, r: a == r[0],
    lambda a, r: comparison.equal(a, r[0]),
)
assert_rank_at_least = _rank_assert(
    "assert_rank_at_least",
    "rank",
    "a rank or a higher one",
    "the rank is lower",
    "rank at least",
    lambda a, r: a >= r[0],
    lambda a, r: comparison.greater_equal(a, r[0]),
)
assert_rank_in = _rank_assert(
    "assert_rank_in",
    "ranks",
    "one of several ranks",
    "the rank is none of them",
    "rank in",
    lambda a, r: a in r,
    _is_any,
)


def _named_rank_check(
    x: Tensor,
    ranks: list[Tensor],
    words: str,
    static: Callable[..., bool],
    dynamic: Callable[..., Tensor],
    data: Any,
    summarize: int | None,
    message: str | None,
) -> Node:
    """A check with the message that fits."""
    message = message or ""
    if data is None:
        data = [
            message,
            f"Tensor {label(x)} must have {words}",
            *ranks,
            "Received shape: ",
            array.shape_of(x),
        ]
    try:
        return _rank_check(x, ranks, static, dynamic, data, summarize)
    except _Mismatch:
        values = [int(constant_value(rank)) for rank in ranks]
        wanted = tuple(values) if words == "rank in" else values[0]
        raise ValueError(
            f"{message}.  Tensor {label(x)} must have {words} {wanted}.  Received rank "
            f"{x.shape.rank}, shape {x.shape}"
        ) from None


def assert_scalar(tensor: Any, name: str | None = None, message: str | None = None) -> Tensor:
    """Asserts, while the graph is built, that a tensor is a scalar.

    Args:
      tensor: a `Tensor`.
      name: name of the scope.
      message: a prefix of the error message.

    Returns:
      The tensor.

    Raises:
      ValueError: it is not a scalar, or its rank is unknown.
    """
    with name_scope(name, "assert_scalar", [tensor]) as scope:
        tensor = convert_to_tensor(tensor, name=scope)
        if tensor.shape.rank != 0:
            raise ValueError(
                f"{message or ''}Expected scalar shape for {label(tensor)}, saw shape: {tensor.shape}."
            )
        result: Tensor = tensor
        return result


# -- types --------------------------------------------------------------------------------------
def assert_type(tensor: Any, tf_type: Any, message: str | None = None, name: str | None = None) -> Node:
    """Asserts, while the graph is built, that a tensor has a type.

    Args:
      tensor: a `Tensor`.
      tf_type: a `DType`.
      message: a prefix of the error message.
      name: name of the scope.

    Returns:
      An operation that does nothing.

    Raises:
      TypeError: the type is another.
    """
    with name_scope(name, "assert_type", [tensor]):
        tensor = convert_to_tensor(tensor, name="tensor")
        if tensor.dtype != tf_type:
            raise TypeError(f"{message or ''}  {label(tensor)} must be of type {tf_type}")
        return source.no_op(name="statically_determined_correct_type")


def assert_integer(x: Any, message: str | None = None, name: str | None = None) -> Node:
    """Asserts, while the graph is built, that a tensor is of an integer type.

    Args:
      x: a `Tensor`.
      message: a prefix of the error message.
      name: name of the scope.

    Returns:
      An operation that does nothing.

    Raises:
      TypeError: the type is no integer.
    """
    with name_scope(name, "assert_integer", [x]):
        x = convert_to_tensor(x, name="x")
        if not x.dtype.is_integer:
            raise TypeError(
                f'{message or ""}  Expected "x" to be integer type.  Found: {label(x)} of dtype {x.dtype}'
            )
        return source.no_op(name="statically_determined_was_integer")


def assert_same_float_dtype(tensors: Any = None, dtype: Any = None) -> DType:
    """The float type that all tensors have (and `dtype`, if given); float32 without any.

    Args:
      tensors: tensors, or None among them.
      dtype: the type that they should have.

    Returns:
      The type.

    Raises:
      ValueError: types differ, or are not floats.
    """
    if tensors:
        dtype = _same_base_type(tensors, dtype)
    if not dtype:
        return dtypes.float32
    if not dtype.is_floating:
        raise ValueError(f"Expected floating point type, got {dtype}.")
    result: DType = dtype
    return result


def _same_base_type(items: Any, expected: Any) -> Any:
    first = None
    for item in items:
        if item is None:
            continue
        found, shown = item.dtype.base_dtype, getattr(item, "name", str(item))
        if not expected:
            expected, first = found, shown
        elif expected != found:
            origin = f" as {first}" if first else ""
            raise ValueError(f"{shown}, type={found}, must be of the same type ({expected}){origin}.")
    return expected


def assert_proper_iterable(values: Any) -> None:
    """Refuses what can be iterated over by accident: tensors, arrays, texts.

    Args:
      values: what should be a list or the like.

    Raises:
      TypeError: it is not.
    """
    if isinstance(values, (Tensor, SparseTensor, np.ndarray, bytes, str)):
        raise TypeError(f'Expected argument "values" to be a "proper" iterable.  Found: {type(values)}')
    if not hasattr(values, "__iter__"):
        raise TypeError(f'Expected argument "values" to be iterable.  Found: {type(values)}')
