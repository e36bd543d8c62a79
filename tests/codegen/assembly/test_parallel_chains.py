"""Independent chains of small instructions run side by side: the same results, an order that data allows."""

from __future__ import annotations

import numpy as np
import pytest

import headrace as tf
from headrace.codegen.assembly import parallel_chains
from headrace.codegen.ir.kernel_ir import Array
from headrace.codegen.machine import threads
from headrace.codegen.program import memory, native
from headrace.codegen.program.instruction import Instruction
from headrace.codegen.program.program import Entry
from headrace.runtime.containers import Containers
from tests.codegen.compare import Runner, assert_same, settled

pytestmark = pytest.mark.native
several = pytest.mark.skipif(threads.count() < 2, reason="one core")


def towers(rng, batch=16, width=128, count=4, depth=3):
    x = tf.placeholder(tf.float32, [batch, width])
    tops = []
    for _ in range(count):
        h = x
        for _ in range(depth):
            w = tf.constant(rng.normal(size=(width, width)).astype(np.float32) / width**0.5)
            h = tf.nn.relu(tf.matmul(h, w))
        tops.append(h)
    return x, tops


def forks_of(runner):
    programs = [p.program for u in runner.program.units for p in u.machine.programs.values() if p]
    return [e for p in programs for e in p.entries if e.kind == native.FORK]


@several
@pytest.mark.parametrize("join", ["concat", "sum", "apart"])
def test_towers_run_side_by_side(join):
    rng = np.random.default_rng(1)
    with tf.Graph().as_default() as graph:
        x, tops = towers(rng)
        made = {"concat": lambda: [tf.concat(tops, 1)], "sum": lambda: [tf.add_n(tops)]}
        outputs = made.get(join, lambda: tops)()
        (dx,) = tf.gradients(outputs, [x])
    runner = Runner(graph, [x], [*outputs, dx])
    arrays = [rng.normal(size=x.shape.as_list()).astype(np.float32)]
    want = runner.expected(Containers(), arrays)
    for _ in range(3):
        got, _ = settled(runner, arrays)
        for g, w in zip(got, want):
            assert_same(g, w, 1e-4)
    assert forks_of(runner)


@several
def test_results_do_not_depend_on_who_comes_first():
    rng = np.random.default_rng(2)
    with tf.Graph().as_default(), tf.Session() as session:
        x, tops = towers(rng)
        joined, value = tf.concat(tops, 1), rng.normal(size=(16, 128))
        for _ in range(3):  # the first step is not compiled
            first = session.run(joined, {x: value})
        for _ in range(50):
            np.testing.assert_array_equal(session.run(joined, {x: value}), first)


def test_one_thread_has_no_branches():
    instructions = [instruction([], [f"a{i}"], cost=1e6) for i in range(4)]
    assert parallel_chains.side_by_side(instructions, same, {}, 1) == (instructions, [])


# -- the order ----------------------------------------------------------------------------------
names: dict[str, Array] = {}


def named(name):
    return names.setdefault(name, Array((4,), "float32", name=name))


def same(array):
    return array


def instruction(reads, writes, cost=1e5, kind=native.KERNEL, is_part=False):
    made = Instruction([named(r) for r in reads], [named(w) for w in writes], Entry(kind, [0] * 6, [], []))
    made.cost, made.is_part = cost, is_part
    return made


def test_what_one_instruction_writes_another_waits_for():
    a, b, c = instruction([], ["x"]), instruction(["x"], ["y"]), instruction([], ["x"])
    before = parallel_chains.dependencies([a, b, c], same, {})
    assert before == {a: set(), b: {a}, c: {a, b}}


def test_parts_of_an_array_do_not_wait_for_each_other():
    old = instruction(["z"], ["r"])
    parts = [instruction([f"p{i}"], ["z"], is_part=True) for i in range(3)]
    reader = instruction(["z"], ["s"])
    before = parallel_chains.dependencies([old, *parts, reader], same, {})
    assert [before[p] for p in parts] == [{old}] * 3
    assert before[reader] == set(parts)


def test_variables_change_after_all_checks():
    check = instruction(["bad"], [], kind=native.CHECK, cost=0)
    change = instruction([], ["new"])
    before = parallel_chains.dependencies([check, change], same, {named("new"): named("variable")})
    assert before[change] == {check}


@pytest.mark.parametrize("seed", range(20))
def test_every_order_is_one_that_data_allows(seed):
    rng = np.random.default_rng(seed)
    instructions = []
    for i in range(40):
        reads = [f"v{k}" for k in rng.integers(0, 20, size=rng.integers(0, 3))]
        made = instruction(reads, [f"v{rng.integers(0, 20)}"], cost=float(rng.uniform(1e3, 2e5)))
        made.entry.uses_team = bool(rng.random() < 0.3)
        made.name = str(i)
        instructions.append(made)
    before = parallel_chains.dependencies(instructions, same, {})
    alone = {s for s in instructions if not s.entry.uses_team}
    order = parallel_chains.arranged(instructions, before, alone, 2)
    found, forks = parallel_chains.flattened(order, 2)
    place = {s: i for i, s in enumerate(found)}
    assert set(instructions) <= set(place)
    branch = {
        n: (f, b)
        for f, fork in enumerate(forks)
        for b, (first, last) in enumerate(fork)
        for n in range(first, last + 1)
    }
    for s, earlier in before.items():
        for e in earlier:
            assert place[e] < place[s]
            here, there = branch.get(place[s]), branch.get(place[e])
            assert here is None or there is None or here[0] != there[0] or here == there


def test_memory_of_branches_is_not_shared():
    forks = [[(1, 2), (3, 4)]]
    own = [memory.Allocation(64, 1, 1), memory.Allocation(64, 2, 2), memory.Allocation(64, 3, 4)]
    passing, after = memory.Allocation(64, 0, 3), memory.Allocation(64, 5, 6)
    parallel_chains.live_together([*own, passing, after], forks)
    assert not own[0].overlaps(own[1])  # one after the other
    assert own[0].overlaps(own[2]) and own[2].overlaps(own[1])
    assert all(passing.overlaps(b) for b in own) and passing.last == 4
    assert not any(after.overlaps(b) for b in (*own, passing))
