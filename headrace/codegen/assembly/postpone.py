"""Large gradients wait until memory is free.  In: a program's steps.  Out: the same, in an order that
needs less memory.

The gradient of a large matrix is made of two small operands and dies in the update of its variable,
but in the middle of a backward pass, where all activations are alive too.  Such a chain (a step, and
what follows from it down to updates that nobody reads) moves to the end where that lowers the peak.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from headrace.codegen.ir.kernel_ir import Tensor

SMALL = 32 << 20  # bytes: an arena below is left as it is
PART = 16  # a chain's largest value is at least this part of the arena
CHAIN = 8  # steps

Peak = Callable[[Sequence[Any]], int]


def postpone(
    steps: list[Any], final: Callable[[Tensor], Tensor], variables: dict[Tensor, Tensor], peak: Peak
) -> list[Any]:
    """`variables` maps what updates write to what they replace; `peak(steps)` is the memory that an
    order needs."""
    least = peak(steps)
    if least < SMALL:
        return steps
    sizes = [(max((t.nbytes for t in s.writes), default=0), s) for s in steps]
    large = [s for n, s in sorted(sizes, key=lambda pair: -pair[0]) if n * PART >= least]
    for step in large:
        chain = _chain(steps, step, final, variables)
        if chain is None:
            continue
        moved = [s for s in steps if s not in chain] + chain
        needed = peak(moved)
        if needed < least:
            steps, least = moved, needed
    return steps


def _chain(
    steps: list[Any], first: Any, final: Callable[[Tensor], Tensor], variables: dict[Tensor, Tensor]
) -> list[Any] | None:
    """The step and all that depends on it; None where that must not be last."""
    made: set[Tensor] = set()
    read: set[Tensor] = set()
    found: list[Any] = []
    others: list[Any] = []
    for step in steps[steps.index(first) :]:
        reads, writes = set(map(final, step.reads)), set(map(final, step.writes))
        if step is first or reads & made or writes & made:
            found.append(step)
            made |= writes
            read |= reads
        else:
            others.append(step)
    if len(found) > CHAIN or not any(t in variables for t in made):
        return None
    for step in others:  # these would then run before the chain
        for tensor in map(final, step.writes):
            if tensor in read or variables.get(tensor) in read:
                return None
    return found
