"""Sparse tensors taken apart and put together: concat, split, slice, reorder, reshape, fill."""

from __future__ import annotations

import numpy as np

from headrace.core.dtypes import NUMBERS
from headrace.core.errors import InternalError, require
from headrace.core.shapes import UNKNOWN, make_shape, show
from headrace.ops.array.indexing import gather
from headrace.ops.declaration import array
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.shape_checks import merge, merge_sizes, with_rank
from headrace.ops.declaration.signature import Int, Type
from headrace.ops.math import sequence
from headrace.ops.sparse.layout import check_kinds, check_parts, check_sizes, order, sparse_shapes

SMALL = (np.array([[0, 1], [1, 0], [1, 3], [3, 2]]), np.array([1.5, -2.0, 0.25, 4.0]), np.array([4, 5]))


# -- SparseConcat -------------------------------------------------------------------------------
def concat_shape(indices, values, shapes):
    count, rank, dense = 0, None, UNKNOWN
    for places, elements, shape in zip(indices, values, shapes):
        rows, columns = with_rank(places, 2).sizes
        rows = merge_sizes(rows, with_rank(elements, 1).sizes[0])
        count = None if count is None or rows is None else count + rows
        rank = merge_sizes(rank, columns)
        dense = merge(dense, with_rank(shape, 1))
    return [make_shape((count, rank)), make_shape((count,)), dense]


@op(
    "SparseConcat",
    "indices: N*int64, values: N*T, shapes: N*int64 -> "
    "output_indices: int64, output_values: T, output_shape: int64",
    concat_dim=Int(),
    N=Int(min=2),
    T=Type(),
    shape=concat_shape,
)
def sparse_concat(indices, values, shapes, *, concat_dim):
    """Sparse tensors, one after the other along a dimension."""
    for i, (places, elements, shape) in enumerate(zip(indices, values, shapes)):
        where = f"should be a {{}} but received shape {{}} at position {i}"
        require(places.ndim == 2, "Input indices " + where.format("matrix", show(places.shape)))
        require(elements.ndim == 1, "Input values " + where.format("vector", show(elements.shape)))
        require(shape.ndim == 1, "Input shapes " + where.format("vector", show(shape.shape)))
        check_parts(places, elements, shape)
    rank = len(shapes[0])
    require(
        -rank <= concat_dim < rank, f"Concat dimension must be in range [{-rank}, {rank}), got {concat_dim}"
    )
    axis = concat_dim % rank
    _check_equal_sizes(shapes, axis)
    offsets = np.cumsum([0] + [int(s[axis]) for s in shapes])
    places = np.concatenate(indices)
    places[:, axis] += np.repeat(offsets[:-1], [len(i) for i in indices])
    dense = np.array(shapes[0])
    dense[axis] = offsets[-1]
    sort = order(places)
    return places[sort], np.concatenate(values)[sort], dense


def _check_equal_sizes(shapes, axis):
    rank = len(shapes[0])
    for i, shape in enumerate(shapes[1:], 1):
        require(
            len(shape) == rank,
            f"Ranks of all input tensors must match: expected {rank} but got {len(shape)} at position {i}",
        )
        for j in range(rank):
            require(
                j == axis or shape[j] == shapes[0][j],
                f"Input shapes must match: expected {shapes[0][j]} for dimension {j} but got "
                f"{shape[j]} at position {i}",
            )


sparse_concat.no_gradient()


@sparse_concat.samples
def _(rng):
    places, values, shape = SMALL
    for axis in (0, 1, -1):
        yield Sample([places, places], [values, values], [shape, shape], concat_dim=axis)
    empty = np.zeros((0, 2), np.int64), np.zeros(0), shape
    yield Sample(*([a, b] for a, b in zip(SMALL, empty)), concat_dim=0, note="empty")
    yield ErrorSample(
        [places] * 2, [values] * 2, [shape] * 2, concat_dim=2, raises="Concat dimension must be in range"
    )


# -- SparseSplit --------------------------------------------------------------------------------
def split_shape(split_dim, indices, values, shape, *, num_split):
    parts = sparse_shapes(shape.num_elements() if shape.rank == 1 else None)
    dense = with_rank(shape, 1)
    return [parts[0]] * num_split + [parts[1]] * num_split + [dense] * num_split


