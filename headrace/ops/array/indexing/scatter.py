"""Values put or added at index vectors: ScatterNd, ScatterNdNonAliasingAdd, TensorScatterUpdate,
TensorScatterAdd, TensorScatterSub."""

from __future__ import annotations

import math

import numpy as np

from headrace.core import dtypes
from headrace.core.dtypes import INDEX, NUMBERS
from headrace.core.errors import InvalidArgumentError, require
from headrace.core.families import named
from headrace.core.shapes import Shape, make_shape, show
from headrace.core.sizes import whole
from headrace.ops.array import fill
from headrace.ops.array.indexing import gather
from headrace.ops.array.indexing.rows import combine, flat_places
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.emit import Decline
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.shape_checks import described_by, merge, with_rank_at_least
from headrace.ops.declaration.signature import Type


def check_shapes(output: Shape, indices: Shape, updates: Shape) -> None:
    """indices [outer..., k] and updates [outer..., inner...] go into output [k sizes, inner...]."""
    with_rank_at_least(indices, 1)
    with_rank_at_least(updates, 1)
    nothing = output.num_elements() == 0 or (output.rank is not None and 0 in output.sizes)
    require(
        not (nothing and ((indices.num_elements() or 0) > 0 or (updates.num_elements() or 0) > 0)),
        "Indices and updates specified for empty output shape",
    )
    if indices.rank is None or updates.rank is None or indices.sizes[-1] is None:
        return
    outer, depth = indices.rank - 1, indices.sizes[-1]
    _agree(
        make_shape(indices.sizes[:-1]),
        make_shape(updates.sizes[:outer]),
        f"The outer {outer} dimensions of indices.shape={show(indices)} must match the outer "
        f"{outer} dimensions of updates.shape={show(updates)}",
    )
    if output.rank is not None:
        _agree(
            make_shape(output.sizes[depth:]),
            make_shape(updates.sizes[outer:]),
            f"The inner {output.rank - depth} dimensions of output.shape={show(output)} must match "
            f"the inner {updates.rank - outer} dimensions of updates.shape={show(updates)}",
        )


def _agree(a: Shape, b: Shape, message: str) -> None:
    try:
        merge(a, b)
    except InvalidArgumentError as error:
        raise InvalidArgumentError(None, None, f"{message}: {error.message}") from None


def check_arrays(shape, indices, updates):
    """The same for arrays, with the messages of the kernels."""
    require(indices.ndim > 0, f"Indices shape must have rank at least one. Found:{show(indices.shape)}")
    require(updates.ndim > 0, f"Updates shape must have rank at least one. Found:{show(updates.shape)}")
    require(
        math.prod(shape) > 0 or (indices.size == 0 and updates.size == 0),
        "Indices and updates specified for empty output shape",
    )
    outer, depth = indices.shape[:-1], indices.shape[-1]
    require(
        updates.shape[: len(outer)] == outer,
        "Outer dimensions of indices and update must match. Indices shape: "
        f"{show(indices.shape)}, updates shape:{show(updates.shape)}",
    )
    inner = updates.shape[len(outer) :]
    require(
        len(inner) == len(shape) - depth,
        "Inner dimensions of output shape must match inner dimensions of updates shape. Output: "
        f"{show(shape)} updates: {show(updates.shape)}",
    )
    require(
        inner == tuple(shape[depth:]),
        f"The inner {len(shape) - depth} dimensions of output.shape={show(shape)} must match the "
        f"inner {len(inner)} dimensions of updates.shape={show(updates.shape)}",
    )


def scatter_into(target, indices, updates, ufunc):
    """Combine updates into `target` in place; ufunc None replaces (the last one wins)."""
    check_arrays(target.shape, indices, updates)
    depth = indices.shape[-1]
    inner = target.shape[depth:]
    places = flat_places(indices, target.shape, "shape").ravel()
    if not places.size:
        return
    rows = target.reshape((-1, *inner)) if depth else target.reshape((1, *inner))
    values = updates.reshape((places.size, *inner))
    if ufunc is None:
        rows[places] = values
    else:
        combine(ufunc, rows, places, values)


def scatter_nd_shape(indices, updates, shape):
    out = described_by(shape)
    check_shapes(out, indices, updates)
    return out


@op(
    "ScatterNd",
    "indices: Tindices, updates: T, shape: Tindices -> output: T",
    T=Type(),
    Tindices=INDEX,
    shape=scatter_nd_shape,
)
def scatter_nd(indices, updates, shape):
    """Zeros of this shape, to which updates are added at index vectors (along the last axis)."""
    require(shape.ndim == 1, "Shape must be a vector")
    sizes = fill.checked_sizes(shape)
    if updates.dtype == object:
        out = np.full(sizes, b"", dtype=object)
    else:
        out = np.zeros(sizes, updates.dtype)
    scatter_into(out, indices, updates, np.add)
    return out


@scatter_nd.gradient
def _(node, dy):
    return None, gather.gather_nd(dy, node.inputs[0]), None


