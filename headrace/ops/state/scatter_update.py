"""Updates of parts of a variable: rows by index, elements by index vectors.

Nothing here copies or densifies the variable, unless somebody still holds its array.
"""

from __future__ import annotations

import numpy as np

from headrace.core import dtypes
from headrace.core.dtypes import INDEX, NUMBERS
from headrace.core.errors import require
from headrace.core.shapes import make_shape, show
from headrace.ops.array.indexing.rows import OUTSIDE, check_places, combine
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.emit import Decline
from headrace.ops.declaration.resources import Handle
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.shape_checks import held_shape, merge
from headrace.ops.declaration.signature import Type
from headrace.ops.declaration.traits import ADDS_ROWS, STATEFUL, WRITES
from headrace.ops.math.division import truncated_quotient


# -- checks --------------------------------------------------------------------------------------
def _slot(target):
    """The variable behind a reference or a handle, which must have a value."""
    if isinstance(target, Handle):
        return target.variable()
    target.read()
    return target


def _check_type(params, updates):
    require(
        params.dtype == updates.dtype,
        f"Trying to update variable with wrong dtype. Expected {params.dtype} got {updates.dtype}",
    )


def _check_update(params, indices, updates):
    _check_type(params, updates)
    require(params.ndim >= 1, f"params must be at least 1-D, got shape {show(params.shape)}")
    require(
        updates.ndim == 0 or updates.shape == indices.shape + params.shape[1:],
        "Must have updates.shape = indices.shape + params.shape[1:] or updates.shape = [], got "
        f"updates.shape {show(updates.shape)}, indices.shape {show(indices.shape)}, "
        f"params.shape {show(params.shape)}",
    )
    check_places(indices, params.shape[0])


# By handle, TF refuses to divide by any zero; by reference an integer one ends its process.
NO_ZEROS = "updates must not contain 0"


# -- scatter by row ------------------------------------------------------------------------------
def _set(params, at, updates):
    params[at] = updates


def _divide(params, at, updates):
    """In order, each division rounded (integers towards zero), as many times as an index occurs."""
    if np.issubdtype(params.dtype, np.integer):
        for place, value in _one_by_one(params, at, updates):
            params[place] = truncated_quotient(params[place], value)
    else:
        np.true_divide.at(params, at, updates)


def _one_by_one(params, at, updates):
    places = np.broadcast_arrays(*at)
    rows = params[at].shape
    values = np.broadcast_to(updates, rows).reshape(places[0].size, *rows[places[0].ndim :])
    return zip(zip(*(p.ravel() for p in places)), values)


def _sum(ufunc):
    """Rows that occur often are added up first, and rounded once."""

    def apply(params, at, updates):
        places = np.ravel_multi_index(np.broadcast_arrays(*at), params.shape[: len(at)])
        inner = params.shape[len(at) :]
        values = np.broadcast_to(updates, (*places.shape, *inner)).reshape(places.size, *inner)
        rows = params.reshape(-1, *inner)
        combine(ufunc, rows, places.ravel(), values)
        if rows.base is not params and rows is not params:  # the variable does not lie in one piece
            params[...] = rows.reshape(params.shape)

    return apply


_KINDS = {
    "update": _set,
    "add": _sum(np.add),
    "sub": _sum(np.subtract),
    "mul": np.multiply.at,
    "div": _divide,
    "min": np.minimum.at,
    "max": np.maximum.at,
}
_DOCS = {
    "update": "Set the {} at `indices` to `updates`; of equal indices, the last one counts.",
    "add": "Add `updates` to the {} at `indices`.",
    "sub": "Subtract `updates` from the {} at `indices`.",
    "mul": "Multiply the {} at `indices` by `updates`.",
    "div": "Divide the {} at `indices` by `updates`.",
    "min": "The smaller of `updates` and the {} at `indices`.",
    "max": "The larger of `updates` and the {} at `indices`.",
}


def _scatter(kind, target, indices, updates):
    slot = _slot(target)
    with slot.lock:
        _check_update(slot.value, indices, updates)
        if kind == "div" and (isinstance(target, Handle) or updates.dtype.kind in "iu"):
            require(np.all(updates != 0), NO_ZEROS)
        if indices.size:
            _apply(kind, slot, (indices,), updates)
    return slot


def _apply(kind, slot, at, updates):
    """A single index per row needs no accumulation, which NumPy does one element at a time."""
    plain = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "max": np.maximum}
    with slot.changing() as params, np.errstate(all="ignore"):
        if kind in plain and len(at) == 1 and len(np.unique(at[0])) == at[0].size:
            params[at] = plain[kind](params[at], updates)
        else:
            _KINDS[kind](params, at, updates)


def _scatter_shape(ref, indices, updates):
    """Updates have the shape indices.shape + ref.shape[1:], or none."""
    if updates.rank in (None, 0) or ref.rank is None or indices.rank is None:
        return ref.plain()
    wanted = make_shape((*indices.sizes, *ref.sizes[1:]))
    require(
        wanted.is_compatible_with(updates.plain()),
        "Must have updates.shape = indices.shape + params.shape[1:] or updates.shape = [], got "
        f"updates.shape {updates.plain()}, indices.shape {indices.plain()}, params.shape "
        f"{ref.plain()}",
    )
    return ref.plain()


