"""Batches, windows, and the reverse."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.core.shapes import Shape, as_shape
from headrace.data.dataset import Dataset
from headrace.data.values import nest, structure
from headrace.data.values.function import StructuredFunction
from headrace.data.values.spec import DatasetSpec
from headrace.functions.sparse.tensor import SparseTensor, SparseTensorSpec
from headrace.ops.data import batch as ops
from headrace.ops.data import map_and_batch as fused
from headrace.ops.data import padded_batch as paddings
from headrace.ops.data import window as windows
from headrace.ops.declaration.constants import constant_value, constant_value_as_shape
from headrace.ops.declaration.convert import convert_to_tensor


def batch(dataset: Dataset, batch_size: Any, drop_remainder: Any) -> Dataset:
    size = convert_to_tensor(batch_size, dtypes.int64, name="batch_size")
    drops = convert_to_tensor(drop_remainder, dtypes.bool_, name="drop_remainder")
    spec = nest.map_structure(lambda s: s._batch(known_size(size, drops)), dataset.element_spec)
    variant = ops.batch_dataset_v2(dataset._variant_tensor, size, drops, **structure.flat_structure(spec))
    return Dataset(variant, spec, [dataset])


def known_size(size: Any, drops: Any) -> int | None:
    """The size of all batches, where that is known."""
    known = constant_value(size)
    return int(known) if known is not None and constant_value(drops) else None


def unbatch(dataset: Dataset) -> Dataset:
    original, dataset = dataset, normalized(dataset)
    known = Shape([None])
    for shape in structure.get_flat_tensor_shapes(original.element_spec):
        if shape.rank:
            known = known.merge_with(shape[:1])
    spec = nest.map_structure(lambda s: s._unbatch(), dataset.element_spec)
    variant = ops.unbatch_dataset(dataset._variant_tensor, **structure.flat_structure(spec))
    return Dataset(variant, spec, [dataset])


def normalized(dataset: Dataset) -> Dataset:
    """Elements whose components all come apart along their first dimension: a sparse or ragged tensor is
    one variant, which is made again as one for every row."""

    def separate(*args: Any) -> Any:
        element = args[0] if len(args) == 1 and type(dataset.element_spec) is not tuple else args
        return tuple(structure.to_batched_tensor_list(dataset.element_spec, element))

    plain = [spec for spec in nest.flatten(dataset.element_spec) if spec._flat_tensor_specs != [spec]]
    if not plain:
        return dataset
    mapped = dataset.map(separate)
    return Dataset(mapped._variant_tensor, dataset.element_spec, [dataset], mapped._functions())


def window(dataset: Dataset, size: Any, shift: Any, stride: Any, drop_remainder: Any) -> Dataset:
    shift = size if shift is None else shift
    numbers = [
        convert_to_tensor(value, dtypes.int64, name=name)
        for name, value in (("size", size), ("shift", shift), ("stride", stride))
    ]
    drops = convert_to_tensor(drop_remainder, dtypes.bool_, name="drop_remainder")
    parts = zip(
        nest.flatten(dataset.output_classes),
        nest.flatten(dataset.output_types),
        nest.flatten(dataset.output_shapes),
    )
    specs = [DatasetSpec(structure.convert_legacy_structure(t, s, c)) for c, t, s in parts]
    spec = nest.pack_sequence_as(dataset.output_classes, specs)
    variant = windows.window_dataset(
        dataset._variant_tensor, *numbers, drops, **structure.flat_structure(spec)
    )
    return Dataset(variant, spec, [dataset])


# -- padded ----------------------------------------------------------------------------------------
def padded_batch(
    dataset: Dataset, batch_size: Any, padded_shapes: Any, padding_values: Any, drop_remainder: Any
) -> Dataset:
    if any(c is SparseTensor for c in nest.flatten(dataset.output_classes)):
        raise TypeError("Batching of padded sparse tensors is not currently supported")
    size = convert_to_tensor(batch_size, dtypes.int64, name="batch_size")
    drops = convert_to_tensor(drop_remainder, dtypes.bool_, name="drop_remainder")
    shapes, types = dataset.output_shapes, dataset.output_types
    values = _zeros(types) if padding_values is None else padding_values
    pairs = zip(nest.flatten(shapes), nest.flatten_up_to(shapes, padded_shapes))
    padded = [_sizes(wanted, have) for have, wanted in pairs]
    fillers = nest.flatten(nest.map_structure_up_to(shapes, _filler, values, types))
    known = known_size(size, drops)
    out_shapes = [Shape([known]).concatenate(constant_value_as_shape(s)) for s in padded]
    spec = structure.convert_legacy_structure(
        types, nest.pack_sequence_as(shapes, out_shapes), dataset.output_classes
    )
    given = dataset._variant_tensor, size, padded, fillers
    flat_shapes = structure.get_flat_tensor_shapes(spec)
    if constant_value(drops) is not None and not constant_value(drops):
        variant = paddings.padded_batch_dataset(*given, output_shapes=flat_shapes)
    else:
        variant = paddings.padded_batch_dataset_v2(*given, drops, output_shapes=flat_shapes)
    return Dataset(variant, spec, [dataset])


def _zeros(types: Any) -> Any:
    def zero(dtype: Any) -> Any:
        if dtype.base == dtypes.string:
            return ""
        if dtype.base == dtypes.variant:
            raise TypeError(
                "Unable to create padding for field of type 'variant' because t.base_type == "
                f"dtypes.variant == {dtype.base}."
            )
        return np.zeros((), dtype.numpy)

    return nest.map_structure(zero, types)


def _sizes(wanted: Any, have: Shape) -> Any:
    """A vector of sizes, -1 for those that are open.

    Raises:
      ValueError, TypeError: it is no shape, or one that elements do not fit into.
    """
    try:
        shape = as_shape(wanted)
        tensor = convert_to_tensor([-1 if n is None else n for n in shape.as_list()], dtypes.int64)
    except (TypeError, ValueError):
        tensor = convert_to_tensor(wanted, preferred_dtype=dtypes.int64)
        if tensor.shape.rank not in (None, 1):
            raise ValueError(
                f"Padded shape {wanted} must be a 1-D tensor of tf.int64 values, but its shape was "
                f"{tensor.shape}."
            ) from None
        if tensor.dtype != dtypes.int64:
            raise TypeError(
                f"Padded shape {wanted} must be a 1-D tensor of tf.int64 values, but its element type was "
                f"{tensor.dtype.name}."
            ) from None
        shape = constant_value_as_shape(tensor)
    if not _fits(shape, have):
        raise ValueError(
            f"The padded shape {shape} is not compatible with the corresponding input component shape {have}."
        )
    return tensor


def _fits(padded: Shape, have: Shape) -> bool:
    if padded.rank is None or have.rank is None:
        return True
    pairs = list(zip(padded.as_list(), have.as_list()))
    return padded.rank == have.rank and all(a is None or b is None or a >= b for a, b in pairs)


def _filler(value: Any, dtype: Any) -> Any:
    tensor = convert_to_tensor(value, name="padding_value")
    if not tensor.shape.is_compatible_with(Shape([])):
        raise ValueError(f"Padding value should be a scalar, but is not: {tensor}")
    if tensor.dtype != dtype:
        raise TypeError(f"Padding value tensor ({tensor}) does not match output type: {dtype}")
    return tensor


# -- others ----------------------------------------------------------------------------------------
def dense_to_sparse_batch(batch_size: Any, row_shape: Any) -> Callable[[Dataset], Dataset]:
    """A transformation to batches that are sparse tensors, for elements of different sizes.

    Args:
      batch_size: how many elements a batch has.
      row_shape: the largest shape of an element; None in it: the largest in the batch.
    """

    def apply(dataset: Dataset) -> Dataset:
        if not isinstance(dataset.output_types, dtypes.DType):
            raise TypeError(
                "DenseToSparseDataset requires an input whose elements have a single component, whereas "
                f"the input has {dataset.output_types!r}."
            )
        shape = as_shape(row_shape)
        row = convert_to_tensor([-1 if n is None else n for n in shape.as_list()], dtypes.int64)
        size = convert_to_tensor(batch_size, dtypes.int64, name="batch_size")
        spec = SparseTensorSpec(Shape([None]).concatenate(shape), dataset.output_types)
        variant = paddings.dense_to_sparse_batch_dataset(
            dataset._variant_tensor, size, row, **structure.flat_structure(spec)
        )
        return Dataset(variant, spec, [dataset])

    return apply


def map_and_batch(
    map_func: Callable[..., Any],
    batch_size: Any,
    num_parallel_batches: int | None = None,
    drop_remainder: Any = False,
    num_parallel_calls: Any = None,
) -> Callable[[Dataset], Dataset]:
    """A transformation: `map` and `batch` in one.

    Args:
      map_func: a function of an element.
      batch_size: how many results a batch has.
      num_parallel_batches: how many batches are made at once.
      drop_remainder: whether a last batch with fewer elements is left out.
      num_parallel_calls: how many calls run at once, instead of `num_parallel_batches`.
    """
    calls = _calls_at_once(batch_size, num_parallel_batches, num_parallel_calls)
    return _map_and_batch(map_func, batch_size, drop_remainder, calls, False)


def map_and_batch_with_legacy_function(
    map_func: Callable[..., Any],
    batch_size: Any,
    num_parallel_batches: int | None = None,
    drop_remainder: Any = False,
    num_parallel_calls: Any = None,
) -> Callable[[Dataset], Dataset]:
    """`map_and_batch`, with a function as `Defun` makes them."""
    calls = _calls_at_once(batch_size, num_parallel_batches, num_parallel_calls)
    return _map_and_batch(map_func, batch_size, drop_remainder, calls, True)


def _calls_at_once(batch_size: Any, num_parallel_batches: Any, num_parallel_calls: Any) -> Any:
    if num_parallel_batches is None and num_parallel_calls is None:
        num_parallel_calls = batch_size
    elif num_parallel_batches is not None and num_parallel_calls is None:
        num_parallel_calls = batch_size * num_parallel_batches
    elif num_parallel_batches is not None and num_parallel_calls is not None:
        raise ValueError(
            "The `num_parallel_batches` and `num_parallel_calls` arguments are mutually exclusive."
        )
    return num_parallel_calls


def _map_and_batch(
    map_func: Callable[..., Any], batch_size: Any, drop_remainder: Any, calls_at_once: Any, is_legacy: bool
) -> Callable[[Dataset], Dataset]:
    def apply(dataset: Dataset) -> Dataset:
        what = "tf.data.experimental.map_and_batch()"
        function = StructuredFunction(map_func, what, dataset.element_spec, is_legacy)
        size = convert_to_tensor(batch_size, dtypes.int64, name="batch_size")
        calls = convert_to_tensor(calls_at_once, dtypes.int64, name="num_parallel_calls")
        drops = convert_to_tensor(drop_remainder, dtypes.bool_, name="drop_remainder")
        known = known_size(size, drops)
        spec = nest.map_structure(lambda s: s._batch(known), function.output_structure)
        variant = fused.map_and_batch_dataset(
            dataset._variant_tensor,
            function.captured,
            size,
            calls,
            drops,
            f=function.function,
            preserve_cardinality=True,
            **structure.flat_structure(spec),
        )
        return Dataset(variant, spec, [dataset], [function])

    return apply


def unbatched() -> Callable[[Dataset], Dataset]:
    """A transformation to the slices of every element."""
    return lambda dataset: dataset.unbatch()
