"""A kernel: rows, and for each row a few sweeps over inner loops.

    for each row (in parallel):             # `rows`
        for each sweep, in order:
            for each index of its loops:    # the last one vectorised
                its actions: store a value, or accumulate into a result of the row

Sweeps see the results that earlier ones accumulated (`Acc`), so softmax is three sweeps of one
kernel. A kernel without rows and with one loop may be `ranged`: then threads share that loop.

In a kernel of some `width` no loop is vectorised: each value that depends on the lane is a vector
already, such as the channels of a block, and so are the results that sweeps accumulate.
"""

from __future__ import annotations

import itertools
from dataclasses import field

from headrace.codegen.ir.kernel_ir import Array, Expr, Kind, Var, make
from headrace.core.records import record

_serial = itertools.count()


class Acc:
    """The result of a reduction, one per row."""

    __slots__ = ("how", "is_wide", "kind", "serial")

    def __init__(self, how: str, kind: Kind, is_wide: bool = False) -> None:
        self.how, self.kind, self.serial = how, kind, next(_serial)
        self.is_wide = is_wide  # a result per lane (see Kernel.width)

    @property
    def expr(self) -> Expr:
        return make("acc", (), self.kind, self)

    def __repr__(self) -> str:
        return f"acc{self.serial}"


@record
class Store:
    """tensor[index] = value; or += and the like, one after the other."""

    array: Array
    index: tuple[Expr, ...]
    value: Expr
    how: str = "set"


@record
class Accumulate:
    """acc = acc (how) value."""

    acc: Acc
    value: Expr


Action = Store | Accumulate


@record
class Sweep:
    """Loops, outermost first, and what they do: all values first, then all stores."""

    loops: tuple[Var, ...]
    actions: tuple[Action, ...]
    is_vector: bool = True
    # (loop, block): the sweep works on squares; `block`, a row, counts stretches of `loop`.
    tile: tuple[Var, Var] | None = None


@record
class Kernel:
    rows: tuple[Var, ...]
    sweeps: tuple[Sweep, ...]
    lanes: int
    unroll: int = 1
    is_ranged: bool = False  # begin and end restrict the only loop instead of the rows
    temporaries: frozenset[Array] = field(default_factory=frozenset)  # one row each, per thread
    name: str = "kernel"
    width: int = 1  # numbers per value; then `unroll` counts rounds of a sweep's last loop

    @property
    def work(self) -> int:
        """How far the parallel range goes."""
        if self.is_ranged:
            return self.sweeps[0].loops[-1].extent
        count = 1
        for row in self.rows:
            count *= row.extent
        return count
