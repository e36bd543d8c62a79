"""Unique of the rows that a step updates, without a shape that changes from step to step.

An optimizer adds up the gradients of equal rows before it applies them: Unique finds the rows,
UnsortedSegmentSum adds.  How many distinct rows there are is known only when the step runs.  Where
nothing but such updates sees the result, all rows stay in their places instead: of equal ones the
last leads, the sum stands at its place and zeros at those of the others.  Whoever adds to the table
adds zeros there; whoever sets rows asks for `leaders` and sets equal rows to equal values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.codegen.ir import kernel_ir as ir
from headrace.codegen.ir.complex_numbers import Operand
from headrace.codegen.ir.kernel_ir import Array, Expr
from headrace.ops.array import reshape
from headrace.ops.array.indexing.segment import unsorted_segment_sum
from headrace.ops.array.slices.strided_slice import strided_slice
from headrace.ops.declaration.emit import Decline
from headrace.ops.declaration.traits import ADDS_ROWS, IDENTITY, KEEPS_ZERO, SETS_ROWS
from headrace.plan.plan import Edge, PlanNode

if TYPE_CHECKING:
    from headrace.codegen.lowering.specialize import Specializer

OUTSIDE = "indices{at} = {value} is not in [0, {extent})"


def add(s: Specializer, node: PlanNode) -> None:
    """Unique, of a Specializer's region."""
    rows = _Uses(s, node).rows()
    ids = s.operand(node.inputs[0])
    if not isinstance(ids, Array) or len(ids.shape) != 1 or not ids.kind.is_integer:
        raise Decline("how many there are depends on values")
    e, (count,) = s.emitter, ids.shape
    e.node = node

    def place(k: Expr) -> Expr:
        return e.checked(ids[k], rows, OUTSIDE)

    last = e.scatter("set", e.unwritten((rows,), "int32"), (count,), place, lambda k: ir.cast(k, ir.I32))
    leaders = e.compute((count,), lambda k: last[place(k)])
    kept = e.compute((count,), lambda k: ids[k])
    kept.name = node.name
    e.repeated[kept] = leaders
    s.values[Edge(node.name, 0)] = kept
    kind = ir.kind_of(node.outputs[1].dtype)
    s.values[Edge(node.name, 1)] = e.compute((count,), lambda k: ir.cast(leaders[k], kind))


class _Uses:
    """Who sees the distinct rows, their numbers, and the sums."""

    def __init__(self, s: Specializer, node: PlanNode) -> None:
        self.specializer, self.node = s, node
        self.users: dict[Edge, list[tuple[PlanNode, int]]] = {}
        for user in s.plan.nodes.values():
            for number, edge in enumerate(user.inputs):
                self.users.setdefault(edge, []).append((user, number))
        self.inside = {n.name for n in s.region.nodes}
        self.seen = {*s.plan.fetches, *s.region.outputs, *s.region.kept}
        self.tables: list[Operand] = []

    def rows(self) -> int:
        """The rows of the tables that are updated.  Declines where another node sees the
        distinct rows."""
        if self.node.name not in self.inside:
            raise Decline("how many there are depends on values")
        sums = []
        for user, number in self.of(Edge(self.node.name, 1)):
            self.must(user.op is unsorted_segment_sum and number == 1)
            sums.append(Edge(user.name, 0))
        for user, number in self.of(Edge(self.node.name, 0)):
            if user.op is reshape.shape:
                self.sizes(Edge(user.name, 0), sums)
            else:
                self.must(number == self.indices_of(user))
                self.tables.append(self.specializer.operand(user.inputs[0]))
        for edge in sums:
            self.follow(edge)
        self.must(bool(self.tables) and all(t.shape for t in self.tables))
        return min(t.shape[0] for t in self.tables)

    def of(self, edge: Edge) -> list[tuple[PlanNode, int]]:
        found = self.users.get(edge, [])
        self.must(edge not in self.seen and all(user.name in self.inside for user, _ in found))
        return found

    def must(self, holds: bool) -> None:
        if not holds:
            raise Decline("how many there are depends on values")

    def sizes(self, edge: Edge, sums: list[Edge]) -> None:
        """The number of rows says how many sums there are, and nothing else."""
        for user, number in self.of(edge):
            if user.op is unsorted_segment_sum and number == 2:
                self.must(Edge(user.name, 0) in sums)
            else:
                self.must(user.op is strided_slice and number == 0)
                self.sizes(Edge(user.name, 0), sums)

    def indices_of(self, user: PlanNode) -> int:
        """The place of the indices among a table's update's inputs; -1: it is no such thing."""
        if user.op.traits & {ADDS_ROWS, SETS_ROWS}:
            return [a.name for a in user.op.signature.inputs].index("indices")
        return -1

    def follow(self, edge: Edge) -> None:
        """Sums, or multiples of them, go into updates: zeros stay zeros on the way."""
        for user, number in self.of(edge):
            if user.op.traits & {KEEPS_ZERO, IDENTITY}:
                self.follow(Edge(user.name, 0))
            else:
                at = self.indices_of(user)
                own = Edge(self.node.name, 0)
                self.must(at >= 0 and user.inputs[at] == own and number not in (0, at))
                self.must(ADDS_ROWS in user.op.traits or edge.node in self.direct)

    @property
    def direct(self) -> set[str]:
        """The sums themselves."""
        return {user.name for user, _ in self.users.get(Edge(self.node.name, 1), ())}
