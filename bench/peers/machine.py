"""The machine as a peer: plain loops of Python and NumPy, to which a time can be compared on any day.

Steps that only walk the path are compared with Python's own pace, networks with a matrix product, what
is bound by memory with copying."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bench.workloads.program import Step
from bench.workloads.sizes import FULL, WORKLOADS, Sizes

version = np.__version__


def pace(size: Sizes) -> Step:
    def run() -> None:
        last: object = None
        for i in range(5000):
            last = (i, last is None)

    return Step(run)


def product(size: Sizes) -> Step:
    side = 2048 if size is FULL else 64
    a = np.full((side, side), 0.5, np.float32)
    out = np.empty_like(a)
    return Step(lambda: void(np.matmul(a, a, out=out)), flops=2 * side**3)


def traffic(size: Sizes) -> Step:
    a = np.zeros(size.chain, np.float32)
    out = np.ones_like(a)
    return Step(lambda: np.copyto(out, a))


def void(_: object) -> None:
    """The result is not a loss."""


LIKE = {
    "path": pace,
    "control": pace,
    "dense": product,
    "images": product,
    "sequences": product,
    "changing": product,
    "sparse": traffic,
    "kernels": traffic,
}


def builders(form: str) -> dict[str, Callable[[Sizes], Step]]:
    return {name: LIKE[effort.kind] for name, effort in WORKLOADS.items()}
