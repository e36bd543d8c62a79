"""LLVM IR as text: values, blocks, one function.  Knows types and instructions, nothing of kernels.

A `Value` is the text of an operand and its type.  Instructions go to the builder's current block; a
block gets its terminator last, so code can still be added above a loop while the loop is written.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import NamedTuple


class Value(NamedTuple):
    text: str
    type: str

    @property
    def lanes(self) -> int:
        """Elements of a vector; 1 for a scalar."""
        return int(self.type[1:].split(" x ")[0]) if self.type[0] == "<" else 1

    @property
    def element(self) -> str:
        return self.type[1:-1].split(" x ")[1] if self.type[0] == "<" else self.type


def vector(element: str, lanes: int) -> str:
    return element if lanes == 1 else f"<{lanes} x {element}>"


def bits_of(element: str) -> int:
    """Size of an element type."""
    return {"half": 16, "bfloat": 16, "float": 32, "double": 64, "ptr": 64}.get(element) or int(element[1:])


def is_float(element: str) -> bool:
    return element in ("half", "bfloat", "float", "double")


def literal(value: float | int | bool, element: str) -> str:
    """The text of a constant.  Floats are written as the bits of a double, which is exact."""
    if element in ("float", "double", "half"):
        if element == "half":
            return f"0xH{struct.unpack('<H', struct.pack('<e', value))[0]:04X}"
        number = value if element == "double" else struct.unpack("<f", struct.pack("<f", value))[0]
        return f"0x{struct.unpack('<Q', struct.pack('<d', number))[0]:016X}"
    return str(int(value))


def constant(value: float | int | bool, type: str) -> Value:
    """A number, in every lane if the type is a vector."""
    shape = Value("", type)
    text = literal(value, shape.element)
    return Value(f"splat ({shape.element} {text})" if shape.lanes > 1 else text, type)


class BasicBlock:
    """Straight code; `end` is its terminator."""

    __slots__ = ("end", "label", "lines")

    def __init__(self, label: str) -> None:
        self.label, self.end = label, ""
        self.lines: list[str] = []


class Builder:
    """One function under construction."""

    def __init__(self) -> None:
        self.blocks: list[BasicBlock] = []
        self.declarations: dict[str, str] = {}
        self._count = 0
        self.block = self.new_block()

    # -- structure ---------------------------------------------------------------------------
    def new_block(self) -> BasicBlock:
        block = BasicBlock(f"b{len(self.blocks)}")
        self.blocks.append(block)
        return block

    def name(self) -> str:
        self._count += 1
        return f"%x{self._count}"

    @contextmanager
    def at(self, block: BasicBlock) -> Iterator[None]:
        """Add code to another block for a while."""
        saved, self.block = self.block, block
        try:
            yield
        finally:
            self.block = saved

    @contextmanager
    def dealing(self) -> Iterator[Callable[[], None]]:
        """What is added between two calls of the function that this gives takes turns, line by line:
        such as the same operation on several values.  Code with branches stays as it is."""
        block, start = self.block, len(self.block.lines)
        cuts = [start]
        yield lambda: cuts.append(len(block.lines))
        pieces = [block.lines[i:j] for i, j in pairwise(cuts)]
        if self.block is block and len({len(p) for p in pieces}) == 1:
            block.lines[start:] = [line for row in zip(*pieces) for line in row]

    def branch(self, target: BasicBlock) -> None:
        self.block.end = f"br label %{target.label}"

    def branch_if(self, condition: Value, yes: BasicBlock, no: BasicBlock) -> None:
        self.block.end = f"br i1 {condition.text}, label %{yes.label}, label %{no.label}"

    def body(self) -> str:
        """The text between the function's braces."""
        parts = []
        for block in self.blocks:
            parts.append(f"{block.label}:")
            parts.extend("  " + line for line in block.lines)
            parts.append("  " + block.end)
        return "\n".join(parts)

    # -- instructions ------------------------------------------------------------------------
    def emit(self, text: str, type: str) -> Value:
        name = self.name()
        self.block.lines.append(f"{name} = {text}")
        return Value(name, type)

    def do(self, text: str) -> None:
        self.block.lines.append(text)

    def op(self, code: str, x: Value, y: Value) -> Value:
        return self.emit(f"{code} {x.type} {x.text}, {y.text}", x.type)

    def compare(self, code: str, x: Value, y: Value) -> Value:
        """code: 'icmp slt', 'fcmp oeq', ..."""
        return self.emit(f"{code} {x.type} {x.text}, {y.text}", vector("i1", x.lanes))

    def select(self, c: Value, x: Value, y: Value) -> Value:
        return self.emit(f"select {c.type} {c.text}, {x.type} {x.text}, {y.type} {y.text}", x.type)

    def convert(self, code: str, x: Value, element: str) -> Value:
        """code: bitcast, sext, zext, trunc, sitofp, ..."""
        type = vector(element, x.lanes)
        return x if type == x.type else self.emit(f"{code} {x.type} {x.text} to {type}", type)

    def call(self, name: str, type: str, *args: Value) -> Value:
        signature = ", ".join(a.type for a in args)
        self.declarations[name] = f"declare {type} @{name}({signature})"
        passed = ", ".join(f"{a.type} {a.text}" for a in args)
        return self.emit(f"call {type} @{name}({passed})", type)

    def call_void(self, name: str, *args: Value) -> None:
        signature = ", ".join(a.type for a in args)
        self.declarations[name] = f"declare void @{name}({signature})"
        self.do(f"call void @{name}({', '.join(f'{a.type} {a.text}' for a in args)})")

    def intrinsic(self, name: str, *args: Value) -> Value:
        """An LLVM intrinsic overloaded on the type of its first argument."""
        return self.call(f"llvm.{name}.{suffix(args[0].type)}", args[0].type, *args)

    # -- vectors -----------------------------------------------------------------------------
    def splat(self, x: Value, lanes: int) -> Value:
        if lanes == 1 or x.lanes > 1:
            return x
        if x.text[0] != "%":
            return Value(f"splat ({x.type} {x.text})", vector(x.type, lanes))
        type = vector(x.type, lanes)
        one = self.emit(f"insertelement {type} poison, {x.type} {x.text}, i64 0", type)
        return self.emit(
            f"shufflevector {type} {one.text}, {type} poison, <{lanes} x i32> zeroinitializer", type
        )

    def shuffle(self, x: Value, order: Sequence[int]) -> Value:
        mask = ", ".join(f"i32 {i}" if i >= 0 else "i32 poison" for i in order)
        return self.emit(
            f"shufflevector {x.type} {x.text}, {x.type} poison, <{len(order)} x i32> <{mask}>",
            vector(x.element, len(order)),
        )

    def merge(self, x: Value, y: Value, order: Sequence[int]) -> Value:
        """Elements of two vectors: those of y are numbered on from x's."""
        mask = ", ".join(f"i32 {i}" for i in order)
        return self.emit(
            f"shufflevector {x.type} {x.text}, {y.type} {y.text}, <{len(order)} x i32> <{mask}>",
            vector(x.element, len(order)),
        )

    def lane(self, x: Value, i: int) -> Value:
        if x.lanes == 1:
            return x
        return self.emit(f"extractelement {x.type} {x.text}, i64 {i}", x.element)

    def with_lane(self, x: Value, i: int, value: Value) -> Value:
        return self.emit(f"insertelement {x.type} {x.text}, {value.type} {value.text}, i64 {i}", x.type)

    def iota(self, lanes: int) -> Value:
        if lanes == 1:
            return Value("0", "i64")
        return Value("<" + ", ".join(f"i64 {i}" for i in range(lanes)) + ">", f"<{lanes} x i64>")

    # -- memory ------------------------------------------------------------------------------
    def offset(self, base: Value, element: str, index: Value) -> Value:
        """The address of base[index]; a vector of addresses for a vector of indices."""
        type = vector("ptr", index.lanes)
        return self.emit(f"getelementptr {element}, ptr {base.text}, {index.type} {index.text}", type)

    def load(self, address: Value, type: str) -> Value:
        align = bits_of(Value("", type).element) // 8 or 1
        return self.emit(f"load {type}, ptr {address.text}, align {align}", type)

    def store(self, address: Value, x: Value) -> None:
        align = bits_of(x.element) // 8 or 1
        self.do(f"store {x.type} {x.text}, ptr {address.text}, align {align}")

    def prefetch(self, address: Value, near: str = "3") -> None:
        """The line will be read soon; any address will do.  near: 3 the first cache, 2 the
        second."""
        self.call_void("llvm.prefetch.p0", address, *(Value(t, "i32") for t in ("0", near, "1")))

    def masked_load(self, address: Value, type: str, mask: Value) -> Value:
        shape = Value("", type)
        zero = Value("zeroinitializer", type)
        align = Value(str(bits_of(shape.element) // 8), "i32")
        return self.call(f"llvm.masked.load.{suffix(type)}.p0", type, address, align, mask, zero)

    def masked_store(self, address: Value, x: Value, mask: Value) -> None:
        align = Value(str(bits_of(x.element) // 8), "i32")
        self.call_void(f"llvm.masked.store.{suffix(x.type)}.p0", x, address, align, mask)

    def gather(self, addresses: Value, element: str, mask: Value) -> Value:
        type = vector(element, addresses.lanes)
        align = Value(str(bits_of(element) // 8), "i32")
        name = f"llvm.masked.gather.{suffix(type)}.v{addresses.lanes}p0"
        return self.call(name, type, addresses, align, mask, Value("zeroinitializer", type))

    def scatter(self, addresses: Value, x: Value, mask: Value) -> None:
        align = Value(str(bits_of(x.element) // 8), "i32")
        name = f"llvm.masked.scatter.{suffix(x.type)}.v{x.lanes}p0"
        self.call_void(name, x, addresses, align, mask)

    def stack(self, type: str) -> Value:
        """A variable of the function; promoted to registers by the optimiser."""
        name = self.name()
        self.blocks[0].lines.insert(0, f"{name} = alloca {type}, align 64")
        return Value(name, "ptr")


def suffix(type: str) -> str:
    """A type in the name of an overloaded intrinsic."""
    shape = Value("", type)
    names = {"half": "f16", "bfloat": "bf16", "float": "f32", "double": "f64", "ptr": "p0"}
    element = names.get(shape.element, shape.element)
    return element if shape.lanes == 1 else f"v{shape.lanes}{element}"
