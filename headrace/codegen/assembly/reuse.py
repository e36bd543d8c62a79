"""Instructions that read one large matrix run one after another.  In: a program's instructions.  Out:
the same, in an order that reads less from memory.

An unrolled network of several layers, in the order of its graph, reads all weights in every time
step: together they are more than the caches hold.  Layer by layer, a cache keeps those of one.
"""

from __future__ import annotations

from collections.abc import Sequence

from headrace.codegen.assembly.parallel_chains import dependencies
from headrace.codegen.ir.kernel_ir import Array
from headrace.codegen.program.instruction import Final, Instruction, Peak
from headrace.core.sizes import hint

LARGE = 1 << 21  # bytes of a matrix: more than what is nearest to a core holds
OFTEN = 4  # instructions that read it
MORE_MEMORY = 1.1  # what another order may take


def layer_by_layer(
    instructions: list[Instruction], final: Final, variables: dict[Array, Array], peak: Peak
) -> list[Instruction]:
    """`variables` maps what updates write to what they replace; `peak(instructions)` is the memory that an
    order needs: where it grows much, the order stays."""
    order = _order(instructions, final, variables)
    if order is instructions or peak(order) > MORE_MEMORY * peak(instructions):
        return instructions
    return order


def _order(instructions: list[Instruction], final: Final, variables: dict[Array, Array]) -> list[Instruction]:
    """The readers of a matrix come as soon as the first of them, with all that they need, unless they
    need readers of another one whose turn has not come."""
    groups = _readers(instructions, final)
    if len(groups) < 2:
        return instructions
    before = dependencies(instructions, final, variables)
    place = {s: i for i, s in enumerate(instructions)}
    group_of = {s: number for number, group in enumerate(groups) for s in group}
    done: set[Instruction] = set()
    order: list[Instruction] = []
    for number, group in enumerate(groups):
        needed = _closure(group, before, done)
        if all(group_of.get(s, number) == number for s in needed):
            order += sorted(needed, key=place.__getitem__)
            done |= needed
    return order + [s for s in instructions if s not in done]


def _readers(instructions: Sequence[Instruction], final: Final) -> list[list[Instruction]]:
    """The instructions that read a large matrix (or its panels), for each that many do; an instruction
    belongs to its first one."""
    found: dict[Array, list[Instruction]] = {}
    for instruction in instructions:
        matrices = (t for t in map(final, instruction.reads) if len(t.shape) <= 2)
        large = (t for t in matrices if hint(t.nbytes) >= LARGE)
        for array in dict.fromkeys(large):
            found.setdefault(array, []).append(instruction)
    taken: set[Instruction] = set()
    groups = []
    for group in found.values():
        rest = [s for s in group if s not in taken]
        if len(rest) >= OFTEN:
            groups.append(rest)
            taken.update(rest)
    return groups


def _closure(
    group: list[Instruction], before: dict[Instruction, set[Instruction]], done: set[Instruction]
) -> set[Instruction]:
    """The instructions, and all that must come before them."""
    found: set[Instruction] = set()
    left = list(group)
    while left:
        instruction = left.pop()
        if instruction not in found and instruction not in done:
            found.add(instruction)
            left += before[instruction]
    return found
