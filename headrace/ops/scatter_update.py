"""Updates and reads of parts of a variable: rows by index, elements by index vectors, counters.

Nothing here copies or densifies the variable, unless somebody still holds its array.
"""

from __future__ import annotations

import numpy as np

from headrace.core import dtypes
from headrace.core.dtypes import INDEX, NUMBERS, DType
from headrace.core.errors import FailedPreconditionError, OutOfRangeError, require
from headrace.core.shapes import UNKNOWN, as_shape, make_shape, show
from headrace.graph.tensor import Tensor
from headrace.ops import concat, reshape, state
from headrace.ops.constant import constant
from headrace.ops.declare import op
from headrace.ops.emit import Decline
from headrace.ops.indexed_slices import IndexedSlices
from headrace.ops.resources import Handle
from headrace.ops.samples import ErrorSample, Sample
from headrace.ops.shape_checks import merge
from headrace.ops.shape_rules import scalar
from headrace.ops.signature import Int, Type
from headrace.ops.strided_slice import strided_slice
from headrace.ops.traits import READS, STATEFUL, WRITES


# -- checks --------------------------------------------------------------------------------------
def _slot(target):
    slot = target.get() if isinstance(target, Handle) else target
    if slot.value is None:
        raise FailedPreconditionError(
            None, None, f"Attempting to use uninitialized value {slot.name}"
        )
    return slot


def check_rows(indices, size):
    """Every index names a row."""
    bad = np.flatnonzero((indices < 0) | (indices >= size))
    if bad.size:
        at = np.unravel_index(bad[0], indices.shape)
        where = show(at) if indices.ndim else ""
        require(False, f"indices{where} = {indices[at]} is not in [0, {size})")


def _check_update(params, indices, updates):
    require(params.ndim >= 1, f"params must be at least 1-D, got shape {show(params.shape)}")
    require(
        updates.ndim == 0 or updates.shape == indices.shape + params.shape[1:],
        "Must have updates.shape = indices.shape + params.shape[1:] or updates.shape = [], got "
        f"updates.shape {show(updates.shape)}, indices.shape {show(indices.shape)}, "
        f"params.shape {show(params.shape)}",
    )
    check_rows(indices, params.shape[0])


# -- scatter by row ------------------------------------------------------------------------------
def _set(params, at, updates):
    params[at] = updates


def _divide(params, at, updates):
    """In order, each division rounded (integers towards zero), as many times as an index occurs."""
    if np.issubdtype(params.dtype, np.integer):
        for place, value in _one_by_one(params, at, updates):
            params[place] = np.trunc(params[place] / value)
    else:
        np.true_divide.at(params, at, updates)


def _one_by_one(params, at, updates):
    places = np.broadcast_arrays(*at)
    rows = params[at].shape
    values = np.broadcast_to(updates, rows).reshape(places[0].size, *rows[places[0].ndim :])
    return zip(zip(*(p.ravel() for p in places)), values)


_KINDS = {
    "update": _set,
    "add": np.add.at,
    "sub": np.subtract.at,
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
        if kind == "div" and isinstance(target, Handle):
            require(np.all(updates != 0), "updates must not contain 0")
        if indices.size:
            _apply(kind, slot, (indices,), updates)
    return slot


def _apply(kind, slot, at, updates):
    """A single index per row needs no accumulation, which NumPy does one element at a time."""
    params = slot.writable()
    plain = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "max": np.maximum}
    with np.errstate(all="ignore"):
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


def _resource_scatter_shape(resource, indices, updates):
    if resource.handle is not None and resource.handle[1].rank is not None:
        shape = resource.handle[1]
        if indices.rank is not None and updates.rank not in (None, 0):
            merge(make_shape((*indices.sizes, *shape.sizes[1:])), updates)
    return []


_ORDERED = (
    dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64, dtypes.int32, dtypes.int64,
)  # fmt: skip