@op(
    "SparseSplit",
    "split_dim: int64, indices: int64, values: T, shape: int64 -> "
    "output_indices: num_split*int64, output_values: num_split*T, output_shape: num_split*int64",
    num_split=Int(min=1),
    T=Type(),
    shape=split_shape,
)
def sparse_split(split_dim, indices, values, shape, *, num_split):
    """A sparse tensor in parts along a dimension; the first ones may be larger by one."""
    require(split_dim.ndim == 0, f"Input axis should be a scalar but received shape {show(split_dim.shape)}")
    check_parts(indices, values, shape)
    axis = int(split_dim)
    require(
        0 <= axis < len(shape), f"Input split_dim should be between 0 and rank ({len(shape)}), got {axis}"
    )
    size = int(shape[axis])
    require(
        num_split <= size,
        f"Input num_split should be between 1 and the splitting dimension size ({size}), got {num_split}",
    )
    whole, more = divmod(size, num_split)
    starts = np.arange(num_split + 1) * whole + np.minimum(np.arange(num_split + 1), more)
    owner = np.searchsorted(starts, indices[:, axis], side="right") - 1
    out_indices, out_values, out_shapes = [], [], []
    for part in range(num_split):
        chosen = owner == part
        places, dense = indices[chosen], np.array(shape)
        places[:, axis] -= starts[part]
        dense[axis] = starts[part + 1] - starts[part]
        out_indices.append(places)
        out_values.append(values[chosen])
        out_shapes.append(dense)
    return out_indices, out_values, out_shapes


@sparse_split.samples
def _(rng):
    yield Sample(np.int64(0), *SMALL, num_split=2, grad=False)
    yield Sample(np.int64(1), *SMALL, num_split=3, grad=False, note="a rest")
    yield ErrorSample(np.int64(1), *SMALL, num_split=6, raises="Input num_split should be between")


# -- SparseSlice --------------------------------------------------------------------------------
def slice_shape(indices, values, shape, start, size):
    parts = sparse_shapes(shape.num_elements() if shape.rank == 1 else None)
    return [parts[0], parts[1], with_rank(shape, 1)]


@op(
    "SparseSlice",
    "indices: int64, values: T, shape: int64, start: int64, size: int64 -> "
    "output_indices: int64, output_values: T, output_shape: int64",
    T=Type(),
    shape=slice_shape,
)
def sparse_slice(indices, values, shape, start, size):
    """The elements in a box that begins at `start`, cut at the border of the tensor."""
    check_kinds(indices, values, shape)
    for name, vector in (("start", start), ("size", size)):
        require(vector.ndim == 1, f"Input {name} should be a vector but received shape {show(vector.shape)}")
        require(
            len(vector) == len(shape),
            f"Expected {name} to be a vector of length {len(shape)} but got length {len(vector)}",
        )
    check_sizes(shape)
    check_parts(indices, values, shape)
    dense = np.where(start + size < shape, size, shape - start)
    check_sizes(dense)
    inside = np.all((indices >= start) & (indices < start + size), axis=1)
    return indices[inside] - start, values[inside], dense


@sparse_slice.gradient
def _(node, *dys):
    indices, values, _, start, _ = node.inputs
    dx = sparse_slice_grad(dys[1], indices, start, node.outputs[0])
    dx.set_shape(values.shape)
    return None, dx, None, None, None


@sparse_slice.samples
def _(rng):
    yield Sample(*SMALL, np.array([0, 0]), np.array([2, 5]))
    yield Sample(*SMALL, np.array([1, 0]), np.array([9, 4]), note="beyond the border")
    yield Sample(*SMALL, np.array([2, 0]), np.array([1, 1]), note="nothing inside")
    yield ErrorSample(*SMALL, np.array([0]), np.array([2, 5]), raises="vector of length 2")


def _rows(grad, indices, *rest):
    return make_shape((with_rank(indices, 2).sizes[0],))


@op(
    "SparseSliceGrad",
    "backprop_val_grad: T, input_indices: int64, input_start: int64, output_indices: int64 -> val_grad: T",
    T=NUMBERS,
    shape=_rows,
)
def sparse_slice_grad(backprop_val_grad, input_indices, input_start, output_indices):
    """The gradient of a slice, at the places that it was cut from."""
    dy, inner = backprop_val_grad, output_indices
    require(
        input_indices.ndim == 2 == inner.ndim,
        "Input and output indices should be matrices but received shapes: "
        f"{show(input_indices.shape)} and {show(inner.shape)}",
    )
    require(dy.ndim == 1, f"Input backprop_val_grad should be a vector but received shape: {show(dy.shape)}")
    require(
        input_indices.shape[1] == inner.shape[1],
        f"The input and output should have the same ndims: got: {input_indices.shape[1]} and "
        f"{inner.shape[1]}",
    )
    require(
        len(inner) <= len(input_indices),
        "# rows of output_indices should be not greater than of input_indices, got "
        f"{len(inner)} and {len(input_indices)}",
    )
    require(
        len(dy) == len(inner),
        "# elements of backprop_val_grad and # rows of output_indices should match (#nnz of sum): "
        f"got {len(dy)} and {len(inner)}",
    )
    out = np.zeros(len(input_indices), dy.dtype)
    cut, used = (inner + input_start).tolist(), 0
    for i, row in enumerate(input_indices.tolist()):  # both in the same order
        if used < len(cut) and row == cut[used]:
            out[i] = dy[used]
            used += 1
    if used != len(dy):
        raise InternalError(
            None,
            None,
            f"Elements of backprop_val_grad aren't all propagated. Num elements:{len(dy)}, used: {used}",
        )
    return out


@sparse_slice_grad.samples
def _(rng):
    places = SMALL[0]
    yield Sample(rng.normal(size=2), places, np.array([1, 0]), places[1:3] - [1, 0], grad=False)


