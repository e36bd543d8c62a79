"""How long steps take on one thread, roughly: enough to tell small from large.

The rates are of the measured machine (docs/decisions/0014-branches.md); they matter by their order
of magnitude.
"""

from __future__ import annotations

from math import prod
from typing import Any

from headrace.codegen.fusion.inlining import weight
from headrace.codegen.ir.kernel import Kernel
from headrace.codegen.ir.traverse import walk
from headrace.codegen.program import native

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


def _folded(value: Any) -> int:
    return sum(2 * prod(v.extent for v in x.extra[1]) for x in walk(value) if x.op == "reduce")


def of_kernel(kernel: Kernel, step: Any) -> float:
    return operations(kernel) * OPERATION + _bytes(step) * BYTE


def note_products(steps: list[Any], products: int, outputs: set[Any]) -> None:
    """The cost of a library call's steps: most of it where its outputs are written."""
    main = [s for s in steps if not outputs.isdisjoint(s.writes)] or steps
    for s in steps:
        share = products * PRODUCT / len(main) if s in main else 0.0
        s.cost = 0.0 if s.entry.kind == native.REPEAT else share + _bytes(s) * BYTE


def _bytes(step: Any) -> int:
    return sum(t.nbytes for t in {*step.reads, *step.writes})
