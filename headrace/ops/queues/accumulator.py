"""Conditional accumulators, which synchronous training adds its workers' gradients up in: dense ones by
handle and by reference, sparse ones by reference."""

from __future__ import annotations

import numpy as np

from headrace.core.dtypes import NUMBERS
from headrace.core.errors import require
from headrace.core.shapes import UNKNOWN, Shape, make_shape
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.resources import Handle
from headrace.ops.declaration.shape_rules import require_rank, scalar
from headrace.ops.declaration.signature import Bool, ShapeAttr, String
from headrace.ops.declaration.traits import DEFERRED, READS, STATEFUL, WRITES
from headrace.ops.queues.accumulator_state import Accumulator, DenseTotal, SparseTotal
from headrace.ops.queues.queue import reference_to, referenced

ACCUMULATOR = "accumulator"
_ATTRS = {
    "dtype": NUMBERS,
    "shape": ShapeAttr(),
    "container": "",
    "shared_name": "",
    "reduction_type": String("MEAN", "SUM", default="MEAN"),
}
_DTYPE = {"dtype": NUMBERS}


# -- making ---------------------------------------------------------------------------------------
def _make(ctx, kind, dtype, shape, container, shared_name, reduction_type):
    name = shared_name or ctx.node.name
    new = lambda: Accumulator(dtype, kind(shape), reduction_type)
    found = ctx.resources.get_or_make(container, ACCUMULATOR, name, new)
    require(
        found.dtype is dtype and isinstance(found.total, kind),
        f"Shared accumulator '{name}' is of another type",
    )
    return found, container, name


@op(
    "ResourceConditionalAccumulator",
    "-> handle: resource",
    attrs=_ATTRS,
    traits={STATEFUL, READS},
    shape=lambda: Shape.of(2),
)
def resource_conditional_accumulator(ctx, *, dtype, shape, container, shared_name, reduction_type):
    """An accumulator of gradients of one shape."""
    found, place, name = _make(ctx, DenseTotal, dtype, shape, container, shared_name, reduction_type)
    return Handle(place, name, ACCUMULATOR, ctx.node.device, found)


@op(
    "ConditionalAccumulator",
    "-> handle: Ref(string)",
    attrs=_ATTRS,
    traits={STATEFUL, READS},
    shape=lambda: Shape.of(2),
)
def conditional_accumulator(ctx, *, dtype, shape, container, shared_name, reduction_type):
    """An accumulator of gradients of one shape, by reference."""
    return reference_to(*_make(ctx, DenseTotal, dtype, shape, container, shared_name, reduction_type)[1:])


@op(
    "SparseConditionalAccumulator",
    "-> handle: Ref(string)",
    attrs=_ATTRS,
    traits={STATEFUL, READS},
    shape=lambda: Shape.of(2),
)
def sparse_conditional_accumulator(ctx, *, dtype, shape, container, shared_name, reduction_type):
    """An accumulator of gradients that are rows with indices, by reference."""
    return reference_to(*_make(ctx, SparseTotal, dtype, shape, container, shared_name, reduction_type)[1:])


def _of(ctx, handle):
    if isinstance(handle, Handle):
        return handle.get(Accumulator)
    return referenced(ctx, handle, ACCUMULATOR)


# -- using ----------------------------------------------------------------------------------------
def _step_shape(handle, step, *rest):
    require_rank(step, 0)
    return []


def _take_shape(handle, num_required):
    require_rank(num_required, 0)
    return UNKNOWN


def _check_dtype(found, dtype):
    require(found.dtype is dtype, f"the accumulator holds {found.dtype.name}, the gradient is {dtype.name}")


def _apply(ctx, handle, local_step, gradient, *, dtype):
    found = _of(ctx, handle)
    _check_dtype(found, dtype)
    found.apply(int(local_step), gradient)
    return ()


def _take(ctx, handle, num_required, *, dtype):
    found = _of(ctx, handle)
    _check_dtype(found, dtype)
    return found.take(ctx, int(num_required))


def _count(ctx, handle):
    return np.array(_of(ctx, handle).gate.count, np.int32)


def _set_step(ctx, handle, new_global_step):
    _of(ctx, handle).set_step(int(new_global_step))
    return ()


def _declare(name, arguments, results, body, doc, shape, attrs, traits):
    """The op with a handle, and the one with a reference."""

    def copy():
        def call(ctx, *inputs, **given):
            return body(ctx, *inputs, **given)

        call.__doc__, call.__module__ = doc, __name__
        return call

    text = f"handle: HANDLE{arguments} -> {results}"
    new, old = text.replace("HANDLE", "resource"), text.replace("HANDLE", "Ref(string)")
    return (
        op(f"Resource{name}", new, attrs=attrs, traits={STATEFUL, *traits}, shape=shape)(copy()),
        op(name, old, attrs=attrs, traits=traits, shape=shape)(copy()),
    )


resource_accumulator_apply_gradient, accumulator_apply_gradient = _declare(
    "AccumulatorApplyGradient",
    ", local_step: int64, gradient: dtype",
    "",
    _apply,
    "Add a gradient, unless its step is older than the accumulator's.",
    _step_shape,
    _DTYPE,
    {WRITES},
)
resource_accumulator_num_accumulated, accumulator_num_accumulated = _declare(
    "AccumulatorNumAccumulated",
    "",
    "num_accumulated: int32",
    _count,
    "How many gradients were added.",
    scalar,
    {},
    {READS},
)
resource_accumulator_set_global_step, accumulator_set_global_step = _declare(
    "AccumulatorSetGlobalStep",
    ", new_global_step: int64",
    "",
    _set_step,
    "Say which step it is; gradients of older ones are dropped.",
    _step_shape,
    {},
    {WRITES},
)
resource_accumulator_take_gradient, accumulator_take_gradient = _declare(
    "AccumulatorTakeGradient",
    ", num_required: int32",
    "average: dtype",
    _take,
    "The mean or sum, when enough gradients were added; then it starts anew, one step later.",
    _take_shape,
    _DTYPE,
    {WRITES, DEFERRED},
)


@op(
    "SparseAccumulatorApplyGradient",
    "handle: Ref(string), local_step: int64, gradient_indices: int64, gradient_values: dtype, "
    "gradient_shape: int64 ->",
    dtype=NUMBERS,
    has_known_shape=Bool(),
    traits={WRITES},
    shape=_step_shape,
)
def sparse_accumulator_apply_gradient(
    ctx, handle, local_step, gradient_indices, gradient_values, gradient_shape, *, dtype, has_known_shape
):
    """Add rows of a gradient, unless its step is older than the accumulator's."""
    found = _of(ctx, handle)
    _check_dtype(found, dtype)
    shape = gradient_shape if has_known_shape else None
    found.apply(int(local_step), (gradient_indices, gradient_values, shape))
    return ()


def _sparse_shapes(handle, num_required):
    require_rank(num_required, 0)
    return [make_shape([None]), UNKNOWN, make_shape([None])]


@op(
    "SparseAccumulatorTakeGradient",
    "handle: Ref(string), num_required: int32 -> indices: int64, values: dtype, shape: int64",
    dtype=NUMBERS,
    traits={WRITES, DEFERRED},
    shape=_sparse_shapes,
)
def sparse_accumulator_take_gradient(ctx, handle, num_required, *, dtype):
    """The mean or sum of the rows, when enough gradients were added; then it starts anew."""
    return _take(ctx, handle, num_required, dtype=dtype)
