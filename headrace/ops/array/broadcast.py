"""Broadcasting as ops, and how a gradient gets back from the broadcast shape to the inputs'."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from headrace.core.errors import require
from headrace.core.modules import late
from headrace.core.shapes import Shape, show
from headrace.core.sizes import vector, whole
from headrace.graph.tensor import Tensor
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.shape_rules import require_rank
from headrace.ops.declaration.signature import INDEX32
from headrace.ops.math import reduce

array = late("headrace.ops.declaration.array")


def broadcast_args_shape(s0, s1):
    require_rank(s0, 1)
    require_rank(s1, 1)
    known = None not in (s0.dim(0), s1.dim(0))
    return Shape.of(max(s0.dim(0), s1.dim(0)) if known else None)


def _sizes(name: str, array: Any) -> list[int]:
    require(array.ndim == 1, f"In[{name}] must be a vector.{list(array.shape)}")
    return [whole(size) for size in array]


def _refuse(s0: Any, s1: Any) -> str:
    return f"Incompatible shapes: {show(s0)} vs. {show(s1)}"


@op("BroadcastArgs", "s0: T, s1: T -> r0: T", T=INDEX32, shape=broadcast_args_shape)
def broadcast_args(s0, s1):
    """The shape that arrays of the shapes s0 and s1 broadcast to."""
    a, b = _sizes("0", s0), _sizes("1", s1)
    rank = max(len(a), len(b))
    pairs = list(zip([1] * (rank - len(a)) + a, [1] * (rank - len(b)) + b))
    require(all(x == y or 1 in (x, y) for x, y in pairs), _refuse(s0, s1))
    return vector([y if x == 1 else x for x, y in pairs], s0.dtype)


@broadcast_args.samples
def _(rng):
    yield Sample(np.array([2, 1], np.int32), np.array([3], np.int32))
    yield Sample(np.array([2, 0]), np.array([4, 2, 1]))
    yield Sample(np.array([], np.int32), np.array([], np.int32), note="scalars")
    yield ErrorSample(np.array([2]), np.array([3]), raises="Incompatible shapes")


broadcast_args.no_gradient()


def broadcast_gradient_args_shape(s0, s1):
    require_rank(s0, 1)
    require_rank(s1, 1)
    return [Shape.of(None), Shape.of(None)]


@op("BroadcastGradientArgs", "s0: T, s1: T -> r0: T, r1: T", T=INDEX32, shape=broadcast_gradient_args_shape)
def broadcast_gradient_args(s0, s1):
    """The axes to sum over, so that a gradient of the broadcast shape gets the shape s0 (or s1)."""
    r0, r1 = reduction_axes(_sizes("0", s0), _sizes("1", s1))
    return np.array(r0, s0.dtype), np.array(r1, s0.dtype)


def reduction_axes(a: Sequence[int], b: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The axes along which `a` and `b` repeat when they broadcast together."""
    if tuple(a) == tuple(b):
        return (), ()
    rank = max(len(a), len(b))
    pairs = list(zip([1] * (rank - len(a)) + list(a), [1] * (rank - len(b)) + list(b)))
    require(all(x == y or 1 in (x, y) for x, y in pairs), _refuse(a, b))
    # An axis of size 1 on both sides may be summed or not: TF lists it for both.
    return (
        tuple(i for i, (x, _) in enumerate(pairs) if x == 1),
        tuple(i for i, (_, y) in enumerate(pairs) if y == 1),
    )


@broadcast_gradient_args.samples
def _(rng):
    yield Sample(np.array([2, 3], np.int32), np.array([3], np.int32))
    yield Sample(np.array([2, 1]), np.array([1, 3]))
    yield Sample(np.array([2, 3]), np.array([2, 3]), note="equal")
    yield ErrorSample(np.array([2]), np.array([3]), raises="Incompatible shapes")


broadcast_gradient_args.no_gradient()


def same_known_shape(*tensors: Any) -> bool:
    """All are tensors of one completely known shape."""
    first = tensors[0]
    if not isinstance(first, Tensor) or not first.shape.is_full:
        return False
    sizes = first.shape.sizes
    return all(isinstance(t, Tensor) and t.shape._sizes == sizes for t in tensors)


def unbroadcast(
    x: Tensor, y: Tensor, dy: Any, dx_rule: Callable[[], Any] | None, dy_rule: Callable[[], Any] | None
) -> tuple[Any, Any]:
    """The gradients of both inputs of a broadcasting op, each summed to its input's shape.

    The rules build the gradients in the shape of `dy`; None: that input has no gradient.
    """
    if x.shape.is_full and y.shape.is_full:
        shapes: tuple[Any, ...] = (x.shape.sizes, y.shape.sizes)
        axes: tuple[Any, ...] = reduction_axes(*shapes)
        whole = dy.shape._sizes if isinstance(dy, Tensor) else None
        needed = [shape != whole for shape in shapes]
    else:
        shapes = (array.shape(x), array.shape(y))
        axes = tuple(broadcast_gradient_args(*shapes))
        needed = [True, True]
    out = []
    for rule, shape, axis, is_needed in zip((dx_rule, dy_rule), shapes, axes, needed):
        partial = None if rule is None else rule()
        if partial is not None and is_needed:
            partial = array.reshape(reduce.sum_(partial, axis), shape)
        out.append(partial)
    return out[0], out[1]
