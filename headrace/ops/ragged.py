"""Ragged tensors: values, and for each ragged dimension the row splits, where rows begin and end.

Row i of a ragged dimension is values[splits[i]:splits[i + 1]].
"""

from __future__ import annotations

import itertools

import numpy as np

from headrace.core.dtypes import INDEX, bfloat16, float32, float64, int32, int64, variant
from headrace.core.errors import InvalidArgumentError, require
from headrace.core.shapes import SCALAR, UNKNOWN, make_shape
from headrace.ops.declare import op
from headrace.ops.samples import ErrorSample, Sample
from headrace.ops.shape_checks import concatenate, with_rank, with_rank_at_least, with_rank_at_most
from headrace.ops.signature import Bool, Int, Strings, Type
from headrace.ops.sparse_layout import text
from headrace.ops.text import strings
from headrace.ops.variant import TensorVariant

SPLITS = Type(INDEX, default=int64)
VECTOR = make_shape((None,))


def check_splits(nested, count):
    """Splits begin at 0, never fall, and end where the next ones or the values end."""
    ends = [len(s) - 1 for s in nested[1:]] + [count]
    for splits, end in zip(nested, ends):
        require(len(splits), "ragged splits may not be empty.")
        require(splits[0] == 0, "First value of ragged splits must be 0.")
        for i in np.flatnonzero(np.diff(splits) < 0)[:1]:
            require(
                False,
                f"Ragged splits should be non decreasing, but we got {splits[i]} followed by "
                f"{splits[i + 1]}",
            )
        require(
            splits[-1] == end,
            "Final value of ragged splits must match the length the corresponding ragged values.",
        )


def row_ids(splits):
    """The row of every value."""
    return np.repeat(np.arange(len(splits) - 1), np.diff(splits))


def places(splits):
    """The position of every value within its row."""
    return np.arange(splits[-1]) - splits[:-1][row_ids(splits)]


# -- RaggedRange --------------------------------------------------------------------------------
def range_shape(starts, limits, deltas):
    rows = None
    for x in (starts, limits, deltas):
        with_rank_at_most(x, 1)
        if x.rank == 1 and x.sizes[0] is not None:
            require(
                rows in (None, x.sizes[0]),
                f"Dimensions must be equal, but are {rows} and {x.sizes[0]}",
            )
            rows = x.sizes[0]
    if all(x.rank == 0 for x in (starts, limits, deltas)):
        rows = 1
    return [make_shape((None if rows is None else rows + 1,)), VECTOR]


@op("RaggedRange", "starts: T, limits: T, deltas: T -> rt_nested_splits: Tsplits, "
    "rt_dense_values: T", T=Type((bfloat16, float32, float64, int32, int64), default=int32),
    Tsplits=SPLITS, shape=range_shape)  # fmt: skip
