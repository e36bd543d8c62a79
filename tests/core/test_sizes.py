"""Sizes: what is computed with them holds for all numbers for which the guards hold."""

from __future__ import annotations

import random

import numpy as np
import pytest

from headrace.core.size_values import Numbers
from headrace.core.sizes import LEAST, Pinned, Size, Trace, chosen, hint, same, vector, whole


def traced(*values):
    trace = Trace()
    return trace, [trace.symbol(v) for v in values]


def test_polynomials_are_one_object():
    trace, (n, m) = traced(7, 5)
    assert (n + m) * 2 is 2 * m + n * 2
    assert n - n == 0 and type(n - n) is int
    assert (n * m * 3) // n is 3 * m
    assert -(-n // 1) is n
    assert not trace.guards


def test_what_holds_for_all_sizes_is_no_guard():
    trace, (n, m) = traced(7, 5)
    assert n - 1 < n and n >= LEAST and n * m >= n and n != 0 and n != 1 and not n < 2
    assert n * m - n >= 0 and bool(n)
    assert not trace.guards


def test_a_comparison_is_a_guard():
    trace, (n, m) = traced(7, 5)
    assert n > m and n != 10
    assert Numbers(trace, [9, 3]).fit()
    assert not Numbers(trace, [3, 9]).fit()
    assert not Numbers(trace, [10, 3]).fit()
    assert not Numbers(trace, [9, 1]).fit()  # below LEAST


@pytest.mark.parametrize(
    "use",
    [
        int,
        float,
        range,
        lambda n: [0] * n,
        lambda n: np.zeros(n),
        lambda n: np.array([n], np.int64),
        lambda n: [1, 2, 3, 4, 5, 6, 7, 8][n],
        lambda n: n * 0.5,
        lambda n: n < 7.5,
        lambda n: n / 2,
        lambda n: round(n / 3),
    ],
)
def test_who_needs_the_number_pins_it(use):
    trace, (n,) = traced(7)
    assert repr(use(n)) == repr(use(7))
    assert trace.pins and Numbers(trace, [7]).fit() and not Numbers(trace, [8]).fit()


def test_pins_can_be_refused():
    trace, (n,) = traced(7)
    with pytest.raises(Pinned), trace.without_pins():
        int(n)
    assert not trace.guards


def test_a_hint_leaves_no_trace():
    trace, (n,) = traced(7)
    assert hint(n * 2 + 1) == 15 and not trace.guards and not trace.pins
    assert not same(n, 7) and same(n + 1, 1 + n)


def test_a_choice_is_made_anew():
    trace, (n,) = traced(7)
    found = chosen(lambda work: 2 if work > 100 else 1, n * 10)
    assert hint(found) == 1
    assert Numbers(trace, [20])(found) == 2 and Numbers(trace, [5])(found) == 1


def test_sizes_of_two_programs_are_never_equal():
    (_, (n,)), (_, (m,)) = traced(7), traced(7)
    assert n != m and len({n: 0, m: 1}) == 2


def test_a_quotient_by_what_becomes_zero_does_not_fit():
    trace, (n, m) = traced(7, 5)
    assert 10 // (n - m) == 5
    assert not Numbers(trace, [4, 4]).fit()


def test_vectors():
    trace, (n,) = traced(7)
    assert vector([1, 2], np.int32).dtype == np.int32
    found = vector([n, 2], np.int32)
    assert found.dtype == object and found[0] is n and whole(found[1]) == 2
    assert np.prod(found) is n * 2 and not trace.pins


# -- random computations ---------------------------------------------------------------------------
def program(rng):
    """A computation with sizes and questions, as a function of a list of numbers."""
    steps = [(rng.choice("+-*/%<=?m"), rng.random(), rng.random(), rng.randint(1, 9)) for _ in range(12)]

    def run(numbers):
        values, answers = list(numbers), []
        for place, (op, a, b, constant) in enumerate(steps):
            x, y = values[int(a * len(values))], values[int(b * len(values))]
            if op == "+":
                values.append(x + y)
            elif op == "-":
                values.append(x - constant)
            elif op == "*":
                values.append(x * (y if place < 4 else constant))
            elif op == "/":
                values.append(x // constant if constant % 2 or y == 0 else x // y)
            elif op == "%":
                values.append(x % constant)
            elif op == "<":
                answers.append(bool(x < y))
            elif op == "=":
                answers.append(bool(x == constant))
            elif op == "?":
                values.append(x if y > constant else constant)
            else:
                values.append(min(x, y) + max(x, constant))
        return values, answers

    return run


@pytest.mark.parametrize("seed", range(300))
def test_random_computations(seed):
    """Where the guards hold, plain numbers give the same answers, and the Sizes evaluate to their values."""
    rng = random.Random(seed)
    run = program(rng)
    trace, sizes = traced(*(rng.randint(2, 40) for _ in range(3)))
    values, answers = run(sizes)
    assert [hint(v) for v in values] == run([s.value for s in sizes])[0]
    fitting = 0
    for _ in range(60):
        plain = [rng.randint(2, 40) for _ in range(3)]
        numbers = Numbers(trace, plain)
        if numbers.fit():
            fitting += 1
            assert ([numbers(v) for v in values], answers) == run(plain)
    now = Numbers(trace, [s.value for s in sizes])
    assert now.fit() and [now(v) for v in values] == [hint(v) for v in values]
    assert all(isinstance(s, Size) for s in sizes)
