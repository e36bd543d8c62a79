"""A backend: what maps, zips and reductions of tensors are made of.  `SimpleOps` takes one number after
another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from headrace.minitorch import operators
from headrace.minitorch.tensor_data import IndexingError, broadcast_index, shape_broadcast


class MapProto(Protocol):
    def __call__(self, x: Any, out: Any = ..., /) -> Any: ...


class TensorOps:
    """How functions of numbers become functions of tensors."""

    cuda = False

    @staticmethod
    def map(fn: Callable[[float], float]) -> MapProto:
        """Of each element."""
        raise NotImplementedError

    @staticmethod
    def zip(fn: Callable[[float, float], float]) -> Callable[[Any, Any], Any]:
        """Of each pair of elements, broadcast."""
        raise NotImplementedError

    @staticmethod
    def reduce(fn: Callable[[float, float], float], start: float = 0.0) -> Callable[[Any, int], Any]:
        """Of all elements along an axis, which has size 1 afterwards."""
        raise NotImplementedError

    @staticmethod
    def cmap(fn: Callable[[float], float]) -> Callable[[Any, Any], Any]:
        """Of each element, into another tensor."""
        raise NotImplementedError

    @staticmethod
    def matrix_multiply(a: Any, b: Any) -> Any:
        raise NotImplementedError


class TensorBackend:
    """The operations of tensors, made by a kind of `TensorOps`."""

    def __init__(self, ops: type[TensorOps]) -> None:
        self.neg_map = ops.map(operators.neg)
        self.sigmoid_map = ops.map(operators.sigmoid)
        self.relu_map = ops.map(operators.relu)
        self.log_map = ops.map(operators.log)
        self.exp_map = ops.map(operators.exp)
        self.id_map = ops.map(operators.id)
        self.id_cmap = ops.cmap(operators.id)
        self.inv_map = ops.map(operators.inv)

        self.add_zip = ops.zip(operators.add)
        self.mul_zip = ops.zip(operators.mul)
        self.lt_zip = ops.zip(operators.lt)
        self.eq_zip = ops.zip(operators.eq)
        self.is_close_zip = ops.zip(operators.is_close)
        self.relu_back_zip = ops.zip(operators.relu_back)
        self.log_back_zip = ops.zip(operators.log_back)
        self.inv_back_zip = ops.zip(operators.inv_back)

        self.add_reduce = ops.reduce(operators.add, 0.0)
        self.mul_reduce = ops.reduce(operators.mul, 1.0)
        self.max_reduce = ops.reduce(operators.max, float("-inf"))

        self.matrix_multiply = ops.matrix_multiply
        self.cuda = ops.cuda


class SimpleOps(TensorOps):
    """Plain Python over indices: what the others are measured against."""

    @staticmethod
    def map(fn: Callable[[float], float]) -> MapProto:
        def mapped(a: Any, out: Any = None, /) -> Any:
            found = a.zeros(a.shape) if out is None else out
            at = [0] * len(a.shape)
            for index in found._tensor.indices():
                broadcast_index(index, found.shape, a.shape, at)
                found._tensor.set(index, fn(a._tensor.get(at)))
            return found

        return mapped

    @staticmethod
    def cmap(fn: Callable[[float], float]) -> Callable[[Any, Any], Any]:
        return SimpleOps.map(fn)

    @staticmethod
    def zip(fn: Callable[[float, float], float]) -> Callable[[Any, Any], Any]:
        def zipped(a: Any, b: Any) -> Any:
            found = a.zeros(shape_broadcast(a.shape, b.shape))
            a_at, b_at = [0] * len(a.shape), [0] * len(b.shape)
            for index in found._tensor.indices():
                broadcast_index(index, found.shape, a.shape, a_at)
                broadcast_index(index, found.shape, b.shape, b_at)
                found._tensor.set(index, fn(a._tensor.get(a_at), b._tensor.get(b_at)))
            return found

        return zipped

    @staticmethod
    def reduce(fn: Callable[[float, float], float], start: float = 0.0) -> Callable[[Any, int], Any]:
        def reduced(a: Any, dim: int) -> Any:
            shape = tuple(1 if i == dim else n for i, n in enumerate(a.shape))
            found = a.zeros(shape)
            found._tensor._storage[:] = start
            for index in a._tensor.indices():
                into = [0 if i == dim else k for i, k in enumerate(index)]
                found._tensor.set(into, fn(found._tensor.get(into), a._tensor.get(index)))
            return found

        return reduced

    @staticmethod
    def matrix_multiply(a: Any, b: Any) -> Any:
        """Rows times columns; what is left of the last two axes is broadcast."""
        if len(a.shape) < 2 or len(b.shape) < 2 or a.shape[-1] != b.shape[-2]:
            raise IndexingError(f"matrices of shapes {a.shape} and {b.shape} can not be multiplied")
        batch = tuple(shape_broadcast(a.shape[:-2], b.shape[:-2]))
        found = a.zeros((*batch, a.shape[-2], b.shape[-1]))
        a_at, b_at = [0] * (len(a.shape) - 2), [0] * (len(b.shape) - 2)
        for *rest, i, j in found._tensor.indices():
            broadcast_index(rest, batch, a.shape[:-2], a_at)
            broadcast_index(rest, batch, b.shape[:-2], b_at)
            total = operators.sum(
                a._tensor.get((*a_at, i, k)) * b._tensor.get((*b_at, k, j)) for k in range(a.shape[-1])
            )
            found._tensor.set((*rest, i, j), total)
        return found


SimpleBackend = TensorBackend(SimpleOps)
