"""StridedSlice: Python's [] on tensors, with its gradient and its assignment to variables.

A spec has one entry per index of the user: begin, end and stride, and five masks whose bit i says
that entry i has no begin, no end, is an ellipsis, a new axis, or a single index (which shrinks).
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from headrace.core.dtypes import INDEX, as_dtype, bool_, int32, int64
from headrace.core.errors import require
from headrace.core.modules import late
from headrace.core.shapes import UNKNOWN, Dim, Dimension, Shape, make_shape
from headrace.core.sizes import whole
from headrace.graph.defaults import get_default_graph
from headrace.graph.tensor import Tensor
from headrace.ops.array import constant, reshape
from headrace.ops.array.fill import checked_sizes, zeros_array
from headrace.ops.array.slices.slice_spec import (
    Entry,
    check_stride,
    entries,
    extent,
    lowered_entries,
    lowered_places,
    place_in,
    places_of,
    source_of,
)
from headrace.ops.declaration import constants
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.emit import Decline
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.shape_checks import described_by, merge, with_rank
from headrace.ops.declaration.signature import Type

cast = late("headrace.ops.math.cast")
mask = late("headrace.ops.array.indexing.mask")

MASKS = ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")
_NO_MASKS: dict[str, Any] = dict.fromkeys(MASKS, 0)


def sliced_shape(input: Shape, begin: Any, end: Any, strides: Any, **masks: int) -> Shape:
    merge(merge(with_rank(begin, 1), with_rank(end, 1)), with_rank(strides, 1))
    steps = strides.value
    if input.rank is None or steps is None:
        return UNKNOWN
    out: list[Dim] = []
    for entry in entries(begin.value, end.value, steps, input.rank, masks):
        if entry.axis is None:
            out.append(1)
            continue
        check_stride(entry)
        size = extent(entry, input.sizes[entry.axis])  # refuses an index out of bounds
        if not entry.shrink:
            out.append(size)
    return make_shape(out)


def index_of(shape: Sequence[int], begin: Any, end: Any, strides: Any, masks: Any) -> Any:
    """The spec as an index of NumPy."""
    require(
        begin.ndim == end.ndim == strides.ndim == 1 and begin.size == end.size == strides.size,
        "Expected begin, end, and strides to be 1D equal size tensors, but got shapes "
        f"{list(begin.shape)}, {list(end.shape)}, and {list(strides.shape)} instead.",
    )
    found = entries(begin, end, strides, len(shape), masks)
    return (*(_index(entry, shape) for entry in found), ...)


def _index(entry: Entry, shape: Sequence[int]) -> Any:
    if entry.axis is None:
        return None
    check_stride(entry)
    places = places_of(entry, shape[entry.axis])
    if entry.shrink:
        return places.start
    if not places.many:
        return slice(0, 0)
    stop = places.start + places.many * places.step
    return slice(places.start, None if stop < 0 else stop, places.step)  # backwards, up to the first


@op(
    "StridedSlice",
    "input: T, begin: Index, end: Index, strides: Index -> output: T",
    T=Type(),
    Index=INDEX,
    **_NO_MASKS,
    shape=sliced_shape,
)
def strided_slice(input, begin, end, strides, **masks):
    """input[begin:end:strides], with Python's meaning of negative and missing bounds."""
    return np.asarray(input[index_of(input.shape, begin, end, strides, masks)], order="C")


@strided_slice.gradient
def _(node, dy):
    x, *bounds = node.inputs
    sizes = reshape.shape_of(x, bounds[0].dtype.base)
    masks = {m: node.attrs[m] for m in MASKS}
    return strided_slice_grad(sizes, *map(_packed_again, bounds), dy, **masks), None, None, None


def _packed_again(bounds: Tensor) -> Tensor:
    """In a loop: only what changes from turn to turn is kept for the gradient, and constants stay
    what they are."""
    if bounds.op.type != "Pack" or bounds.op._get_control_flow_context() is None:
        return bounds
    return constant.pack(list(bounds.op.inputs))


@strided_slice.known
def _(node, known):
    whole, place = known(node.inputs[0]), _place_of(node)
    if not isinstance(whole, tuple) or place is None:
        return None
    if isinstance(place, slice):
        return whole[place]
    return whole[place] if -len(whole) <= place < len(whole) else None


def _place_of(node):
    """The Python index of a slice in one dimension, where its bounds are constants; else None."""
    bounds, masks = [constants.constant(t) for t in node.inputs[1:]], node.attrs
    if any(b is None or b.size != 1 for b in bounds):
        return None
    if masks["ellipsis_mask"] or masks["new_axis_mask"]:
        return None
    begin, end, step = (int(b[0]) for b in bounds)
    if masks["shrink_axis_mask"]:
        return begin
    return slice(None if masks["begin_mask"] else begin, None if masks["end_mask"] else end, step)