def _resource_scatter_shape(resource, indices, updates, *, dtype):
    shape = held_shape(resource, dtype)
    if shape.rank is not None:
        if indices.rank is not None and updates.rank not in (None, 0):
            merge(make_shape((*indices.sizes, *shape.sizes[1:])), updates)
    return []


_ORDERED = (dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64, dtypes.int32, dtypes.int64)


def _declare_scatter(kind):
    types = {"update": Type(), "min": _ORDERED, "max": _ORDERED}.get(kind, NUMBERS)

    def by_reference(ref, indices, updates):
        return _scatter(kind, ref, indices, updates)

    def by_handle(resource, indices, updates):
        _scatter(kind, resource, indices, updates)
        return ()

    by_reference.__doc__ = by_handle.__doc__ = _DOCS[kind].format("rows")
    name = f"Scatter{kind.title()}"
    adds = {ADDS_ROWS} if kind in ("add", "sub") else set()
    reference = op(
        name,
        "ref: Ref(T), indices: Tindices, updates: T -> output_ref: Ref(T)",
        T=types,
        Tindices=INDEX,
        use_locking=kind == "update",
        traits={WRITES} | adds,
        shape=_scatter_shape,
    )(by_reference)
    resource = op(
        f"Resource{name}",
        "resource: resource, indices: Tindices, updates: dtype ->",
        dtype=Type() if kind == "update" else NUMBERS,
        Tindices=INDEX,
        traits={STATEFUL, WRITES} | adds,
        shape=_resource_scatter_shape,
    )(by_handle)
    for declared in (reference, resource):
        declared.samples(_scatter_samples)
    if kind in ("add", "sub", "mul", "div"):  # for the others, as for resources, TF has no word
        reference.no_gradient()
    reference.lower(lambda e, ref, indices, updates: _lowered(e, kind, ref, indices, updates))
    resource.lower(_without_output(kind))
    return reference, resource


_COMPILED = {"update": "set"}


def _lowered(e, kind, table, indices, updates, by_handle=False):
    """Each element of the updates to its row, in order."""
    if updates.dtype.kind not in "fiu" or not table.shape:
        raise Decline("only for rows of real numbers")
    depth = len(indices.shape)
    extents = (*indices.shape, *table.shape[1:])

    def place(*i):
        return (e.checked(indices[i[:depth]], table.shape[0], OUTSIDE), *i[depth:])

    def value(*i):
        update = updates[i if updates.shape else ()]
        if kind == "div" and (by_handle or updates.dtype.kind in "iu"):
            e.require(update != 0, NO_ZEROS)
        return update

    changed = e.scatter(_COMPILED.get(kind, kind), table, extents, place, value)
    return e.assign(table, changed)


def _without_output(kind):
    def rule(e, resource, indices, updates):
        _lowered(e, kind, resource, indices, updates, by_handle=True)

    return rule


def _scatter_samples(rng):
    table = rng.uniform(1, 2, size=(5, 2))
    yield Sample(table, np.array([4, 0, 4]), rng.uniform(1, 2, size=(3, 2)), grad=False)
    yield Sample(table, np.array([[1], [2]]), rng.uniform(1, 2, size=(2, 1, 2)), grad=False)
    yield Sample(table, np.array(3), rng.uniform(1, 2, size=2), grad=False)
    yield Sample(table, np.zeros(0, np.int64), np.zeros((0, 2)), grad=False, note="empty")
    yield ErrorSample(table, np.array([1, 5]), np.ones((2, 2)), raises=r"indices\[1\] = 5 is not")
    whole = np.array([[-7, 9], [1 << 40, 5]])
    yield Sample(whole, np.array([0, 0]), np.array([[2, 2], [-1, 3]]), grad=False, note="integers")


SCATTER, RESOURCE_SCATTER = {}, {}
for _kind in _KINDS:
    SCATTER[_kind], RESOURCE_SCATTER[_kind] = _declare_scatter(_kind)


# -- scatter by index vector ---------------------------------------------------------------------
def check_vectors(params_shape, indices):
    """`indices` as one array per dimension; every vector names a place."""
    depth = indices.shape[-1] if indices.ndim else 1
    require(
        depth <= len(params_shape),
        f"The last dimension of indices must be <= the rank of params, but got {depth} > {len(params_shape)}",
    )
    sizes = np.array(params_shape[:depth], np.int64)
    bad = np.flatnonzero(((indices < 0) | (indices >= sizes)).any(-1))
    if bad.size:
        at = np.unravel_index(bad[0], indices.shape[:-1])
        where = ", ".join(str(i) for i in indices[at])
        require(False, f"indices{show(at)} = [{where}] does not index into shape {show(params_shape)}")
    return tuple(np.moveaxis(indices, -1, 0))


