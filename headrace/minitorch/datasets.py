"""Points in the unit square with two classes."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass


def make_pts(N: int) -> list[tuple[float, float]]:
    """Points at random."""
    return [(random.random(), random.random()) for _ in range(N)]


@dataclass
class Graph:
    """Points and their classes."""

    N: int
    X: list[tuple[float, float]]
    y: list[int]


def _classified(is_one: Callable[[float, float], bool]) -> Callable[[int], Graph]:
    def made(N: int) -> Graph:
        X = make_pts(N)
        return Graph(N, X, [int(is_one(*x)) for x in X])

    return made


simple = _classified(lambda a, b: a < 0.5)
diag = _classified(lambda a, b: a + b < 0.5)
split = _classified(lambda a, b: a < 0.2 or a > 0.8)
xor = _classified(lambda a, b: (a < 0.5 < b) or (b < 0.5 < a))
circle = _classified(lambda a, b: (a - 0.5) ** 2 + (b - 0.5) ** 2 > 0.1)


def spiral(N: int) -> Graph:
    """Two arms, one for each class."""
    half = N // 2

    def arm(t: float) -> tuple[float, float]:
        return t * math.cos(t) / 20.0, t * math.sin(t) / 20.0

    turns = [10.0 * i / half for i in range(5, 5 + half)]
    first = [(x + 0.5, y + 0.5) for x, y in map(arm, turns)]
    second = [(y + 0.5, x + 0.5) for x, y in (arm(-t) for t in turns)]
    return Graph(N, first + second, [0] * half + [1] * half)


datasets = {"Simple": simple, "Diag": diag, "Split": split, "Xor": xor, "Circle": circle, "Spiral": spiral}
