"""An instruction: one entry of a program while its arrays have no addresses yet.

Later rooms make instructions, from kernels and library calls; `assembly` puts them in order and gives
the arrays their places, and with those the entries become words.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from headrace.codegen.ir.kernel_ir import Array
from headrace.codegen.program.memory import Allocation
from headrace.codegen.program.program import Entry, Scratch

Pair = tuple[Array, Array]  # an operand, and the result that may take its place
Final = Callable[[Array], Array]  # the array whose memory another one is in


@dataclass(slots=True, eq=False)
class Instruction:
    reads: list[Array]
    writes: list[Array]
    entry: Entry
    scratch: int = 0
    allocation: Allocation | None = None  # where its scratch is
    name: str = ""
    cost: float = 0.0  # ns on one thread; 0: not known
    is_part: bool = False  # writes a part of an array, beside others that do
    in_place: list[Pair] = field(default_factory=list)  # results that may replace operands


Peak = Callable[[Sequence[Instruction]], int]  # the memory that an order of instructions needs


def of_entry(entry: Entry, name: str, scratch: int = 0) -> Instruction:
    """An entry that reads and writes the arrays of its places, and nothing else."""
    places = [p for p in entry.places if not isinstance(p, Scratch)]
    reads = [t for t, is_written in places if not is_written]
    writes = [t for t, is_written in places if is_written]
    return Instruction(reads, writes, entry, scratch, name=name)
