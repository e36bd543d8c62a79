"""Elements grouped by a key."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.core.shapes import as_shape
from headrace.data.dataset import Dataset
from headrace.data.reducing import Folding
from headrace.data.values import nest, structure
from headrace.data.values.function import StructuredFunction
from headrace.data.values.spec import DatasetSpec
from headrace.functions.array.checks import assert_less
from headrace.functions.array.indexing import where
from headrace.functions.math.reduce import reduce_min
from headrace.functions.platform.scopes import control_dependencies
from headrace.functions.values.structure import name_scope
from headrace.functions.values.tensor_spec import TensorSpec
from headrace.ops.array.constant import constant
from headrace.ops.data import group as ops
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.math.comparison import less, less_equal
from headrace.ops.math.logical import logical_and

_NUMBER = TensorSpec([], dtypes.int64)


def _number(function: Callable[..., Any], what: str, spec: Any, name: str) -> StructuredFunction:
    """A function that gives one int64.

    Raises:
      ValueError: it gives another thing.
    """
    made = StructuredFunction(lambda *args: convert_to_tensor(function(*args), dtypes.int64), what, spec)
    if not made.output_structure.is_compatible_with(_NUMBER):
        raise ValueError(f"`{name}` must return a single tf.int64 scalar tensor.")
    return made


def group_by_window(
    key_func: Callable[..., Any],
    reduce_func: Callable[..., Any],
    window_size: Any = None,
    window_size_func: Callable[..., Any] | None = None,
) -> Callable[[Dataset], Dataset]:
    """A transformation: elements of one key are gathered until a window is full; that becomes a dataset.

    Args:
      key_func: a function from an element to its key, an int64.
      reduce_func: a function of a key and a dataset of elements to another dataset.
      window_size: how many elements fill a window.
      window_size_func: a function from a key to that number, instead.

    Raises:
      ValueError: both or none of `window_size` and `window_size_func` are given.
    """
    if (window_size is not None and window_size_func) or not (window_size is not None or window_size_func):
        raise ValueError("Must pass either window_size or window_size_func.")
    size_func: Callable[..., Any] = window_size_func or (
        lambda unused_key: convert_to_tensor(window_size, dtypes.int64)
    )

    def apply(dataset: Dataset) -> Dataset:
        what = "tf.data.experimental.group_by_window()"
        key = _number(key_func, what, dataset.element_spec, "key_func")
        size = _number(size_func, what, _NUMBER, "window_size_func")
        reduce = StructuredFunction(reduce_func, what, (_NUMBER, DatasetSpec(dataset.element_spec)))
        if not isinstance(reduce.output_structure, DatasetSpec):
            raise TypeError("`reduce_func` must return a `Dataset` object.")
        spec = reduce.output_structure._element_spec
        variant = ops.group_by_window_dataset(
            dataset._variant_tensor,
            key.captured,
            reduce.captured,
            size.captured,
            key_func=key.function,
            reduce_func=reduce.function,
            window_size_func=size.function,
            **structure.flat_structure(spec),
        )
        return Dataset(variant, spec, [dataset], [key, reduce, size])

    return apply


class Reducer:
    """How a set of elements becomes one: state = init_func(key), then state = reduce_func(state, element) for
    each, then finalize_func(state)."""

    def __init__(
        self,
        init_func: Callable[..., Any],
        reduce_func: Callable[..., Any],
        finalize_func: Callable[..., Any],
    ) -> None:
        self._init_func, self._reduce_func, self._finalize_func = init_func, reduce_func, finalize_func

    @property
    def init_func(self) -> Callable[..., Any]:
        return self._init_func

    @property
    def reduce_func(self) -> Callable[..., Any]:
        return self._reduce_func

    @property
    def finalize_func(self) -> Callable[..., Any]:
        return self._finalize_func


def group_by_reducer(key_func: Callable[..., Any], reducer: Reducer) -> Callable[[Dataset], Dataset]:
    """A transformation to one element for each key, in the order of the keys.

    Args:
      key_func: a function from an element to its key, an int64.
      reducer: how the elements of a key become one.
    """

    def apply(dataset: Dataset) -> Dataset:
        what = "tf.data.experimental.group_by_reducer()"
        key = _number(key_func, what, dataset.element_spec, "key_func")
        first = StructuredFunction(reducer.init_func, what, _NUMBER)
        folding = Folding.of_spec(dataset, first.output_structure, reducer.reduce_func, what)
        last = StructuredFunction(reducer.finalize_func, what, folding.spec)
        spec = last.output_structure
        functions = [key, first, folding.function, last]
        variant = ops.group_by_reducer_dataset(
            dataset._variant_tensor,
            *(f.captured for f in functions),
            key_func=key.function,
            init_func=first.function,
            reduce_func=folding.function.function,
            finalize_func=last.function,
            **structure.flat_structure(spec),
        )
        return Dataset(variant, spec, [dataset], functions)

    return apply


def bucket_by_sequence_length(
    element_length_func: Callable[..., Any],
    bucket_boundaries: Sequence[int],
    bucket_batch_sizes: Sequence[int],
    padded_shapes: Any = None,
    padding_values: Any = None,
    pad_to_bucket_boundary: bool = False,
    no_padding: bool = False,
    drop_remainder: bool = False,
) -> Callable[[Dataset], Dataset]:
    """A transformation to padded batches of elements of similar length.

    Args:
      element_length_func: a function from an element to its length.
      bucket_boundaries: the lengths at which the next bucket begins.
      bucket_batch_sizes: how many elements a batch of each bucket has: one number more.
      padded_shapes: as for `padded_batch`; by default the shapes of the elements.
      padding_values: as for `padded_batch`.
      pad_to_bucket_boundary: whether batches are filled up to the length below the next boundary.
      no_padding: whether elements of a bucket have one shape already.
      drop_remainder: whether last batches with fewer elements are left out.

    Raises:
      ValueError: the numbers of boundaries and sizes do not fit together.
    """
    if len(bucket_batch_sizes) != len(bucket_boundaries) + 1:
        raise ValueError("len(bucket_batch_sizes) must equal len(bucket_boundaries) + 1")
    with name_scope("bucket_by_seq_length"):
        sizes: Any = constant(list(bucket_batch_sizes), dtype=dtypes.int64)
    limits = np.iinfo(np.int32)

    def bucket_of(*args: Any) -> Any:
        length = element_length_func(*args)
        least = np.array([limits.min, *bucket_boundaries], np.int32)
        most = np.array([*bucket_boundaries, limits.max], np.int32)
        return reduce_min(where(logical_and(less_equal(least, length), less(length, most))))

    def filler(bucket: Any) -> Any:
        """The length that batches of a bucket get."""
        check = assert_less(
            bucket,
            constant(len(bucket_batch_sizes) - 1, dtype=dtypes.int64),
            message="When pad_to_bucket_boundary=True, elements must have length < max(bucket_boundaries).",
        )
        with control_dependencies([check]):
            boundaries: Any = constant(list(bucket_boundaries), dtype=dtypes.int64)
            return boundaries[bucket] - 1

    def batched(bucket: Any, dataset: Dataset) -> Dataset:
        size = sizes[bucket]
        if no_padding:
            return dataset.batch(size, drop_remainder=drop_remainder)
        fill = filler(bucket) if pad_to_bucket_boundary else None
        shapes = padded_shapes or dataset.output_shapes
        flat = [[fill if n is None else n for n in as_shape(s).as_list()] for s in nest.flatten(shapes)]
        wanted = nest.pack_sequence_as(shapes, flat)
        return dataset.padded_batch(size, wanted, padding_values, drop_remainder=drop_remainder)

    return group_by_window(bucket_of, batched, window_size_func=lambda bucket: sizes[bucket])
