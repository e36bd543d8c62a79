"""Numbers: what a network is made of, with the derivative of each where it needs one; and lists of
numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

EPS = 1e-6  # keeps a logarithm away from zero


def mul(x: float, y: float) -> float:
    return x * y


def id(x: float) -> float:
    return x


def add(x: float, y: float) -> float:
    return x + y


def neg(x: float) -> float:
    return -x


def lt(x: float, y: float) -> float:
    """1.0 if x is less than y, else 0.0."""
    return 1.0 if x < y else 0.0


def eq(x: float, y: float) -> float:
    """1.0 if x is y, else 0.0."""
    return 1.0 if x == y else 0.0


def max(x: float, y: float) -> float:
    return x if x > y else y


def is_close(x: float, y: float) -> float:
    """1.0 if x and y are less than 0.01 apart, else 0.0."""
    return 1.0 if abs(x - y) < 1e-2 else 0.0


def sigmoid(x: float) -> float:
    """1 / (1 + exp(-x)), by the form whose exponential can not overflow."""
    if x >= 0:
        return 1.0 / (1.0 + math.exp(-x))
    return math.exp(x) / (1.0 + math.exp(x))


def relu(x: float) -> float:
    return x if x > 0 else 0.0


def log(x: float) -> float:
    return math.log(x + EPS)


def exp(x: float) -> float:
    return math.exp(x)


def inv(x: float) -> float:
    return 1.0 / x


def log_back(x: float, d: float) -> float:
    """The derivative of log at x, times d."""
    return d / (x + EPS)


def inv_back(x: float, d: float) -> float:
    """The derivative of inv at x, times d."""
    return -d / x**2


def relu_back(x: float, d: float) -> float:
    """The derivative of relu at x, times d."""
    return d if x > 0 else 0.0


# -- lists -------------------------------------------------------------------------------------------


def map(fn: Callable[[float], float]) -> Callable[[Iterable[float]], list[float]]:
    """From a function of a number to one of a list."""
    return lambda ls: [fn(x) for x in ls]


def zipWith(fn: Callable[[float, float], float]) -> Callable[[Iterable[float], Iterable[float]], list[float]]:
    """From a function of two numbers to one of two lists."""
    return lambda ls1, ls2: [fn(x, y) for x, y in zip(ls1, ls2)]


def reduce(fn: Callable[[float, float], float], start: float) -> Callable[[Iterable[float]], float]:
    """From a function of two numbers to one that takes in a whole list, from `start` on."""

    def reduced(ls: Iterable[float]) -> float:
        found = start
        for x in ls:
            found = fn(found, x)
        return found

    return reduced


def negList(ls: Iterable[float]) -> list[float]:
    return map(neg)(ls)


def addLists(ls1: Iterable[float], ls2: Iterable[float]) -> list[float]:
    return zipWith(add)(ls1, ls2)


def sum(ls: Iterable[float]) -> float:
    return reduce(add, 0.0)(ls)


def prod(ls: Iterable[float]) -> float:
    return reduce(mul, 1.0)(ls)