def ragged_range(starts, limits, deltas, *, Tsplits):
    """Row i counts from starts[i] up to limits[i] in steps of deltas[i]."""
    for name, x in (("starts", starts), ("limits", limits), ("deltas", deltas)):
        require(x.ndim <= 1, f"{name} must be a scalar or vector")
    sizes = {len(x) for x in (starts, limits, deltas) if x.ndim}
    require(len(sizes) <= 1, "starts, limits, and deltas must have the same shape")
    count = sizes.pop() if sizes else 1
    starts, limits, deltas = (np.broadcast_to(x, count) for x in (starts, limits, deltas))
    require(np.all(deltas != 0), "Requires delta != 0")
    if starts.dtype.kind in "iu":
        lengths = -((starts - limits) // deltas)
    else:
        lengths = np.ceil(np.abs((limits - starts).astype(np.float64) / deltas.astype(np.float64)))
    rising = np.where(deltas > 0, starts < limits, starts > limits)
    lengths = np.where(rising, lengths, 0).astype(np.int64)
    splits = np.concatenate([[0], np.cumsum(lengths)])
    row = row_ids(splits)
    steps = places(splits).astype(starts.dtype)
    return splits.astype(Tsplits.numpy), (starts[row] + steps * deltas[row]).astype(starts.dtype)


ragged_range.no_gradient()


@ragged_range.samples
def _(rng):
    yield Sample(np.array([0, 5, 8], np.int32), np.array([3, 3, 12], np.int32), np.int32(1))
    yield Sample(np.array([0, 5]), np.array([3, 2]), np.array([2, -1]))
    yield Sample(np.array(0.5), np.array(2.0), np.array(0.5), T=float64, note="scalars")
    yield ErrorSample(np.int32(0), np.int32(3), np.int32(0), raises="Requires delta != 0")


# -- RaggedGather -------------------------------------------------------------------------------
def gather_shape(params_nested_splits, params_dense_values, indices, *, OUTPUT_RAGGED_RANK):
    with_rank(indices, OUTPUT_RAGGED_RANK - len(params_nested_splits) + 1)
    for splits in params_nested_splits:
        with_rank(splits, 1)
    values = with_rank_at_least(params_dense_values, 1)
    row = UNKNOWN if values.rank is None else values[1:]
    return [VECTOR] * OUTPUT_RAGGED_RANK + [concatenate(VECTOR, row)]


@op("RaggedGather", "params_nested_splits: PARAMS_RAGGED_RANK*Tsplits, "
    "params_dense_values: Tvalues, indices: Tindices -> "
    "output_nested_splits: OUTPUT_RAGGED_RANK*Tsplits, output_dense_values: Tvalues",
    Tvalues=Type(), Tindices=INDEX, Tsplits=SPLITS, PARAMS_RAGGED_RANK=Int(min=1),
    OUTPUT_RAGGED_RANK=Int(min=0), shape=gather_shape)  # fmt: skip
def ragged_gather(params_nested_splits, params_dense_values, indices):
    """The rows of a ragged tensor that the indices name."""
    nested, values = params_nested_splits, params_dense_values
    require(values.ndim, "params.rank must be nonzero")
    ends = [len(s) - 1 for s in nested[1:]] + [len(values)]
    for splits, end in zip(nested, ends):
        require(len(splits), "Ragged splits may not be empty")
        require(splits[0] >= 0, "Ragged splits must be non-negative")
        require(splits[-1] <= end, "Ragged splits must not point past values")
        require(np.all(np.diff(splits) >= 0), "Ragged splits must be sorted")
    rows = len(nested[0]) - 1
    for place in np.argwhere((indices < 0) | (indices >= rows))[:1]:
        require(
            False,
            f"indices{text(place) if indices.ndim else ''} = {indices[tuple(place)]} is not in "
            f"[0, {rows})",
        )
    kind = nested[0].dtype
    out = [_uniform_splits(indices.shape, i, kind) for i in range(indices.ndim - 1)]
    chosen = indices.reshape(-1)
    for splits in nested:
        lengths = splits[chosen + 1] - splits[chosen]
        inner = np.concatenate([[0], np.cumsum(lengths)]).astype(kind)
        chosen = splits[chosen][row_ids(inner)] + places(inner)
        out.append(inner)
    if indices.ndim == 0:  # one row: its own splits are not ragged any more
        out = out[1:]
    return out, values[chosen.astype(np.int64)]


def _uniform_splits(shape, dim, kind):
    """The splits of a dimension of indices, whose rows have one length."""
    rows = int(np.prod(shape[: dim + 1]))
    return (np.arange(rows + 1) * shape[dim + 1]).astype(kind)


@ragged_gather.gradient
def _(node, *dys):
    from headrace.ops import array, gather, strided_slice
    from headrace.ops.indexed_slices import IndexedSlices

    *nested, values, indices = node.inputs
    bounds = nested[0]  # where the rows begin among the flat values
    for splits in nested[1:]:
        bounds = gather.gather_v2(splits, bounds, 0)
    flat = array.reshape(indices, np.array([-1], np.int32))
    starts = gather.gather_v2(bounds, flat, 0)
    limits = gather.gather_v2(strided_slice.getitem(bounds, slice(1, None)), flat, 0)
    _, places = ragged_range(starts, limits, np.array(1, starts.dtype.numpy))
    dx = IndexedSlices(dys[-1], places, array.shape(values))
    return [None] * len(nested) + [dx, None]


@ragged_gather.samples
def _(rng):
    splits, values = np.array([0, 2, 2, 5]), rng.normal(size=(5, 2))
    yield Sample([splits], values, np.array([2, 0, 1]), OUTPUT_RAGGED_RANK=1)
    yield Sample([splits], values, np.array([[2], [1]]), OUTPUT_RAGGED_RANK=2)
    yield Sample([np.array([0, 1, 3]), splits], values, np.array([1, 1]), OUTPUT_RAGGED_RANK=2)
    yield Sample([splits], values, np.array(2), OUTPUT_RAGGED_RANK=0, note="one row")
    yield ErrorSample([splits], values, np.array([3]), OUTPUT_RAGGED_RANK=1,
                      raises="indices\\[0\\] = 3 is not in \\[0, 3\\)")  # fmt: skip


# -- RaggedTensorToSparse -----------------------------------------------------------------------
def sparse_shape(rt_nested_splits, rt_dense_values):
    for splits in rt_nested_splits:
        with_rank(splits, 1)
    values = with_rank_at_least(rt_dense_values, 1)
    rank = None if values.rank is None else values.rank + len(rt_nested_splits)
    count = values.num_elements()
    return [make_shape(s) for s in ((count, rank), (count,), (rank,))]


@op("RaggedTensorToSparse", "rt_nested_splits: RAGGED_RANK*Tsplits, rt_dense_values: T -> "
    "sparse_indices: int64, sparse_values: T, sparse_dense_shape: int64",
    RAGGED_RANK=Int(min=1), T=Type(), Tsplits=SPLITS, shape=sparse_shape)  # fmt: skip
def ragged_tensor_to_sparse(rt_nested_splits, rt_dense_values):
    """The same elements, sparse; the dense shape has room for the longest rows."""
    nested, values = rt_nested_splits, rt_dense_values
    check_splits(nested, len(values))
    columns = [places(splits) for splits in nested]
    rows = [row_ids(splits) for splits in nested]
    index = np.stack([rows[0], columns[0]], axis=1)
    for row, column in zip(rows[1:], columns[1:]):
        index = np.concatenate([index[row], column[:, None]], axis=1)
    inner = values.shape[1:]
    if inner:
        within = np.stack([g.reshape(-1) for g in np.indices(inner)], axis=1)
        index = np.concatenate(
            [np.repeat(index, len(within), axis=0), np.tile(within, (len(index), 1))], axis=1
        )
    widths = [int(np.diff(s).max()) if len(s) > 1 else 0 for s in nested]
    shape = np.array([len(nested[0]) - 1, *widths, *inner], np.int64)
    return index.astype(np.int64), values.reshape(-1), shape


@ragged_tensor_to_sparse.gradient
def _(node, d_indices, dy, d_shape):
    """The elements keep their order: only the values have a gradient."""
    from headrace.ops import array

    values = node.inputs[-1]
    dx = array.reshape(dy, array.shape(values))
    return [None] * (len(node.inputs) - 1) + [dx]


@ragged_tensor_to_sparse.samples
def _(rng):
    splits = np.array([0, 2, 2, 5])
    yield Sample([splits], rng.normal(size=5))
    yield Sample([np.array([0, 1, 3]), splits], rng.normal(size=(5, 2)))
    yield Sample([np.array([0])], np.zeros(0), note="empty")
    yield ErrorSample([np.array([1, 2])], np.zeros(2), raises="First value of ragged splits")


# -- RaggedTensorToTensor -----------------------------------------------------------------------
KINDS = ("FIRST_DIM_SIZE", "VALUE_ROWIDS", "ROW_SPLITS")


def _check_kinds(kinds, count):
    for kind in kinds:
        if kind not in KINDS:
            raise InvalidArgumentError(
                None, None, f"Unknown string for partition info type: {kind}"
            )
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


@op("RaggedTensorToTensor", "shape: Tshape, values: T, default_value: T, "
    "row_partition_tensors: num_row_partition_tensors*Tindex -> result: T", T=Type(),
    Tindex=INDEX, Tshape=INDEX, num_row_partition_tensors=Int(min=1),
    row_partition_types=Strings(), shape=tensor_shape)  # fmt: skip
def ragged_tensor_to_tensor(
    shape, values, default_value, row_partition_tensors, *, row_partition_types
):
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
            None, None,
            f"Unable to broadcast default_value of shape {text(default_value.shape)} to tensor of "
            f"shape {text(sizes)}",
        ) from None  # fmt: skip
    index = [np.arange(count)]
    for s in splits:
        row = row_ids(s)
        index = [i[row] for i in index] + [places(s)]
    fits = np.ones(len(values), bool)
    for column, size in zip(index, sizes):
        fits &= column < size
    inner = tuple(slice(min(a, b)) for a, b in zip(values.shape[1:], sizes[len(index) :]))
    out[tuple(c[fits] for c in index) + inner] = values[fits][(slice(None), *inner)]
    return out


