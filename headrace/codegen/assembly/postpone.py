"""Large gradients wait until memory is free.  In: a program's instructions.  Out: the same, in an order that
needs less memory.

The gradient of a large matrix is made of two small operands and dies in the update of its variable,
but in the middle of a backward pass, where all activations are alive too.  Such a chain (an instruction, and
what follows from it down to updates that nobody reads) moves to the end where that lowers the peak.
"""

from __future__ import annotations

from headrace.codegen.ir.kernel_ir import Array
from headrace.codegen.program.instruction import Final, Instruction, Peak

SMALL = 32 << 20  # bytes: an arena below is left as it is
PART = 16  # a chain's largest value is at least this part of the arena
CHAIN = 8  # instructions


def postpone(
    instructions: list[Instruction], final: Final, variables: dict[Array, Array], peak: Peak
) -> list[Instruction]:
    """`variables` maps what updates write to what they replace; `peak(instructions)` is the memory that an
    order needs."""
    least = peak(instructions)
    if least < SMALL:
        return instructions
    sizes = [(max((t.nbytes for t in s.writes), default=0), s) for s in instructions]
    large = [s for n, s in sorted(sizes, key=lambda pair: -pair[0]) if n * PART >= least]
    for instruction in large:
        chain = _chain(instructions, instruction, final, variables)
        if chain is None:
            continue
        moved = [s for s in instructions if s not in chain] + chain
        needed = peak(moved)
        if needed < least:
            instructions, least = moved, needed
    return instructions


def _chain(
    instructions: list[Instruction], first: Instruction, final: Final, variables: dict[Array, Array]
) -> list[Instruction] | None:
    """The instruction and all that depends on it; None where these cannot move to the end."""
    made: set[Array] = set()
    read: set[Array] = set()
    found: list[Instruction] = []
    others: list[Instruction] = []
    for instruction in instructions[instructions.index(first) :]:
        reads, writes = set(map(final, instruction.reads)), set(map(final, instruction.writes))
        if instruction is first or reads & made or writes & made:
            found.append(instruction)
            made |= writes
            read |= reads
        else:
            others.append(instruction)
    if len(found) > CHAIN or not any(t in variables for t in made):
        return None
    for instruction in others:  # these would then run before the chain
        for array in map(final, instruction.writes):
            if array in read or variables.get(array) in read:
                return None
    return found
