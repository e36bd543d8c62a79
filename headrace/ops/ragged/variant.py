"""Ragged tensors as single elements, so that data sets can batch them."""

from __future__ import annotations

import itertools

import numpy as np

from headrace.core.dtypes import INDEX, int64, variant
from headrace.core.errors import require
from headrace.core.shapes import SCALAR, UNKNOWN, make_shape, show
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.shape_checks import with_rank, with_rank_at_least
from headrace.ops.declaration.signature import Bool, Int, Type
from headrace.ops.declaration.text import strings
from headrace.ops.declaration.variant import TensorVariant
from headrace.ops.ragged.ragged import VECTOR, check_splits, uniform_splits


# -- variants -----------------------------------------------------------------------------------
def variant_shape(rt_nested_splits, rt_dense_values, *, batched_input):
    for splits in rt_nested_splits:
        with_rank(splits, 1)
    with_rank_at_least(rt_dense_values, 1)
    if not batched_input:
        return SCALAR
    count = rt_nested_splits[0].dim(0)
    return make_shape((None if count is None else count - 1,))


@op(
    "RaggedTensorToVariant",
    "rt_nested_splits: RAGGED_RANK*Tsplits, rt_dense_values: Tvalues -> encoded_ragged: variant",
    RAGGED_RANK=Int(min=1),
    Tvalues=Type(),
    Tsplits=INDEX,
    batched_input=Bool(),
    shape=variant_shape,
)
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


@op(
    "RaggedTensorFromVariant",
    "encoded_ragged: variant -> "
    "output_nested_splits: output_ragged_rank*Tsplits, output_dense_values: Tvalues",
    input_ragged_rank=Int(min=-1),
    output_ragged_rank=Int(min=1),
    Tvalues=Type(),
    Tsplits=INDEX,
    shape=from_variant_shape,
)
def ragged_tensor_from_variant(encoded_ragged, *, input_ragged_rank, output_ragged_rank, Tvalues, Tsplits):
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
    outer = [uniform_splits(shape, i, kind) for i in range(len(shape) - 1)]
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
            f"{show(parts[0][1].shape[1:])}.  Shape at index {i}: {show(values.shape[1:])}.",
        )
    return out, np.concatenate([values for _, values in parts])


def _unboxed(element, index, rank, values_type, splits_type):
    """The splits and the values in one element, checked."""
    require(
        isinstance(element, TensorVariant),
        f"Input Variant element at index {index} doesn't hold a Tensor: {element!r}",
    )
    held = element.array
    require(held.ndim == 1, f"Encoded input Variant must have rank 1, but found rank: {held.ndim}.")
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
    yield ErrorSample(
        strings([b"x"], ()),
        input_ragged_rank=1,
        output_ragged_rank=1,
        Tvalues=int64,
        Tsplits=int64,
        raises="variant|Variant",
    )
