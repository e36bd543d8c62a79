"""A tensor in parts by label, and back: DynamicPartition, DynamicStitch, ParallelDynamicStitch."""

from __future__ import annotations

import numpy as np

from headrace.core.errors import require
from headrace.core.shapes import UNKNOWN, Shape, make_shape, show
from headrace.ops.array import reshape
from headrace.ops.array.indexing import gather
from headrace.ops.array.indexing.rows import first_bad, show_index
from headrace.ops.declaration import indexed_slices
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.shape_checks import concatenate, merge, with_rank_at_least
from headrace.ops.declaration.signature import Int, Type
from headrace.ops.math import reduce, sequence


def rest_of(data: Shape, prefix: Shape) -> Shape:
    """What remains of a shape behind a prefix that it must start with."""
    if prefix.rank is None or data.rank is None:
        return UNKNOWN
    with_rank_at_least(data, prefix.rank)
    merge(make_shape(data.sizes[: prefix.rank]), prefix)
    return make_shape(data.sizes[prefix.rank :])


def partition_shape(data, partitions, *, num_partitions):
    rest = rest_of(data, partitions)
    return [concatenate(Shape.of(None), rest)] * num_partitions


@op(
    "DynamicPartition",
    "data: T, partitions: int32 -> outputs: num_partitions*T",
    num_partitions=Int(min=1),
    T=Type(),
    shape=partition_shape,
)
def dynamic_partition(data, partitions, *, num_partitions):
    """The rows of `data` by label: output i has those whose label is i, in their order."""
    labels = partitions.shape
    require(
        data.shape[: partitions.ndim] == labels,
        f"data.shape must start with partitions.shape, got data.shape = "
        f"{show(make_shape(data.shape))}, partitions.shape = {show(make_shape(labels))}",
    )
    bad = first_bad(partitions, num_partitions)
    if bad is not None:
        require(
            False,
            f"partitions{show_index(labels, bad)} = {partitions.flat[bad]} is not in [0, {num_partitions})",
        )
    rows = data.reshape((partitions.size, *data.shape[partitions.ndim :]))
    flat = partitions.ravel()
    return [rows[flat == i] for i in range(num_partitions)]


@dynamic_partition.gradient
def _(node, *dys):
    data, labels = node.inputs
    sizes = reshape.shape_of(labels)
    count = reduce.prod(sizes, [0])
    places = reshape.reshape(sequence.range_(0, count, 1), sizes)
    parts = dynamic_partition(places, labels, node.attrs["num_partitions"])
    whole = dynamic_stitch(list(parts), list(dys))
    return reshape.reshape(whole, reshape.shape_of(data)), None


@dynamic_partition.samples
def _(rng):
    labels = np.array([0, 2, 0, 1], np.int32)
    yield Sample(rng.normal(size=(4, 3)), labels, num_partitions=3)
    yield Sample(rng.normal(size=(2, 2, 3)), labels.reshape(2, 2), num_partitions=4)
    yield Sample(rng.normal(size=(3,)), np.array(0, np.int32), num_partitions=1, note="scalar")
    yield Sample(np.zeros((0, 3)), np.zeros(0, np.int32), num_partitions=2, note="empty", grad=False)
    yield ErrorSample(np.ones(4), labels, num_partitions=2, raises=r"partitions\[1\] = 2 is not in")
    yield ErrorSample(np.ones(3), labels, num_partitions=3, raises="must start with|must be equal")


def stitch_shape(indices, data):
    rest: Shape = UNKNOWN
    for i, d in zip(indices, data):
        rest = merge(rest, rest_of(d, i))
    known = [i.value for i in indices]
    rows = None
    if all(k is not None for k in known):
        rows = max([int(k.max()) + 1 for k in known if k.size], default=0)
    return concatenate(Shape.of(rows), rest)


def _stitched(indices, data):
    first, first_index = data[0], indices[0]
    for n, (i, d) in enumerate(zip(indices, data)):
        require(
            d.shape[: i.ndim] == i.shape,
            f"data[{n}].shape = {show(make_shape(d.shape))} does not start with "
            f"indices[{n}].shape = {show(make_shape(i.shape))}",
        )
        require(
            d.shape[i.ndim :] == first.shape[first_index.ndim :],
            f"Need data[0].shape[{first_index.ndim}:] = data[{n}].shape[{i.ndim}:], got "
            f"data[0].shape = {show(make_shape(first.shape))}, data[{n}].shape = "
            f"{show(make_shape(d.shape))}, indices[0].shape = "
            f"{show(make_shape(first_index.shape))}, indices[{n}].shape = "
            f"{show(make_shape(i.shape))}",
        )
    rest = first.shape[first_index.ndim :]
    rows = max([int(i.max()) + 1 for i in indices if i.size], default=0)
    out = np.full((max(rows, 0), *rest), b"" if first.dtype == object else 0, first.dtype)
    for i, d in zip(indices, data):
        bad = first_bad(i, rows)
        require(bad is None, f"indices[{bad}] is out of range")
        out[i.ravel()] = d.reshape((i.size, *rest))
    return out


def _stitch_gradient(node, dy):
    count = node.attrs["N"]
    dy = indexed_slices.dense(dy)
    return [None] * count + [gather.gather_v2(dy, i, 0) for i in node.inputs[:count]]


def _stitch_samples(rng):
    indices = [np.array(6, np.int32), np.array([4, 1], np.int32), np.array([[5, 2], [0, 3]], np.int32)]
    data = [rng.normal(size=i.shape + (2,)) for i in indices]
    yield Sample(indices, data)
    yield Sample([np.array([0, 2], np.int32)], [rng.normal(size=(2,))], note="gap")
    yield Sample([np.zeros(0, np.int32)], [np.zeros((0, 2))], note="empty")
    yield ErrorSample([np.array([0, 1], np.int32)], [np.ones(3)], raises="does not start|must be")


@op("DynamicStitch", "indices: N*int32, data: N*T -> merged: T", N=Int(min=1), T=Type(), shape=stitch_shape)
def dynamic_stitch(indices, data):
    """One tensor from rows and their places; a later row replaces an earlier one."""
    return _stitched(indices, data)


@op(
    "ParallelDynamicStitch",
    "indices: N*int32, data: N*T -> merged: T",
    N=Int(min=1),
    T=Type(),
    shape=stitch_shape,
)
def parallel_dynamic_stitch(indices, data):
    """As DynamicStitch, for places that do not repeat."""
    return _stitched(indices, data)


for _op in (dynamic_stitch, parallel_dynamic_stitch):
    _op.gradient(_stitch_gradient)
    _op.samples(_stitch_samples)
