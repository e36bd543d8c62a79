"""Polynomials: what is computed with them is what is computed with their numbers."""

from __future__ import annotations

import random

import pytest

from headrace.core.polynomials import constant, divided, evaluate, lower_bound, minus, plus, scaled, times

N, M = (((0,), 1),), (((1,), 1),)


def drawn(rng):
    """A polynomial of two atoms."""
    found = constant(rng.randint(-3, 3))
    for _ in range(rng.randint(0, 4)):
        part = constant(rng.randint(-3, 3))
        for _ in range(rng.randint(0, 3)):
            part = times(part, rng.choice((N, M)))
        found = plus(found, part)
    return found


def test_arithmetic_is_that_of_the_numbers():
    rng = random.Random(1)
    for _ in range(300):
        a, b, atoms = drawn(rng), drawn(rng), (rng.randint(2, 9), rng.randint(2, 9))
        x, y = evaluate(a, atoms), evaluate(b, atoms)
        assert evaluate(plus(a, b), atoms) == x + y
        assert evaluate(minus(a, b), atoms) == x - y
        assert evaluate(times(a, b), atoms) == x * y
        assert evaluate(scaled(a, -2), atoms) == -2 * x
        assert minus(plus(a, b), b) == a  # one form for one polynomial


def test_a_lower_bound_is_one():
    rng = random.Random(2)
    known = 0
    for _ in range(500):
        a = drawn(rng)
        bound = lower_bound(a, (2, 2))
        if bound is not None:
            known += 1
            assert all(evaluate(a, (n, m)) >= bound for n in range(2, 7) for m in range(2, 7)), a
    assert known > 100


@pytest.mark.parametrize(
    "terms, bound", [(minus(times(scaled(N, 3), M), N), 8), (minus(N, M), None), (constant(-4), -4), ((), 0)]
)
def test_a_positive_term_outweighs_a_negative_one(terms, bound):
    assert lower_bound(terms, (2, 2)) == bound


def test_division_leaves_what_does_not_divide():
    a = plus(times(scaled(N, 6), M), plus(scaled(N, 3), constant(4)))
    quotient, rest = divided(a, (0,), 3)
    assert quotient == plus(scaled(M, 2), constant(1)) and rest == constant(4)
    assert divided(a, (1, 1), 1) == ((), a)
