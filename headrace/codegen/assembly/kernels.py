"""Kernels -> instructions: the code is compiled in the background, buffers and scratch are named.

In: a `Kernel` of fusion.  Out: an `Instruction` whose entry waits for the address of its code.
"""

from __future__ import annotations

from headrace.codegen.emit import llvm
from headrace.codegen.fusion import costs, in_place
from headrace.codegen.fusion.generalize import Lifted, lift
from headrace.codegen.ir.kernel import Kernel
from headrace.codegen.ir.kernel_ir import Array
from headrace.codegen.machine import threads
from headrace.codegen.machine.cache import kernel_soon
from headrace.codegen.machine.faults import naming
from headrace.codegen.program import memory, native
from headrace.codegen.program.instruction import Instruction, Pair
from headrace.codegen.program.program import Entry, Scratch
from headrace.core import options
from headrace.core.sizes import chosen, hint

PARALLEL_COST = 1 << 19  # element-operations below which a kernel stays on one thread


def kernel_instruction(kernel: Kernel, pairs: list[Pair] | None = None) -> Instruction:
    """Start compiling the kernel and describe its call.  The code's address is filled in at the end
    (`lay_out.await_code`), so that LLVM works while the other kernels are planned.  `pairs`: those of
    `in_place`, where they are known."""
    lifted = lift(kernel)
    options.show("kernels", f"{kernel.name}\n{lifted.text}params {lifted.params}")
    with naming(kernel.name):
        code = kernel_soon(lifted.text, lambda symbol: llvm.write_module(lifted, symbol))
    team, grain = parallel(kernel)
    entry = Entry(
        native.KERNEL,
        [0, 0, kernel.work, team, grain, len(lifted.buffers)],
        [],
        [],
        params=lifted.params,
        uses_team=hint(team) > 1,
        kernel=lifted.text,
        code=code,
    )
    instruction = _with_buffers(entry, lifted, team, kernel.name)
    instruction.cost = costs.of_kernel(kernel, instruction)
    instruction.in_place = in_place.pairs(kernel) if pairs is None else pairs
    return instruction


def part_instruction(kernel: Kernel) -> Instruction:
    instruction = kernel_instruction(kernel)
    instruction.is_part = True
    return instruction


def _with_buffers(entry: Entry, lifted: Lifted, team: int, name: str) -> Instruction:
    """Row temporaries share one scratch block; the other buffers are arrays."""
    reads: list[Array] = []
    writes: list[Array] = []
    scratch = 0
    for number, array in enumerate(lifted.buffers):
        if number in lifted.temporaries:
            entry.places.append(Scratch(scratch))
            scratch += memory.align(max(lifted.params[lifted.temporaries[number]] * team, 1))
            continue
        entry.places.append((array, number in lifted.written))
        (writes if number in lifted.written else reads).append(array)
    return Instruction(reads, writes, entry, scratch, name=name)


def parallel(kernel: Kernel) -> tuple[int, int]:
    """Threads, and how many rows (or elements) belong together."""
    grain = 256 if kernel.is_ranged else 1
    if kernel.name == "scatter":
        return 1, grain
    return chosen(_team, costs.operations(kernel), kernel.work, grain), grain


def _team(operations: int, work: int, grain: int) -> int:
    return 1 if operations < PARALLEL_COST or work <= grain else threads.count()