def _declare_scatter(kind):
    types = {"update": Type(), "min": _ORDERED, "max": _ORDERED}.get(kind, NUMBERS)

    def by_reference(ref, indices, updates):
        return _scatter(kind, ref, indices, updates)

    def by_handle(resource, indices, updates):
        _scatter(kind, resource, indices, updates)
        return ()

    by_reference.__doc__ = by_handle.__doc__ = _DOCS[kind].format("rows")
    name = f"Scatter{kind.title()}"
    reference = op(
        name, "ref: Ref(T), indices: Tindices, updates: T -> output_ref: Ref(T)", T=types,
        Tindices=INDEX, use_locking=kind == "update", traits={WRITES}, shape=_scatter_shape,
    )(by_reference)  # fmt: skip
    resource = op(
        f"Resource{name}", "resource: resource, indices: Tindices, updates: dtype ->",
        dtype=Type() if kind == "update" else NUMBERS, Tindices=INDEX, traits={STATEFUL, WRITES},
        shape=_resource_scatter_shape,
    )(by_handle)  # fmt: skip
    for declared in (reference, resource):
        declared.no_gradient()
        declared.samples(_scatter_samples)
    reference.lower(lambda e, ref, indices, updates: _lowered(e, kind, ref, indices, updates))
    if kind != "div":  # by handle it refuses zeros before it writes
        resource.lower(_without_output(kind))
    return reference, resource


_COMPILED = {"update": "set"}
_OUTSIDE = "indices{at} = {value} is not in [0, {extent})"


def _lowered(e, kind, table, indices, updates):
    """Each element of the updates to its row, in order."""
    if updates.dtype.kind not in "fiu":
        raise Decline("only for real numbers")
    depth = len(indices.shape)
    extents = (*indices.shape, *table.shape[1:])

    def place(*i):
        return (e.checked(indices[i[:depth]], table.shape[0], _OUTSIDE), *i[depth:])

    def value(*i):
        return updates[i if updates.shape else ()]

    changed = e.scatter(_COMPILED.get(kind, kind), table, extents, place, value)
    return e.assign(table, changed)


def _without_output(kind):
    def rule(e, resource, indices, updates):
        _lowered(e, kind, resource, indices, updates)

    return rule


def _scatter_samples(rng):
    table = rng.uniform(1, 2, size=(5, 2))
    yield Sample(table, np.array([4, 0, 4]), rng.uniform(1, 2, size=(3, 2)), grad=False)
    yield Sample(table, np.array([[1], [2]]), rng.uniform(1, 2, size=(2, 1, 2)), grad=False)
    yield Sample(table, np.array(3), rng.uniform(1, 2, size=2), grad=False)
    yield Sample(table, np.zeros(0, np.int64), np.zeros((0, 2)), grad=False, note="empty")
    yield ErrorSample(table, np.array([1, 5]), np.ones((2, 2)), raises=r"indices\[1\] = 5 is not")


SCATTER, RESOURCE_SCATTER = {}, {}
for _kind in _KINDS:
    SCATTER[_kind], RESOURCE_SCATTER[_kind] = _declare_scatter(_kind)


# -- scatter by index vector ---------------------------------------------------------------------
def check_vectors(params_shape, indices):
    """`indices` as one array per dimension; every vector names a place."""
    depth = indices.shape[-1] if indices.ndim else 1
    require(
        depth <= len(params_shape),
        f"The last dimension of indices must be <= the rank of params, but got {depth} > "
        f"{len(params_shape)}",
    )
    sizes = np.array(params_shape[:depth], np.int64)
    bad = np.flatnonzero(((indices < 0) | (indices >= sizes)).any(-1))
    if bad.size:
        at = np.unravel_index(bad[0], indices.shape[:-1])
        where = ", ".join(str(i) for i in indices[at])
        require(
            False,
            f"indices{show(at)} = [{where}] does not index into shape {show(params_shape)}",
        )
    return tuple(np.moveaxis(indices, -1, 0))


def _scatter_nd(kind, target, indices, updates):
    slot = _slot(target)
    with slot.lock:
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
            for whole in updates.reshape(-1, *shape):
                _KINDS[kind](slot.writable(), ..., whole)
    return slot


def _scatter_nd_shape(ref, indices, updates):
    _check_nd(ref.plain(), indices, updates)
    return ref.plain()


