"""Chains of small steps that do not need each other run side by side, one thread each.

In: a program's steps, in order.  Out: the same, with forks before branches; or as they were, where the
estimate promises too little.  A step that is too small for the team leaves all cores but one idle:
towers of small products, the narrow branches of an Inception module.  Which thread takes a branch
changes no result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from headrace.codegen.ir.kernel_ir import Tensor
from headrace.codegen.program import native
from headrace.codegen.program.memory import Block
from headrace.codegen.program.program import Entry, Label

FORK_COST = 3_000.0  # ns: to start the team and to wait for its last thread
TEAM_LOSS = 1.1  # of a step that all threads share
LEAST_GAIN = 0.1  # of the time of all steps: less did not arrive (docs/decisions/0014-branches.md)
LONGEST = 400_000.0  # ns: a step of the team that may run alone instead
MOVABLE = {native.KERNEL, native.EXECUTE, native.CHECK, native.FILL, native.SGEMM, native.REPEAT, native.COPY}
Fork = list[tuple[int, int]]  # the first and last step of each branch
ALONE = (native.KERNEL, native.EXECUTE, native.SGEMM, native.FILL)


@dataclass(slots=True, eq=False)
class Chains:
    """Steps that are not ordered among each other but within their chains."""

    steps: list[Any] = field(default_factory=list)
    chain: dict[Any, list[Any]] = field(default_factory=dict)  # a step -> its chain

    def add(self, step: Any, before: set[Any]) -> bool:
        """False, and nothing happens, where the step would join long chains: then it comes after."""
        joined = list({id(c): c for s in before if (c := self.chain.get(s)) is not None}.values())
        if sum(cost_of(c) > FORK_COST for c in joined) > 1:
            return False
        merged = [s for c in joined for s in c] + [step]
        for s in merged:
            self.chain[s] = merged
        self.steps.append(step)
        return True

    def shared_out(self, threads: int) -> list[list[Any]]:
        """Branches, the longest first; their steps in order."""
        chains = sorted({id(c): c for c in self.chain.values()}.values(), key=cost_of, reverse=True)
        branches: list[list[Any]] = [[] for _ in range(min(len(chains), 4 * threads))]
        for chain in chains:
            min(branches, key=cost_of).extend(chain)
        place = {s: i for i, s in enumerate(self.steps)}
        return [sorted(b, key=place.__getitem__) for b in branches]

    def gain(self, threads: int) -> float:
        """What running the branches side by side saves, in ns."""
        loads = [0.0] * threads
        for branch in self.shared_out(threads):
            loads[loads.index(min(loads))] += cost_of(branch)
        return sum(time_of(s, threads) for s in self.steps) - max(loads) - FORK_COST


def cost_of(steps: Sequence[Any]) -> float:
    return sum(float(s.cost) for s in steps)


def time_of(step: Any, threads: int) -> float:
    """How long it takes as it is."""
    if not step.entry.uses_team:
        return float(step.cost)
    return float(step.cost) / threads * TEAM_LOSS + FORK_COST / 2


def side_by_side(
    steps: list[Any],
    final: Callable[[Tensor], Tensor],
    variables: dict[Tensor, Tensor],
    threads: int,
    make: Callable[..., Any],
) -> tuple[list[Any], list[Fork]]:
    """The steps with forks, and where their branches are.  `variables` maps
    what updates write to what they replace; `make(reads, writes, entry)` makes a step."""
    if threads < 2 or any(s.entry.kind not in MOVABLE for s in steps):
        return steps, []
    small = [s for s in steps if may_be_alone(s)]
    if cost_of(small) < 4 * FORK_COST:
        return steps, []
    before = dependencies(steps, final, variables)
    best: list[Any] = []
    most = LEAST_GAIN * sum(time_of(s, threads) for s in steps)
    for alone in (small, [s for s in small if not s.entry.uses_team]):
        order = arranged(steps, before, set(alone), threads)
        gain = sum(x.gain(threads) for x in order if isinstance(x, Chains))
        if gain > most:
            best, most = order, gain
    return flattened(best, threads, make) if best else (steps, [])


def may_be_alone(step: Any) -> bool:
    """A small step, or one of the team that one thread can do as well."""
    entry = step.entry
    if entry.kind not in ALONE or step.cost <= 0:
        return False
    return not entry.uses_team or (entry.kind == native.KERNEL and step.cost < LONGEST)


def arranged(steps: list[Any], before: dict[Any, set[Any]], alone: set[Any], threads: int) -> list[Any]:
    """Steps and chains of steps in an order of execution: what uses the team first, as long as some
    of it is ready, then all small steps that are."""
    done: set[Any] = set()
    order: list[Any] = []
    left = list(steps)
    while left:
        waiting = []
        for s in left:
            if s not in alone and before[s] <= done:
                done.add(s)
                order.append(s)
            else:
                waiting.append(s)
        chains = Chains()
        taken: set[Any] = set()
        for s in waiting:
            if s in alone and before[s] <= done | taken and chains.add(s, before[s]):
                taken.add(s)
        left = [s for s in waiting if s not in taken]
        done |= taken
        order += [chains] if chains.gain(threads) > 0 else chains.steps
    return order


def dependencies(
    steps: list[Any], final: Callable[[Tensor], Tensor], variables: dict[Tensor, Tensor]
) -> dict[Any, set[Any]]:
    """For every step, those that must come before it."""
    kept = set(variables.values())

    def memory(tensor: Tensor) -> Tensor:
        found = final(tensor)
        return variables.get(found, found)

    uses: dict[Tensor, _Uses] = {}
    checks: set[Any] = set()
    before: dict[Any, set[Any]] = {}
    for step in steps:
        found: set[Any] = set()
        written = dict.fromkeys(map(memory, step.writes))
        for m in dict.fromkeys(map(memory, step.reads)):
            use = uses.setdefault(m, _Uses())
            found |= use.writers
            if m not in written:
                use.readers.add(step)
        for m in written:
            found |= uses.setdefault(m, _Uses()).write(step)
            if m in kept:  # what can be seen changes after all checks
                found |= checks
        if step.entry.kind == native.CHECK:
            checks.add(step)
        found.discard(step)
        before[step] = found
    return before


@dataclass(slots=True, eq=False)
class _Uses:
    """Who wrote an array last, and who has read it since."""

    writers: set[Any] = field(default_factory=set)
    readers: set[Any] = field(default_factory=set)
    earlier: set[Any] = field(default_factory=set)  # before the parts that are being written

    def write(self, step: Any) -> set[Any]:
        """Who comes before the step.  Parts of one array do not wait for each other."""
        if step.is_part and not self.readers and self.writers and all(w.is_part for w in self.writers):
            self.writers.add(step)
            return set(self.earlier)
        self.earlier = self.writers | self.readers
        self.writers, self.readers = {step}, set()
        return set(self.earlier)


def flattened(order: list[Any], threads: int, make: Callable[..., Any]) -> tuple[list[Any], list[Fork]]:
    """One list again: a FORK entry, then its branches one after the other, with labels at their
    starts and behind the last."""
    found: list[Any] = []
    forks: list[Fork] = []
    for x in order:
        if not isinstance(x, Chains):
            found.append(x)
            continue
        branches = x.shared_out(threads)
        labels = [Label() for _ in range(len(branches) + 1)]
        head = [0, 0, min(threads, len(branches)), 0, len(branches), *[0] * (2 * len(labels))]
        entry = Entry(native.FORK, head, [], [], uses_team=True, jump=labels[-1], branches=labels)
        found.append(make([], [], entry, name="fork"))
        for label, branch in zip(labels, branches):
            label.at = len(found)
            found += branch
        labels[-1].at = len(found)
        forks.append([(p.at, q.at - 1) for p, q in pairwise(labels)])
    return found, forks


def run_alone(steps: list[Any], forks: list[Fork]) -> None:
    """Steps of branches are for one thread: a kernel's fourth word says how many share it."""
    for fork in forks:
        for step in steps[fork[0][0] : fork[-1][1] + 1]:
            if step.entry.uses_team:
                step.entry.head[3], step.entry.uses_team = 1, False


def live_together(blocks: list[Block], forks: list[Fork]) -> None:
    """What several branches use, or one of them and others outside, lives as long as the fork; what
    one branch keeps to itself lives beside that of the other branches."""
    for number, fork in enumerate(forks):
        first, last = fork[0][0], fork[-1][1]
        for block in blocks:
            if block.last < first or last < block.first:
                continue
            for branch, (begin, end) in enumerate(fork):
                if begin <= block.first and block.last <= end:
                    block.lane = number, branch
                    break
            else:
                block.first, block.last = min(block.first, first), max(block.last, last)