def _all_splits(tensors, kinds, total):
    """The number of rows, and the splits of every ragged dimension."""
    if kinds[0] == "ROW_SPLITS":
        return len(tensors[0]) - 1, list(tensors)
    count, rest = int(tensors[0]), tensors[1:]
    splits, rows = [], count
    for ids in rest:
        splits.append(np.concatenate([[0], np.cumsum(np.bincount(ids, minlength=rows))]))
        require(len(splits[-1]) - 1 == rows, "Invalid row ids.")
        rows = len(ids)
    return count, splits


@ragged_tensor_to_tensor.gradient
def _(node, dy):
    """Each value gets the gradient at its place; the default value what is left."""
    from headrace.ops import (
        arithmetic,
        array,
        broadcast,
        comparison,
        gather,
        reduce,
        scatter,
        sequence,
        strided_slice,
        where,
    )  # fmt: skip

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
        d_values = scatter.scatter_nd(
            array.expand_dims(kept, 1), found, array.shape(values, out_type=int64)
        )
    else:
        found = d_values = gather.gather_nd(dy, index)
    rest = arithmetic.sub(dy, scatter.scatter_nd(index, found, array.shape(dy, out_type=int64)))
    axes, _ = broadcast.broadcast_gradient_args(array.shape(default), array.shape(dy))
    d_default = array.reshape(reduce.sum_(rest, axes), array.shape(default))
    return [None, d_values, d_default] + [None] * len(parts)