def _resource_scatter_nd_shape(ref, indices, updates):
    _check_nd(ref.handle[1] if ref.handle else UNKNOWN, indices, updates)
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
        name, "ref: Ref(T), indices: Tindices, updates: T -> output_ref: Ref(T)",
        T=Type() if kind == "update" else NUMBERS, Tindices=INDEX, use_locking=kind == "update",
        traits={WRITES}, shape=_scatter_nd_shape,
    )(by_reference)  # fmt: skip
    resource = op(
        f"Resource{name}", "ref: resource, indices: Tindices, updates: T ->", T=Type(),
        Tindices=INDEX, use_locking=True, traits={STATEFUL, WRITES},
        shape=_resource_scatter_nd_shape,
    )(by_handle)  # fmt: skip
    for declared in (reference, resource):
        declared.no_gradient()
        declared.samples(_scatter_nd_samples)
    return reference, resource


def _scatter_nd_samples(rng):
    table = rng.normal(size=(4, 3))
    yield Sample(table, np.array([[0], [2], [0]]), rng.normal(size=(3, 3)), grad=False)
    yield Sample(table, np.array([[3, 2], [0, 1]]), rng.normal(size=2), grad=False)
    yield Sample(table, np.zeros((0, 2), np.int64), np.zeros(0), grad=False, note="empty")
    yield ErrorSample(table, np.array([[0, 3]]), np.ones(1), raises=r"\[0, 3\] does not index")


SCATTER_ND, RESOURCE_SCATTER_ND = {}, {}
for _kind in ("update", "add", "sub"):
    SCATTER_ND[_kind], RESOURCE_SCATTER_ND[_kind] = _declare_scatter_nd(_kind)


# -- reads of parts ------------------------------------------------------------------------------
def _gather_shape(resource, indices, *, batch_dims):
    if resource.handle is None or resource.handle[1].rank is None or indices.rank is None:
        return UNKNOWN
    params = resource.handle[1]
    require(params.rank >= 1, "Shape must be at least rank 1 but is rank 0")
    return make_shape(
        (
            *params.sizes[:batch_dims],
            *indices.sizes[batch_dims:],
            *params.sizes[batch_dims + 1 :],
        )
    )


@op("ResourceGather", "resource: resource, indices: Tindices -> output: dtype", batch_dims=0,
    validate_indices=True, dtype=Type(), Tindices=INDEX, traits={STATEFUL, READS},
    shape=_gather_shape)  # fmt: skip
def resource_gather(resource, indices, *, batch_dims, dtype):
    """The rows of a variable at `indices`, batch by batch over the first dimensions."""
    params = state.read_slot(resource, dtype)
    require(params.ndim >= 1, "params must be at least 1 dimensional")
    require(
        params.ndim >= batch_dims,
        f"params must have at least {batch_dims} (batch_dims) dimensions but it has shape "
        f"{show(params.shape)}",
    )
    check_rows(indices, params.shape[batch_dims])
    if not batch_dims:
        return params[indices]
    at = (*np.indices(indices.shape)[:batch_dims], indices)
    return params[at]


@resource_gather.gradient
def _(node, dy):
    """Rows of gradient for rows of the variable; the rest of the table is never touched."""
    handle, indices = node.inputs
    shape = shape_of_variable(handle)
    size = reshape.expand_dims(reshape.size_of(indices), 0)
    inner = strided_slice(shape, [1], [0], [1], end_mask=1)
    values = reshape.reshape(dy, concat.concat_v2([size, inner], 0))
    return IndexedSlices(values, reshape.reshape(indices, size), shape), None


@resource_gather.lower
def _(e, resource, indices, *, batch_dims):
    if batch_dims:
        raise Decline("there are batches")
    depth = len(indices.shape)

    def element(*i):
        row = e.checked(indices[i[:depth]], resource.shape[0], _OUTSIDE)
        return resource[(row, *i[depth:])]

    return e.compute((*indices.shape, *resource.shape[1:]), element)


@resource_gather.samples
def _(rng):
    table = rng.normal(size=(5, 2))
    yield Sample(table, np.array([[4, 0], [1, 1]]), dtype=dtypes.float64)
    yield Sample(table, np.array(3), dtype=dtypes.float64, note="scalar")
    cube = rng.normal(size=(2, 3, 2))
    yield Sample(cube, np.array([[2, 0], [1, 1]]), dtype=dtypes.float64, batch_dims=1)
    yield ErrorSample(table, np.array([5]), dtype=dtypes.float64, raises=r"indices\[0\] = 5")