def _scatter_nd(kind, target, indices, updates):
    slot = _slot(target)
    with slot.lock:
        _check_type(slot.value, updates)
        shape = slot.value.shape
        require(len(shape) >= 1, f"Output must be at least 1-D, got shape: {show(shape)}")
        require(indices.ndim >= 1, f"Indices shape must have rank at least one. Found:{show(())}")
        depth = indices.shape[-1]
        require(
            updates.shape == indices.shape[:-1] + shape[depth:],
            "Must have updates.shape = indices.shape[:batch_dim] + params_shape[slice_dim:], got "
            f"updates.shape: {show(updates.shape)}, indices.shape: {show(indices.shape)}, "
            f"params_shape: {show(shape)}, slice_dim: {depth}, and batch_dim: {indices.ndim - 1}",
        )
        at = check_vectors(shape, indices)
        if depth and updates.size:
            _apply(kind, slot, at, updates)
        elif updates.size:  # an empty vector names the whole variable
            with slot.changing() as params:
                for whole in updates.reshape(-1, *shape):
                    _KINDS[kind](params, ..., whole)
    return slot


def _scatter_nd_shape(ref, indices, updates):
    _check_nd(ref.plain(), indices, updates)
    return ref.plain()


def _resource_scatter_nd_shape(ref, indices, updates, *, T):
    _check_nd(held_shape(ref, T), indices, updates)
    return []


def _check_nd(shape, indices, updates):
    if shape.rank is None or indices.rank is None or updates.rank is None:
        return
    require(indices.rank >= 1, "Shape must be at least rank 1 but is rank 0")
    depth = indices.sizes[-1]
    if depth is None:
        return
    outer = indices.rank - 1
    prefix, suffix = updates.sizes[:outer], updates.sizes[outer:]
    require(
        make_shape(indices.sizes[:-1]).is_compatible_with(make_shape(prefix)),
        f"The outer {outer} dimensions of indices.shape={indices.plain()} must match the outer "
        f"{outer} dimensions of updates.shape={updates.plain()}",
    )
    require(
        make_shape(shape.sizes[depth:]).is_compatible_with(make_shape(suffix)),
        f"The inner {shape.rank - depth} dimensions of input.shape={shape} must match the inner "
        f"{updates.rank - outer} dimensions of updates.shape={updates.plain()}",
    )


def _declare_scatter_nd(kind):
    def by_reference(ref, indices, updates):
        return _scatter_nd(kind, ref, indices, updates)

    def by_handle(ref, indices, updates):
        _scatter_nd(kind, ref, indices, updates)
        return ()

    by_reference.__doc__ = by_handle.__doc__ = _DOCS[kind].format("places that the vectors name")
    name = f"ScatterNd{kind.title()}"
    reference = op(
        name,
        "ref: Ref(T), indices: Tindices, updates: T -> output_ref: Ref(T)",
        T=Type() if kind == "update" else NUMBERS,
        Tindices=INDEX,
        use_locking=kind == "update",
        traits={WRITES},
        shape=_scatter_nd_shape,
    )(by_reference)
    resource = op(
        f"Resource{name}",
        "ref: resource, indices: Tindices, updates: T ->",
        T=Type(),
        Tindices=INDEX,
        use_locking=True,
        traits={STATEFUL, WRITES},
        shape=_resource_scatter_nd_shape,
    )(by_handle)
    for declared in (reference, resource):
        declared.no_gradient()
        declared.samples(_scatter_nd_samples)
    reference.lower(lambda e, ref, indices, updates: _lowered_nd(e, kind, ref, indices, updates))
    resource.lower(_nd_without_output(kind))
    return reference, resource


def _lowered_nd(e, kind, table, indices, updates):
    """Each element of the updates to the place that its vector names, in order."""
    depth, outer = indices.shape[-1] if indices.shape else 0, len(indices.shape) - 1
    if not 0 < depth <= len(table.shape) or updates.dtype.kind not in "fiu":
        raise Decline("vectors that name nothing, or no real numbers")
    extents = (*indices.shape[:-1], *table.shape[depth:])
    if updates.shape != extents:
        raise Decline("shapes that do not fit")

    def place(*i):
        at = [e.checked(indices[(*i[:outer], axis)], table.shape[axis], OUTSIDE) for axis in range(depth)]
        return (*at, *i[outer:])

    changed = e.scatter(_COMPILED.get(kind, kind), table, extents, place, lambda *i: updates[i])
    return e.assign(table, changed)


def _nd_without_output(kind):
    def rule(e, ref, indices, updates):
        _lowered_nd(e, kind, ref, indices, updates)

    return rule


def _scatter_nd_samples(rng):
    table = rng.normal(size=(4, 3))
    yield Sample(table, np.array([[0], [2], [0]]), rng.normal(size=(3, 3)), grad=False)
    yield Sample(table, np.array([[3, 2], [0, 1]]), rng.normal(size=2), grad=False)
    yield Sample(table, np.zeros((0, 2), np.int64), np.zeros(0), grad=False, note="empty")
    yield ErrorSample(table, np.array([[0, 3]]), np.ones(1), raises=r"\[0, 3\] does not index")


SCATTER_ND, RESOURCE_SCATTER_ND = {}, {}
for _kind in ("update", "add", "sub"):
    SCATTER_ND[_kind], RESOURCE_SCATTER_ND[_kind] = _declare_scatter_nd(_kind)
