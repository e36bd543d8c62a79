"""Chains of small instructions that do not need each other run side by side, one thread each.

In: a program's instructions, in order.  Out: the same, with forks before branches; or as they were, where the
estimate promises too little.  An instruction that is too small for the team leaves all cores but one idle:
towers of small products, the narrow branches of an Inception module.  Which thread takes a branch
changes no result.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from headrace.codegen.ir.kernel_ir import Array
from headrace.codegen.program import native
from headrace.codegen.program.instruction import Final, Instruction
from headrace.codegen.program.memory import Allocation
from headrace.codegen.program.program import Entry, Label

FORK_COST = 3_000.0  # ns: to start the team and to wait for its last thread
TEAM_LOSS = 1.1  # of an instruction that all threads share
LEAST_GAIN = 0.1  # of the time of all instructions: less did not arrive (docs/decisions/0014-branches.md)
LONGEST = 400_000.0  # ns: an instruction of the team that may run alone instead
MOVABLE = {native.KERNEL, native.EXECUTE, native.CHECK, native.FILL, native.SGEMM, native.REPEAT, native.COPY}
Fork = list[tuple[int, int]]  # the first and last instruction of each branch
ALONE = (native.KERNEL, native.EXECUTE, native.SGEMM, native.FILL)


@dataclass(slots=True, eq=False)
class Chains:
    """Instructions that are not ordered among each other but within their chains."""

    instructions: list[Instruction] = field(default_factory=list)
    chain: dict[Instruction, list[Instruction]] = field(default_factory=dict)  # an instruction -> its chain

    def add(self, instruction: Instruction, before: set[Instruction]) -> bool:
        """False, and nothing happens, where the instruction would join long chains: then it comes after."""
        joined = list({id(c): c for s in before if (c := self.chain.get(s)) is not None}.values())
        if sum(cost_of(c) > FORK_COST for c in joined) > 1:
            return False
        merged = [s for c in joined for s in c] + [instruction]
        for s in merged:
            self.chain[s] = merged
        self.instructions.append(instruction)
        return True

    def shared_out(self, threads: int) -> list[list[Instruction]]:
        """Branches, the longest first; their instructions in order."""
        chains = sorted({id(c): c for c in self.chain.values()}.values(), key=cost_of, reverse=True)
        branches: list[list[Instruction]] = [[] for _ in range(min(len(chains), 4 * threads))]
        for chain in chains:
            min(branches, key=cost_of).extend(chain)
        place = {s: i for i, s in enumerate(self.instructions)}
        return [sorted(b, key=place.__getitem__) for b in branches]

    def gain(self, threads: int) -> float:
        """What running the branches side by side saves, in ns."""
        loads = [0.0] * threads
        for branch in self.shared_out(threads):
            loads[loads.index(min(loads))] += cost_of(branch)
        return sum(time_of(s, threads) for s in self.instructions) - max(loads) - FORK_COST


Order = list[Instruction | Chains]


def cost_of(instructions: Sequence[Instruction]) -> float:
    return sum(float(s.cost) for s in instructions)


def time_of(instruction: Instruction, threads: int) -> float:
    """How long it takes as it is."""
    if not instruction.entry.uses_team:
        return float(instruction.cost)
    return float(instruction.cost) / threads * TEAM_LOSS + FORK_COST / 2


def side_by_side(
    instructions: list[Instruction], final: Final, variables: dict[Array, Array], threads: int
) -> tuple[list[Instruction], list[Fork]]:
    """The instructions with forks, and where their branches are.  `variables` maps
    what updates write to what they replace."""
    if threads < 2 or any(s.entry.kind not in MOVABLE for s in instructions):
        return instructions, []
    small = [s for s in instructions if may_be_alone(s)]
    if cost_of(small) < 4 * FORK_COST:
        return instructions, []
    before = dependencies(instructions, final, variables)
    best: Order = []
    most = LEAST_GAIN * sum(time_of(s, threads) for s in instructions)
    for alone in (small, [s for s in small if not s.entry.uses_team]):
        order = arranged(instructions, before, set(alone), threads)
        gain = sum(x.gain(threads) for x in order if isinstance(x, Chains))
        if gain > most:
            best, most = order, gain
    return flattened(best, threads) if best else (instructions, [])


def may_be_alone(instruction: Instruction) -> bool:
    """A small instruction, or one of the team that one thread can do as well."""
    entry = instruction.entry
    if entry.kind not in ALONE or instruction.cost <= 0:
        return False
    return not entry.uses_team or (entry.kind == native.KERNEL and instruction.cost < LONGEST)


def arranged(
    instructions: list[Instruction],
    before: dict[Instruction, set[Instruction]],
    alone: set[Instruction],
    threads: int,
) -> Order:
    """Instructions and chains of them in an order of execution: what uses the team first, as long as
    some of it is ready, then all small instructions that are."""
    done: set[Instruction] = set()
    order: Order = []
    left = list(instructions)
    while left:
        waiting = []
        for s in left:
            if s not in alone and before[s] <= done:
                done.add(s)
                order.append(s)
            else:
                waiting.append(s)
        chains = Chains()
        taken: set[Instruction] = set()
        for s in waiting:
            if s in alone and before[s] <= done | taken and chains.add(s, before[s]):
                taken.add(s)
        left = [s for s in waiting if s not in taken]
        done |= taken
        order += [chains] if chains.gain(threads) > 0 else chains.instructions
    return order


def dependencies(
    instructions: list[Instruction], final: Final, variables: dict[Array, Array]
) -> dict[Instruction, set[Instruction]]:
    """For every instruction, those that must come before it."""
    kept = set(variables.values())

    def memory(array: Array) -> Array:
        found = final(array)
        return variables.get(found, found)

    uses: dict[Array, _Uses] = {}
    checks: set[Instruction] = set()
    before: dict[Instruction, set[Instruction]] = {}
    for instruction in instructions:
        found: set[Instruction] = set()
        written = dict.fromkeys(map(memory, instruction.writes))
        for m in dict.fromkeys(map(memory, instruction.reads)):
            use = uses.setdefault(m, _Uses())
            found |= use.writers
            if m not in written:
                use.readers.add(instruction)
        for m in written:
            found |= uses.setdefault(m, _Uses()).write(instruction)
            if m in kept:  # what can be seen changes after all checks
                found |= checks
        if instruction.entry.kind == native.CHECK:
            checks.add(instruction)
        found.discard(instruction)
        before[instruction] = found
    return before


@dataclass(slots=True, eq=False)
class _Uses:
    """Who wrote an array last, and who has read it since."""

    writers: set[Instruction] = field(default_factory=set)
    readers: set[Instruction] = field(default_factory=set)
    earlier: set[Instruction] = field(default_factory=set)  # before the parts that are being written

    def write(self, instruction: Instruction) -> set[Instruction]:
        """Who comes before the instruction.  Parts of one array do not wait for each other."""
        if instruction.is_part and not self.readers and self.writers and all(w.is_part for w in self.writers):
            self.writers.add(instruction)
            return set(self.earlier)
        self.earlier = self.writers | self.readers
        self.writers, self.readers = {instruction}, set()
        return set(self.earlier)


def flattened(order: Order, threads: int) -> tuple[list[Instruction], list[Fork]]:
    """One list again: a FORK entry, then its branches one after the other, with labels at their
    starts and behind the last."""
    found: list[Instruction] = []
    forks: list[Fork] = []
    for x in order:
        if not isinstance(x, Chains):
            found.append(x)
            continue
        branches = x.shared_out(threads)
        labels = [Label() for _ in range(len(branches) + 1)]
        head = [0, 0, min(threads, len(branches)), 0, len(branches), *[0] * (2 * len(labels))]
        entry = Entry(native.FORK, head, [], [], uses_team=True, jump=labels[-1], branches=labels)
        found.append(Instruction([], [], entry, name="fork"))
        for label, branch in zip(labels, branches):
            label.at = len(found)
            found += branch
        labels[-1].at = len(found)
        forks.append([(p.at, q.at - 1) for p, q in pairwise(labels)])
    return found, forks


def run_alone(instructions: list[Instruction], forks: list[Fork]) -> None:
    """Instructions of branches are for one thread: a kernel's fourth word says how many share it."""
    for fork in forks:
        for instruction in instructions[fork[0][0] : fork[-1][1] + 1]:
            if instruction.entry.uses_team:
                instruction.entry.head[3], instruction.entry.uses_team = 1, False


def live_together(allocations: list[Allocation], forks: list[Fork]) -> None:
    """What several branches use, or one of them and others outside, lives as long as the fork; what
    one branch keeps to itself lives beside that of the other branches."""
    for number, fork in enumerate(forks):
        first, last = fork[0][0], fork[-1][1]
        for allocation in allocations:
            if allocation.last < first or last < allocation.first:
                continue
            for branch, (begin, end) in enumerate(fork):
                if begin <= allocation.first and allocation.last <= end:
                    allocation.lane = number, branch
                    break
            else:
                allocation.first, allocation.last = min(allocation.first, first), max(allocation.last, last)
