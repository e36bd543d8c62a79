"""The operators of RaggedTensor: element by element, on equal rows, or with one value for all."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from headrace.core.modules import late
from headrace.ops.declaration.convert import convert_to_tensor

ragged = late("headrace.functions.ragged.ragged")


def _fitting(value: Any, like: Any) -> Any:
    """The other operand: ragged, a scalar, or a dense tensor cut into rows."""
    if hasattr(value, "row_splits") or (not hasattr(value, "shape") and np.ndim(value) == 0):
        return value
    dense = convert_to_tensor(value, like.dtype)
    rank = dense.shape.rank
    if rank == 0:
        return dense
    if rank is None or rank != like.shape.rank:
        raise ValueError(
            f"a tensor of shape {dense.shape} does not fit a ragged tensor of shape {like.shape}"
        )
    return like.from_tensor(dense, ragged_rank=like.ragged_rank, row_splits_dtype=like.row_splits.dtype)


def _applied(apply: Callable[..., Any], *operands: Any) -> Any:
    return ragged.map_flat_values(apply, *operands)


def _one(apply: Callable[..., Any]) -> Any:
    return lambda self: _applied(apply, self)


def _two(apply: Callable[..., Any]) -> Any:
    return lambda self, other: _applied(apply, self, _fitting(other, self))


def _reflected(apply: Callable[..., Any]) -> Any:
    return lambda self, other: _applied(apply, _fitting(other, self), self)


class RaggedOperators:
    """What RaggedTensor gets from here."""

    __abs__, __neg__, __invert__ = _one(operator.abs), _one(operator.neg), _one(operator.invert)
    __ge__, __gt__ = _two(operator.ge), _two(operator.gt)
    __le__, __lt__ = _two(operator.le), _two(operator.lt)
    __add__, __radd__ = _two(operator.add), _reflected(operator.add)
    __sub__, __rsub__ = _two(operator.sub), _reflected(operator.sub)
    __mul__, __rmul__ = _two(operator.mul), _reflected(operator.mul)
    __truediv__, __rtruediv__ = _two(operator.truediv), _reflected(operator.truediv)
    __div__, __rdiv__ = __truediv__, __rtruediv__
    __floordiv__, __rfloordiv__ = _two(operator.floordiv), _reflected(operator.floordiv)
    __mod__, __rmod__ = _two(operator.mod), _reflected(operator.mod)
    __pow__, __rpow__ = _two(operator.pow), _reflected(operator.pow)
    __and__, __rand__ = _two(operator.and_), _reflected(operator.and_)
    __or__, __ror__ = _two(operator.or_), _reflected(operator.or_)
    __xor__, __rxor__ = _two(operator.xor), _reflected(operator.xor)

    def __bool__(self) -> bool:
        raise TypeError("RaggedTensor may not be used as a boolean.")

    __nonzero__ = __bool__
