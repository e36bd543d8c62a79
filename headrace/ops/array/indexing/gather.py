"""Elements or rows at given places: Gather, GatherV2, GatherNd.  The gradient of a gather of rows
is IndexedSlices: as large as what was gathered, never as large as `params`."""

from __future__ import annotations

import math

import numpy as np

from headrace.core.dtypes import INDEX, int32, int64
from headrace.core.errors import require
from headrace.core.modules import late
from headrace.core.shapes import UNKNOWN, Shape, make_shape, show
from headrace.graph.tensor import Tensor
from headrace.ops.array import concat, constant, reshape, transpose
from headrace.ops.array.indexing.rows import OUTSIDE, check_places, flat_places
from headrace.ops.declaration import indexed_slices
from headrace.ops.declaration.constants import constant_value
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.emit import Decline
from headrace.ops.declaration.indexed_slices import IndexedSlices
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.shape_checks import concatenate, scalar_value, with_rank_at_least
from headrace.ops.declaration.signature import Type
from headrace.ops.math.cast import cast

reduce = late("headrace.ops.math.reduce")
scatter = late("headrace.ops.array.indexing.scatter")
segment = late("headrace.ops.array.indexing.segment")
sequence = late("headrace.ops.math.sequence")


def _tail(shape: Shape, start: int) -> Shape:
    return UNKNOWN if shape.rank is None else make_shape(shape.sizes[start:])


def gathered_shape(params, indices):
    return concatenate(indices, _tail(with_rank_at_least(params, 1), 1))


@op(
    "Gather",
    "params: Tparams, indices: Tindices -> output: Tparams",
    validate_indices=True,
    Tparams=Type(),
    Tindices=INDEX,
    shape=gathered_shape,
)
def gather(params, indices):
    """The rows of `params` at `indices`."""
    require(params.ndim > 0, "params must be at least 1 dimensional")
    return taken(params, indices, 0)


def taken(params, indices, axis):
    """params.take along an axis, with TF's check."""
    check_places(indices, params.shape[axis])
    if params.shape[axis] == 0:  # nothing is asked for: NumPy refuses even that
        return np.empty(params.shape[:axis] + indices.shape + params.shape[axis + 1 :], params.dtype)
    out = params.take(indices, axis=axis)
    return out if isinstance(out, np.ndarray) else _scalar(out, params.dtype)


def _scalar(value, dtype):
    out = np.empty((), dtype)
    out[()] = value
    return out


def rows_gradient(params: Tensor, indices: Tensor, dy) -> IndexedSlices:
    """The gradient of params[indices]."""
    sizes = cast(reshape.shape_of(params, int64), DstT=int32)
    count = reshape.expand_dims(reshape.size_of(indices), 0)
    values = reshape.reshape(indexed_slices.dense(dy), concat.concat_v2([count, sizes[1:]], 0, name="concat"))
    return IndexedSlices(values, reshape.reshape(indices, count), sizes)


@gather.gradient
def _(node, dy):
    params, indices = node.inputs
    return rows_gradient(params, indices, dy), None


def _lowered(e, params, indices, axis):
    shape = (*params.shape[:axis], *indices.shape, *params.shape[axis + 1 :])
    end = axis + len(indices.shape)

    def element(*i):
        place = e.checked(indices[i[axis:end]], params.shape[axis], OUTSIDE)
        index = (*i[:axis], place, *i[end:])
        return params[index]

    return e.compute(shape, element)


@gather.lower
def _(e, params, indices):
    return _lowered(e, params, indices, 0)


@gather.samples
def _(rng):
    yield Sample(rng.normal(size=(4, 3)), np.array([[0, 3], [1, 1]], np.int32))
    yield Sample(rng.normal(size=(4,)), np.array(2), note="scalar")
    yield Sample(rng.normal(size=(0, 3)), np.array([], np.int32), note="empty")
    yield Sample(np.array([b"a", b"b"], object), np.array([1]), note="text")
    yield ErrorSample(np.ones((4, 3)), np.array([0, 4]), raises=r"indices\[1\] = 4 is not in \[0, 4\)")
    yield ErrorSample(np.array(1.0), np.array([0]), raises="at least rank 1|at least 1 dim")


# -- GatherV2 -----------------------------------------------------------------------------------
def gather_v2_shape(params, indices, axis, *, batch_dims):
    params, at = with_rank_at_least(params, 1), scalar_value(axis)
    if batch_dims < 0 and indices.rank is not None:
        batch_dims += indices.rank
    with_rank_at_least(params, batch_dims + 1)
    if at is not None:
        with_rank_at_least(params, -at if at < 0 else at + 1)
    if params.rank is None or indices.rank is None:
        return UNKNOWN
    if at is None:
        return make_shape((None,) * (params.rank + indices.rank - 1 - batch_dims))
    at %= params.rank
    require(batch_dims <= at, f"batch_dims ({batch_dims}) must be less than or equal to axis ({at}).")
    return make_shape(params.sizes[:at] + indices.sizes[batch_dims:] + params.sizes[at + 1 :])


