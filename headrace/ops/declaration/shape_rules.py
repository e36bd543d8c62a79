"""Shape rules that many ops share, and `Input`: what a rule sees of an input.

A rule gets one `Input` per argument (a list of them for a list argument) and the attributes that it
names as keyword arguments; it returns a Shape, or a list of them for several outputs.  It refuses
with `require` or by ValueError; unknown sizes must pass.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.core.dtypes import DType
from headrace.core.errors import require
from headrace.core.modules import late
from headrace.core.shapes import SCALAR, UNKNOWN, Dim, Shape, as_shape, broadcast_sizes, make_shape, show

constants = late("headrace.ops.declaration.constants")

if TYPE_CHECKING:
    from headrace.graph.node import Node
    from headrace.graph.tensor import Tensor


class Input(Shape):
    """The shape of an input, with what else is known of it while the graph is built."""

    __slots__ = ("dtype", "_tensor")
    dtype: DType
    _tensor: Any  # the Tensor; None where codegen asks a rule with all sizes known

    @staticmethod
    def from_tensor(tensor: Tensor) -> Input:
        view = object.__new__(Input)
        view._sizes, view.dtype, view._tensor = tensor._shape._sizes, tensor._dtype, tensor
        return view

    def plain(self) -> Shape:
        return make_shape(self._sizes)

    @property
    def value(self) -> Any:
        """The NumPy value, where it follows from constants alone; else None."""
        return constants.constant(self._tensor)

    @property
    def as_sizes(self) -> tuple[Dim, ...] | None:
        """The value of a vector of sizes, entries None where unknown (and for -1)."""
        return constants.partial_vector(self._tensor)

    @property
    def as_shape(self) -> Shape:
        """The shape that this vector describes; -1 stands for an unknown size."""
        value = self.value
        if value is not None and value.size:
            wrong = [n for n in value.reshape(-1).tolist() if n < -1]
            require(not wrong, f"Invalid value in tensor used for shape: {wrong[:1]}")
        sizes = self.as_sizes
        if sizes is not None:
            return make_shape(sizes)
        length = self.dim(0) if self.rank == 1 else None
        return UNKNOWN if length is None else make_shape((None,) * length)

    @property
    def node(self) -> Node:
        """The node that gives it."""
        found: Node = self._tensor.op
        return found

    @property
    def handle(self) -> tuple[DType, Shape] | None:
        data: tuple[DType, Shape] | None = self._tensor.handle_data
        return data


def same(x: Input, *others: Any) -> Shape:
    """The shape of the first input."""
    return x.plain()


def merged(*inputs: Input) -> Shape:
    """All inputs have one shape."""
    out: Shape = UNKNOWN
    for x in inputs:
        out = out.merge_with(x.plain())
    return out


def scalar(*inputs: Any) -> Shape:
    return SCALAR


def unknown(*inputs: Any) -> Shape:
    return UNKNOWN


def none(*inputs: Any) -> list[Shape]:
    """No outputs."""
    return []


def vector(*inputs: Any) -> Shape:
    """A vector of unknown length."""
    return Shape.of(None)


def broadcast(x: Input, y: Input, *rest: Any) -> Shape:
    """NumPy's broadcasting of two inputs."""
    if x.rank is None or y.rank is None:
        return UNKNOWN
    try:
        return make_shape(broadcast_sizes(x.sizes, y.sizes))
    except ValueError:
        raise ValueError(
            f"Dimensions must be equal, but are {_conflict(x.sizes, y.sizes)} "
            f"with input shapes: {show(x)}, {show(y)}."
        ) from None


def _conflict(a: tuple[Dim, ...], b: tuple[Dim, ...]) -> str:
    for x, y in zip(reversed(a), reversed(b)):
        if x != y and None not in (x, y) and 1 not in (x, y):
            return f"{x} and {y}"
    return "?"


def normalize_axis(axis: int, rank: int) -> int:
    require(
        -rank <= axis < rank,
        f"Invalid reduction dimension {axis} for input with {rank} dimensions. "
        f"Must be in range [{-rank}, {rank})",
    )
    return axis % rank if rank else axis


def reduced(x: Input, axis: Input, *, keep_dims: bool) -> Shape:
    """`x` without (or with 1 in place of) the dimensions named by the constant `axis`."""
    if x.rank is None:
        return UNKNOWN
    axes = axis.value
    if axes is None:
        known_count = axis.num_elements() if axis.rank in (0, 1) else None
        if keep_dims:
            return make_shape((None,) * x.rank)
        if (known_count is not None and axis.rank == 0) or known_count == 1:
            return make_shape((None,) * (x.rank - 1))
        return UNKNOWN
    gone = {normalize_axis(int(a), x.rank) for a in axes.ravel()}
    sizes = x.sizes
    if keep_dims:
        return make_shape(1 if i in gone else s for i, s in enumerate(sizes))
    return make_shape(s for i, s in enumerate(sizes) if i not in gone)


def from_attr(*inputs: Any, shape: Any) -> Shape:
    """The attribute `shape` says it."""
    return as_shape(shape)


def require_rank(x: Input, rank: int) -> None:
    require(x.rank in (None, rank), f"Shape must be rank {rank} but is rank {x.rank} (it is {show(x)})")
