"""Polynomials that are evaluated at once have the values that they have one by one."""

from __future__ import annotations

import numpy as np
import pytest

from headrace.core.size_tables import Table
from headrace.core.size_values import Numbers
from headrace.core.sizes import Size, Trace


def made(rng: np.random.Generator) -> tuple[Trace, list[Size]]:
    trace = Trace()
    pool: list[Size] = [trace.symbol(int(n)) for n in rng.integers(2, 60, 3)]
    for _ in range(30):
        a, b = (pool[i] for i in rng.integers(len(pool), size=2))
        how = rng.choice(["+", "-", "*", "//", "k"])
        if how == "//":
            found = a // max(int(rng.integers(1, 9)), 1)
        else:
            found = {
                "+": a + b,
                "-": a - b,
                "*": a * b if len(a.terms) * len(b.terms) < 9 else a,
                "k": a * 7,
            }[how]
        if isinstance(found, Size):
            pool.append(found)
    return trace, pool


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("largest", [60, 1 << 31, 1 << 62])
def test_as_one_by_one(seed, largest):
    rng = np.random.default_rng(seed)
    trace, sizes = made(rng)
    table = Table([s.terms for s in sizes])
    for _ in range(5):
        chosen = [int(n) for n in rng.integers(2, largest, 3)]
        numbers = Numbers(trace, chosen)
        assert table.values(numbers.atom, numbers.of) == [Numbers(trace, chosen)(s) for s in sizes]
        numbers.learn(sizes, table)
        assert numbers.all(sizes) == Numbers(trace, chosen).all(sizes)


def test_of_none():
    assert Table([]).values(lambda a: a, lambda t: 0) == []
