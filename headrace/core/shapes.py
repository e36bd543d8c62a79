"""Partially known shapes.  A `Shape` is immutable: `dims` is None (unknown rank) or a tuple whose
entries are ints or None.  `Dimension` is TF1's view of one entry; shape rules use plain ints.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar

import numpy as np

from headrace.core.fields import reads
from headrace.core.sizes import Size

Dim = int | None


class Dimension:
    """One dimension: a size or unknown.  Arithmetic with an unknown one is unknown."""

    __slots__ = ("_value",)

    def __init__(self, value: Any) -> None:
        self._value = _as_dim(value)

    value: Dim = reads("_value")

    def __eq__(self, other: Any) -> Any:
        """None where either is unknown, as in TF."""
        try:
            other = Dimension(other)
        except (TypeError, ValueError):
            return NotImplemented
        return _if_known(self, other, lambda a, b: a == b)

    def __ne__(self, other: Any) -> Any:
        try:
            other = Dimension(other)
        except (TypeError, ValueError):
            return NotImplemented
        return _if_known(self, other, lambda a, b: a != b)

    def __hash__(self) -> int:
        if self._value is None:
            raise ValueError("Unable to hash Dimension with value 'None'")
        return hash(self._value)

    def __int__(self) -> int:
        return self._value  # type: ignore[return-value]  # TypeError for unknown, as in TF

    __long__ = __int__

    def __index__(self) -> int:
        return self._value  # type: ignore[return-value]

    def __str__(self) -> str:
        return "?" if self._value is None else str(self._value)

    def __repr__(self) -> str:
        return f"Dimension({self._value})"

    def is_compatible_with(self, other: Any) -> bool:
        other = Dimension(other)
        return self._value is None or other._value is None or self._value == other._value

    def assert_is_compatible_with(self, other: Any) -> None:
        if not self.is_compatible_with(other):
            raise ValueError(f"Dimensions {self} and {other} are not compatible")

    def merge_with(self, other: Any) -> Dimension:
        other = Dimension(other)
        self.assert_is_compatible_with(other)
        return other if self._value is None else Dimension(self._value)

    def __add__(self, other: Any) -> Any:
        return _arithmetic(self, other, lambda a, b: a + b)

    def __radd__(self, other: Any) -> Any:
        return _arithmetic(other, self, lambda a, b: a + b)

    def __sub__(self, other: Any) -> Any:
        return _arithmetic(self, other, lambda a, b: a - b)

    def __rsub__(self, other: Any) -> Any:
        return _arithmetic(other, self, lambda a, b: a - b)

    def __mul__(self, other: Any) -> Any:
        return _arithmetic(self, other, lambda a, b: a * b)

    def __rmul__(self, other: Any) -> Any:
        return _arithmetic(other, self, lambda a, b: a * b)

    def __floordiv__(self, other: Any) -> Any:
        return _arithmetic(self, other, lambda a, b: a // b)

    def __rfloordiv__(self, other: Any) -> Any:
        return _arithmetic(other, self, lambda a, b: a // b)

    __div__ = __floordiv__

    def __truediv__(self, other: Any) -> Any:
        raise TypeError(
            f"unsupported operand type(s) for /: 'Dimension' and "
            f"'{type(other).__name__}', please use // instead"
        )

    def __rtruediv__(self, other: Any) -> Any:
        raise TypeError(
            f"unsupported operand type(s) for /: '{type(other).__name__}' and "
            f"'Dimension', please use // instead"
        )

    def __mod__(self, other: Any) -> Any:
        return _arithmetic(self, other, lambda a, b: a % b)

    def __rmod__(self, other: Any) -> Any:
        return _arithmetic(other, self, lambda a, b: a % b)

    def __lt__(self, other: Any) -> Any:
        return _if_known(self, Dimension(other), lambda a, b: a < b)

    def __le__(self, other: Any) -> Any:
        return _if_known(self, Dimension(other), lambda a, b: a <= b)

    def __gt__(self, other: Any) -> Any:
        return _if_known(self, Dimension(other), lambda a, b: a > b)

    def __ge__(self, other: Any) -> Any:
        return _if_known(self, Dimension(other), lambda a, b: a >= b)

    def __reduce__(self) -> Any:
        return Dimension, (self._value,)


def _if_known(a: Dimension, b: Dimension, compare: Any) -> bool | None:
    if a._value is None or b._value is None:
        return None
    return bool(compare(a._value, b._value))


def _arithmetic(a: Any, b: Any, combine: Any) -> Any:
    try:
        a, b = Dimension(a), Dimension(b)
    except (TypeError, ValueError):
        return NotImplemented
    if a._value is None or b._value is None:
        return Dimension(None)
    return Dimension(combine(a._value, b._value))


def _as_dim(value: Any) -> Dim:
    if value is None or type(value) is Size:
        return value  # type: ignore[return-value]
    if isinstance(value, Dimension):
        return value._value
    if isinstance(value, (bool, np.bool_)) or hasattr(value, "as_datatype_enum"):
        raise TypeError(f"Cannot convert {value} to Dimension")
    if hasattr(value, "__index__"):
        size = value.__index__()
    else:
        try:
            size = int(value)
        except (TypeError, ValueError):
            raise TypeError(f"Cannot convert {value!r} to Dimension") from None
        if size != value and not isinstance(value, (str, bytes)):
            raise ValueError(f"Ambiguous dimension: {value}")
    if size < 0:
        raise ValueError(f"Dimension {size} must be >= 0")
    return int(size)


class Shape:
    """A shape of known or unknown rank.  Public as `tf.TensorShape`."""

    __slots__ = ("_sizes",)
    _sizes: tuple[Dim, ...] | None

    def __init__(self, dims: Any) -> None:
        self._sizes = _sizes_of(dims)

    @staticmethod
    def of(*sizes: Dim) -> Shape:
        """A shape from plain sizes, without the conversions of the constructor."""
        return make_shape(sizes)

    # -- what rules use ------------------------------------------------------------------
    @property
    def sizes(self) -> tuple[Dim, ...]:
        """The entries as ints or None.  Only for a known rank."""
        if self._sizes is None:
            raise ValueError("the rank is not known")
        return self._sizes

    @property
    def rank(self) -> int | None:
        return None if self._sizes is None else len(self._sizes)

    @property
    def is_full(self) -> bool:
        return self._sizes is not None and None not in self._sizes

    @property
    def known_sizes(self) -> tuple[int, ...] | None:
        """The sizes, where all of them are known."""
        if self._sizes is None:
            return None
        found = tuple(n for n in self._sizes if n is not None)
        return found if len(found) == len(self._sizes) else None

    def dim(self, index: int) -> Dim:
        """Entry `index`, or None where it or the rank is unknown."""
        return None if self._sizes is None else self._sizes[index]

    # -- TF's public form ----------------------------------------------------------------
    ndims: int | None = reads("rank")

    @property
    def dims(self) -> list[Dimension] | None:
        return None if self._sizes is None else [Dimension(s) for s in self._sizes]

    _dims: list[Dimension] | None = reads("dims")

    def __len__(self) -> int:
        if self._sizes is None:
            raise ValueError("Cannot take the length of Shape with unknown rank.")
        return len(self._sizes)

    def __bool__(self) -> bool:
        return self._sizes is not None

    __nonzero__ = __bool__

    def __iter__(self) -> Iterator[Dimension]:
        if self._sizes is None:
            raise ValueError("Cannot iterate over a shape with unknown rank.")
        return iter([Dimension(s) for s in self._sizes])

    def __getitem__(self, key: Any) -> Any:
        if self._sizes is not None:
            if isinstance(key, slice):
                return make_shape(self._sizes[key])
            return Dimension(self._sizes[key])
        if not isinstance(key, slice):
            return Dimension(None)
        start, stop = key.start or 0, key.stop
        if key.step is not None:
            raise ValueError("Steps are not yet handled")
        if stop is None or start < 0 > stop or (start >= 0) != (stop >= 0):
            return UNKNOWN
        return make_shape((None,) * max(0, stop - start))

    def num_elements(self) -> int | None:
        if not self.is_full:
            return None
        count = 1
        for size in self.sizes:
            count *= size  # type: ignore[operator]
        return count

    def is_fully_defined(self) -> bool:
        return self.is_full

    def assert_is_fully_defined(self) -> None:
        if not self.is_full:
            raise ValueError(f"Shape {self} is not fully defined")

    def as_list(self) -> list[Dim]:
        if self._sizes is None:
            raise ValueError("as_list() is not defined on an unknown TensorShape.")
        return list(self._sizes)

    # Given by formats.shape_proto, which knows the message.
    as_proto: ClassVar[Callable[[Shape], Any]]

    def is_compatible_with(self, other: Any) -> bool:
        other = as_shape(other)
        if self._sizes is None or other._sizes is None:
            return True
        return len(self._sizes) == len(other._sizes) and all(
            a is None or b is None or a == b for a, b in zip(self._sizes, other._sizes)
        )

    def assert_is_compatible_with(self, other: Any) -> None:
        if not self.is_compatible_with(other):
            raise ValueError(f"Shapes {self} and {as_shape(other)} are incompatible")

    def most_specific_compatible_shape(self, other: Any) -> Shape:
        other = as_shape(other)
        if self._sizes is None or other._sizes is None or self.rank != other.rank:
            return UNKNOWN
        pairs = zip(self._sizes, other._sizes)
        return make_shape(tuple(a if a == b else None for a, b in pairs))

    def merge_with(self, other: Any) -> Shape:
        second = as_shape(other)
        if self._sizes is None:
            return second
        if second._sizes is None:
            return self
        if not self.is_compatible_with(second):
            raise ValueError(f"Shapes {self} and {second} are not compatible")
        pairs = zip(self._sizes, second._sizes)
        return make_shape(tuple(b if a is None else a for a, b in pairs))

    def concatenate(self, other: Any) -> Shape:
        other = as_shape(other)
        if self._sizes is None or other._sizes is None:
            return UNKNOWN
        return make_shape(self._sizes + other._sizes)

    def with_rank(self, rank: int) -> Shape:
        try:
            return self.merge_with(make_shape((None,) * rank))
        except ValueError:
            raise ValueError(f"Shape {self} must have rank {rank}") from None

    def with_rank_at_least(self, rank: int) -> Shape:
        if self._sizes is not None and len(self._sizes) < rank:
            raise ValueError(f"Shape {self} must have rank at least {rank}")
        return self

    def with_rank_at_most(self, rank: int) -> Shape:
        if self._sizes is not None and len(self._sizes) > rank:
            raise ValueError(f"Shape {self} must have rank at most {rank}")
        return self

    def assert_has_rank(self, rank: int) -> None:
        if self.rank not in (None, rank):
            raise ValueError(f"Shape {self} must have rank {rank}")

    def assert_same_rank(self, other: Any) -> None:
        other = as_shape(other)
        if self.rank is not None and other.rank is not None and self.rank != other.rank:
            raise ValueError(f"Shapes {self} and {other} must have the same rank")

    def __add__(self, other: Any) -> Shape:
        return self.concatenate(other)

    def __radd__(self, other: Any) -> Shape:
        return as_shape(other).concatenate(self)

    def __eq__(self, other: object) -> bool:
        try:
            return self._sizes == as_shape(other)._sizes
        except (TypeError, ValueError):
            return NotImplemented

    def __ne__(self, other: object) -> bool:
        try:
            other = as_shape(other)
        except (TypeError, ValueError):
            return NotImplemented
        if self._sizes is None or other._sizes is None:
            raise ValueError("The inequality of unknown TensorShapes is undefined.")
        return self._sizes != other._sizes

    def __hash__(self) -> int:
        return hash(self._sizes)

    def __str__(self) -> str:
        if self._sizes is None:
            return "<unknown>"
        inner = ", ".join("?" if s is None else str(s) for s in self._sizes)
        return f"({inner},)" if len(self._sizes) == 1 else f"({inner})"

    def __repr__(self) -> str:
        if self._sizes is None:
            return "TensorShape(None)"
        return f"TensorShape([{', '.join(f'Dimension({s})' for s in self._sizes)}])"

    def __reduce__(self) -> Any:
        return Shape, (None if self._sizes is None else list(self._sizes),)


def _sizes_of(dims: Any) -> tuple[Dim, ...] | None:
    if dims is None:
        return None
    if isinstance(dims, Shape):
        return dims._sizes
    if hasattr(dims, "unknown_rank"):  # a TensorShapeProto
        if dims.unknown_rank:
            return None
        return tuple(None if d.size == -1 else _as_dim(d.size) for d in dims.dim)
    if isinstance(dims, (str, bytes)):
        raise TypeError(f"A shape can not be made from the text {dims!r}")
    if isinstance(dims, Iterable):
        return tuple(_as_dim(d) for d in dims)
    return (_as_dim(dims),)


def make_shape(sizes: Iterable[Dim] | None) -> Shape:
    """A Shape from entries that are known to be ints or None."""
    shape = object.__new__(Shape)
    shape._sizes = None if sizes is None else tuple(sizes)
    return shape


def as_shape(value: Any) -> Shape:
    return value if isinstance(value, Shape) else Shape(value)


UNKNOWN = make_shape(None)
SCALAR = make_shape(())


def broadcast_sizes(a: tuple[Dim, ...], b: tuple[Dim, ...]) -> tuple[Dim, ...]:
    """NumPy's broadcasting with unknown entries.  Raises ValueError where sizes conflict."""
    longer, shorter = (a, b) if len(a) >= len(b) else (b, a)
    out = list(longer[: len(longer) - len(shorter)])
    for x, y in zip(longer[len(out) :], shorter):
        if x == 1:
            out.append(y)
        elif y == 1 or x == y:
            out.append(x)
        elif x is None:
            out.append(y)  # an unknown size must be 1 or y
        elif y is None:
            out.append(x)
        else:
            raise ValueError(f"{show(a)} and {show(b)}")
    return tuple(out)


def show(shape: Shape | Iterable[Any]) -> str:
    """The short form in error messages and plan text: [?,784]; '?' for an unknown rank."""
    sizes = shape._sizes if isinstance(shape, Shape) else shape
    if sizes is None:
        return "?"
    return "[" + ",".join("?" if s is None else str(s) for s in sizes) + "]"
