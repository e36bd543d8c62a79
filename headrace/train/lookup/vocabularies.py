"""Tables from texts to ids and back, of a vocabulary in a file or a tensor."""

from __future__ import annotations

from typing import Any

from headrace.core.dtypes import int64, string
from headrace.functions.array.array import size
from headrace.functions.math.math import range_
from headrace.functions.values.structure import name_scope
from headrace.graph.tensor import Tensor
from headrace.ops.declaration.constants import constant_value
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.math.cast import cast
from headrace.train.lookup.initializers import (
    KeyValueTensorInitializer,
    TextFileIdTableInitializer,
    TextFileIndex,
    TextFileStringTableInitializer,
)
from headrace.train.lookup.static_tables import FastHashSpec, IdTableWithHashBuckets, StaticHashTable


def index_table_from_file(
    vocabulary_file: Any = None,
    num_oov_buckets: int = 0,
    vocab_size: int | None = None,
    default_value: Any = -1,
    hasher_spec: Any = FastHashSpec,
    key_dtype: Any = string,
    name: str | None = None,
    key_column_index: int = TextFileIndex.WHOLE_LINE,
    value_column_index: int = TextFileIndex.LINE_NUMBER,
    delimiter: str = "\t",
) -> Any:
    """A table from texts, or integers, to ids, of a file: by default a line is a key, and its number the id.

    Args:
      vocabulary_file: the file; a text, or a scalar tensor.
      num_oov_buckets: how many ids there are for keys that are absent, chosen by their hash.
      vocab_size: how many lines count; None for all.
      default_value: the id of a key that is absent, where there are no buckets.
      hasher_spec: how keys that are absent are hashed.
      key_dtype: type of the keys.
      name: name of the nodes' scope.
      key_column_index: what of a line is the key.
      value_column_index: what of a line is the id.
      delimiter: what stands between columns: one character.

    Raises:
      ValueError: no file, or numbers that can not be.
      TypeError: keys are neither texts nor integers.
    """
    if vocabulary_file is None or (isinstance(vocabulary_file, str) and not vocabulary_file):
        raise ValueError("vocabulary_file must be specified and must not be empty.")
    _check_buckets(num_oov_buckets)
    if vocab_size is not None and vocab_size < 1:
        shown = vocabulary_file
        if isinstance(vocabulary_file, Tensor):
            shown = constant_value(vocabulary_file) or "?"
        raise ValueError(f"vocab_size must be greater than 0, got {vocab_size}. vocabulary_file: {shown}")
    _check_keys(key_dtype)
    with name_scope(name, "string_to_index"):
        with name_scope(None, "hash_table"):
            init = TextFileIdTableInitializer(
                vocabulary_file,
                vocab_size=vocab_size,
                key_dtype=int64 if key_dtype.is_integer else key_dtype,
                name="table_init",
                key_column_index=key_column_index,
                value_column_index=value_column_index,
                delimiter=delimiter,
            )
            table = StaticHashTable(init, default_value)
        return _with_buckets(table, num_oov_buckets, hasher_spec, key_dtype)


def _check_buckets(num_oov_buckets: int) -> None:
    if num_oov_buckets < 0:
        raise ValueError(f"num_oov_buckets must be greater or equal than 0, got {num_oov_buckets}.")


def _check_keys(dtype: Any) -> None:
    if not dtype.is_integer and dtype.base is not string:
        raise TypeError("Only integer and string keys are supported.")


def _with_buckets(table: Any, num_oov_buckets: int, hasher_spec: Any, key_dtype: Any) -> Any:
    if not num_oov_buckets:
        return table
    return IdTableWithHashBuckets(table, num_oov_buckets, hasher_spec=hasher_spec, key_dtype=key_dtype)


