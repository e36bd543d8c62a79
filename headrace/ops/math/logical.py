"""And, or, not: element-wise, on bool."""

from __future__ import annotations

import numpy as np

from headrace.ops.declaration.families import compare, unary
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.traits import COMMUTATIVE

_PAIR = "x: bool, y: bool -> z: bool"
_TABLE = np.array([[False, True], [True, True]])


def _pairs(rng):
    yield Sample(_TABLE, np.array([False, True]))
    yield Sample(np.array(True), np.array(False), note="scalar")
    yield Sample(np.zeros((0, 2), bool), np.array([False, True]), note="empty")
    yield ErrorSample(_TABLE, np.ones(3, bool), raises="must be equal|Incompatible shapes")


logical_and = compare(
    "LogicalAnd",
    np.logical_and,
    signature=_PAIR,
    doc="x and y.",
    emit=lambda e, x, y: x & y,
    traits={COMMUTATIVE},
    samples=_pairs,
)
logical_or = compare(
    "LogicalOr",
    np.logical_or,
    signature=_PAIR,
    doc="x or y.",
    emit=lambda e, x, y: x | y,
    traits={COMMUTATIVE},
    samples=_pairs,
)
logical_not = unary(
    "LogicalNot",
    np.logical_not,
    signature="x: bool -> y: bool",
    doc="not x.",
    emit=lambda e, x: ~x,
    samples=lambda rng: iter([Sample(_TABLE)]),
)
logical_not.no_gradient()
