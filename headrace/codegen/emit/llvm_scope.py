"""Where code of a kernel is written: a scope per loop body, and the values it has computed."""

from __future__ import annotations

from dataclasses import dataclass, field

from headrace.codegen.emit.llvm_text import BasicBlock, Value
from headrace.codegen.ir.kernel_ir import INDEX, LANE, Expr, Free, Kind, const, make

PTR = Kind("ptr", 64, "p")


@dataclass(slots=True)
class Pack:
    """A value: one scalar for all lanes, or one vector per unrolled copy."""

    values: tuple[Value, ...]
    is_uniform: bool
    scope: Scope
    spread: dict[int, Value] = field(default_factory=dict)


class Scope:
    """A loop body under construction."""

    def __init__(self, parent: Scope | None, block: BasicBlock) -> None:
        self.parent, self.block = parent, block
        self.known: set[Free] = set()
        self.loops: dict[int, Value] = {}
        self.memo: dict[Expr, Pack] = {}
        self.vector: int | None = parent.vector if parent else None
        self.copies: int = parent.copies if parent else 1
        self.mask: Value | None = parent.mask if parent else None
        self.depth: int = parent.depth + 1 if parent else 0

    def knows(self, name: Free) -> bool:
        scope: Scope | None = self
        while scope is not None:
            if name in scope.known:
                return True
            scope = scope.parent
        return False

    def loop(self, n: int) -> Value:
        scope: Scope | None = self
        while scope is not None:
            if n in scope.loops:
                return scope.loops[n]
            scope = scope.parent
        raise KeyError(n)


def split_offset(offset: Expr, loop: int) -> tuple[bool, Expr]:
    """Whether the loop stands in the offset with stride 1, and what is left without it."""
    return _split(offset, ("loop", loop))


def split_lane(offset: Expr) -> tuple[bool, Expr]:
    """The same of the lane."""
    return _split(offset, LANE)


def _split(offset: Expr, name: tuple[str, int]) -> tuple[bool, Expr]:
    terms = _terms(offset)
    inside = [t for t in terms if name in t.free]
    if len(inside) != 1 or inside[0].op != name[0]:
        return False, offset
    rest: Expr | None = None
    for t in terms:
        if t is not inside[0]:
            rest = t if rest is None else make("add", (rest, t), INDEX)
    return True, rest if rest is not None else const(0, INDEX)


def _terms(x: Expr) -> list[Expr]:
    return _terms(x.args[0]) + _terms(x.args[1]) if x.op == "add" else [x]
