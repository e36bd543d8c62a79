"""How long instructions take on one thread, roughly: enough to tell small from large.

The rates are of the measured machine (docs/decisions/0014-branches.md); they matter by their order
of magnitude.
"""

from __future__ import annotations

from math import prod

from headrace.codegen.fusion.inlining import weight
from headrace.codegen.ir.kernel import Kernel
from headrace.codegen.ir.kernel_ir import Array, Expr
from headrace.codegen.ir.traverse import walk
from headrace.codegen.program import native
from headrace.codegen.program.instruction import Instruction
from headrace.core.sizes import hint

OPERATION = 0.03  # ns of one operation on one element, in a vector
PRODUCT = 0.016  # ns of a multiplication or addition of a product or convolution
BYTE = 0.012  # ns: read from a cache


def operations(kernel: Kernel) -> int:
    """Element-operations of a generated kernel."""
    cost = 0
    for sweep in kernel.sweeps:
        inner = prod(v.extent for v in sweep.loops)
        for action in sweep.actions:
            cost += inner * (2 + weight(action.value) + _folded(action.value))
    return cost * prod(v.extent for v in kernel.rows) * kernel.width


def _folded(value: Expr) -> int:
    return sum(2 * prod(v.extent for v in x.extra[1]) for x in walk(value) if x.op == "reduce")


def of_kernel(kernel: Kernel, instruction: Instruction) -> float:
    return hint(operations(kernel)) * OPERATION + _bytes(instruction) * BYTE


def note_products(instructions: list[Instruction], products: int, outputs: set[Array]) -> None:
    """The cost of a library call's instructions: most of it where its outputs are written."""
    main = [s for s in instructions if not outputs.isdisjoint(s.writes)] or instructions
    for s in instructions:
        share = products * PRODUCT / len(main) if s in main else 0.0
        s.cost = 0.0 if s.entry.kind == native.REPEAT else share + _bytes(s) * BYTE


def _bytes(instruction: Instruction) -> int:
    return sum(hint(t.nbytes) for t in {*instruction.reads, *instruction.writes})