def index_table_from_tensor(
    vocabulary_list: Any,
    num_oov_buckets: int = 0,
    default_value: Any = -1,
    hasher_spec: Any = FastHashSpec,
    dtype: Any = string,
    name: str | None = None,
) -> Any:
    """A table from texts, or integers, to ids: the place of each in a vector.

    Args:
      vocabulary_list: a vector of keys; none twice.
      num_oov_buckets: how many ids there are for keys that are absent, chosen by their hash.
      default_value: the id of a key that is absent, where there are no buckets.
      hasher_spec: how keys that are absent are hashed.
      dtype: type of the keys.
      name: name of the nodes' scope.

    Raises:
      ValueError: no vocabulary, or one of another type.
      TypeError: keys are neither texts nor integers.
    """
    if vocabulary_list is None:
        raise ValueError("vocabulary_list must be specified.")
    _check_buckets(num_oov_buckets)
    _check_keys(dtype)
    with name_scope(name, "string_to_index"):
        keys = convert_to_tensor(vocabulary_list)
        if keys.dtype.is_integer != dtype.is_integer:
            kind = "integer" if dtype.is_integer else "non-integer"
            raise ValueError(f"Expected {kind}, got {keys.dtype}.")
        if not dtype.is_integer and keys.dtype.base != dtype:
            raise ValueError(f"Expected {dtype}, got {keys.dtype}.")
        ids = cast(range_(size(keys)), int64)
        with name_scope(None, "hash_table"):
            if keys.dtype.is_integer and keys.dtype.base is not int64:
                keys = cast(keys, int64)
            init = KeyValueTensorInitializer(keys, ids, keys.dtype.base, int64, name="table_init")
            table = StaticHashTable(init, default_value)
        return _with_buckets(table, num_oov_buckets, hasher_spec, dtype)


def index_to_string_table_from_file(
    vocabulary_file: Any,
    vocab_size: int | None = None,
    default_value: Any = "UNK",
    name: str | None = None,
    key_column_index: int = TextFileIndex.LINE_NUMBER,
    value_column_index: int = TextFileIndex.WHOLE_LINE,
    delimiter: str = "\t",
) -> StaticHashTable:
    """A table from ids to texts, of a file: by default the number of a line is the id, and the line its text.

    Args:
      vocabulary_file: the file; a text, or a scalar tensor.
      vocab_size: how many lines count; None for all.
      default_value: the text of an id that is absent.
      name: name of the nodes' scope.
      key_column_index: what of a line is the id.
      value_column_index: what of a line is the text.
      delimiter: what stands between columns: one character.

    Raises:
      ValueError: no file, or a number of lines that can not be.
    """
    if vocabulary_file is None or (isinstance(vocabulary_file, str) and not vocabulary_file):
        raise ValueError("vocabulary_file must be specified and must not be empty.")
    if vocab_size is not None and vocab_size < 1:
        raise ValueError(f"vocab_size must be greater than 0, got {vocab_size}.")
    with name_scope(name, "index_to_string"):
        init = TextFileStringTableInitializer(
            vocabulary_file,
            vocab_size=vocab_size,
            name="table_init",
            key_column_index=key_column_index,
            value_column_index=value_column_index,
            delimiter=delimiter,
        )
        return StaticHashTable(init, default_value)


def index_to_string_table_from_tensor(
    vocabulary_list: Any, default_value: Any = "UNK", name: str | None = None
) -> StaticHashTable:
    """A table from ids to texts: the text of an id stands at its place in a vector.

    Args:
      vocabulary_list: a vector of texts.
      default_value: the text of an id that is absent.
      name: name of the nodes' scope.

    Raises:
      ValueError: no vocabulary.
    """
    if vocabulary_list is None:
        raise ValueError("vocabulary_list must be specified.")
    with name_scope(name, "index_to_string"):
        texts = convert_to_tensor(vocabulary_list, string)
        ids = cast(range_(size(texts)), int64)
        init = KeyValueTensorInitializer(ids, texts, int64, string, name="table_init")
        return StaticHashTable(init, default_value)
