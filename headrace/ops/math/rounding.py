"""Rounding to whole numbers, element by element.  Gradients do not pass."""

from __future__ import annotations

import numpy as np

from headrace.core.dtypes import COMPLEX, FLOATS, INDEX
from headrace.ops.declaration.families import unary
from headrace.ops.declaration.samples import Sample


def _halves(rng):
    values = np.array([-2.5, -1.5, -0.5, -0.2, 0.0, 0.5, 1.5, 2.5, 2.6])
    yield Sample(values, grad=False)
    yield Sample(np.zeros((0, 3)), note="empty")
    yield Sample(np.array(0.5), note="scalar", grad=False)
    yield Sample(np.array([np.nan, np.inf, -np.inf, 1e300]), note="edges", grad=False)


def _flat(node, dy):
    return None


floor = unary(
    "Floor",
    np.floor,
    T=FLOATS,
    doc="The largest whole number that is not above x.",
    emit="floor",
    gradient=_flat,
    samples=_halves,
)
ceil = unary(
    "Ceil",
    np.ceil,
    T=FLOATS,
    doc="The smallest whole number that is not below x.",
    emit="ceil",
    gradient=_flat,
    samples=_halves,
)
rint = unary(
    "Rint",
    np.rint,
    T=FLOATS,
    doc="The nearest whole number, halves to the even one.",
    emit="rint",
    gradient=_flat,
    samples=_halves,
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