# -- SparseReorder ------------------------------------------------------------------------------
def reorder_shape(input_indices, input_values, input_shape):
    with_rank(input_shape, 1)
    return [with_rank(input_indices, 2), with_rank(input_values, 1)]


@op(
    "SparseReorder",
    "input_indices: int64, input_values: T, input_shape: int64 -> output_indices: int64, output_values: T",
    T=Type(),
    shape=reorder_shape,
)
def sparse_reorder(input_indices, input_values, input_shape):
    """The elements in row-major order."""
    check_parts(input_indices, input_values, input_shape)
    sort = order(input_indices)
    return input_indices[sort], input_values[sort]


@sparse_reorder.gradient
def _(node, d_indices, dy):
    indices, values, shape = node.inputs
    positions = sequence.range_(0, array.size(values), 1)
    _, moved = sparse_reorder(indices, positions, shape)
    return None, gather.gather_v2(dy, array.invert_permutation(moved), 0), None


@sparse_reorder.samples
def _(rng):
    places, values, shape = SMALL
    mixed = np.array([2, 0, 3, 1])
    yield Sample(places[mixed], values[mixed], shape)
    yield Sample(np.zeros((0, 2), np.int64), np.zeros(0), shape, note="empty")
    yield Sample(places[mixed], np.array([b"a", b"b", b"", b"d"], object), shape, grad=False)


# -- SparseReshape ------------------------------------------------------------------------------
def reshape_shape(input_indices, input_shape, new_shape):
    count = with_rank(input_indices, 2).sizes[0]
    with_rank(input_shape, 1)
    (rank,) = with_rank(new_shape, 1).sizes
    return [make_shape((count, rank)), make_shape((rank,))]


@op(
    "SparseReshape",
    "input_indices: int64, input_shape: int64, new_shape: int64 -> "
    "output_indices: int64, output_shape: int64",
    shape=reshape_shape,
)
def sparse_reshape(input_indices, input_shape, new_shape):
    """The places of the same elements in another dense shape; one size may be -1."""
    where = "should be a {} but received shape {}"
    require(input_indices.ndim == 2, "Input indices " + where.format("matrix", show(input_indices.shape)))
    require(input_shape.ndim == 1, "Input shape " + where.format("vector", show(input_shape.shape)))
    require(new_shape.ndim == 1, "Target shape " + where.format("vector", show(new_shape.shape)))
    old = check_sizes(input_shape)
    require(
        input_indices.shape[1] == len(old),
        f"Input tensor rank must match input shape length.Got {len(old)} dimensions, indices "
        f"shape: {show(input_indices.shape)}",
    )
    new = _target_sizes(old, new_shape.tolist())
    flat = np.zeros(len(input_indices), np.int64)
    for column, size in enumerate(old):
        flat = flat * size + input_indices[:, column]
    require(
        not len(flat) or (_product(old) > 0 and _product(new) > 0),
        f"Input tensor has {len(flat)} non zero elements but input shape ({show(old)}) or output "
        f"shape ({show(new)}) is empty",
    )
    places = np.zeros((len(flat), len(new)), np.int64)
    for column in reversed(range(len(new))):
        flat, places[:, column] = np.divmod(flat, max(new[column], 1))
    return places, np.array(new, np.int64)


def _product(sizes):
    total = 1
    for size in sizes:
        total *= size
    return total


def _target_sizes(old, new):
    dense = _product(old)
    unknown = [i for i, size in enumerate(new) if size == -1]
    require(
        len(unknown) < 2,
        f"only one output dimension may be -1, not both {' and '.join(map(str, unknown[:2]))}",
    )
    for i, size in enumerate(new):
        require(size >= -1, f"size {i} must be non-negative, not {size}")
    shown = f"input_shape={show(old)} output_shape={show(abs(s) for s in new)}"
    if unknown:
        known = _product(s for s in new if s != -1)
        require(
            known > 0,
            "reshape cannot infer the missing input size for an empty tensor unless all specified "
            "input sizes are non-zero",
        )
        require(
            dense % known == 0,
            f"Input to reshape is a SparseTensor with {dense} dense values, but the requested "
            f"shape requires a multiple of {known}. {shown}",
        )
        new = [dense // known if s == -1 else s for s in new]
    require(
        _product(new) == dense,
        f"Input to reshape is a tensor with {dense} dense values, but the requested shape has "
        f"{_product(new)}. {shown}",
    )
    return new


@sparse_reshape.samples
def _(rng):
    places, _, shape = SMALL
    for target in ([20], [2, 10], [5, -1, 2], [4, 5]):
        yield Sample(places, shape, np.array(target))
    yield Sample(np.zeros((0, 2), np.int64), np.array([0, 3]), np.array([3, 0]), note="empty")
    yield ErrorSample(places, shape, np.array([-1, -1]), raises="only one output dimension")
    yield ErrorSample(places, shape, np.array([3, -1]), raises="requires a multiple of 3")
