"""Whole pipelines from files: rows of CSV as dicts, batches of parsed Examples."""

from __future__ import annotations

import csv
import gzip
import io
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.core.dtypes import DType
from headrace.data import sources
from headrace.data.choosing import ignore_errors as without_errors
from headrace.data.dataset import Dataset
from headrace.data.files import CsvDataset, TFRecordDataset
from headrace.data.mapping import map_, parallel_interleave
from headrace.data.ordering import shuffle_and_repeat
from headrace.data.values import structure
from headrace.data.values.options import Options
from headrace.formats import files
from headrace.functions.io.example_features import (
    EXAMPLE_FEATURES,
    Parameters,
    SparseFeature,
    merge_sparse,
    with_rows,
)
from headrace.functions.sparse.tensor import SparseTensorSpec
from headrace.functions.values.tensor_spec import TensorSpec
from headrace.graph.tensor import Tensor
from headrace.ops.array.constant import constant
from headrace.ops.data import parse_example as parsing
from headrace.ops.data.pipeline.tuning import AUTOTUNE
from headrace.ops.declaration.constants import constant_value
from headrace.ops.declaration.convert import convert_to_tensor

_COLUMN_TYPES = (dtypes.float32, dtypes.float64, dtypes.int32, dtypes.int64, dtypes.string)
_INFERRED = (dtypes.int32, dtypes.int64, dtypes.float32, dtypes.float64, dtypes.string)


def _shuffled(dataset: Dataset, epochs: Any, shuffle: bool, size: int, seed: Any) -> Dataset:
    if epochs != 1 and shuffle:
        return dataset.apply(shuffle_and_repeat(size, epochs, seed))
    if shuffle:
        return dataset.shuffle(size, seed)
    return dataset.repeat(epochs) if epochs != 1 else dataset


def _by_turns(dataset: Dataset, read: Callable[[Any], Dataset], at_once: int, sloppy: bool) -> Dataset:
    """The elements of several files."""
    if at_once == AUTOTUNE:
        options = Options()
        options.experimental_deterministic = not sloppy
        return dataset.interleave(read, num_parallel_calls=at_once).with_options(options)
    return dataset.apply(parallel_interleave(read, cycle_length=at_once, sloppy=sloppy))


# -- Examples --------------------------------------------------------------------------------------
def parse_example_dataset(features: Any, num_parallel_calls: Any = 1) -> Callable[[Dataset], Dataset]:
    """A transformation from batches of serialised Examples to dicts of tensors.

    Args:
      features: a dict of FixedLenFeature, VarLenFeature and their likes.
      num_parallel_calls: how many batches are parsed at once.
    """
    if features is None:
        raise ValueError("Missing: features was None.")
    whole = with_rows(features)
    parameters = Parameters.of(whole, EXAMPLE_FEATURES)

    def apply(dataset: Dataset) -> Dataset:
        if not structure.are_compatible(dataset.element_spec, TensorSpec([None], dtypes.string)):
            raise TypeError("Input dataset should be a dataset of vectors of strings")
        parsed = _parsed(dataset, parameters, num_parallel_calls)
        if any(isinstance(feature, SparseFeature) for feature in whole.values()):
            return map_(parsed, lambda found: merge_sparse(whole, found), num_parallel_calls)
        return parsed

    return apply


def _parsed(dataset: Dataset, parameters: Parameters, calls: Any) -> Dataset:
    """Without sparse features, of which the parts have to be put together."""
    parameters.check_keys()
    rows, ragged = dataset.output_shapes, dataset.output_shapes.concatenate([None])
    spec: dict[str, Any] = {
        key: SparseTensorSpec(ragged, dtype)
        for key, dtype in zip(parameters.sparse_keys, parameters.sparse_types)
    }
    for key, dtype, shape in zip(parameters.dense_keys, parameters.dense_types, parameters.dense_shapes):
        spec[key] = TensorSpec(rows.concatenate(shape), dtype)
    variant = parsing.parse_example_dataset(
        dataset._variant_tensor,
        convert_to_tensor(calls, dtypes.int64, name="num_parallel_calls"),
        parameters.padded_defaults(),
        sparse_keys=parameters.sparse_keys,
        dense_keys=parameters.dense_keys,
        sparse_types=parameters.sparse_types,
        dense_shapes=parameters.dense_shapes,
        **structure.flat_structure(spec),
    )
    return Dataset(variant, spec, [dataset])