@strided_slice.lower
def _(e, x, begin, end, strides, **masks):
    found = lowered_entries(e, begin, end, strides, x.shape, masks)
    places = {n.axis: lowered_places(e, n, x.shape[n.axis]) for n in found if n.axis is not None}
    kept = [n for n in found if not n.shrink]
    shape = [1 if n.axis is None else places[n.axis].many for n in kept]

    def element(*i):
        given = {n.axis: k for n, k in zip(kept, i)}
        return x[tuple(place_in(p, given.get(axis)) for axis, p in sorted(places.items()))]

    return e.compute(shape, element)


def _spec(begin, end, strides):
    return tuple(np.array(v, np.int32) for v in (begin, end, strides))


def _specs():
    """(shape, spec, masks) that show each mask and the corners of bounds."""
    yield (4, 5), _spec([1, 0], [3, 5], [1, 2]), {}
    yield (4, 5), _spec([3, -1], [0, -6], [-1, -2]), {}
    yield (4, 5), _spec([3, 1], [9, 1], [1, 1]), {}
    yield (4, 5), _spec([1, 2], [0, 0], [1, -1]), {"begin_mask": 2, "end_mask": 3}
    yield (4, 5), _spec([-1], [0], [1]), {"shrink_axis_mask": 1}
    yield (4, 5), _spec([0, 1], [0, 2], [1, 1]), {"ellipsis_mask": 1, "shrink_axis_mask": 2}
    yield (4, 5), _spec([0, 0, 1], [0, 0, 3], [1, 1, 1]), {"new_axis_mask": 1, "ellipsis_mask": 2}
    yield (4, 5), _spec([1, 2], [2, 3], [1, 1]), {"shrink_axis_mask": 3}
    yield (0, 5), _spec([0], [2], [1]), {}
    yield (), _spec([0], [0], [1]), {"new_axis_mask": 1}


@strided_slice.samples
def _(rng):
    for shape, spec, masks in _specs():
        yield Sample(rng.normal(size=shape), *spec, **masks)
    yield Sample(np.array([b"a", b"b"], object), *_spec([1], [2], [1]), shrink_axis_mask=1)
    yield ErrorSample(
        np.ones(3),
        *_spec([3], [4], [1]),
        shrink_axis_mask=1,
        raises="slice index 3 of dimension 0 out of bounds",
    )
    yield ErrorSample(np.ones(3), *_spec([0], [1], [0]), raises="must be non-zero")
    yield ErrorSample(np.ones(3), *_spec([0, 0], [1, 1], [1, 1]), raises="only 1 dims")
    yield ErrorSample(np.ones(3), *_spec([0, 0], [1, 1], [1, 1]), ellipsis_mask=3, raises="Multiple ellipses")
    for mask in (6, -1):
        yield ErrorSample(np.ones(3), *_spec([0], [1], [1]), ellipsis_mask=mask, raises="Multiple ellipses")


# -- StridedSliceGrad ---------------------------------------------------------------------------
def _check_value(found, wanted):
    require(found == wanted, f"shape of dy was {list(found)} instead of {list(wanted)}")


@op(
    "StridedSliceGrad",
    "shape: Index, begin: Index, end: Index, strides: Index, dy: T -> output: T",
    T=Type(),
    Index=INDEX,
    **_NO_MASKS,
    shape=lambda shape, *rest: described_by(shape),
)
def strided_slice_grad(shape, begin, end, strides, dy, **masks):
    """The gradient of StridedSlice: `dy` where the slice was taken, zeros elsewhere."""
    out = zeros_array(checked_sizes(shape), as_dtype(dy.dtype))
    view = out[index_of(out.shape, begin, end, strides, masks)]
    _check_value(dy.shape, view.shape)
    view[...] = dy
    return out


@strided_slice_grad.gradient
def _(node, dy):
    _, begin, end, strides, _ = node.inputs
    masks = {m: node.attrs[m] for m in MASKS}
    return None, None, None, None, strided_slice(dy, begin, end, strides, **masks)


@strided_slice_grad.lower
def _(e, shape, begin, end, strides, dy, **masks):
    if shape.value is None or (shape.value < 0).any():
        raise Decline("the shape is not known, or there is none")
    sizes = [whole(n) for n in shape.value]
    found = lowered_entries(e, begin, end, strides, sizes, masks)

    counts = iter(dy.shape)
    places = {}
    for entry in found:
        count = None if entry.shrink else next(counts, None)
        if entry.axis is not None:
            places[entry.axis] = lowered_places(e, entry, sizes[entry.axis], count)
    kept = [n for n in found if not n.shrink]
    if dy.shape != tuple(1 if n.axis is None else places[n.axis].many for n in kept):
        raise Decline("shapes that do not fit")

    def element(*i):
        """dy at the place of the slice that (i, j, ...) is, if it is one."""
        index, inside = [], None
        for entry in found:
            if entry.axis is None:
                index.append(0)
                continue
            place, tests = source_of(places[entry.axis], i[entry.axis])
            for test in tests:
                inside = test if inside is None else inside & test
            if not entry.shrink:
                index.append(place)
        value = dy[tuple(index)]
        return value if inside is None else e.select(inside, value, e.const(0, dy.dtype))

    return e.compute(sizes, element)


