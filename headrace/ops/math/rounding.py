"""Rounding to whole numbers, element by element.  Gradients do not pass."""

from __future__ import annotations

import numpy as np

from headrace.core.dtypes import COMPLEX, FLOATS, INDEX
from headrace.ops.declaration.families import function, unary
from headrace.ops.declaration.samples import Sample


def _halves(rng):
    values = np.array([-2.5, -1.5, -0.5, -0.2, 0.0, 0.5, 1.5, 2.5, 2.6])
    yield Sample(values, grad=False)
    yield Sample(np.zeros((0, 3)), note="empty")
    yield Sample(np.array(0.5), note="scalar", grad=False)
    yield Sample(np.array([np.nan, np.inf, -np.inf, 1e300]), note="edges", grad=False)


def _flat(node, dy):
    return None


floor = function("Floor", np.floor, "The largest whole number that is not above x.", _flat, _halves, T=FLOATS)
ceil = function("Ceil", np.ceil, "The smallest whole number that is not below x.", _flat, _halves, T=FLOATS)
rint = function(
    "Rint", np.rint, "The nearest whole number, halves to the even one.", _flat, _halves, T=FLOATS
)


def _round(x):
    return x if x.dtype.kind in "iu" else np.rint(x)


round_ = unary(
    "Round",
    _round,
    T=(*FLOATS, *INDEX, *COMPLEX),
    doc="The nearest whole number, halves to the even one.",
    emit=lambda e, x: x if x.dtype.kind in "iu" else e.round(x),
    gradient=_flat,
    samples=_halves,
)
