"""Const, and the packing of several tensors into one: what Python values become."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.core.errors import require
from headrace.core.shapes import UNKNOWN, Shape, make_shape, show
from headrace.graph.defaults import get_default_graph
from headrace.graph.tensor import Tensor
from headrace.ops.declaration.building.build import make_node
from headrace.ops.declaration.building.literals import literal
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.shape_checks import merge
from headrace.ops.declaration.signature import Int, TensorAttr, Type
from headrace.ops.declaration.traits import CONSTANT


def const_shape(*, value, dtype):
    require(
        value.dtype is dtype, f"Type mismatch between value ({value.dtype.name}) and dtype ({dtype.name})"
    )
    return make_shape(value.array.shape)


@op("Const", "-> output: dtype", value=TensorAttr(), dtype=Type(), traits={CONSTANT}, shape=const_shape)
def const(*, value):
    """The attribute `value`."""
    return value.array


def constant(
    value: Any, dtype: Any = None, shape: Any = None, name: str = "Const", verify_shape: bool = False
) -> Tensor:
    """A constant tensor.  With `shape`, the last element fills what is missing.

    Args:
      value: a Python or NumPy value, or nested lists of them.
      dtype: element type; follows from the value if not given.
      shape: the shape; follows from the value if not given.
      name: name of the node.
      verify_shape: refuse a value of another shape instead of filling it up.

    Example:
      >>> tf.constant([1, 2], shape=[3])       # 1 2 2
    """
    found = literal(value, dtype, shape, verify_shape)
    attrs = {"value": found, "dtype": found.dtype}
    graph = get_default_graph()
    return make_node(graph, const, (), (), attrs, name or "Const").outputs[0]


@const.samples
def _(rng):
    yield ErrorSample(value=np.array(1), dtype=dtypes.float32, raises="Type mismatch")
    yield Sample(value=np.arange(6, dtype=np.float32).reshape(2, 3), dtype=dtypes.float32)
    yield Sample(value=np.array(b"text", dtype=object), dtype=dtypes.string)


def pack_shape(values, *, axis):
    out: Shape = UNKNOWN
    for x in values:
        out = merge(out, x)
    if out.rank is None:
        return out
    rank = out.rank + 1
    require(-rank <= axis < rank, f"axis = {axis} not in [{-rank}, {rank})")
    sizes = list(out.sizes)
    sizes.insert(axis % rank, len(values))
    return make_shape(sizes)


@op("Pack", "values: N*T -> output: T", N=Int(min=1), T=Type(), axis=0, shape=pack_shape)
def pack(values, *, axis):
    """Tensors of one shape, stacked along a new axis."""
    shapes = {v.shape for v in values}
    require(len(shapes) == 1, f"Shapes of all inputs must match: {sorted(map(str, shapes))}")
    return np.stack(values, axis=axis)


@pack.gradient
def _(node, dy):
    return list(unpack(dy, num=node.attrs["N"], axis=node.attrs["axis"]))


@pack.known
def _(node, known):
    entries = [known(x) for x in node.inputs]
    return None if any(isinstance(e, tuple) for e in entries) else tuple(entries)


@pack.lower
def _(e, values, *, axis):
    shape = list(values[0].shape)
    axis %= len(shape) + 1
    slab = [*shape[:axis], 1, *shape[axis:]]
    out = [*shape[:axis], len(values), *shape[axis:]]
    before, after = (0,) * axis, (0,) * (len(shape) - axis)
    return e.assemble(out, [((*before, i, *after), e.view(x, slab)) for i, x in enumerate(values)])


@pack.samples
def _(rng):
    for axis in (0, 1, -1):
        yield Sample([rng.normal(size=(2, 3)), rng.normal(size=(2, 3))], axis=axis)
    yield ErrorSample([np.ones((2, 3)), np.ones((3, 2))], axis=0, raises="must be equal|compatible")


def unpack_shape(value, *, num, axis):
    if value.rank is None:
        return [UNKNOWN] * num
    require(-value.rank <= axis < value.rank, f"axis = {axis} not in [{-value.rank}, {value.rank})")
    axis %= value.rank
    size = value.sizes[axis]
    require(size in (None, num), f"Dimension must be {num} but is {size} (value is {show(value)})")
    return [make_shape(value.sizes[:axis] + value.sizes[axis + 1 :])] * num


@op("Unpack", "value: T -> output: num*T", num=Int(min=0), T=Type(), axis=0, shape=unpack_shape)
def unpack(value, *, num, axis):
    """The slices of a tensor along an axis."""
    require(
        value.shape[axis] == num, f"Input shape axis {axis} must equal {num}, got shape {list(value.shape)}"
    )
    rows = np.moveaxis(value, axis, 0)
    return [np.asarray(rows[i, ...], order="C") for i in range(num)]


@unpack.gradient
def _(node, *dys):
    return pack(list(dys), axis=node.attrs["axis"])


@unpack.lower
def _(e, value, *, num, axis):
    axis %= len(value.shape)
    shape = value.shape[:axis] + value.shape[axis + 1 :]
    return [e.compute(shape, lambda *at, i=i: value[(*at[:axis], i, *at[axis:])]) for i in range(num)]


@unpack.samples
def _(rng):
    yield Sample(rng.normal(size=(2, 3)), num=2, axis=0)
    yield Sample(rng.normal(size=(2, 3)), num=3, axis=-1)
