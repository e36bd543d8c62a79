"""Spaces of values: what derivatives live in, add up in and are measured in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from headrace.autograd.tracer import Box, getval, primitive


class VSpace:
    """A finite-dimensional space over real numbers.  A subclass says how its values add."""

    __slots__ = ()
    mappings: dict[type, Callable[[Any], VSpace]] = {}
    iscomplex = False
    size: int

    def __init__(self, value: Any) -> None:
        pass

    def zeros(self) -> Any:
        raise NotImplementedError(repr(self))

    def ones(self) -> Any:
        raise NotImplementedError(repr(self))

    def standard_basis(self) -> Iterator[Any]:
        raise NotImplementedError(repr(self))

    def randn(self) -> Any:
        raise NotImplementedError(repr(self))

    @primitive
    def mut_add(self, x_prev: Any, x_new: Any) -> Any:
        """The sum, in the place of `x_prev`, which may be None for zero."""
        return self._mut_add(x_prev if x_prev is not None else self.zeros(), x_new)

    @primitive
    def add(self, x_prev: Any, x_new: Any) -> Any:
        return self._add(x_prev, x_new)

    @primitive
    def scalar_mul(self, x: Any, a: Any) -> Any:
        return self._scalar_mul(x, a)

    @primitive
    def inner_prod(self, x: Any, y: Any) -> Any:
        return self._inner_prod(x, y)

    @primitive
    def covector(self, x: Any) -> Any:
        """The derivative that stands for the direction x, and the other way."""
        return self._covector(x)

    def _add(self, x: Any, y: Any) -> Any:
        return x + y

    def _mut_add(self, x: Any, y: Any) -> Any:
        x += y
        return x

    def _scalar_mul(self, x: Any, a: Any) -> Any:
        return x * a

    def _inner_prod(self, x: Any, y: Any) -> Any:
        raise NotImplementedError(repr(self))

    def _covector(self, x: Any) -> Any:
        return x

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._parts() == other._parts()

    def __hash__(self) -> int:
        return hash(type(self))

    def _parts(self) -> Any:
        return vars(self)

    def __repr__(self) -> str:
        return f"{type(self).__name__}_{self._parts()}"

    @classmethod
    def register(cls, value_type: type, vspace_maker: Callable[[Any], VSpace] | None = None) -> None:
        """Values of this type live in spaces that the maker makes."""
        VSpace.mappings[value_type] = vspace_maker or cls


def vspace(value: Any) -> Any:
    """The space that a value lives in."""
    maker = VSpace.mappings.get(type(value))
    if maker is not None:
        return maker(value)
    if isinstance(value, Box):
        return vspace(getval(value))
    raise TypeError(
        f"Can't find vector space for value {value} of type {type(value)}. "
        f"Valid types are {list(VSpace.mappings)}"
    )
