"""What an op's rule turns into: arrays, each with the way it is made.

`Tensor.source` is one of these, or None for an input of the program.  A stage is made in its own
loop or as part of another one: that is decided by fusion.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headrace.codegen.kernel_ir import Compute, Expr, Tensor, Var
from headrace.ops.emit import LibraryCall


@dataclass(frozen=True, slots=True)
class Scatter:
    """A copy of `into`, changed at `place` for every index of the loops, in order."""

    into: Tensor
    vars: tuple[Var, ...]
    place: tuple[Expr, ...]
    value: Expr
    how: str


@dataclass(frozen=True, slots=True)
class ViewOf:
    """The elements of `base` in the same order."""

    base: Tensor


@dataclass(frozen=True, slots=True)
class Assembled:
    """Blocks side by side; each has its own offset."""

    parts: tuple[tuple[tuple[int, ...], Tensor], ...]


@dataclass(frozen=True, slots=True)
class Called:
    """Output of a library call.  One call may make several arrays: `call` is the same object."""

    call: LibraryCall
    inputs: tuple[Tensor, ...]


@dataclass(frozen=True, slots=True)
class Temporary:
    """Memory that a library call uses for itself."""


NO_PLACE = (1 << 63) - 1

Source = Compute | Scatter | ViewOf | Assembled | Called | Temporary


@dataclass(frozen=True, slots=True, eq=False)
class Check:
    """The step fails unless `bad`, the first place where something does not hold, is NO_PLACE."""

    bad: Tensor  # an int64 scalar: a flat place in `shape`
    shape: tuple[int, ...]
    message: str
    value: Tensor | None = None  # the number found there, for the message
    extent: int = 0
    node: Any = None  # who asked


@dataclass(frozen=True, slots=True)
class Update:
    """A variable gets a new value."""

    variable: Tensor
    value: Tensor


def memory(tensor: Tensor) -> Tensor:
    """The array whose memory a reshape shows; the array itself if it is none."""
    while isinstance(tensor.source, ViewOf):
        tensor = tensor.source.base
    return tensor
