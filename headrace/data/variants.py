"""Datasets as tensors, how many elements they have, and where they go."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.core import dtypes
from headrace.data.dataset import Dataset
from headrace.ops.data import cardinality as ops
from headrace.ops.data.pipeline.dataset import INFINITE, UNKNOWN_COUNT
from headrace.ops.declaration.convert import convert_to_tensor

INFINITE_CARDINALITY, UNKNOWN_CARDINALITY = INFINITE, UNKNOWN_COUNT


def from_variant(variant: Any, structure: Any) -> Dataset:
    """The dataset that a variant tensor holds.

    Args:
      variant: the tensor.
      structure: the nest of TypeSpecs that describes its elements.
    """
    return Dataset(variant, structure)


def to_variant(dataset: Dataset) -> Any:
    """The variant tensor that a dataset is to the graph."""
    return dataset._variant_tensor


def cardinality(dataset: Dataset) -> Any:
    """How many elements a dataset has, as an int64 tensor; INFINITE_CARDINALITY and UNKNOWN_CARDINALITY stand
    for "no end" and "not known before they are taken"."""
    return ops.dataset_cardinality(dataset._variant_tensor)


def copy_to_device(target_device: str, source_device: str = "/cpu:0") -> Callable[[Dataset], Dataset]:
    """A transformation to elements that are on another device.  Elements are in the memory of the host, and
    who uses them takes them to his device: so it changes nothing but where they are kept ready."""
    del target_device, source_device
    return lambda dataset: Dataset(
        dataset._variant_tensor, dataset.element_spec, [dataset], dataset._functions()
    )


def prefetch_to_device(device: str, buffer_size: Any = None) -> Callable[[Dataset], Dataset]:
    """A transformation that keeps elements ready for a device.

    Args:
      device: its name.
      buffer_size: how many elements; None: as many as help.
    """
    del device
    return lambda dataset: dataset.prefetch(1 if buffer_size is None else buffer_size)


class TFRecordWriter:
    """Writes the elements of a dataset of strings to a TFRecord file.

    Args:
      filename: its name.
      compression_type: "" (none), "ZLIB" or "GZIP".
    """

    def __init__(self, filename: Any, compression_type: Any = None) -> None:
        self._filename = convert_to_tensor(filename, dtypes.string, name="filename")
        kind = "" if compression_type is None else compression_type
        self._compression_type = convert_to_tensor(kind, dtypes.string, name="compression_type")

    def write(self, dataset: Dataset) -> Any:
        """A node that writes all elements.

        Raises:
          TypeError: `dataset` is not a dataset of scalar strings.
        """
        if not isinstance(dataset, Dataset):
            raise TypeError("`dataset` must be a `tf.data.Dataset` object.")
        if dataset.output_types != dtypes.string or not dataset.output_shapes.is_compatible_with([]):
            raise TypeError(
                "`dataset` must produce scalar `DT_STRING` tensors whereas it produces shape "
                f"{dataset.output_shapes} and types {dataset.output_types}"
            )
        return ops.dataset_to_tf_record(dataset._variant_tensor, self._filename, self._compression_type)