def _splits_of(parts, kinds):
    """Row splits as tensors, from whatever says where rows end."""
    from headrace.ops import array, cast, sequence, sort

    if kinds[0] == "ROW_SPLITS":
        return parts
    out, rows = [], cast.cast(parts[0], DstT=int64)
    for ids in parts[1:]:
        ids = cast.cast(ids, DstT=int64)
        starts = sequence.range_(0, rows + 1, 1, Tidx=int64)
        below = sort.lower_bound(
            array.expand_dims(ids, 0), array.expand_dims(starts, 0), out_type=int64
        )
        out.append(array.squeeze(below, squeeze_dims=[0]))
        rows = array.size(ids, out_type=int64)
    return out


@ragged_tensor_to_tensor.samples
def _(rng):
    splits, values = np.array([0, 2, 2, 5]), rng.normal(size=5)
    yield Sample(np.int64(-1), values, np.array(0.0), [splits],
                 row_partition_types=["ROW_SPLITS"])  # fmt: skip
    yield Sample(np.array([4, 2]), values, np.array(-1.0), [splits],
                 row_partition_types=["ROW_SPLITS"])  # fmt: skip
    rows = [np.int64(3), np.array([0, 0, 2])]
    yield Sample(np.int64(-1), rng.normal(size=(3, 2)), np.array(0.0), rows,
                 row_partition_types=["FIRST_DIM_SIZE", "VALUE_ROWIDS"])  # fmt: skip
    yield ErrorSample(np.int64(-1), values, np.array(0.0), [splits],
                      row_partition_types=["VALUE_ROWIDS"], raises="cannot be first")  # fmt: skip


# -- variants -----------------------------------------------------------------------------------
def variant_shape(rt_nested_splits, rt_dense_values, *, batched_input):
    for splits in rt_nested_splits:
        with_rank(splits, 1)
    with_rank_at_least(rt_dense_values, 1)
    if not batched_input:
        return SCALAR
    count = rt_nested_splits[0].dim(0)
    return make_shape((None if count is None else count - 1,))


@op("RaggedTensorToVariant", "rt_nested_splits: RAGGED_RANK*Tsplits, rt_dense_values: Tvalues -> "
    "encoded_ragged: variant", RAGGED_RANK=Int(min=1), Tvalues=Type(), Tsplits=INDEX,
    batched_input=Bool(), shape=variant_shape)  # fmt: skip
def ragged_tensor_to_variant(rt_nested_splits, rt_dense_values, *, Tvalues, Tsplits, batched_input):
    """A ragged tensor as one element, or each of its rows as one."""
    nested, values = rt_nested_splits, rt_dense_values
    if not batched_input:
        return strings([_boxed(nested, values, Tsplits, Tvalues)], ())
    check_splits(nested, len(values))
    out = []
    for start, stop in itertools.pairwise(nested[0].tolist()):
        inner = []
        for splits in nested[1:]:
            row = splits[start : stop + 1]
            inner.append(row - row[0])
            start, stop = int(row[0]), int(row[-1])
        out.append(_boxed(inner, values[start:stop], Tsplits, Tvalues))
    return strings(out)


def _boxed(nested, values, splits_type, values_type):
    parts = [TensorVariant(splits, splits_type) for splits in nested]
    return TensorVariant(strings([*parts, TensorVariant(values, values_type)]), variant)


ragged_tensor_to_variant.no_gradient()


@ragged_tensor_to_variant.samples
def _(rng):
    splits, values = np.array([0, 2, 2, 5]), np.arange(5)
    yield Sample([splits], values, batched_input=False, grad=False)
    yield Sample([np.array([0, 1, 3]), splits], values, batched_input=True, grad=False)


