"""Sums of many tensors of one shape."""

from __future__ import annotations

import functools
import operator

import numpy as np

from headrace.core.dtypes import NUMBERS, variant
from headrace.core.errors import require
from headrace.core.shapes import UNKNOWN, Shape
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.signature import Int, ShapeAttr
from headrace.ops.declaration.traits import AGGREGATE, COMMUTATIVE, ELEMENTWISE


def _sum(inputs):
    first = inputs[0]
    for i, other in enumerate(inputs):
        require(
            other.shape == first.shape,
            f"Inputs to operation of type AddN must have the same size and shape.  Input 0: "
            f"{list(first.shape)} != input {i}: {list(other.shape)}",
        )
    if len(inputs) == 1:
        return first
    with np.errstate(all="ignore"):
        total = np.add(first, inputs[1])
        for other in inputs[2:]:
            total = np.add(total, other)
    return total


def add_n_shape(inputs):
    out: Shape = UNKNOWN
    for i, x in enumerate(inputs):
        try:
            out = out.merge_with(x.plain())
        except ValueError as error:
            raise ValueError(f"From merging shape {i} with other shapes. {error}") from None
    return out


@op(
    "AddN",
    "inputs: N*T -> sum: T",
    N=Int(min=1),
    T=(*NUMBERS, variant),
    shape=add_n_shape,
    traits={COMMUTATIVE, AGGREGATE, ELEMENTWISE},
)
def add_n(inputs):
    """The sum of the inputs, which have one shape."""
    return _sum(inputs)


def _to_each(node, dy):
    return [dy] * len(node.inputs)


def _lower_sum(e, inputs):
    return functools.reduce(operator.add, inputs)


add_n.gradient(_to_each)
add_n.lower(_lower_sum)


@add_n.samples
def _(rng):
    yield Sample([rng.normal(size=(2, 3)) for _ in range(3)])
    yield Sample([rng.normal(size=(2, 3))], note="one")
    yield Sample([np.zeros((0, 3)), np.zeros((0, 3))], note="empty")
    yield ErrorSample([np.ones((2, 3)), np.ones((3, 2))], raises="shape")


def accumulate_shape(inputs, *, shape):
    return add_n_shape([*inputs, *([_Declared(shape)] if shape.is_full else [])])


class _Declared:
    """A shape among the inputs of a rule."""

    def __init__(self, shape: Shape) -> None:
        self._shape = shape

    def plain(self) -> Shape:
        return self._shape


@op(
    "AccumulateNV2",
    "inputs: N*T -> sum: T",
    shape=accumulate_shape,
    traits={COMMUTATIVE, AGGREGATE, ELEMENTWISE},
    attrs={"N": Int(min=1), "T": NUMBERS, "shape": ShapeAttr()},
)
def accumulate_n_v2(inputs):
    """The sum of the inputs, whose one shape is also an attribute."""
    return _sum(inputs)


accumulate_n_v2.gradient(_to_each)
accumulate_n_v2.lower(_lower_sum)


@accumulate_n_v2.samples
def _(rng):
    yield Sample([rng.normal(size=(2, 3)) for _ in range(3)], shape=[2, 3])
    yield ErrorSample([np.ones((2, 3)), np.ones((3, 2))], shape=[2, 3], raises="shape")
