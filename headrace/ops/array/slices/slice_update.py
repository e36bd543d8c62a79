"""Changing a part of a variable or of a tensor: StridedSliceAssign, ResourceStridedSliceAssign,
TensorStridedSliceUpdate."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.core.dtypes import INDEX
from headrace.core.errors import UnimplementedError
from headrace.core.modules import late
from headrace.core.shapes import make_shape, show
from headrace.ops.array.slices.strided_slice import MASKS, index_of, strided_slice
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.samples import Sample
from headrace.ops.declaration.shape_checks import held_shape
from headrace.ops.declaration.signature import Type
from headrace.ops.declaration.traits import STATEFUL, WRITES

fill = late("headrace.ops.array.fill")

_NO_MASKS: dict[str, Any] = dict.fromkeys(MASKS, 0)


def _check(target, value):
    if target.size and target.shape != value.shape:
        raise UnimplementedError(
            None,
            None,
            f"sliced l-value shape {show(make_shape(target.shape))} does not match r-value shape "
            f"{show(make_shape(value.shape))}. Automatic broadcasting not yet implemented.",
        )


def _assign(slot, begin, end, strides, value, masks):
    with slot.lock, slot.changing() as target:
        place = index_of(target.shape, begin, end, strides, masks)
        _check(target[place], value)
        if target[place].size:
            target[place] = value


@op(
    "StridedSliceAssign",
    "ref: Ref(T), begin: Index, end: Index, strides: Index, value: T -> output_ref: Ref(T)",
    T=Type(),
    Index=INDEX,
    **_NO_MASKS,
    traits={WRITES},
    shape=lambda ref, *rest: ref.plain(),
)
def strided_slice_assign(ref, begin, end, strides, value, **masks):
    """Give a part of a variable a new value."""
    _assign(ref, begin, end, strides, value, masks)
    return ref


def resource_assign_shape(ref, begin, end, strides, value, *, T):
    held_shape(ref, T)
    return []


@op(
    "ResourceStridedSliceAssign",
    "ref: resource, begin: Index, end: Index, strides: Index, value: T ->",
    T=Type(),
    Index=INDEX,
    **_NO_MASKS,
    traits={STATEFUL, WRITES},
    shape=resource_assign_shape,
)
def resource_strided_slice_assign(ref, begin, end, strides, value, **masks):
    """Give a part of a resource variable a new value."""
    _assign(ref.variable(), begin, end, strides, value, masks)
    return ()


@op(
    "TensorStridedSliceUpdate",
    "input: T, begin: Index, end: Index, strides: Index, value: T -> output: T",
    T=Type(),
    Index=INDEX,
    **_NO_MASKS,
    shape=lambda input, *rest: input.plain(),
)
def tensor_strided_slice_update(input, begin, end, strides, value, **masks):
    """The input with a part replaced."""
    out = np.array(input)
    place = index_of(out.shape, begin, end, strides, masks)
    _check(out[place], value)
    if out[place].size:
        out[place] = value
    return out


@tensor_strided_slice_update.gradient
def _(node, dy):
    _, begin, end, strides, value = node.inputs
    masks = {m: node.attrs[m] for m in MASKS}
    bounds = (begin, end, strides)
    rest = tensor_strided_slice_update(dy, *bounds, fill.zeros_like(value), **masks)
    return rest, None, None, None, strided_slice(dy, *bounds, **masks)


@tensor_strided_slice_update.samples
def _(rng):
    bounds = [np.array(v, np.int32) for v in ([1, 0], [3, 5], [1, 2])]
    yield Sample(rng.normal(size=(4, 5)), *bounds, rng.normal(size=(2, 3)))
    yield Sample(rng.normal(size=(1, 5)), *bounds, rng.normal(size=(2, 3)), note="no place", grad=False)
