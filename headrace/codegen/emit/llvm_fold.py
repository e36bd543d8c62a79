"""Accumulators: how partial results are kept in registers and combined at the end."""

from __future__ import annotations

import math
import sys

from headrace.codegen.emit import llvm_ops
from headrace.codegen.emit.llvm_ops import number, register_type
from headrace.codegen.emit.llvm_text import Builder, Value, constant, vector
from headrace.codegen.ir.kernel_ir import BF16, BOOL, F16, F32, F64, I64, Kind

_CODES = {"sum": "add", "prod": "mul", "max": "max", "min": "min", "any": "or", "all": "and"}
_FARTHEST = {
    F16: (2 - 2**-10) * 2.0**15,
    BF16: (2 - 2**-7) * 2.0**127,
    F32: (2 - 2**-23) * 2.0**127,
    F64: sys.float_info.max,
}


def identity(how: str, kind: Kind) -> float | int | bool:
    """What changes nothing when it is combined."""
    if how in ("sum", "any"):
        return 0
    if how in ("prod", "all"):
        return 1
    largest = how in ("min", "argmin")
    if kind.is_float:
        # The first place of all wins where nothing is beyond the largest number: as in Eigen's reducers.
        far = _FARTHEST[kind] if how.startswith("arg") else math.inf
        return far if largest else -far
    if kind is BOOL:
        return largest
    low = -(1 << (kind.bits - 1)) if kind.is_signed else 0
    return low + (1 << kind.bits) - 1 if largest else low


class Fold:
    """One reduction: `copies` accumulators of `lanes` lanes on the stack, later in registers.
    `is_each`: every copy is a result of its own."""

    def __init__(
        self, b: Builder, how: str, kind: Kind, lanes: int, copies: int, is_each: bool = False
    ) -> None:
        """Cells on the stack, one for each of `copies` that run interleaved, with the operation's
        identity in them; for argmax and argmin also the place of the best."""
        self.b, self.how, self.lanes, self.copies = b, how, lanes, copies
        self.is_arg = how.startswith("arg")
        self.kind = kind
        # Half floats add up in float; the result is rounded once.
        self.inner = F32 if kind in (F16, BF16) else kind
        self.result_kind = I64 if self.is_arg else kind
        self.type = register_type(self.inner, lanes)
        self.start = number(identity(how, kind), self.inner, lanes)
        self.cells = [b.stack(self.type) for _ in range(copies)]
        self.groups = [[cell] for cell in self.cells] if is_each else [self.cells]
        self.places = [b.stack(vector("i64", lanes)) for _ in range(copies)] if self.is_arg else []
        for cell in self.cells:
            self._put(cell, self.start)
        for place in self.places:
            self._put(place, constant(0, vector("i64", lanes)))

    def _put(self, cell: Value, x: Value) -> None:
        self.b.do(f"store {x.type} {x.text}, ptr {cell.text}")

    def _get(self, cell: Value, type: str) -> Value:
        return self.b.emit(f"load {type}, ptr {cell.text}", type)

    def add(self, values: tuple[Value, ...], mask: Value | None, positions: tuple[Value, ...] | None) -> None:
        """Take one more value per copy; masked lanes keep what they have.  With `positions`
        (argmax, argmin) the place goes along with the better value."""
        b = self.b
        for copy, value in enumerate(values):
            old = self._get(self.cells[copy], self.type)
            if positions is not None:
                better = self._beats(value, old)
                if mask is not None:
                    better = b.op("and", better, mask)
                place = self._get(self.places[copy], vector("i64", self.lanes))
                self._put(self.cells[copy], b.select(better, value, old))
                self._put(self.places[copy], b.select(better, positions[copy], place))
                continue
            new = llvm_ops.OPS[_CODES[self.how]](b, self.inner, old, value)
            self._put(self.cells[copy], new if mask is None else b.select(mask, new, old))

    def _beats(self, x: Value, y: Value) -> Value:
        """x is larger (smaller); a NaN never is."""
        code = "gt" if self.how == "argmax" else "lt"
        return llvm_ops.OPS[code](self.b, self.inner, x, y)

    def per_lane(self) -> tuple[Value, ...]:
        """The results, one vector per copy, nothing combined."""
        if self.is_arg:
            return tuple(self._get(p, vector("i64", self.lanes)) for p in self.places)
        return tuple(llvm_ops.rounded(self.b, self._get(c, self.type), self.kind) for c in self.cells)

    def add_to(self, copy: int, value: Value) -> None:
        """Into one of the copies."""
        old = self._get(self.cells[copy], self.type)
        combine = llvm_ops.OPS[_CODES[self.how]]
        self._put(self.cells[copy], combine(self.b, self.inner, old, value))

    def together(self) -> Value:
        """All copies combined, lane by lane."""
        return self._total(self.cells)

    def _total(self, cells: list[Value]) -> Value:
        """In pairs, and pairs of pairs."""
        combine = llvm_ops.OPS[_CODES[self.how]]
        values = [self._get(c, self.type) for c in cells]
        while len(values) > 1:
            pairs = [combine(self.b, self.inner, x, y) for x, y in zip(values[::2], values[1::2])]
            values = pairs + values[len(pairs) * 2 :]
        return values[0]

    # -- accumulators that are emptied now and then (codegen.emit.llvm_pairwise) -----------------------
    def gather(self) -> None:
        """The first accumulator of each group takes what the others have."""
        for first, *others in self.groups:
            self._put(first, self._total([first, *others]))
            for cell in others:
                self._put(cell, self.start)

    def add_to_group(self, group: int, value: Value) -> None:
        first = self.groups[group][0]
        old = self._get(first, self.type)
        self._put(first, llvm_ops.OPS[_CODES[self.how]](self.b, self.inner, value, old))

    def take_group(self, group: int) -> Value:
        """What a group has; it is empty then."""
        first = self.groups[group][0]
        value = self._get(first, self.type)
        self._put(first, self.start)
        return value

    def finish(self) -> Value:
        """All copies and lanes combined into one scalar."""
        if self.is_arg:
            return self._finish_arg()
        combine = llvm_ops.OPS[_CODES[self.how]]
        total = self.together()
        half = self.lanes // 2
        while half:
            if half > 1:
                upper = self.b.shuffle(total, [*range(half, 2 * half)])
                lower = self.b.shuffle(total, [*range(half)])
            else:
                upper, lower = self.b.lane(total, 1), self.b.lane(total, 0)
            total = combine(self.b, self.inner, lower, upper)
            half //= 2
        return llvm_ops.rounded(self.b, total, self.kind)

    def _finish_arg(self) -> Value:
        """The best of all lanes and copies.  Of equal ones the earliest place counts, as in the
        reference."""
        b = self.b
        places = vector("i64", self.lanes)
        pairs = [
            (b.lane(value, i), b.lane(place, i))
            for value, place in (
                (self._get(c, self.type), self._get(p, places)) for c, p in zip(self.cells, self.places)
            )
            for i in range(self.lanes)
        ]
        best, at = pairs[0]
        for value, place in pairs[1:]:
            earlier = b.compare("icmp slt", place, at)
            tie = b.op("and", llvm_ops.OPS["eq"](b, self.inner, value, best), earlier)
            better = b.op("or", self._beats(value, best), tie)
            best, at = b.select(better, value, best), b.select(better, place, at)
        return at
