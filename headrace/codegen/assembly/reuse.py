"""Steps that read one large matrix run one after another.  In: a program's steps.  Out: the same, in
an order that reads less from memory.

An unrolled network of several layers, in the order of its graph, reads all weights in every time
step: together they are more than the caches hold.  Layer by layer, a cache keeps those of one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from headrace.codegen.assembly.parallel_chains import dependencies
from headrace.codegen.ir.kernel_ir import Tensor

LARGE = 1 << 21  # bytes of a matrix: more than what is nearest to a core holds
OFTEN = 4  # steps that read it
MORE_MEMORY = 1.1  # what another order may take

Final = Callable[[Tensor], Tensor]
Peak = Callable[[Sequence[Any]], int]


def layer_by_layer(steps: list[Any], final: Final, variables: dict[Tensor, Tensor], peak: Peak) -> list[Any]:
    """`variables` maps what updates write to what they replace; `peak(steps)` is the memory that an
    order needs: where it grows much, the order stays."""
    order = _order(steps, final, variables)
    if order is steps or peak(order) > MORE_MEMORY * peak(steps):
        return steps
    return order


def _order(steps: list[Any], final: Final, variables: dict[Tensor, Tensor]) -> list[Any]:
    """The readers of a matrix come as soon as the first of them, with all that they need, unless they
    need readers of another one whose turn has not come."""
    groups = _readers(steps, final)
    if len(groups) < 2:
        return steps
    before = dependencies(steps, final, variables)
    place = {s: i for i, s in enumerate(steps)}
    group_of = {s: number for number, group in enumerate(groups) for s in group}
    done: set[Any] = set()
    order: list[Any] = []
    for number, group in enumerate(groups):
        needed = _closure(group, before, done)
        if all(group_of.get(s, number) == number for s in needed):
            order += sorted(needed, key=place.__getitem__)
            done |= needed
    return order + [s for s in steps if s not in done]


def _readers(steps: Sequence[Any], final: Final) -> list[list[Any]]:
    """The steps that read a large matrix (or its panels), for each that many do; a step belongs to
    its first one."""
    found: dict[Tensor, list[Any]] = {}
    for step in steps:
        matrices = (t for t in map(final, step.reads) if len(t.shape) <= 2)
        large = (t for t in matrices if t.nbytes >= LARGE)
        for tensor in dict.fromkeys(large):
            found.setdefault(tensor, []).append(step)
    taken: set[Any] = set()
    groups = []
    for group in found.values():
        rest = [s for s in group if s not in taken]
        if len(rest) >= OFTEN:
            groups.append(rest)
            taken.update(rest)
    return groups


def _closure(group: list[Any], before: dict[Any, set[Any]], done: set[Any]) -> set[Any]:
    """The steps, and all that must come before them."""
    found: set[Any] = set()
    left = list(group)
    while left:
        step = left.pop()
        if step not in found and step not in done:
            found.add(step)
            left += before[step]
    return found