@scatter_nd.lower
def _(e, indices, updates, shape):
    if shape.value is None:
        raise Decline("the shape is not known")
    zeros = e.compute([whole(n) for n in shape.value], lambda *i: e.const(0, updates.dtype))
    return _scattered(e, "add", zeros, indices, updates)


def _scattered(e, kind, into, indices, updates):
    if not indices.shape:
        raise Decline("indices that are no vectors")
    outer, depth = len(indices.shape) - 1, indices.shape[-1]
    if depth > len(into.shape) or updates.shape != (*indices.shape[:-1], *into.shape[depth:]):
        raise Decline("shapes that do not fit")
    message = f"indices{{at}}: {{value}} does not index into shape {list(into.shape)}"

    def place(*i):
        vector = (indices[i[:outer] + (k,)] for k in range(depth))
        at = [e.checked(v, n, message) for v, n in zip(vector, into.shape)]
        return (*at, *i[outer:])

    return e.scatter(kind, into, updates.shape, place, lambda *i: updates[i])


def _lower_change(kind):
    def rule(e, tensor, indices, updates):
        copy = e.compute(tensor.shape, lambda *i: tensor[i])
        return _scattered(e, kind, copy, indices, updates)

    return rule


@scatter_nd.samples
def _(rng):
    yield Sample(np.array([[4], [3], [4]], np.int32), rng.normal(size=(3,)), np.array([8], np.int32))
    yield Sample(np.array([[0], [2]]), rng.normal(size=(2, 3)), np.array([4, 3]))
    yield Sample(np.array([[[0, 1]], [[1, 1]]]), rng.normal(size=(2, 1, 2)), np.array([2, 2, 2]))
    yield Sample(np.zeros((0, 1), np.int32), np.zeros((0, 3)), np.array([0, 3], np.int32), note="empty")
    yield Sample(np.array([[1], [1]]), np.array([b"a", b"b"], object), np.array([2]), note="text")
    yield ErrorSample(np.array([[8]]), np.ones(1), np.array([8]), raises=r"indices\[0\] = \[8\]")
    yield ErrorSample(np.array([[1]]), np.ones(2), np.array([8]), raises="[Oo]uter.*must match")
    yield ErrorSample(np.array([[1]]), np.ones((1, 2)), np.array([8]), raises="[Ii]nner.*must match")


def _changed_shape(target, indices, updates):
    check_shapes(target, indices, updates)
    return target.plain()


def _changed(target, indices, updates, ufunc):
    out = np.array(target)
    scatter_into(out, indices, updates, ufunc)
    return out


def _changed_samples(rng):
    x = rng.normal(size=(4, 3))
    yield Sample(x, np.array([[1], [3]], np.int32), rng.normal(size=(2, 3)))
    yield Sample(x, np.array([[1, 2], [0, 0]]), rng.normal(size=(2,)))
    yield Sample(x, np.zeros((0, 1), np.int32), np.zeros((0, 3)), note="empty")
    yield ErrorSample(x, np.array([[4]]), np.ones((1, 3)), raises=r"\[4\] does not index into")
    yield ErrorSample(x, np.array([[1]]), np.ones((1, 2)), raises="[Ii]nner.*must match")


def _changing(name, ufunc, how, doc, target="tensor", T=Type()):
    """An op that gives one of its inputs with some of its places changed."""

    @op(
        name, f"{target}: T, indices: Tindices, updates: T -> output: T",
        T=T, Tindices=INDEX, shape=_changed_shape,
    )  # fmt: skip
    @named(name, doc)
    def change(target, indices, updates):
        return _changed(target, indices, updates, ufunc)

    change.lower(_lower_change(how))
    change.samples(_changed_samples)
    return change


tensor_scatter_update = _changing(
    "TensorScatterUpdate", None, "set", "`tensor` with updates put at index vectors."
)
tensor_scatter_add = _changing(
    "TensorScatterAdd", np.add, "add", "`tensor` with updates added at index vectors."
)
tensor_scatter_sub = _changing(
    "TensorScatterSub", np.subtract, "sub", "`tensor` with updates subtracted at index vectors."
)
scatter_nd_non_aliasing_add = _changing(
    "ScatterNdNonAliasingAdd", np.add, "add", "`input` with updates added at index vectors.",
    target="input", T=(*NUMBERS, dtypes.bool_),
)  # fmt: skip


@tensor_scatter_update.gradient
def _(node, dy):
    _, indices, updates = node.inputs
    rest = tensor_scatter_update(dy, indices, fill.zeros_like(updates))
    return rest, None, gather.gather_nd(dy, indices)


@tensor_scatter_add.gradient
@scatter_nd_non_aliasing_add.gradient
def _(node, dy):
    return dy, None, gather.gather_nd(dy, node.inputs[1])


@tensor_scatter_sub.gradient
def _(node, dy):
    return dy, None, -gather.gather_nd(dy, node.inputs[1])