@strided_slice_grad.samples
def _(rng):
    for shape, spec, masks in _specs():
        masks = _NO_MASKS | masks
        dy = np.zeros(shape)[index_of(shape, *spec, masks)]
        yield Sample(np.array(shape, np.int32), *spec, rng.normal(size=dy.shape), **masks)
    words = np.array([b"a", b"b"], object)
    yield Sample(np.array([4], np.int32), *_spec([1], [3], [1]), words, note="strings")
    yield ErrorSample(np.array([4], np.int32), *_spec([0], [2], [1]), np.ones(3), raises="shape of dy was")
    yield ErrorSample(np.array([-1], np.int32), *_spec([0], [2], [1]), np.ones(2), raises="must be >= 0")


# -- Python's [] --------------------------------------------------------------------------------
_KINDS = (
    "Only integers, slices (`:`), ellipsis (`...`), tf.newaxis (`None`) and scalar "
    "tf.int32/tf.int64 tensors are valid indices"
)


def _check_bound(bound: Any) -> None:
    if isinstance(bound, (int, Dimension)):
        return
    kind = getattr(bound, "dtype", None)
    if kind is None or as_dtype(kind).base not in INDEX or (bound.shape and len(bound.shape) == 1):
        raise TypeError(f"{_KINDS}, got {bound!r}")


def _is_mask(item: Any) -> bool:
    if isinstance(item, bool):
        return True
    return isinstance(item, (Tensor, np.ndarray)) and as_dtype(item.dtype) == bool_


class _Spec:
    """Begin, end, stride and masks, collected from the parts of an index."""

    def __init__(self) -> None:
        self.begin: list[Any] = []
        self.end: list[Any] = []
        self.strides: list[Any] = []
        self.masks = dict(_NO_MASKS)

    def add(self, item: Any) -> None:
        begin: Any = 0
        end: Any = 0
        stride: Any = 1
        bit = 1 << len(self.begin)
        if isinstance(item, slice):
            begin, end = (
                self._bound(b, m, bit) for b, m in ((item.start, "begin_mask"), (item.stop, "end_mask"))
            )
            if item.step is not None:
                _check_bound(item.step)
                stride = item.step
        elif item is Ellipsis:
            self.masks["ellipsis_mask"] |= bit
        elif item is None:
            self.masks["new_axis_mask"] |= bit
        else:
            _check_bound(item)
            begin, end = item, item + 1
            self.masks["shrink_axis_mask"] |= bit
        self.begin.append(begin)
        self.end.append(end)
        self.strides.append(stride)

    def _bound(self, bound: Any, mask: str, bit: int) -> Any:
        # x[:] is slice(None, sys.maxsize) to some callers
        if bound is None or (not isinstance(bound, Tensor) and bound == sys.maxsize):
            self.masks[mask] |= bit
            return 0
        _check_bound(bound)
        return bound

    def tensors(self) -> list[Tensor]:
        if not self.begin:
            return [constant.constant([], int32)] * 3
        packed = [convert_to_tensor(v, name="stack") for v in (self.begin, self.end, self.strides)]
        if any(t.dtype.base is int64 for t in packed):
            packed = [t if t.dtype.base is int64 else cast.cast(t, DstT=int64) for t in packed]
        return packed


def getitem(tensor: Tensor, item: Any, var: Any = None) -> Tensor:
    """tensor[item].  `var` is the variable that `tensor` was read from: it can be assigned to."""
    if _is_mask(item):
        return mask.boolean_mask(tensor, item)
    spec = _Spec()
    for part in item if isinstance(item, (list, tuple)) else [item]:
        spec.add(part)
    default = get_default_graph()
    graph = default if default.building_function else tensor.graph
    with graph.as_default(), graph.name_scope("strided_slice") as scope:
        bounds = spec.tensors()
        out: Tensor = strided_slice(tensor, *bounds, **spec.masks, name=scope)
    return assignable(out, var, bounds, spec.masks, scope)


def assignable(out: Tensor, var: Any, bounds: Any, masks: dict[str, int], name: Any) -> Tensor:
    """Give a slice its method `assign`, which changes that part of the variable behind it."""
    out.assign = partial(_assign, var, bounds, masks, name)  # type: ignore[attr-defined]
    return out


def _assign(var: Any, bounds: Any, masks: dict[str, int], slice_name: Any, val: Any, name: Any = None) -> Any:
    if var is None:
        raise ValueError("Sliced assignment is only supported for variables")
    begin, end, strides = bounds
    if name is None:
        name = slice_name + "_assign"
    return var._strided_slice_assign(begin=begin, end=end, strides=strides, value=val, name=name, **masks)