def from_variant_shape(encoded_ragged, *, input_ragged_rank, output_ragged_rank):
    if input_ragged_rank >= 0:
        with_rank(encoded_ragged, output_ragged_rank - input_ragged_rank)
    return [VECTOR] * output_ragged_rank + [UNKNOWN]


@op("RaggedTensorFromVariant", "encoded_ragged: variant -> "
    "output_nested_splits: output_ragged_rank*Tsplits, output_dense_values: Tvalues",
    input_ragged_rank=Int(min=-1), output_ragged_rank=Int(min=1), Tvalues=Type(), Tsplits=INDEX,
    shape=from_variant_shape)  # fmt: skip
def ragged_tensor_from_variant(
    encoded_ragged, *, input_ragged_rank, output_ragged_rank, Tvalues, Tsplits
):
    """The ragged tensor in an element; the dimensions of several elements become ragged ones."""
    rank = input_ragged_rank
    if rank < 0:
        rank = output_ragged_rank - encoded_ragged.ndim
        require(
            rank >= 0,
            "Inferred input_ragged_rank (output_ragged_rank - encoded_variant.dims()) must be >= "
            f"0, found output_ragged_rank: {output_ragged_rank}, encoded_variant.dims(): "
            f"{encoded_ragged.ndim}, inferred input_ragged_rank: {rank}",
        )
    require(
        output_ragged_rank == rank + encoded_ragged.ndim,
        "output_ragged_rank must be equal to input_ragged_rank + encoded_ragged.dims(); "
        f"output_ragged_rank: {output_ragged_rank}, input_ragged_rank: {rank}, "
        f"encoded_variant.dims(): {encoded_ragged.ndim}.",
    )
    flat = encoded_ragged.reshape(-1)
    parts = [_unboxed(v, i, rank, Tvalues, Tsplits) for i, v in enumerate(flat)]
    kind = Tsplits.numpy
    if encoded_ragged.ndim == 0:
        nested, values = parts[0]
        return list(nested), values
    shape = encoded_ragged.shape
    outer = [_uniform_splits(shape, i, kind) for i in range(len(shape) - 1)]
    counts = [len(nested[0]) - 1 if rank else len(values) for nested, values in parts]
    out = [*outer, np.concatenate([[0], np.cumsum(counts)]).astype(kind)]
    for level in range(rank):
        joined, end = [np.zeros(1, kind)], 0
        for nested, _ in parts:
            joined.append(nested[level][1:] + end)
            end += nested[level][-1]
        out.append(np.concatenate(joined).astype(kind))
    if not parts:
        return out, np.zeros(0, Tvalues.numpy)
    for i, (_, values) in enumerate(parts):
        require(
            values.shape[1:] == parts[0][1].shape[1:],
            "All flat_values must have compatible shapes.  Shape at index 0: "
            f"{text(parts[0][1].shape[1:])}.  Shape at index {i}: {text(values.shape[1:])}.",
        )
    return out, np.concatenate([values for _, values in parts])


def _unboxed(element, index, rank, values_type, splits_type):
    """The splits and the values in one element, checked."""
    require(
        isinstance(element, TensorVariant),
        f"Input Variant element at index {index} doesn't hold a Tensor: {element!r}",
    )
    held = element.array
    require(
        held.ndim == 1,
        f"Encoded input Variant must have rank 1, but found rank: {held.ndim}.",
    )
    require(
        len(held) in (rank + 1, 1),
        "Encoded input Variant must hold either input_ragged_rank + 1 Tensors or an empty Tensor "
        f"(zero splits Tensors, 1 values Tensor), input_ragged_rank: {rank}",
    )
    *nested, values = held
    for splits in nested:
        require(
            splits.dtype is splits_type,
            f"Expected splits Tensor dtype: {splits_type.name}, found: {splits.dtype.name}",
        )
    require(
        values.dtype is values_type,
        f"Expected values Tensor dtype: {values_type.name}, found: {values.dtype.name}",
    )
    found = [splits.array for splits in nested]
    if len(found) < rank:  # an element without rows
        found = [np.zeros(1, splits_type.numpy)] * rank
    return found, values.array


@ragged_tensor_from_variant.samples
def _(rng):
    yield ErrorSample(strings([b"x"], ()), input_ragged_rank=1, output_ragged_rank=1,
                      Tvalues=int64, Tsplits=int64, raises="variant|Variant")  # fmt: skip