@op(
    "GatherV2",
    "params: Tparams, indices: Tindices, axis: Taxis -> output: Tparams",
    batch_dims=0,
    Tparams=Type(),
    Tindices=INDEX,
    Taxis=INDEX,
    shape=gather_v2_shape,
)
def gather_v2(params, indices, axis, *, batch_dims):
    """The slices of `params` along `axis` at `indices`; the first `batch_dims` dimensions of both
    go together, one index list per batch."""
    require(params.ndim > 0, "params must be at least 1 dimensional")
    require(axis.ndim == 0, "axis must be scalar")
    rank, at = params.ndim, int(axis)
    require(-rank <= at < rank, f"Expected axis in the range [{-rank}, {rank}), but got {at}")
    at %= rank
    batch = _checked_batch(params, indices, at, batch_dims)
    if batch == 0:
        return taken(params, indices, at)
    check_places(indices, params.shape[at])
    shape = params.shape
    many, outer = math.prod(shape[:batch]), math.prod(shape[batch:at])
    flat = (
        params.reshape(many, outer, shape[at], -1)
        if params.size
        else params.reshape(many, outer, shape[at], math.prod(shape[at + 1 :]))
    )
    places = indices.reshape(many, 1, -1 if indices.size else 0)
    chosen = flat[np.arange(many)[:, None, None], np.arange(outer)[None, :, None], places]
    return chosen.reshape(shape[:at] + indices.shape[batch:] + shape[at + 1 :])


def _checked_batch(params, indices, axis, batch_dims):
    rank = indices.ndim
    if batch_dims == 0:
        return 0
    require(
        -rank <= batch_dims <= rank,
        f"Expected batch_dims in the range [{-rank}, {rank}), but got {batch_dims}",
    )
    batch = batch_dims + rank if batch_dims < 0 else batch_dims
    require(batch < params.ndim, f"batch_dims ({batch}) must be less than rank(params) ({params.ndim}).")
    require(batch <= axis, f"batch_dims ({batch}) must be less than or equal to axis ({axis}).")
    for i in range(batch):
        require(
            params.shape[i] == indices.shape[i],
            f"params.shape[{i}]: {params.shape[i]} should be equal to indices.shape[{i}]: {indices.shape[i]}",
        )
    return batch


@gather_v2.gradient
def _(node, dy):
    params, indices, axis = node.inputs
    batch = node.attrs["batch_dims"]
    if batch < 0:
        batch += indices.shape.rank
    if constant_value(axis) == 0 and batch == 0:
        return rows_gradient(params, indices, dy), None, None
    return _axis_gradient(params, indices, axis, batch, indexed_slices.dense(dy)), None, None


def _axis_gradient(params, indices, axis, batch, dy):
    """The gathered axis goes behind the batch, slices are summed there, and it goes back."""
    sizes = reshape.shape_of(params)
    axis = cast(axis, DstT=int32)
    axis = axis + cast(axis < 0, DstT=int32) * reshape.rank_of(params)
    outer, inner = sizes[:axis], sizes[axis + 1 :]
    values = reshape.reshape(dy, concat.concat_v2([outer, [-1], inner], 0))
    rank = reshape.rank_of(params)
    first, middle = sequence.range_(0, batch, 1), sequence.range_(batch, axis, 1)
    last = sequence.range_(axis + 1, rank, 1)
    forth = concat.concat_v2([first, reshape.reshape(axis, [1]), middle, last], 0)
    moved = transpose.transpose(values, forth)
    summed = _summed_slices(moved, indices, sizes, axis, batch)
    back = concat.concat_v2([first, middle + 1, [batch], last], 0)
    out = transpose.transpose(summed, back)
    out.set_shape(params.shape)
    return out


def _summed_slices(values, indices, sizes, axis, batch):
    """values[b, i, ...] added up at indices[b, i], for every batch b."""
    count = sizes[axis]
    if not batch:
        flat = reshape.reshape(indices, [-1])
        return segment.unsorted_segment_sum(values, flat, count)

    kind = indices.dtype.base
    shape = reshape.shape_of(values)
    outer, inner = shape[:batch], shape[batch + 1 :]
    many = reduce.prod(outer, [0])
    rows = reshape.reshape(indices, constant.pack([many, -1]))
    offsets = reshape.expand_dims(sequence.range_(0, many, 1) * count, 1)
    places = reshape.reshape(rows + cast(offsets, DstT=kind), [-1])
    flat = reshape.reshape(values, concat.concat_v2([[-1], inner], 0))
    summed = segment.unsorted_segment_sum(flat, places, many * count)
    return reshape.reshape(summed, concat.concat_v2([outer, [-1], inner], 0))


