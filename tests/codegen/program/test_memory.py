"""Where arrays are: no two that live at the same time overlap; arenas are shared."""

from __future__ import annotations

import random

import numpy as np
import pytest

from headrace.codegen.program.arenas import KEPT, Arenas
from headrace.codegen.program.memory import ALIGNMENT, Allocation, align, most_alive, plan


@pytest.mark.pure
@pytest.mark.parametrize("seed", range(20))
def test_no_overlap(seed):
    rng = np.random.default_rng(seed)
    allocations = []
    for _ in range(60):
        first = int(rng.integers(0, 40))
        allocations.append(Allocation(int(rng.integers(0, 5000)), first, first + int(rng.integers(0, 12))))
    total = plan(allocations)
    assert all(b.offset % ALIGNMENT == 0 and b.offset + b.size <= total for b in allocations)
    for i, a in enumerate(allocations):
        for b in allocations[:i]:
            if a.overlaps(b) and a.size and b.size:
                assert a.offset + a.size <= b.offset or b.offset + b.size <= a.offset
    assert most_alive(allocations) <= total <= 1.5 * most_alive(allocations) + ALIGNMENT


@pytest.mark.pure
def test_a_chain_needs_two_buffers():
    allocations = [Allocation(1000, k, k + 1) for k in range(10)]
    assert plan(allocations) == 2 * 1024


@pytest.mark.pure
def test_arenas_are_reused():
    arenas = Arenas()
    large = arenas.take(1000)
    arenas.give(large)
    assert arenas.take(10) is large
    small = arenas.take(10)
    arenas.give(small)
    arenas.give(large)
    assert arenas.take(5) is small
    assert arenas.take(2000).nbytes == 2000  # `large` made room for it
    assert arenas.nbytes == 0
    for _ in range(2 * KEPT):
        arenas.give(np.empty(10, np.uint8))
    assert arenas.nbytes == 10 * KEPT


@pytest.mark.native
def test_out_of_memory_names_the_largest_arrays():
    from headrace.codegen.assembly.assemble import assemble
    from headrace.codegen.ir.kernel_ir import Array
    from headrace.codegen.lowering.lower import Emitter
    from headrace.core.errors import ResourceExhaustedError

    e = Emitter()
    x = Array((3,), np.float32)
    huge = e.compute((1 << 24, 1 << 20), lambda i, j: x[0] + e.cast(i + j, np.float32))
    first = e.scatter("set", huge, (1,), lambda r: (0, 0), lambda r: x[0])
    program = assemble([x], [e.compute((1,), lambda i: first[0, 0])], [], [])
    with pytest.raises(ResourceExhaustedError, match=r"OOM: a program needs \d+ bytes.*largest are"):
        program.run([np.zeros(3, np.float32)])


@pytest.mark.pure
def test_each_at_the_lowest_place():
    """As the search that looks at everything finds it."""
    draw = random.Random(7)
    for _ in range(50):
        allocations = []
        for _ in range(draw.randrange(1, 60)):
            first = draw.randrange(30)
            size, last = draw.choice([0, 1, 64, 100, 1000, 5000]), first + draw.randrange(8)
            allocations.append(Allocation(size, first, last))
        total = plan(allocations)
        placed = []
        for allocation in sorted(allocations, key=lambda b: (-b.size, b.first)):
            near = [p for p in placed if p.overlaps(allocation)]
            ends = sorted({0, *(p.offset + align(p.size) for p in near)})
            lowest = next(
                at
                for at in ends
                if all(
                    at + align(allocation.size) <= p.offset or p.offset + align(p.size) <= at for p in near
                )
            )
            assert allocation.offset == lowest
            placed.append(allocation)
        assert total == max(b.offset + align(b.size) for b in allocations)
