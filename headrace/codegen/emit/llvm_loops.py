"""Loops in LLVM text: blocks, the index, and what leads into a loop.

Code that is hoisted out of a body may split the block before the loop, so a loop's head is finished
last (`close`).
"""

from __future__ import annotations

from collections.abc import Callable

from headrace.codegen.emit.llvm_scope import Scope
from headrace.codegen.emit.llvm_text import BasicBlock, Builder, Value, constant


class LoopWriter:
    """`b.block` always is the block of the scope being written."""

    def __init__(self, b: Builder) -> None:
        self.b = b

    def decode(self, flat: Value, extents: list[Value]) -> list[Value]:
        """The row's indices from its number.  No division by zero where there are no rows."""
        found: list[Value] = []
        zero, one = constant(0, "i64"), constant(1, "i64")
        for n in reversed(extents[1:]):
            extent = self.b.select(self.b.compare("icmp eq", n, zero), one, n)
            found.insert(0, self.b.op("urem", flat, extent))
            flat = self.b.op("udiv", flat, extent)
        return [flat, *found]

    def advance(self, indices: list[Value], extents: list[Value]) -> list[Value]:
        b = self.b
        carry = constant(1, "i1")
        following: list[Value] = []
        for i, n in zip(reversed(indices), reversed(extents)):
            moved = b.op("add", i, b.convert("zext", carry, "i64"))
            carry = b.compare("icmp eq", moved, n)
            following.insert(0, b.select(carry, constant(0, "i64"), moved))
        # The outermost index never wraps: `end` stops the loop first.
        return following

    def counted(
        self, scope: Scope, first: Value, end: Value, step: int, body: Callable[[Scope, Value], None]
    ) -> None:
        """for i = first; i < end; i += step.  The new scope's code is written by `body`."""
        b = self.b
        scope.block = b.block
        head, inside, after = b.new_block(), b.new_block(), b.new_block()
        name = b.name()
        index = Value(name, "i64")
        inner = Scope(scope, inside)
        b.block = head
        b.branch_if(b.compare("icmp slt", index, end), inside, after)
        b.block = inside
        body(inner, index)
        moved = b.op("add", index, constant(step, "i64"))
        self.close(scope, head, [(name, first, moved)])
        b.block = scope.block = after

    def close(self, outside: Scope, head: BasicBlock, phis: list[tuple[str, Value, Value]]) -> None:
        """End a loop.  Only now is it known which block leads into it: code that was hoisted out of
        the body may have split the one that did at first."""
        before, last = outside.block, self.b.block
        for name, first, following in phis:
            head.lines.insert(
                0, f"{name} = phi i64 [ {first.text}, %{before.label} ], [ {following.text}, %{last.label} ]"
            )
        self.b.branch(head)
        before.end = f"br label %{head.label}"
