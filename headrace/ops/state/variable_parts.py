"""Reads of parts of a variable: rows by index, elements by index vectors.  Nothing is copied whole."""

from __future__ import annotations

import numpy as np

from headrace.core import dtypes
from headrace.core.dtypes import INDEX, DType
from headrace.core.errors import require
from headrace.core.shapes import UNKNOWN, make_shape, show
from headrace.graph.tensor import Tensor
from headrace.ops.array import concat, reshape
from headrace.ops.array.constant import constant
from headrace.ops.array.indexing import scatter
from headrace.ops.array.indexing.gather import gather_nd
from headrace.ops.array.indexing.rows import OUTSIDE, check_places
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.emit import Decline
from headrace.ops.declaration.indexed_slices import IndexedSlices
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.signature import Type
from headrace.ops.declaration.traits import READS, STATEFUL
from headrace.ops.state import state


def _gather_shape(resource, indices, *, batch_dims):
    if resource.handle is None or resource.handle[1].rank is None or indices.rank is None:
        return UNKNOWN
    params = resource.handle[1]
    require(params.rank >= 1, "Shape must be at least rank 1 but is rank 0")
    return make_shape(
        (*params.sizes[:batch_dims], *indices.sizes[batch_dims:], *params.sizes[batch_dims + 1 :])
    )


@op(
    "ResourceGather",
    "resource: resource, indices: Tindices -> output: dtype",
    batch_dims=0,
    validate_indices=True,
    dtype=Type(),
    Tindices=INDEX,
    traits={STATEFUL, READS},
    shape=_gather_shape,
)
def resource_gather(resource, indices, *, batch_dims, dtype):
    """The rows of a variable at `indices`, batch by batch over the first dimensions."""
    params = state.variable_behind(resource, dtype).value
    require(params.ndim >= 1, "params must be at least 1 dimensional")
    require(
        params.ndim >= batch_dims,
        f"params must have at least {batch_dims} (batch_dims) dimensions but it has shape "
        f"{show(params.shape)}",
    )
    batches = params.shape[:batch_dims], indices.shape[:batch_dims]
    require(
        batches[0] == batches[1],
        f"the batches of params and indices are not the same: {show(batches[0])} and {show(batches[1])}",
    )
    check_places(indices, params.shape[batch_dims])
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
    values = reshape.reshape(dy, concat.concat_v2([size, shape[1:]], 0, name="concat"))
    return IndexedSlices(values, reshape.reshape(indices, size), shape), None


@resource_gather.lower
def _(e, resource, indices, *, batch_dims):
    if batch_dims:
        raise Decline("there are batches")
    depth = len(indices.shape)

    def element(*i):
        row = e.checked(indices[i[:depth]], resource.shape[0], OUTSIDE)
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
    other = np.array([[2, 0]])
    yield ErrorSample(cube, other, dtype=dtypes.float64, batch_dims=1, raises="batches of params and indices")


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


@op(
    "ResourceGatherNd",
    "resource: resource, indices: Tindices -> output: dtype",
    dtype=Type(),
    Tindices=INDEX,
    traits={STATEFUL, READS},
    shape=_gather_nd_shape,
)
def resource_gather_nd(resource, indices, *, dtype):
    """The elements or slices of a variable that the vectors in `indices` name."""
    return gather_nd.reference(state.variable_behind(resource, dtype).value, indices)


@resource_gather_nd.gradient
def _(node, dy):
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
    yield ErrorSample(table, np.array([[0, 2]]), dtype=dtypes.float64, raises=r"\[0, 2\] does not index")
    yield ErrorSample(table[:, :0], np.array([[2]]), dtype=dtypes.float64, raises="but params is empty")
