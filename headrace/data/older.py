"""Transformations of tf.contrib.data that today's say in other words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.core import dtypes
from headrace.core.shapes import as_shape
from headrace.data.dataset import Dataset
from headrace.data.files import TFRecordDataset
from headrace.data.grouping import Reducer
from headrace.data.iterators import make_one_shot_iterator
from headrace.data.mapping import parallel_interleave
from headrace.data.reading import make_batched_features_dataset
from headrace.data.values import nest, structure
from headrace.functions.strings.protos import ensure_shape
from headrace.ops.data import window as windows
from headrace.ops.declaration.convert import convert_to_tensor

Transformation = Callable[[Dataset], Dataset]


def batch_and_drop_remainder(batch_size: Any) -> Transformation:
    """`batch(batch_size, drop_remainder=True)`."""
    return lambda dataset: dataset.batch(batch_size, drop_remainder=True)


def padded_batch_and_drop_remainder(
    batch_size: Any, padded_shapes: Any, padding_values: Any = None
) -> Transformation:
    """`padded_batch(..., drop_remainder=True)`."""
    return lambda dataset: dataset.padded_batch(batch_size, padded_shapes, padding_values, True)


def sloppy_interleave(
    map_func: Callable[..., Any], cycle_length: Any, block_length: Any = 1
) -> Transformation:
    """`parallel_interleave(..., sloppy=True)`."""
    made: Transformation = parallel_interleave(map_func, cycle_length, block_length, sloppy=True)
    return made


def sliding_window_batch(
    window_size: Any, stride: Any = None, window_shift: Any = None, window_stride: Any = 1
) -> Transformation:
    """Batches of `window_size` elements each, which overlap.

    Args:
      window_size: how many elements a batch has.
      stride: the older name of `window_shift`.
      window_shift: how many elements the next batch begins later; default 1.
      window_stride: how many elements apart those in a batch are.
    """
    if stride is not None and window_shift is not None:
        raise ValueError("Cannot specify both `stride` and `window_shift`")
    shift = next((x for x in (window_shift, stride) if x is not None), 1)

    def apply(dataset: Dataset) -> Dataset:
        sizes = [
            convert_to_tensor(x, dtypes.int64, name=name)
            for x, name in (
                (window_size, "window_size"),
                (shift, "window_shift"),
                (window_stride, "window_stride"),
            )
        ]
        spec = nest.map_structure(lambda s: s._batch(None), dataset.element_spec)
        variant = windows.sliding_window_dataset(
            dataset._variant_tensor, *sizes, **structure.flat_structure(spec)
        )
        return Dataset(variant, spec, [dataset])

    return apply


def assert_element_shape(expected_shapes: Any) -> Transformation:
    """The same elements, whose shapes must be these; what is not known is looked at when they come."""

    def apply(dataset: Dataset) -> Dataset:
        expected = nest.flatten_up_to(dataset.output_shapes, expected_shapes)
        shapes = [a.merge_with(as_shape(b)) for a, b in zip(nest.flatten(dataset.output_shapes), expected)]

        def checked(*element: Any) -> Any:
            parts = [_with_shape(t, shape) for t, shape in zip(nest.flatten(element), shapes)]
            found = nest.pack_sequence_as(element, parts)
            return found[0] if len(found) == 1 else found

        return dataset.map(checked)

    return apply


def _with_shape(tensor: Any, shape: Any) -> Any:
    if shape.rank is None:
        return tensor
    return ensure_shape(tensor, shape)


def reduce_dataset(dataset: Dataset, reducer: Reducer) -> Any:
    """The state of a Reducer after all elements."""
    if not isinstance(dataset, Dataset):
        raise TypeError("`dataset` must be a `tf.data.Dataset` object.")
    return dataset.reduce(reducer.init_func(convert_to_tensor(0, dtypes.int64)), reducer.reduce_func)


def read_batch_features(
    file_pattern: Any,
    batch_size: Any,
    features: Any,
    reader: Any = TFRecordDataset,
    reader_args: Any = None,
    randomize_input: bool = True,
    num_epochs: int | None = None,
    capacity: int = 10000,
) -> Any:
    """The next batch of parsed Examples from files, as a dict of tensors.

    Args:
      file_pattern: the files.
      batch_size: how many Examples.
      features: a dict of FixedLenFeature, VarLenFeature and their likes.
      reader: the class of dataset that reads a file; TFRecordDataset unless told.
      reader_args: what else it is given.
      randomize_input: whether the order is random.
      num_epochs: how many times everything is read; None: without end.
      capacity: how many Examples wait to be drawn.
    """
    dataset = make_batched_features_dataset(
        file_pattern,
        batch_size,
        features,
        reader=reader,
        reader_args=reader_args,
        shuffle=randomize_input,
        num_epochs=num_epochs,
        shuffle_buffer_size=capacity,
    )
    return make_one_shot_iterator(dataset).get_next()
