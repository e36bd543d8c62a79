"""What fills tables: tensors of keys and values, or the lines of a file."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

from headrace.core.dtypes import DType, DTypeLike, as_dtype, int64, string
from headrace.functions.control.init_scope import init_scope
from headrace.functions.values.structure import name_scope
from headrace.graph.defaults import get_default_graph
from headrace.graph.keys import GraphKeys
from headrace.graph.node import Node
from headrace.graph.tensor import Tensor
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.declaration.traits import CONSTANT
from headrace.ops.lookup import use_table, vocabulary_file
from headrace.train.lookup.interface import TableInitializerBase, check_table_dtypes


def _registered(init_op: Any) -> Node:
    """`tables_initializer` runs it."""
    node: Node = init_op
    get_default_graph().add_to_collection(GraphKeys.TABLE_INITIALIZERS, node)
    return node


class KeyValueTensorInitializer(TableInitializerBase):
    """Fills a table with the elements of two tensors.

    Args:
      keys: the keys.
      values: their values.
      key_dtype: type of the keys, where they are no tensor.
      value_dtype: type of the values, where they are no tensor.
      name: name of the node.
    """

    def __init__(
        self, keys: Any, values: Any, key_dtype: Any = None, value_dtype: Any = None, name: str | None = None
    ) -> None:
        inside = get_default_graph()._get_control_flow_context() is not None
        with init_scope() if inside else nullcontext():
            self._keys = convert_to_tensor(keys, dtype=key_dtype, name="keys")
            self._values = convert_to_tensor(values, dtype=value_dtype, name="values")
        self._name = name if name is not None else "key_value_init"
        super().__init__(self._keys.dtype, self._values.dtype)

    def initialize(self, table: Any) -> Node:
        """The node that fills the table.

        Args:
          table: the table.

        Raises:
          TypeError: keys or values are of other types than the table's.
        """
        check_table_dtypes(table, self._keys.dtype, self._values.dtype)
        with name_scope(self._name, values=(table.resource_handle, self._keys, self._values)):
            return _registered(
                use_table.lookup_table_import_v2(table.resource_handle, self._keys, self._values)
            )


class TextFileIndex:
    """What a table takes of a line, where it is not the column of a number: see TextFileInitializer."""

    WHOLE_LINE = vocabulary_file.WHOLE_LINE
    LINE_NUMBER = vocabulary_file.LINE_NUMBER


class TextFileInitializer(TableInitializerBase):
    """Fills a table with a key and a value per line of a file.

    An index says what of a line is meant: a column's number, from 0, TextFileIndex.WHOLE_LINE (a string, or
    as a key an integer) or TextFileIndex.LINE_NUMBER (an int64, from 0).

    Args:
      filename: the file; a text, or a scalar tensor.
      key_dtype: type of the keys.
      key_index: what of a line is the key.
      value_dtype: type of the values.
      value_index: what of a line is the value.
      vocab_size: how many lines count; None for all.
      delimiter: what stands between columns: one character.
      name: name of the node.

    Raises:
      ValueError: there is no filename, or an index does not fit its type.
    """

    def __init__(
        self,
        filename: Any,
        key_dtype: DTypeLike,
        key_index: int,
        value_dtype: DTypeLike,
        value_index: int,
        vocab_size: int | None = None,
        delimiter: str = "\t",
        name: str | None = None,
    ) -> None:
        if not isinstance(filename, Tensor) and not filename:
            raise ValueError(f"Filename required for {name}.")
        self._filename_arg = filename
        keys, values = as_dtype(key_dtype), as_dtype(value_dtype)
        _check_index("key", "Keys", key_index, keys, keys is string or keys.is_integer, "integer or string")
        _check_index("value", "Values", value_index, values, values is string, f"dtype {string}")
        if vocab_size is not None and vocab_size <= 0:
            raise ValueError(f"Invalid vocab_size {vocab_size}.")
        self._key_index, self._value_index = key_index, value_index
        self._vocab_size, self._delimiter, self._name = vocab_size, delimiter, name
        with init_scope(), get_default_graph().device("/device:CPU:0"):
            self._filename = convert_to_tensor(filename, dtype=string, name="asset_path")
        super().__init__(keys, values)

    def initialize(self, table: Any) -> Node:
        """The node that fills the table.

        Args:
          table: the table.

        Raises:
          TypeError: the table's types are others.
        """
        check_table_dtypes(table, self.key_dtype, self.value_dtype)
        with name_scope(self._name, "text_file_init", (table.resource_handle,)):
            made = use_table.initialize_table_from_text_file_v2(
                table.resource_handle,
                self._filename,
                key_index=self._key_index,
                value_index=self._value_index,
                vocab_size=-1 if self._vocab_size is None else self._vocab_size,
                delimiter=self._delimiter,
            )
        node = _registered(made)
        if CONSTANT in self._filename.op.declaration.traits:  # a file that goes with the model
            get_default_graph().add_to_collection(GraphKeys.ASSET_FILEPATHS, self._filename)
        return node

    @property
    def _shared_name(self) -> str:
        """hash_table_<file>[_<size>]_<key index>_<value index>"""
        size = f"_{self._vocab_size}" if self._vocab_size else ""
        return f"hash_table_{self._filename_arg}{size}_{self._key_index}_{self._value_index}"


def _check_index(what: str, title: str, index: int, dtype: DType, fits_line: bool, wanted: str) -> None:
    if index < TextFileIndex.WHOLE_LINE:
        raise ValueError(f"Invalid {what} index {index}.")
    if index == TextFileIndex.LINE_NUMBER and dtype is not int64:
        raise ValueError(f"Signature mismatch. {title} must be dtype {int64}, got {dtype}.")
    if index == TextFileIndex.WHOLE_LINE and not fits_line:
        raise ValueError(f"Signature mismatch. {title} must be {wanted}, got {dtype}.")


class TextFileStringTableInitializer(TextFileInitializer):
    """Fills a table from numbers to texts with the lines of a file.

    Args:
      filename: the file; a text, or a scalar tensor.
      key_column_index: what of a line is the key; its number by default.
      value_column_index: what of a line is the value; all of it by default.
      vocab_size: how many lines count; None for all.
      delimiter: what stands between columns: one character.
      name: name of the node.
    """

    def __init__(
        self,
        filename: Any,
        key_column_index: int = TextFileIndex.LINE_NUMBER,
        value_column_index: int = TextFileIndex.WHOLE_LINE,
        vocab_size: int | None = None,
        delimiter: str = "\t",
        name: str | None = "text_file_string_table_init",
    ) -> None:
        super().__init__(
            filename, int64, key_column_index, string, value_column_index, vocab_size, delimiter, name
        )


class TextFileIdTableInitializer(TextFileInitializer):
    """Fills a table from texts to numbers with the lines of a file.

    Args:
      filename: the file; a text, or a scalar tensor.
      key_column_index: what of a line is the key; all of it by default.
      value_column_index: what of a line is the value; its number by default.
      vocab_size: how many lines count; None for all.
      delimiter: what stands between columns: one character.
      name: name of the node.
      key_dtype: type of the keys.
    """

    def __init__(
        self,
        filename: Any,
        key_column_index: int = TextFileIndex.WHOLE_LINE,
        value_column_index: int = TextFileIndex.LINE_NUMBER,
        vocab_size: int | None = None,
        delimiter: str = "\t",
        name: str | None = "text_file_id_table_init",
        key_dtype: DTypeLike = string,
    ) -> None:
        super().__init__(
            filename, key_dtype, key_column_index, int64, value_column_index, vocab_size, delimiter, name
        )