def make_batched_features_dataset(
    file_pattern: Any,
    batch_size: Any,
    features: Mapping[str, Any],
    reader: Callable[..., Any] = TFRecordDataset,
    label_key: str | None = None,
    reader_args: Sequence[Any] | None = None,
    num_epochs: int | None = None,
    shuffle: bool = True,
    shuffle_buffer_size: int = 10000,
    shuffle_seed: int | None = None,
    prefetch_buffer_size: int | None = None,
    reader_num_threads: int | None = None,
    parser_num_threads: int | None = None,
    sloppy_ordering: bool = False,
    drop_final_batch: bool = False,
) -> Dataset:
    """Batches of parsed Examples from files: dicts of tensors, or pairs of such a dict and a label.

    Args:
      file_pattern: patterns of the files' names.
      batch_size: how many Examples a batch has.
      features: a dict of FixedLenFeature, VarLenFeature and their likes.
      reader: makes a dataset of records from a file's name.
      label_key: the feature that is the label.
      reader_args: further arguments of `reader`.
      num_epochs: how often files are read; None: without end.
      shuffle: whether files and records are shuffled.
      shuffle_buffer_size: how many records wait to be drawn.
      shuffle_seed: the seed of their order.
      prefetch_buffer_size: how many batches are made ahead; default: as many as help.
      reader_num_threads: how many files are read at once.
      parser_num_threads: how many batches are parsed at once.
      sloppy_ordering: whether records come in the order in which they are ready.
      drop_final_batch: whether a last batch with fewer Examples is left out.

    Raises:
      ValueError: `label_key` is not a feature.
    """
    dataset = Dataset.list_files(file_pattern, shuffle, shuffle_seed)
    arguments = reader_args or []
    dataset = _by_turns(
        dataset, lambda name: reader(name, *arguments), reader_num_threads or 1, sloppy_ordering
    )
    if dataset.output_types == (dtypes.string, dtypes.string):
        dataset = dataset.map(lambda _, value: value)
    dataset = _shuffled(dataset, num_epochs, shuffle, shuffle_buffer_size, shuffle_seed)
    dataset = dataset.batch(batch_size, drop_remainder=drop_final_batch or num_epochs is None)
    dataset = dataset.apply(parse_example_dataset(features, parser_num_threads or 2))
    if label_key:
        if label_key not in features:
            raise ValueError(f"The `label_key` provided ({label_key!r}) must be one of the `features` keys.")
        dataset = dataset.map(lambda parsed: (parsed, parsed.pop(label_key)))
    return dataset.prefetch(AUTOTUNE if prefetch_buffer_size is None else prefetch_buffer_size)


# -- CSV -------------------------------------------------------------------------------------------
def make_csv_dataset(
    file_pattern: Any,
    batch_size: Any,
    column_names: Sequence[str] | None = None,
    column_defaults: Sequence[Any] | None = None,
    label_name: str | None = None,
    select_columns: Sequence[Any] | None = None,
    field_delim: str = ",",
    use_quote_delim: bool = True,
    na_value: str = "",
    header: bool = True,
    num_epochs: int | None = None,
    shuffle: bool = True,
    shuffle_buffer_size: int = 10000,
    shuffle_seed: Any = None,
    prefetch_buffer_size: Any = None,
    num_parallel_reads: Any = None,
    sloppy: bool = False,
    num_rows_for_inference: int | None = 100,
    compression_type: Any = None,
    ignore_errors: bool = False,
) -> Dataset:
    """Batches of rows of CSV files: dicts from column names to tensors, or pairs of such a dict and a label.

    Args:
      file_pattern: patterns of the files' names.
      batch_size: how many rows a batch has.
      column_names: the names of all columns; by default the first line of a file has them.
      column_defaults: a type or a default for each column; by default found out from rows.
      label_name: the column that is the label.
      select_columns: names or numbers of the columns that are wanted; None: all.
      field_delim: what stands between fields.
      use_quote_delim: whether quotes have a meaning.
      na_value: what stands for an empty field.
      header: whether the first line of each file has names.
      num_epochs: how often files are read; None: without end.
      shuffle: whether files and rows are shuffled.
      shuffle_buffer_size: how many rows wait to be drawn.
      shuffle_seed: the seed of their order.
      prefetch_buffer_size: how many batches are made ahead; default: as many as help.
      num_parallel_reads: how many files are read at once.
      sloppy: whether rows come in the order in which they are ready.
      num_rows_for_inference: how many rows are read to find out types; None: all.
      compression_type: "" (none), "ZLIB" or "GZIP".
      ignore_errors: whether rows that can not be read are left out.

    Raises:
      ValueError: names, defaults and selected columns do not fit together.
    """
    names = _file_names(file_pattern)
    dataset = sources.from_tensor_slices(names)
    if shuffle:
        dataset = dataset.shuffle(len(names), shuffle_seed)
    probe = _Probe(names, field_delim, use_quote_delim, compression_type)
    if column_names is None:
        if not header:
            raise ValueError("Cannot infer column names without a header line.")
        column_names = probe.column_names()
    if len(column_names) != len(set(column_names)):
        raise ValueError("Cannot have duplicate column names.")
    selected = None if select_columns is None else _numbers(select_columns, column_names)
    if column_defaults is not None:
        defaults = [_as_default(d) for d in column_defaults]
    else:
        count = len(column_names)
        defaults = probe.defaults(count, na_value, header, num_rows_for_inference, selected)
    if selected is not None and len(defaults) != len(selected):
        raise ValueError("If specified, column_defaults and select_columns must have same length.")
    if selected is not None and len(column_names) > len(selected):
        column_names = [column_names[i] for i in selected]
    if label_name is not None and label_name not in column_names:
        raise ValueError("`label_name` provided must be one of the columns.")
    chosen = list(column_names)

    def read(name: Any) -> Dataset:
        found: Dataset = CsvDataset(
            name,
            record_defaults=defaults,
            field_delim=field_delim,
            use_quote_delim=use_quote_delim,
            na_value=na_value,
            select_cols=selected,
            header=header,
            compression_type=compression_type,
        )
        return found.apply(without_errors()) if ignore_errors else found

    def named(*columns: Any) -> Any:
        features = OrderedDict(zip(chosen, columns))
        return features if label_name is None else (features, features.pop(label_name))

    dataset = _by_turns(dataset, read, num_parallel_reads or 1, sloppy)
    dataset = _shuffled(dataset, num_epochs, shuffle, shuffle_buffer_size, shuffle_seed)
    dataset = dataset.batch(batch_size, drop_remainder=num_epochs is None).map(named)
    return dataset.prefetch(AUTOTUNE if prefetch_buffer_size is None else prefetch_buffer_size)


