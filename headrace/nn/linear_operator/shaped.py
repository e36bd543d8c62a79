"""What is known of a linear operator without any computing: hints, names, shapes."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from headrace.core import dtypes
from headrace.core.dtypes import DTypeLike
from headrace.core.families import changed
from headrace.core.fields import reads
from headrace.core.shapes import Dimension, Shape
from headrace.functions.array import array
from headrace.functions.values.structure import name_scope
from headrace.graph.tensor import Tensor
from headrace.nn.linear_operator import batch
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.variables.functions.module import Module

Hint = bool | None  # True, False, or not known


def _hints(
    is_non_singular: Hint = None,
    is_self_adjoint: Hint = None,
    is_positive_definite: Hint = None,
    is_square: Hint = None,
    name: str | None = None,
) -> None:
    """The arguments that operators take after their own."""


def sized_hints(
    is_non_singular: Hint = None,
    is_self_adjoint: Hint = None,
    is_positive_definite: Hint = None,
    is_square: Hint = True,
    assert_proper_shapes: bool = False,
    name: str | None = None,
) -> None:
    """The same of operators whose size is an argument."""


def hinted(
    template: Callable[..., None] = _hints, **defaults: Any
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """A decorator for a constructor of an operator with `name` and **hints: it gets those of `template`,
    with these defaults.

    It is called with the hints by position or by name, behind its own arguments.
    """

    def decorate(constructor: Callable[..., None]) -> Callable[..., None]:
        own = changed(constructor, (*inspect.signature(template).parameters, "hints")).parameters.values()
        last = changed(template, **defaults).parameters.values()
        signature = inspect.signature(constructor).replace(parameters=[*own, *last])

        @functools.wraps(constructor)
        def __init__(*args: Any, **kwargs: Any) -> None:
            given = signature.bind(*args, **kwargs)
            given.apply_defaults()
            constructor(**given.arguments)

        __init__.__signature__ = signature  # type: ignore[attr-defined]
        return __init__

    return decorate


class Shaped(Module):
    """The part of LinearOperator (its documentation is there) that says what it is."""

    @hinted()
    def __init__(
        self,
        dtype: DTypeLike,
        graph_parents: Any = None,
        *,
        is_non_singular: Hint,
        is_self_adjoint: Hint,
        is_positive_definite: Hint,
        is_square: Hint,
        name: str | None,
    ) -> None:
        is_non_singular = batch.implied(
            is_positive_definite, is_non_singular, "A positive definite matrix is always non-singular."
        )
        for kind, hint in (("non-singular", is_non_singular), ("self-adjoint", is_self_adjoint)):
            is_square = batch.implied(hint, is_square, f"A {kind} matrix is always square.")
        for i, parent in enumerate(graph_parents or ()):
            if not batch.is_tensor(parent):
                raise ValueError(f"Graph parent item {i} is not a Tensor; {parent}.")
        self._dtype = dtypes.as_dtype(dtype).base if dtype else dtype
        self._graph_parents = list(graph_parents or ())
        self._is_non_singular, self._is_self_adjoint = is_non_singular, is_self_adjoint
        self._is_positive_definite, self._square_hint = is_positive_definite, is_square
        self._name = self._scope_name = name or type(self).__name__

    def _scope(self, name: str | None) -> Any:
        return name_scope(self.name if name is None else f"{self.name}/{name}")

    # -- what is known -----------------------------------------------------------------------
    dtype: Any = reads("_dtype", "Element type.")
    name: str = reads("_name", "Name of the operator.")
    graph_parents: list[Any] = reads("_graph_parents", "Tensors that the operator depends on.")
    is_non_singular: Hint = reads("_is_non_singular", "Whether the matrices can be inverted, if known.")
    is_self_adjoint: Hint = reads("_is_self_adjoint", "Whether the matrices equal their adjoints, if known.")

    @property
    def is_positive_definite(self) -> Hint:
        """Whether the matrices are positive definite, if known."""
        return self._is_positive_definite

    @property
    def is_square(self) -> Hint:
        """Whether the matrices are square, if known."""
        found: Hint = self.domain_dimension == self.range_dimension
        if self._square_hint is False and found:
            raise ValueError("User set is_square hint to False, but the operator was square.")
        return found if self._square_hint is None else self._square_hint

    # -- shapes ------------------------------------------------------------------------------
    def _shape(self) -> Shape:
        raise NotImplementedError("_shape is not implemented.")

    def _shape_tensor(self) -> Tensor:
        raise NotImplementedError("_shape_tensor is not implemented.")

    @property
    def shape(self) -> Shape:
        """[B1, ..., Bb, M, N], as far as known."""
        return self._shape()

    @property
    def batch_shape(self) -> Shape:
        """[B1, ..., Bb], as far as known."""
        result: Shape = self.shape[:-2]
        return result

    tensor_rank: int | None = reads("shape.rank", "b + 2, if known.")

    @property
    def domain_dimension(self) -> Dimension:
        """N, the size of what the operator acts on."""
        return Dimension(None if self.shape.rank is None else self.shape.sizes[-1])

    @property
    def range_dimension(self) -> Dimension:
        """M, the size of its results."""
        return Dimension(None if self.shape.rank is None else self.shape.sizes[-2])

    def shape_tensor(self, name: str = "shape_tensor") -> Tensor:
        """The shape as a tensor."""
        with self._scope(name):
            return batch.sizes(self.shape) if self.shape.is_full else self._shape_tensor()

    def batch_shape_tensor(self, name: str = "batch_shape_tensor") -> Tensor:
        """The batch shape as a tensor."""
        with self._scope(name):
            if self.batch_shape.is_full:
                return batch.sizes(self.batch_shape)
            return self.shape_tensor()[:-2]

    def tensor_rank_tensor(self, name: str = "tensor_rank_tensor") -> Tensor:
        """b + 2 as a tensor."""
        with self._scope(name):
            if self.tensor_rank is not None:
                return convert_to_tensor(self.tensor_rank)
            return array.size(self.shape_tensor())

    def domain_dimension_tensor(self, name: str = "domain_dimension_tensor") -> Tensor:
        """N as a tensor."""
        with self._scope(name):
            return self._size(-1)

    def range_dimension_tensor(self, name: str = "range_dimension_tensor") -> Tensor:
        """M as a tensor."""
        with self._scope(name):
            return self._size(-2)

    def _size(self, axis: int) -> Tensor:
        known = self.shape.dim(axis)
        return self.shape_tensor()[axis] if known is None else convert_to_tensor(known)

    def _sizes(self, *parts: Any) -> Any:
        """The batch shape with sizes behind, as a list where all is known."""
        if self.batch_shape.is_full and not any(isinstance(p, Tensor) for p in parts):
            return [*self.batch_shape.as_list(), *parts]
        return batch.join(self.batch_shape_tensor(), *parts)
