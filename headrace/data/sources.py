"""Datasets from values in memory."""

from __future__ import annotations

from typing import Any

from headrace.core import dtypes
from headrace.core.shapes import Shape
from headrace.data.dataset import Dataset
from headrace.data.values import nest, structure
from headrace.data.values.seeds import get_seed
from headrace.functions.sparse.tensor import SparseTensor, SparseTensorValue
from headrace.functions.values.tensor_spec import TensorSpec
from headrace.ops.data import sources
from headrace.ops.declaration.convert import convert_to_tensor


def from_tensors(tensors: Any) -> Dataset:
    element = structure.normalize_element(tensors)
    spec = structure.type_spec_from_value(element)
    flat = structure.to_tensor_list(spec, element)
    shapes = structure.get_flat_tensor_shapes(spec)
    return Dataset(sources.tensor_dataset(flat, output_shapes=shapes), spec)


def from_tensor_slices(tensors: Any) -> Dataset:
    element = structure.normalize_element(tensors)
    batched = structure.type_spec_from_value(element)
    flat = structure.to_batched_tensor_list(batched, element)
    spec = nest.map_structure(lambda s: s._unbatch(), batched)
    if not flat:
        raise ValueError("there must be at least one component")
    first = flat[0].shape.with_rank_at_least(1)[0]
    for tensor in flat[1:]:
        first = first.merge_with(tensor.shape.with_rank_at_least(1)[0])
    shapes = structure.get_flat_tensor_shapes(spec)
    return Dataset(sources.tensor_slice_dataset(flat, output_shapes=shapes), spec)


def from_sparse_tensor_slices(sparse_tensor: Any) -> Dataset:
    if isinstance(sparse_tensor, SparseTensorValue):
        sparse_tensor = SparseTensor.from_value(sparse_tensor)
    if not isinstance(sparse_tensor, SparseTensor):
        raise TypeError(f"`sparse_tensor` must be a `tf.SparseTensor` object. Was {sparse_tensor}.")
    rank = sparse_tensor.dense_shape.shape.merge_with(sparse_tensor.indices.shape[1:2])[0].value
    inner = None if rank is None else rank - 1
    spec = (
        TensorSpec(Shape([None, inner]), dtypes.int64),
        TensorSpec(Shape([None]), sparse_tensor.dtype),
        TensorSpec(Shape([inner]), dtypes.int64),
    )
    variant = sources.sparse_tensor_slice_dataset(
        sparse_tensor.indices, sparse_tensor.values, sparse_tensor.dense_shape
    )
    return Dataset(variant, spec)


def range_(*args: Any) -> Dataset:
    if not 1 <= len(args) <= 3:
        raise ValueError(f"Invalid arguments to RangeDataset: {args}")
    start, stop, step = {1: (0, *args, 1), 2: (*args, 1), 3: args}[len(args)]
    named = (("start", start), ("stop", stop), ("step", step))
    tensors = [convert_to_tensor(value, dtypes.int64, name=name) for name, value in named]
    spec = TensorSpec([], dtypes.int64)
    return Dataset(sources.range_dataset(*tensors, **structure.flat_structure(spec)), spec)


def random_dataset(seed: Any = None) -> Dataset:
    """Random 32-bit numbers without end."""
    spec = TensorSpec([], dtypes.int64)
    return Dataset(sources.random_dataset(*get_seed(seed), **structure.flat_structure(spec)), spec)