def _file_names(patterns: Any) -> list[str]:
    """The names of all files that match, sorted.

    Raises:
      ValueError: there is none.
    """
    listed = list(patterns) if isinstance(patterns, (list, tuple)) else [patterns]
    if not listed:
        raise ValueError("File pattern is empty.")
    found = sorted(name for pattern in listed for name in files.glob(pattern))
    if not found:
        raise ValueError(f"No files match {patterns}.")
    return found


def _as_default(value: Any) -> Any:
    if not isinstance(value, (Tensor, np.ndarray)) and value in _COLUMN_TYPES:
        return constant([], dtype=value)
    return value


def _numbers(columns: Sequence[Any], names: Sequence[str]) -> list[int]:
    """Numbers of columns, in order."""
    known = {name: i for i, name in enumerate(names)}
    found = []
    for column in columns:
        if isinstance(column, int):
            if not 0 <= column < len(names):
                raise ValueError(f"Specified column index {column} of field out of range.")
            found.append(column)
        elif column in known:
            found.append(known[column])
        else:
            raise ValueError(f"Value '{column}': not a column name or index.")
    if len(set(found)) != len(found):
        raise ValueError("select_columns contains duplicate columns.")
    return sorted(found)


class _Probe:
    """What rows of the files say of names and types."""

    def __init__(self, names: list[str], delim: str, quotes: bool, compression: Any) -> None:
        self._names, self._compression = names, compression
        self._form: dict[str, Any] = {
            "delimiter": delim,
            "quoting": csv.QUOTE_MINIMAL if quotes else csv.QUOTE_NONE,
        }

    def _rows(self, name: str) -> Any:
        kind = self._compression
        kind = constant_value(kind) if isinstance(kind, Tensor) else kind
        kind = kind.decode() if isinstance(kind, bytes) else kind
        if kind not in (None, "", "GZIP"):
            raise ValueError(f"compression_type ({kind}) is not supported for probing columns")
        data = files.read_bytes(name)
        text = (gzip.decompress(data) if kind == "GZIP" else data).decode()
        return csv.reader(io.StringIO(text, newline=""), **self._form)

    def column_names(self) -> list[str]:
        """Those that all files begin with.

        Raises:
          ValueError: they differ.
        """
        found: list[list[str]] = [next(self._rows(name), []) for name in self._names]
        first, *others = found
        if any(other != first for other in others):
            raise ValueError("All input CSV files should have the same column names in the header row.")
        return list(first)

    def defaults(
        self, count: int, missing: str, header: bool, most: int | None, selected: Sequence[int] | None
    ) -> list[Any]:
        """A default of the narrowest type that every row fits, for each column."""
        columns = range(count) if selected is None else selected
        kinds: list[DType | None] = [None] * len(columns)
        for row in islice(self._all(count, header), most):
            for i, column in enumerate(columns):
                kinds[i] = _wider(row[column], missing, kinds[i])
        found = [dtypes.string if kind is None else kind for kind in kinds]
        return [constant([0 if k is not dtypes.string else ""], dtype=k) for k in found]

    def _all(self, count: int, header: bool) -> Any:
        for name in self._names:
            rows = self._rows(name)
            for row in islice(rows, 1 if header else 0, None):
                if len(row) != count:
                    raise ValueError(
                        "Problem inferring types: CSV row has different number of fields than expected."
                    )
                yield row


def _wider(text: str, missing: str, kind: DType | None) -> DType | None:
    """The narrowest type, not before `kind`, that the text is a value of."""
    if text in ("", missing):
        return kind
    start = 0 if kind is None else _INFERRED.index(kind)
    return next(k for k in _INFERRED[start:] if _is_of(text, k))


def _is_of(text: str, kind: DType) -> bool:
    if kind is dtypes.string:
        return True
    try:
        number = float(text)
        if kind.kind == "f":
            limits = np.finfo(kind.numpy)
            return kind is dtypes.float64 or float(limits.min) <= number <= float(limits.max)
        bounds = np.iinfo(kind.numpy)
        return bounds.min <= int(text) <= bounds.max
    except ValueError:
        return False
