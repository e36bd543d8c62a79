"""Checks that shape rules share.  Unknown sizes pass; what is refused has TF's message."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.core.dtypes import DType
from headrace.core.errors import InvalidArgumentError, require
from headrace.core.shapes import UNKNOWN, Dim, Shape, make_shape, show
from headrace.core.sizes import whole
from headrace.ops.declaration.shape_rules import Input


def held_shape(resource: Input, dtype: DType) -> Shape:
    """The shape of the variable that a handle leads to, which must hold values of this type."""
    if resource.handle is None:
        return UNKNOWN
    held, shape = resource.handle
    require(held is dtype, f"Trying to read variable with wrong dtype. Expected {held.name} got {dtype.name}")
    return shape


def with_rank(x: Shape, rank: int) -> Shape:
    """`x`, of this rank."""
    if x.rank is None:
        return make_shape((None,) * rank)
    require(x.rank == rank, f"Shape must be rank {rank} but is rank {x.rank} (it is {show(x)})")
    return make_shape(x.sizes)


def scalars(*shapes: Shape) -> None:
    """All of them are scalars."""
    for x in shapes:
        with_rank(x, 0)


def with_rank_at_least(x: Shape, rank: int) -> Shape:
    require(
        x.rank is None or x.rank >= rank,
        f"Shape must be at least rank {rank} but is rank {x.rank} (it is {show(x)})",
    )
    return make_shape(x._sizes)


def with_rank_at_most(x: Shape, rank: int) -> Shape:
    require(
        x.rank is None or x.rank <= rank,
        f"Shape must be at most rank {rank} but is rank {x.rank} (it is {show(x)})",
    )
    return make_shape(x._sizes)


def with_size(found: Dim, wanted: Dim) -> Dim:
    """The size that two entries agree on."""
    if found is None:
        return wanted
    require(wanted in (None, found), f"Dimension must be {wanted} but is {found}")
    return found


def merge_sizes(a: Dim, b: Dim) -> Dim:
    """The size of two entries that must be equal."""
    require(None in (a, b) or a == b, f"Dimensions must be equal, but are {a} and {b}")
    return b if a is None else a


def merge(a: Shape, b: Shape) -> Shape:
    """The shape that both describe."""
    if a.rank is None or b.rank is None:
        return make_shape(b._sizes if a.rank is None else a._sizes)
    require(a.rank == b.rank, f"Shapes must be equal rank, but are {a.rank} and {b.rank}")
    for i, (x, y) in enumerate(zip(a.sizes, b.sizes)):
        require(
            None in (x, y) or x == y,
            f"Dimension {i} in both shapes must be equal, but are {x} and {y}. "
            f"Shapes are {show(a)} and {show(b)}.",
        )
    return make_shape(y if x is None else x for x, y in zip(a.sizes, b.sizes))


def merge_all(shapes: Sequence[Shape]) -> Shape:
    """One shape for all of them; the message says which one differs."""
    out: Shape = UNKNOWN
    for i, shape in reversed(list(enumerate(shapes))):
        try:
            out = merge(shape, out)
        except InvalidArgumentError as error:
            message = f"{error.message}\n\tFrom merging shape {i} with other shapes."
            raise InvalidArgumentError(None, None, message) from None
    return out


def concatenate(*parts: Shape) -> Shape:
    """Shapes one after the other; unknown if one of them is."""
    out: tuple[Dim, ...] = ()
    for part in parts:
        if part.rank is None:
            return UNKNOWN
        out += part.sizes
    return make_shape(out)


def described_by(vector: Input) -> Shape:
    """The shape whose sizes are the elements of `vector`, as far as they are known."""
    with_rank(vector, 1)
    return vector.as_shape


def scalar_value(x: Input) -> int | None:
    """The integer that a scalar input holds, if it is known."""
    with_rank(x, 0)
    value = x.value
    return None if value is None else whole(value.item())


def scalar_size(x: Input, number: int) -> int | None:
    """The size that scalar input `number` holds, if it is known."""
    require(x.rank in (None, 0), f"Input must be scalar but has rank {x.rank}")
    size = scalar_value(x)
    require(
        size is None or size >= 0,
        f"Dimension size, given by scalar input {number}, must be non-negative but is {size}",
    )
    return size


def axis_in(axis: int, rank: int) -> int:
    """A non-negative axis below `rank`."""
    require(
        -rank <= axis < rank,
        f"Dimension size, given by scalar input {axis} must be in range [{-rank}, {rank})",
    )
    return axis % rank


def divided(size: Dim, by: int) -> Dim:
    """A size in `by` equal parts."""
    if size is None:
        return None
    require(size % by == 0, f"Dimension size must be evenly divisible by {by} but is {size}")
    return size // by


def replaced(shape: Shape, axis: int, size: Dim) -> Shape:
    """`shape` with another size at `axis`."""
    sizes = list(shape.sizes)
    sizes[axis] = size
    return make_shape(sizes)