@gather_v2.lower
def _(e, params, indices, axis, *, batch_dims):
    if axis.value is None or batch_dims:
        raise Decline("the axis is not known, or there are batches")
    return _lowered(e, params, indices, int(axis.value) % len(params.shape))


@gather_v2.samples
def _(rng):
    params = rng.normal(size=(2, 3, 4))
    for axis in (0, 1, 2, -1):
        yield Sample(params, np.array([[0, 1], [1, 1]], np.int32), np.array(axis, np.int32))
    yield Sample(params, np.array([[0, 2], [1, 1]]), np.array(1), batch_dims=1)
    yield Sample(params, np.array([[0, 3], [1, 1]]), np.array(2), batch_dims=1)
    yield Sample(params, np.array([[0], [1]]), np.array(2), batch_dims=-1)
    yield Sample(np.zeros((2, 0)), np.zeros((0, 2), np.int32), np.array(1), note="empty")
    yield ErrorSample(params, np.array([3]), np.array(1), raises=r"= 3 is not in \[0, 3\)")
    yield ErrorSample(params, np.array([0]), np.array(3), raises="at least rank 4|in the range")


# -- GatherNd -----------------------------------------------------------------------------------
def gather_nd_shape(params, indices):
    indices = with_rank_at_least(indices, 1)
    if indices.rank is None or params.rank is None or indices.sizes[-1] is None:
        return UNKNOWN
    depth = indices.sizes[-1]
    require(
        depth <= params.rank,
        f"indices.shape[-1] must be <= params.rank, but saw indices shape: {show(indices)} and "
        f"params shape: {show(params)}",
    )
    return make_shape(indices.sizes[:-1] + params.sizes[depth:])


@op(
    "GatherNd",
    "params: Tparams, indices: Tindices -> output: Tparams",
    Tparams=Type(),
    Tindices=INDEX,
    shape=gather_nd_shape,
)
def gather_nd(params, indices):
    """The elements or slices of `params` at index vectors, which stand along the last axis."""
    require(params.ndim > 0, "params must be at least a vector")
    require(indices.ndim > 0, "indices must be at least a vector")
    depth = indices.shape[-1]
    require(
        depth <= params.ndim,
        f"index innermost dimension length must be <= params rank; saw: {depth} vs. {params.ndim}",
    )
    outer, inner = indices.shape[:-1], params.shape[depth:]
    require(
        params.size > 0 or not math.prod(outer),
        "Requested more than 0 entries, but params is empty.  Params shape: "
        f"[{','.join(map(str, params.shape))}]",
    )
    places = flat_places(indices, params.shape, "param shape")
    rows = params.reshape((math.prod(params.shape[:depth]), *inner))
    if not places.size:
        return np.empty(outer + inner, params.dtype)
    return np.asarray(rows[places].reshape(outer + inner))


@gather_nd.gradient
def _(node, dy):
    params, indices = node.inputs
    sizes = reshape.shape_of(params, indices.dtype.base)
    if indices.shape.rank == 2 and indices.shape.sizes[-1] == 1:
        return IndexedSlices(indexed_slices.dense(dy), reshape.squeeze(indices, [-1]), sizes), None
    return scatter.scatter_nd(indices, dy, sizes), None


@gather_nd.lower
def _(e, params, indices):
    *outer, depth = indices.shape
    if 0 in params.shape:
        raise Decline("there is nothing to read")
    message = f"indices{{at}}: {{value}} does not index into param shape {list(params.shape)}"

    def element(*i):
        at, rest = i[: len(outer)], i[len(outer) :]
        place = [e.checked(indices[at + (k,)], params.shape[k], message) for k in range(depth)]
        return params[tuple(place) + rest]

    return e.compute((*outer, *params.shape[depth:]), element)


@gather_nd.samples
def _(rng):
    params = rng.normal(size=(2, 3, 4))
    yield Sample(params, np.array([[0, 2, 3], [1, 1, 1]], np.int32))
    yield Sample(params, np.array([[[0, 2]], [[0, 2]]]))
    yield Sample(params, np.array([[1], [0]]))
    yield Sample(params, np.zeros((2, 0), np.int32), note="whole")
    yield Sample(params, np.zeros((0, 2), np.int32), note="empty")
    yield ErrorSample(params[:, :0], np.array([[1], [0]]), raises="but params is empty")
    yield Sample(np.array([b"a", b"b"], object), np.array([[1]]), note="text")
    yield ErrorSample(params, np.array([[0, 3]]), raises=r"indices\[0\] = \[0, 3\] does not index")
