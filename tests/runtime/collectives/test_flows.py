"""Rings and trees of members, run in random orders; what comes out is NumPy's."""

from __future__ import annotations

import random

import numpy as np
import pytest

from headrace.runtime.collectives.flows import (
    Place,
    Post,
    broadcast_flow,
    children,
    chunk_length,
    gather_flows,
    joined,
    orders,
    parent,
    reduce_flows,
)


def exchanged(flows, rng):
    """What all flows return, by member; values come in any order."""
    left, results, waiting = {}, {}, []
    ready = [(member, number, None) for member, mine in enumerate(flows) for number in range(len(mine))]
    while ready or waiting:
        come = [w for w in waiting if (w[0], w[2]) in left]
        waiting = [w for w in waiting if (w[0], w[2]) not in left]
        ready += [(member, number, left.pop((member, key))) for member, number, key in come]
        assert ready, "all wait"
        member, number, value = ready.pop(rng.randrange(len(ready)))
        try:
            action = flows[member][number].send(value)
            while isinstance(action, Post):
                assert (action.target, action.key) not in left
                left[action.target, action.key] = action.value
                action = flows[member][number].send(None)
            waiting.append((member, number, action.key))
        except StopIteration as end:
            results.setdefault(member, {})[number] = end.value
    assert not left, "nobody has taken something"
    return [[results[m][n] for n in range(len(mine))] for m, mine in enumerate(flows)]


def places(rng):
    tasks = [f"task{i}" for i in range(rng.randint(1, 4)) for _ in range(rng.randint(1, 3))]
    return [Place(rank, tuple(tasks), "1:1:0:0") for rank in range(len(tasks))]


@pytest.mark.parametrize("seed", range(200))
def test_reductions(seed):
    rng = random.Random(seed)
    members = places(rng)
    dtype = rng.choice([np.float16, np.float32, np.float64, np.int32, np.int64])
    size = rng.choice([0, 1, 7, 16, 100, 1000])
    values = [np.random.RandomState(seed + p.rank).randint(0, 9, size).astype(dtype) for p in members]
    offsets = rng.choice([(0,), (0, 1), (0, -1), (1, -2, 0)])
    flows = [reduce_flows(p, v, np.add, lambda x: x * 2, offsets) for p, v in zip(members, values)]
    expected = sum(values) * (2 if len(members) > 1 else 1)
    for found in exchanged(flows, rng):
        np.testing.assert_array_equal(joined(found, np.dtype(dtype)), expected.astype(dtype))


@pytest.mark.parametrize("seed", range(100))
def test_gathers(seed):
    rng = random.Random(seed)
    members = places(rng)
    values = [np.full(rng.choice([0, 5]), 1.0) * p.rank for p in members]
    values = [np.resize(values[0] * 0 + p.rank, values[0].shape) for p in members]
    for found in exchanged([gather_flows(p, v) for p, v in zip(members, values)], rng):
        np.testing.assert_array_equal(joined(found, np.dtype(float)), np.concatenate(values))


@pytest.mark.parametrize("seed", range(200))
def test_broadcasts(seed):
    rng = random.Random(seed)
    members = places(rng)
    source, value = rng.randrange(len(members)), np.arange(rng.choice([1, 9]))
    flows = [[broadcast_flow(p, source, value if p.rank == source else None, value.size)] for p in members]
    for (found,) in exchanged(flows, rng):
        np.testing.assert_array_equal(found, value)


def test_a_tree_has_each_member_once():
    for size in range(1, 20):
        for root in range(size):
            sent = [(r, child) for r in range(size) for child in children(r, root, size)]
            assert sorted(child for _, child in sent) == [r for r in range(size) if r != root]
            assert all(parent(child, root) == r for r, child in sent)


def test_rings_and_chunks_are_tensorflows():
    assert orders(["a", "a", "a", "b", "b"], 1) == [1, 2, 0, 4, 3]
    assert orders(["a", "a", "a", "b"], -1) == [1, 0, 2, 3]
    assert [chunk_length(n, 4, 2) for n in (1, 32, 33)] == [16, 32, 32]
