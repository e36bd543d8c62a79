"""Datasets from files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.core.families import documented
from headrace.core.shapes import Shape
from headrace.data import sources
from headrace.data.dataset import Dataset
from headrace.data.values import structure
from headrace.functions.array.array import reshape, shape
from headrace.functions.array.checks import Assert
from headrace.functions.platform.scopes import control_dependencies
from headrace.functions.strings.string import reduce_join
from headrace.functions.values.structure import name_scope
from headrace.functions.values.tensor_spec import TensorSpec
from headrace.graph.tensor import Tensor
from headrace.ops.array.constant import constant
from headrace.ops.array.source import identity
from headrace.ops.data import file_contents as ops
from headrace.ops.data import tables
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.io.file import matching_files
from headrace.ops.math.arithmetic import add, maximum
from headrace.ops.math.comparison import greater

_SCALAR = TensorSpec([], dtypes.string)
_BUFFER = 256 * 1024
_CSV_BUFFER = 4 * 1024 * 1024


def _text(value: Any, name: str, otherwise: str = "") -> Any:
    return convert_to_tensor(otherwise if value is None else value, dtypes.string, name=name)


def _buffer(size: Any, otherwise: int = _BUFFER) -> Any:
    return convert_to_tensor(otherwise if size is None else size, dtypes.int64, name="buffer_size")


_ARGUMENTS = """
    Args:
      filenames: names of files, as a tensor or a dataset.
      compression_type: "" (none), "ZLIB" or "GZIP".
      buffer_size: how many bytes are read at once.
      num_parallel_reads: how many files are read at once, by turns.
    """


class _Records(Dataset):
    """What files hold, one after the other; compressed files too."""

    _reader: Any  # the op that reads one file

    def __init__(
        self,
        filenames: Any,
        compression_type: str | Tensor | None = None,
        buffer_size: int | Tensor | None = None,
        num_parallel_reads: int | Tensor | None = None,
    ) -> None:
        kind, size = _text(compression_type, "compression_type"), _buffer(buffer_size)

        def read(name: Any) -> Dataset:
            return Dataset(self._reader(name, kind, size), _SCALAR)

        _read_all(self, _names(filenames), read, num_parallel_reads)


@documented(_ARGUMENTS)
class TextLineDataset(_Records):
    """The lines of text files."""

    _reader = ops.text_line_dataset


@documented(_ARGUMENTS)
class TFRecordDataset(_Records):
    """The records of TFRecord files."""

    _reader = ops.tf_record_dataset


class FixedLengthRecordDataset(Dataset):
    """The pieces of one length that binary files consist of.

    Args:
      filenames: names of files.
      record_bytes: the length of a piece.
      header_bytes: how many bytes at the beginning of each file are passed over.
      footer_bytes: how many at its end.
      buffer_size: how many bytes are read at once.
      compression_type: "" (none), "ZLIB" or "GZIP".
      num_parallel_reads: how many files are read at once, by turns.
    """

    def __init__(
        self,
        filenames: Any,
        record_bytes: int | Tensor,
        header_bytes: int | Tensor | None = None,
        footer_bytes: int | Tensor | None = None,
        buffer_size: int | Tensor | None = None,
        compression_type: str | Tensor | None = None,
        num_parallel_reads: int | Tensor | None = None,
    ) -> None:
        sizes = [
            convert_to_tensor(0 if value is None else value, dtypes.int64, name=name)
            for name, value in (
                ("header_bytes", header_bytes),
                ("record_bytes", record_bytes),
                ("footer_bytes", footer_bytes),
            )
        ]
        kind, size = _text(compression_type, "compression_type"), _buffer(buffer_size)

        def read(name: Any) -> Dataset:
            variant = ops.fixed_length_record_dataset_v2(name, *sizes, size, kind)
            return Dataset(variant, _SCALAR)

        _read_all(self, _names(filenames), read, num_parallel_reads)


def _names(filenames: Any) -> Any:
    """The names, as a tensor or a dataset of strings.

    Raises:
      TypeError: it is a dataset of other things.
    """
    if isinstance(filenames, Dataset):
        if filenames.output_types != dtypes.string:
            raise TypeError("`filenames` must be a `tf.data.Dataset` of `tf.string` elements.")
        if not filenames.output_shapes.is_compatible_with(Shape([])):
            raise ValueError("`filenames` must be a `tf.data.Dataset` of scalar `tf.string` elements.")
        return filenames
    tensor = convert_to_tensor(filenames, dtypes.string, name="filenames")
    if tensor.dtype != dtypes.string:
        raise TypeError("`filenames` must be a `tf.Tensor` of `tf.string`.")
    return tensor


def _read_all(made: Dataset, names: Any, read: Any, parallel: Any) -> None:
    """Make `made` what `read` gives for the names: one file after the other, or several by turns."""
    if not isinstance(names, Dataset) and parallel is None:
        found = read(names)
    else:
        if not isinstance(names, Dataset):
            names = sources.from_tensor_slices(reshape(names, [-1]))
        if parallel is None:
            found = names.flat_map(read)
        else:
            found = names.interleave(read, cycle_length=parallel, num_parallel_calls=parallel)
    Dataset.__init__(made, found._variant_tensor, _SCALAR, found._inputs(), found._functions())


def list_files(file_pattern: Any, shuffle: bool | None, seed: Any) -> Dataset:
    with name_scope("list_files"):
        pattern = convert_to_tensor(file_pattern, dtypes.string, name="file_pattern")
        names: Any = matching_files(pattern)
        is_there = greater(shape(names)[0], 0, name="match_not_empty")
        shown = reduce_join(pattern, separator=", ")
        message = add(constant("No files matched pattern: "), shown, name="message")
        check = Assert(is_there, [message], summarize=1, name="assert_not_empty")
        with control_dependencies([check]):
            names = identity(names)
        dataset = sources.from_tensor_slices(names)
        if shuffle is None or shuffle:
            # A buffer has a place at least, and the list of files may be empty.
            buffer_size = maximum(shape(names, out_type=dtypes.int64)[0], 1)
            dataset = dataset.shuffle(buffer_size, seed=seed)
        return dataset


class SqlDataset(Dataset):
    """The rows that a query of an SQL database gives.

    Args:
      driver_name: "sqlite".
      data_source_name: the name of the database's file.
      query: the query.
      output_types: a tuple of the types of the columns.
    """

    def __init__(self, driver_name: Any, data_source_name: Any, query: Any, output_types: Any) -> None:
        spec = tuple(TensorSpec([], t) for t in output_types)
        given = [
            _text(value, name)
            for name, value in (
                ("driver_name", driver_name),
                ("data_source_name", data_source_name),
                ("query", query),
            )
        ]
        super().__init__(tables.sql_dataset(*given, **structure.flat_structure(spec)), spec)


class CsvDataset(Dataset):
    """The rows of CSV files, a scalar for each column.

    Args:
      filenames: names of files.
      record_defaults: for each column a type, if it must not be empty, or a default.
      compression_type: "" (none), "ZLIB" or "GZIP".
      buffer_size: how many bytes are read at once.
      header: whether the first line of each file is passed over.
      field_delim: what stands between fields.
      use_quote_delim: whether quotes have a meaning.
      na_value: what stands for an empty field.
      select_cols: the numbers of the columns that are wanted; None: all.
    """

    def __init__(
        self,
        filenames: Any,
        record_defaults: Any,
        compression_type: str | Tensor | None = None,
        buffer_size: int | Tensor | None = None,
        header: bool = False,
        field_delim: str = ",",
        use_quote_delim: bool = True,
        na_value: str = "",
        select_cols: Sequence[int] | None = None,
    ) -> None:
        defaults = [_default(d) for d in record_defaults]
        spec = tuple(TensorSpec([], d.dtype) for d in defaults)
        columns = np.array([] if select_cols is None else select_cols, np.int64)
        variant = tables.csv_dataset(
            convert_to_tensor(filenames, dtypes.string, name="filenames"),
            _text(compression_type, "compression_type"),
            _buffer(buffer_size, _CSV_BUFFER),
            convert_to_tensor(header, dtypes.bool_, name="header"),
            _text(field_delim, "field_delim", ","),
            convert_to_tensor(use_quote_delim, dtypes.bool_, name="use_quote_delim"),
            _text(na_value, "na_value"),
            convert_to_tensor(columns, dtypes.int64, name="select_cols"),
            defaults,
            output_shapes=[s.shape for s in spec],
        )
        super().__init__(variant, spec)


def _default(value: Any) -> Any:
    """A tensor of one element, or of none where a type is given."""
    if isinstance(value, dtypes.DType):
        return convert_to_tensor(np.zeros(0, value.numpy), value)
    return convert_to_tensor(value)
