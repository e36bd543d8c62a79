"""The table with a shared name, and older spellings of tables of vocabularies."""

from __future__ import annotations

from typing import Any

from headrace.core.dtypes import DTypeLike, string
from headrace.functions.values.structure import name_scope
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.train.lookup import vocabularies
from headrace.train.lookup.interface import InitializableLookupTableBase
from headrace.train.lookup.static_tables import FastHashSpec, StaticHashTable


class HashTable(StaticHashTable):
    """A table that does not change once it is initialised.

    Args:
      initializer: gives keys and values.
      default_value: what a key that is absent has as its value.
      shared_name: the name under which several sessions share the table.
      name: name of the node.
    """

    def __init__(
        self, initializer: Any, default_value: Any, shared_name: str | None = None, name: str | None = None
    ) -> None:
        self._prepare(initializer, shared_name, name)
        InitializableLookupTableBase.__init__(self, default_value, initializer)


def string_to_index_table_from_file(
    vocabulary_file: Any = None,
    num_oov_buckets: int = 0,
    vocab_size: int | None = None,
    default_value: Any = -1,
    hasher_spec: Any = FastHashSpec,
    name: str | None = None,
) -> Any:
    """Old name of `index_table_from_file`, for texts.

    Args:
      vocabulary_file: the file; a text, or a scalar tensor.
      num_oov_buckets: how many ids there are for keys that are absent.
      vocab_size: how many lines count; None for all.
      default_value: the id of a key that is absent, where there are no buckets.
      hasher_spec: how keys that are absent are hashed.
      name: name of the nodes' scope.
    """
    return vocabularies.index_table_from_file(
        vocabulary_file, num_oov_buckets, vocab_size, default_value, hasher_spec, string, name
    )


def string_to_index_table_from_tensor(
    mapping: Any,
    num_oov_buckets: int = 0,
    default_value: Any = -1,
    hasher_spec: Any = FastHashSpec,
    name: str | None = None,
) -> Any:
    """Old name of `index_table_from_tensor`, for texts.

    Args:
      mapping: a vector of texts; none twice.
      num_oov_buckets: how many ids there are for keys that are absent.
      default_value: the id of a key that is absent, where there are no buckets.
      hasher_spec: how keys that are absent are hashed.
      name: name of the nodes' scope.
    """
    with name_scope(name, "string_to_index") as scope:
        mapping = convert_to_tensor(mapping)
    if mapping.dtype.base is not string:
        raise ValueError("string_to_index_table_from_tensor requires string.")
    return index_table_from_tensor(mapping, num_oov_buckets, default_value, hasher_spec, name=scope)


def index_table_from_tensor(
    mapping: Any,
    num_oov_buckets: int = 0,
    default_value: Any = -1,
    hasher_spec: Any = FastHashSpec,
    dtype: DTypeLike = string,
    name: str | None = None,
) -> Any:
    """A table from texts, or integers, to ids: the place of each in a vector.

    Args:
      mapping: a vector of keys; none twice.
      num_oov_buckets: how many ids there are for keys that are absent, chosen by their hash.
      default_value: the id of a key that is absent, where there are no buckets.
      hasher_spec: how keys that are absent are hashed.
      dtype: type of the keys.
      name: name of the nodes' scope.
    """
    if mapping is None:
        raise ValueError("mapping must be specified.")
    return vocabularies.index_table_from_tensor(
        mapping, num_oov_buckets, default_value, hasher_spec, dtype, name
    )


def string_to_index(tensor: Any, mapping: Any, default_value: Any = -1, name: str | None = None) -> Any:
    """Texts as their places in a vector.

    Args:
      tensor: the texts.
      mapping: a vector of texts; none twice.
      default_value: the place of a text that is absent.
      name: name of the nodes' scope.
    """
    return index_table_from_tensor(mapping=mapping, default_value=default_value, name=name).lookup(tensor)


def index_to_string_table_from_tensor(
    mapping: Any, default_value: Any = "UNK", name: str | None = None
) -> StaticHashTable:
    """A table from ids to texts: the text of an id stands at its place in a vector.

    Args:
      mapping: a vector of texts.
      default_value: the text of an id that is absent.
      name: name of the nodes' scope.
    """
    if mapping is None:
        raise ValueError("mapping must be specified.")
    return vocabularies.index_to_string_table_from_tensor(mapping, default_value, name)


def index_to_string(tensor: Any, mapping: Any, default_value: Any = "UNK", name: str | None = None) -> Any:
    """The texts at places in a vector.

    Args:
      tensor: the places, int64.
      mapping: a vector of texts.
      default_value: the text of a place that is not in it.
      name: name of the nodes' scope.
    """
    table = index_to_string_table_from_tensor(mapping=mapping, default_value=default_value, name=name)
    return table.lookup(tensor)
