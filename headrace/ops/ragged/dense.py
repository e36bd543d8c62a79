"""Ragged tensors made dense: RaggedTensorToTensor, from row splits or row numbers."""

from __future__ import annotations

import numpy as np

from headrace.core.dtypes import INDEX, int64
from headrace.core.errors import InvalidArgumentError, require
from headrace.core.shapes import UNKNOWN, make_shape, show
from headrace.ops.array import broadcast, sort
from headrace.ops.array.indexing import gather, scatter, where
from headrace.ops.array.slices import strided_slice
from headrace.ops.declaration import array
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.signature import Int, Strings, Type
from headrace.ops.math import arithmetic, cast, comparison, reduce, sequence
from headrace.ops.ragged.ragged import check_splits, places, ragged_tensor_to_sparse, row_ids

# -- RaggedTensorToTensor -----------------------------------------------------------------------
KINDS = ("FIRST_DIM_SIZE", "VALUE_ROWIDS", "ROW_SPLITS")


def _check_kinds(kinds, count):
    for kind in kinds:
        if kind not in KINDS:
            raise InvalidArgumentError(None, None, f"Unknown string for partition info type: {kind}")
    require(len(kinds), "Partition info types should not be empty")
    require("FIRST_DIM_SIZE" not in kinds[1:], "FIRST_DIM_SIZE must be first")
    require(
        kinds[0] != "FIRST_DIM_SIZE" or kinds[1:2] == ("VALUE_ROWIDS",),
        "FIRST_DIM_SIZE must be followed by VALUE_ROWIDS",
    )
    require(kinds[0] != "VALUE_ROWIDS", "VALUE_ROWIDS cannot be first")
    require(
        count == len(kinds),
        f"Number of row partition tensors ({count}) does not equal the number of row partition "
        f"types({len(kinds)}).",
    )


def tensor_shape(shape, values, default_value, row_partition_tensors, *, row_partition_types):
    _check_kinds(row_partition_types, len(row_partition_tensors))
    wanted = UNKNOWN if shape.rank == 0 else shape.as_shape
    ragged = sum(kind != "FIRST_DIM_SIZE" for kind in row_partition_types)
    if values.rank is None:
        return wanted
    out = make_shape((None,) * (ragged + 1) + values.sizes[1:])
    return out if wanted.rank is None else _combined(wanted, out)


def _combined(wanted, out):
    require(
        wanted.rank == out.rank,
        f"rt_input.shape and shape={wanted} are incompatible: rt_input.rank = {out.rank} but "
        f"shape.rank = {wanted.rank}",
    )
    return make_shape(a if a is not None else b for a, b in zip(wanted.sizes, out.sizes))


@op(
    "RaggedTensorToTensor",
    "shape: Tshape, values: T, default_value: T, "
    "row_partition_tensors: num_row_partition_tensors*Tindex -> result: T",
    T=Type(),
    Tindex=INDEX,
    Tshape=INDEX,
    num_row_partition_tensors=Int(min=1),
    row_partition_types=Strings(),
    shape=tensor_shape,
)
def ragged_tensor_to_tensor(shape, values, default_value, row_partition_tensors, *, row_partition_types):
    """A dense tensor with `default_value` behind the end of short rows; long rows are cut."""
    kinds = row_partition_types
    _check_kinds(kinds, len(row_partition_tensors))
    count, splits = _all_splits(row_partition_tensors, kinds, len(values))
    check_splits(splits, len(values))
    wanted = [-1] * (len(splits) + values.ndim) if shape.ndim == 0 else shape.tolist()
    natural = [count] + [int(np.diff(s).max()) if len(s) > 1 else 0 for s in splits]
    natural += list(values.shape[1:])
    require(len(wanted) == len(natural), f"shape {wanted} has another rank than the ragged tensor")
    sizes = [n if w < 0 else w for w, n in zip(wanted, natural)]
    try:
        out = np.array(np.broadcast_to(default_value, sizes))
    except ValueError:
        raise InvalidArgumentError(
            None,
            None,
            f"Unable to broadcast default_value of shape {show(default_value.shape)} to tensor of "
            f"shape {show(sizes)}",
        ) from None
    index = [np.arange(count)]
    for s in splits:
        row = row_ids(s)
        index = [i[row] for i in index] + [places(s)]
    fits = np.ones(len(values), bool)
    for column, size in zip(index, sizes):
        fits &= column < size
    inner = tuple(slice(min(a, b)) for a, b in zip(values.shape[1:], sizes[len(index) :]))
    kept = (slice(None), *inner)
    out[tuple(c[fits] for c in index) + inner] = values[fits][kept]
    return out