def shape_of_variable(handle: Tensor, out_type: DType = dtypes.int32) -> Tensor:
    """The shape of what a handle points to, as a constant where it is known."""
    if handle.handle_data is not None and handle.handle_data[1].is_fully_defined():
        return constant(handle.handle_data[1].as_list(), dtype=out_type)
    shape: Tensor = state.variable_shape(handle, out_type=out_type)
    return shape


def _gather_nd_shape(resource, indices):
    if resource.handle is None or resource.handle[1].rank is None or indices.rank is None:
        return UNKNOWN
    params, depth = resource.handle[1], indices.sizes[-1]
    if depth is None:
        return UNKNOWN
    require(depth <= params.rank, f"indices.shape[-1] must be <= params.rank: {depth}")
    return make_shape((*indices.sizes[:-1], *params.sizes[depth:]))


@op("ResourceGatherNd", "resource: resource, indices: Tindices -> output: dtype", dtype=Type(),
    Tindices=INDEX, traits={STATEFUL, READS}, shape=_gather_nd_shape)  # fmt: skip
def resource_gather_nd(resource, indices, *, dtype):
    """The elements or slices of a variable that the vectors in `indices` name."""
    params = state.read_slot(resource, dtype)
    require(params.ndim >= 1, "params must be at least a vector")
    require(indices.ndim >= 1, "indices must be at least a vector")
    at = check_vectors(params.shape, indices)
    if not at:
        return np.broadcast_to(params, indices.shape[:-1] + params.shape)
    return params[at]


@resource_gather_nd.gradient
def _(node, dy):
    from headrace.ops import scatter

    handle, indices = node.inputs
    shape = shape_of_variable(handle, indices.dtype)
    if indices.get_shape().rank == 2 and indices.get_shape().dim(-1) == 1:
        return IndexedSlices(dy, reshape.squeeze(indices, squeeze_dims=[-1]), shape), None
    return scatter.scatter_nd(indices, dy, shape), None


@resource_gather_nd.samples
def _(rng):
    table = rng.normal(size=(5, 2))
    yield Sample(table, np.array([[4, 0], [1, 1]]), dtype=dtypes.float64)
    yield Sample(table, np.array([[2]]), dtype=dtypes.float64)
    yield ErrorSample(
        table, np.array([[0, 2]]), dtype=dtypes.float64, raises=r"\[0, 2\] does not index"
    )


# -- counters ------------------------------------------------------------------------------------
def _count(slot, limit):
    with slot.lock:
        before = np.array(slot.value)
        if before >= limit:
            raise OutOfRangeError(None, None, f"Reached limit of {limit}")
        slot.assign(np.asarray(before + 1, before.dtype))
    return before


def _counter_shape(ref):
    require(ref.rank in (None, 0), f"Shape must be rank 0 but is rank {ref.rank}")
    return as_shape(())


@op("CountUpTo", "ref: Ref(T) -> output: T", limit=Int(), T=INDEX, traits={WRITES},
    shape=_counter_shape)  # fmt: skip
def count_up_to(ref, *, limit):
    """The value before it was raised by one; OutOfRangeError where it has reached `limit`."""
    return _count(_slot(ref), limit)


@op("ResourceCountUpTo", "resource: resource -> output: T", limit=Int(), T=INDEX,
    traits={STATEFUL, WRITES}, shape=scalar)  # fmt: skip
def resource_count_up_to(resource, *, limit):
    """The value before it was raised by one; OutOfRangeError where it has reached `limit`."""
    return _count(_slot(resource), limit)


count_up_to.no_gradient()
resource_count_up_to.no_gradient()


@count_up_to.samples
def _(rng):
    yield Sample(np.array(3), limit=5, grad=False)
    yield ErrorSample(np.array(5), limit=5, raises="Reached limit of 5")


@resource_count_up_to.samples
def _(rng):
    yield Sample(np.array(3), limit=5, T=dtypes.int64, grad=False)
