"""A tensor's numbers: one storage in a row, and the shape and strides that say which number is where.

A view or a permutation has other strides over the same storage.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

MAX_DIMS = 32

Storage: TypeAlias = npt.NDArray[np.float64]
OutIndex: TypeAlias = npt.NDArray[np.int32]
Index: TypeAlias = npt.NDArray[np.int32]
Shape: TypeAlias = npt.NDArray[np.int32]
Strides: TypeAlias = npt.NDArray[np.int32]
UserIndex: TypeAlias = Sequence[int]
UserShape: TypeAlias = Sequence[int]
UserStrides: TypeAlias = Sequence[int]


class IndexingError(RuntimeError):
    """An index, a shape or an order that does not fit."""


def index_to_position(index: Any, strides: Any) -> int:
    """Where in the storage an index is."""
    return int(sum(i * s for i, s in zip(index, strides)))


def to_index(ordinal: int, shape: Any, out_index: Any) -> None:
    """The index that comes `ordinal`-th in the order of a row, into `out_index`."""
    for i in range(len(shape) - 1, -1, -1):
        out_index[i] = int(ordinal % shape[i])
        ordinal = ordinal // shape[i]


def broadcast_index(big_index: Any, big_shape: Any, shape: Any, out_index: Any) -> None:
    """The index in a smaller tensor that is broadcast to a larger shape, into `out_index`."""
    more = len(big_shape) - len(shape)
    for i, size in enumerate(shape):
        out_index[i] = big_index[i + more] if size > 1 else 0


def shape_broadcast(shape1: UserShape, shape2: UserShape) -> UserShape:
    """The shape that both are broadcast to."""
    rank = max(len(shape1), len(shape2))
    pairs = zip((1,) * (rank - len(shape1)) + tuple(shape1), (1,) * (rank - len(shape2)) + tuple(shape2))
    found = []
    for m, n in pairs:
        if m != n and 1 not in (m, n):
            raise IndexingError(f"shapes {tuple(shape1)} and {tuple(shape2)} do not broadcast")
        found.append(n if m == 1 else m)
    return tuple(found)


def strides_from_shape(shape: UserShape) -> UserStrides:
    """The strides of numbers in the order of a row."""
    found = [1]
    for size in reversed(shape[1:]):
        found.append(size * found[-1])
    return tuple(found[::-1])


class TensorData:
    """Storage, shape and strides."""

    def __init__(self, storage: Any, shape: UserShape, strides: UserStrides | None = None) -> None:
        self._storage: Storage = (
            storage if isinstance(storage, np.ndarray) else np.array(storage, dtype=np.float64)
        )
        strides = strides_from_shape(shape) if strides is None else strides
        if not (isinstance(shape, tuple) and isinstance(strides, tuple)):
            raise TypeError("shape and strides are tuples")
        if len(strides) != len(shape):
            raise IndexingError(f"strides {strides} are not of as many axes as shape {shape}")
        self.shape, self.strides, self.dims = shape, strides, len(shape)
        self._shape, self._strides = np.array(shape), np.array(strides)
        self.size = int(np.prod(shape))
        if len(self._storage) != self.size:
            raise IndexingError(f"{len(self._storage)} numbers do not make the shape {shape}")

    def array(self) -> Storage:
        """The numbers as an array over the storage itself."""
        item = self._storage.itemsize
        found: Storage = np.lib.stride_tricks.as_strided(
            self._storage, self.shape, [s * item for s in self.strides]
        )
        return found

    def is_contiguous(self) -> bool:
        """Whether the numbers are in the order of a row."""
        return all(a >= b for a, b in zip(self.strides, self.strides[1:]))

    @staticmethod
    def shape_broadcast(shape_a: UserShape, shape_b: UserShape) -> UserShape:
        return shape_broadcast(shape_a, shape_b)

    def index(self, index: int | UserIndex) -> int:
        """Where in the storage an index is; it is checked."""
        found = (index,) if isinstance(index, (int, np.integer)) else tuple(index)
        if len(found) != len(self.shape):
            raise IndexingError(f"index {found} has not as many axes as shape {self.shape}")
        for i, size in zip(found, self.shape):
            if i < 0:
                raise IndexingError(f"negative index {found}")
            if i >= size:
                raise IndexingError(f"index {found} is out of shape {self.shape}")
        return index_to_position(found, self.strides)

    def indices(self) -> Iterable[UserIndex]:
        return (tuple(index) for index in np.ndindex(*self.shape))

    def sample(self) -> UserIndex:
        """Some index."""
        return tuple(random.randint(0, size - 1) for size in self.shape)

    def get(self, key: UserIndex) -> float:
        return float(self._storage[self.index(key)])

    def set(self, key: UserIndex, val: float) -> None:
        self._storage[self.index(key)] = val

    def tuple(self) -> tuple[Storage, Shape, Strides]:
        return self._storage, self._shape, self._strides

    def permute(self, *order: int) -> TensorData:
        """Axes in another order, over the same storage."""
        if sorted(order) != list(range(len(self.shape))):
            raise IndexingError(f"{order} is not an order of the axes of shape {self.shape}")
        shape, strides = (tuple(sizes[o] for o in order) for sizes in (self.shape, self.strides))
        return TensorData(self._storage, shape, strides)

    def to_string(self) -> str:
        """Rows within brackets, one to a line."""
        text = ""
        for index in self.indices():
            starts = 0  # axes that begin here
            while starts < len(index) and index[-1 - starts] == 0:
                starts += 1
            for axis in range(len(index) - starts, len(index)):
                text += "\n" + "\t" * axis + "["
            text += f"{self.get(index):3.6f}"
            ends = 0
            while ends < len(index) and index[-1 - ends] == self.shape[-1 - ends] - 1:
                ends += 1
            text += "]" * ends or " "
        return text