def _check_vectors(tensors):
    for part in tensors:
        require(part.ndim == 1, f"A row partition must be a vector, not {show(part.shape)}")


def _all_splits(tensors, kinds, total):
    """The number of rows, and the splits of every ragged dimension."""
    if kinds[0] == "ROW_SPLITS":
        _check_vectors(tensors)
        return len(tensors[0]) - 1, list(tensors)
    require(tensors[0].size == 1, f"FIRST_DIM_SIZE must be a scalar, not {show(tensors[0].shape)}")
    count, rest = tensors[0].item(), tensors[1:]
    _check_vectors(rest)
    splits, rows = [], count
    for ids in rest:
        splits.append(np.concatenate([[0], np.cumsum(np.bincount(ids, minlength=rows))]))
        require(len(splits[-1]) - 1 == rows, "Invalid row ids.")
        rows = len(ids)
    return count, splits


@ragged_tensor_to_tensor.gradient
def _(node, dy):
    """Each value gets the gradient at its place; the default value what is left."""
    shape, values, default, *parts = node.inputs
    splits = _splits_of(parts, node.attrs["row_partition_types"])
    rows = strided_slice.getitem(array.shape(values, out_type=int64), 0)
    index, _, _ = ragged_tensor_to_sparse(splits, sequence.range_(0, rows, 1, Tidx=int64))
    if shape.shape.rank != 0:  # long rows may have been cut: drop what has no place
        outer = array.shape(dy, out_type=int64)[: index.shape[1].value]
        inside = reduce.all_(comparison.less(index, outer), np.array([1], np.int32))
        kept = array.reshape(where.where(inside), np.array([-1], np.int32))
        index = gather.gather_v2(index, kept, 0)
        found = gather.gather_nd(dy, index)
        d_values = scatter.scatter_nd(array.expand_dims(kept, 1), found, array.shape(values, out_type=int64))
    else:
        found = d_values = gather.gather_nd(dy, index)
    rest = arithmetic.sub(dy, scatter.scatter_nd(index, found, array.shape(dy, out_type=int64)))
    axes, _ = broadcast.broadcast_gradient_args(array.shape(default), array.shape(dy))
    d_default = array.reshape(reduce.sum_(rest, axes), array.shape(default))
    return [None, d_values, d_default] + [None] * len(parts)


def _splits_of(parts, kinds):
    """Row splits as tensors, from whatever says where rows end."""
    if kinds[0] == "ROW_SPLITS":
        return parts
    out, rows = [], cast.cast(parts[0], DstT=int64)
    for ids in parts[1:]:
        ids = cast.cast(ids, DstT=int64)
        starts = sequence.range_(0, rows + 1, 1, Tidx=int64)
        below = sort.lower_bound(array.expand_dims(ids, 0), array.expand_dims(starts, 0), out_type=int64)
        out.append(array.squeeze(below, squeeze_dims=[0]))
        rows = array.size(ids, out_type=int64)
    return out


@ragged_tensor_to_tensor.samples
def _(rng):
    splits, values = np.array([0, 2, 2, 5]), rng.normal(size=5)
    yield Sample(np.int64(-1), values, np.array(0.0), [splits], row_partition_types=["ROW_SPLITS"])
    yield Sample(np.array([4, 2]), values, np.array(-1.0), [splits], row_partition_types=["ROW_SPLITS"])
    rows = [np.int64(3), np.array([0, 0, 2])]
    yield Sample(
        np.int64(-1),
        rng.normal(size=(3, 2)),
        np.array(0.0),
        rows,
        row_partition_types=["FIRST_DIM_SIZE", "VALUE_ROWIDS"],
    )
    yield ErrorSample(
        np.int64(-1),
        values,
        np.array(0.0),
        [splits],
        row_partition_types=["VALUE_ROWIDS"],
        raises="cannot be first",
    )
