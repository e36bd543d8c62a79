"""Spaces of arrays, and of the named results of np.linalg."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from headrace.autograd.builtins import NamedTupleVSpace
from headrace.autograd.vector_space import VSpace


class ArrayVSpace(VSpace):
    """Arrays of one shape and type of real numbers."""

    __slots__ = ("dtype", "shape")

    def __init__(self, value: Any) -> None:
        if not isinstance(value, np.ndarray):
            value = np.asarray(value)
        self.shape, self.dtype = value.shape, value.dtype

    def _parts(self) -> Any:
        return self.shape, self.dtype

    @property
    def size(self) -> int:  # type: ignore[override]
        return int(np.prod(self.shape))

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def zeros(self) -> Any:
        return np.zeros(self.shape, self.dtype)

    def ones(self) -> Any:
        return np.ones(self.shape, self.dtype)

    def standard_basis(self) -> Iterator[Any]:
        for index in np.ndindex(*self.shape):
            vect = np.zeros(self.shape, self.dtype)
            vect[index] = 1
            yield vect

    def randn(self) -> Any:
        return np.array(np.random.randn(*self.shape)).astype(self.dtype)

    def _inner_prod(self, x: Any, y: Any) -> Any:
        return np.dot(np.ravel(x), np.ravel(y))


class ComplexArrayVSpace(ArrayVSpace):
    """Arrays of complex numbers: two dimensions each."""

    __slots__ = ()
    iscomplex = True

    @property
    def size(self) -> int:  # type: ignore[override]
        return 2 * super().size

    def ones(self) -> Any:
        return np.ones(self.shape, self.dtype)

    def standard_basis(self) -> Iterator[Any]:
        for index in np.ndindex(*self.shape):
            for unit in (1.0, 1.0j):
                vect = np.zeros(self.shape, self.dtype)
                vect[index] = unit
                yield vect

    def randn(self) -> Any:
        parts = np.random.randn(*self.shape), np.random.randn(*self.shape)
        return np.array(parts[0] + 1.0j * parts[1]).astype(self.dtype)

    def _inner_prod(self, x: Any, y: Any) -> Any:
        return np.real(np.dot(np.conj(np.ravel(x)), np.ravel(y)))

    def _covector(self, x: Any) -> Any:
        return np.conj(x)


def _of_array(x: Any) -> VSpace:
    return ComplexArrayVSpace(x) if x.dtype.kind == "c" else ArrayVSpace(x)


VSpace.register(np.ndarray, _of_array)
for _type in (float, np.longdouble, np.float64, np.float32, np.float16):
    ArrayVSpace.register(_type)
for _complex in (complex, np.clongdouble, np.complex64, np.complex128):
    ComplexArrayVSpace.register(_complex)


def _register_result(kind: type) -> None:
    """A namedtuple that a function of np.linalg gives."""
    space = type(f"{kind.__name__}VSpace", (NamedTupleVSpace,), {"seq_type": kind, "__slots__": ()})
    VSpace.register(kind, space)


_matrix = np.eye(1)
RESULTS = [
    type(f(_matrix)) for f in (np.linalg.eig, np.linalg.eigh, np.linalg.slogdet, np.linalg.svd, np.linalg.qr)
]
for _kind in RESULTS:
    _register_result(_kind)
