"""Stages as members of a group: what fusion looks at when it joins them."""

from __future__ import annotations

from math import prod

from headrace.codegen.fusion.inlining import weight
from headrace.codegen.ir.kernel_ir import Array, Expr, Var
from headrace.codegen.ir.traverse import loads, walk

MAX_MEMBERS, MAX_WEIGHT = 48, 400


class Member:
    """A stage in a group.  `loops` are its dimensions of more than one element."""

    __slots__ = ("array", "body", "extents", "is_row", "loads", "loops", "longest", "rank", "weight")

    def __init__(self, array: Array, loops: tuple[Var, ...], body: Expr, is_row: bool) -> None:
        self.array, self.loops, self.body, self.is_row = array, loops, body, is_row
        self.rank, self.extents = len(loops), tuple(v.extent for v in loops)
        self.loads, self.weight = loads(body), weight(body)
        folds = [x.extra[1] for x in walk(body) if x.op == "reduce"]
        self.longest = max((prod(v.extent for v in loops) for loops in folds), default=0)

    @property
    def goes_down(self) -> bool:
        """Reduces down the columns: one result per lane."""
        return self.longest > 0 and not self.is_row

    def row_length(self, rank: int) -> int:
        return max(prod(self.extents[rank:]), self.longest)
