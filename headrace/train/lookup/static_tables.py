"""Tables that are filled once: of pairs, and vocabularies with buckets for what is not in them."""

from __future__ import annotations

import functools
import uuid
from collections import namedtuple
from collections.abc import Callable
from typing import Any

from headrace.core.dtypes import DType, int64, string
from headrace.core.fields import reads
from headrace.functions.array.indexing import where_v2
from headrace.functions.sparse.tensor import SparseTensor
from headrace.functions.strings.string import (
    string_to_hash_bucket,
    string_to_hash_bucket_fast,
    string_to_hash_bucket_strong,
)
from headrace.functions.values.structure import name_scope
from headrace.graph.node import Node
from headrace.graph.tensor import Tensor
from headrace.ops.array.source import no_op
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.lookup import make_table, use_table
from headrace.ops.math.arithmetic import add
from headrace.ops.math.cast import cast
from headrace.ops.math.comparison import not_equal
from headrace.ops.strings.convert import as_string
from headrace.train.lookup.interface import (
    InitializableLookupTableBase,
    LookupInterface,
    Part,
    check_keys,
    like,
)


class StaticHashTable(InitializableLookupTableBase):
    """A table that does not change once it is initialised.

    Its initializer runs with `tf.tables_initializer()`.

        table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(keys, values), -1)
        values = table.lookup(keys)

    Args:
      initializer: gives keys and values.
      default_value: what a key that is absent has as its value.
      name: name of the node.
    """

    def __init__(self, initializer: Any, default_value: Any, name: str | None = None) -> None:
        # with a name of its own, so that all nodes that lead to it share one table
        shared = initializer._shared_name or f"hash_table_{uuid.uuid4()}"
        self._prepare(initializer, shared, name)
        super().__init__(default_value, initializer)

    def _prepare(self, initializer: Any, shared_name: str | None, name: str | None) -> None:
        self._initializer, self._shared_name = initializer, shared_name
        self._name, self._table_name = name or "hash_table", None

    def _create_resource(self) -> Any:
        handle = make_table.hash_table_v2(
            shared_name=self._shared_name or "",
            key_dtype=self._initializer.key_dtype,
            value_dtype=self._initializer.value_dtype,
            name=self._name,
        )
        self._table_name = handle.op.name.split("/")[-1]
        return handle

    name: Any = reads("_table_name")
    initializer: Node = reads("_init_op", "The node that fills the table.")
    init: Node = reads("initializer", "Old name of `initializer`.")

    def export(self, name: str | None = None) -> tuple[Tensor, Tensor]:
        """All keys, and their values.

        Args:
          name: name of the node.
        """
        with name_scope(name, f"{self.name}_Export", [self.resource_handle]):
            keys, values = use_table.lookup_table_export_v2(
                self.resource_handle, self._key_dtype, self._value_dtype
            )
        values.set_shape(keys.get_shape().concatenate(self._default_value.get_shape()))
        return keys, values


# -- buckets for other keys ------------------------------------------------------------------------
class HasherSpec(namedtuple("HasherSpec", ["hasher", "key"])):
    """How keys that are in no table are hashed.

    Args:
      hasher: "fasthash", "stronghash" or "legacy".
      key: the key of a strong hash.
    """

    __slots__ = ()


FastHashSpec = HasherSpec("fasthash", None)


class StrongHashSpec(HasherSpec):
    """A hash whose collisions nobody can provoke who does not know the key.

    Args:
      key: two unsigned integers.
    """

    __slots__ = ()

    def __new__(cls, key: Any) -> StrongHashSpec:
        if len(key) != 2:
            raise ValueError(f"key must have size 2, got {len(key)}.")
        if not all(hasattr(part, "__index__") for part in key):
            raise TypeError(f"Invalid key {key}. Must be unsigned integer values.")
        return super().__new__(cls, "stronghash", key)


def _bucket_function(spec: Any) -> Callable[..., Tensor]:
    if not isinstance(spec, HasherSpec):
        raise TypeError(f"hasher_spec must be of type HasherSpec {spec}")
    if spec.hasher == "fasthash":
        return string_to_hash_bucket_fast
    if spec.hasher == "legacy":
        return string_to_hash_bucket
    if spec.hasher == "stronghash":
        return functools.partial(string_to_hash_bucket_strong, key=spec.key)
    raise ValueError(f"Unknown hasher {spec.hasher}")


def _as_string(tensor: Tensor) -> Tensor:
    return tensor if tensor.dtype.base is string else as_string(tensor)


def _check_key_type(dtype: DType) -> None:
    if not dtype.is_integer and dtype != string:
        raise TypeError(f"Invalid key_dtype, expected integer or string, got {dtype}.")


def _check_table_types(holder: Any, key_dtype: DType, shown: DType) -> None:
    """A table of ids has texts or integers as its keys, of the kind of those that are looked up."""
    supported = (int64, string)
    if holder.key_dtype not in supported:
        raise TypeError(f"Invalid key dtype, expected one of {supported}, but got {shown}.")
    if holder.key_dtype.is_integer != key_dtype.is_integer:
        kind = "integer" if key_dtype.is_integer else "non-integer"
        raise TypeError(f"Invalid key dtype, expected {kind} but got {holder.key_dtype}.")
    if holder.value_dtype != int64:
        raise TypeError(f"Invalid value dtype, expected {int64} but got {holder.value_dtype}.")


class _TableWithBuckets(LookupInterface):
    """A table of ids, and numbers behind them for keys that it does not have."""

    def __init__(
        self, table: Any, num_oov_buckets: int, spec: HasherSpec, key_dtype: DType, name: Any
    ) -> None:
        self._table, self._num_oov_buckets, self._hasher_spec = table, num_oov_buckets, spec
        self._table_name = name.split("/")[-1] if name else None
        super().__init__(key_dtype, int64)

    @property
    def _checkpoint_dependencies(self) -> list[Part]:
        return [] if self._table is None else [Part("_table", self._table)]

    def _create_resource(self) -> Any:
        return None if self._table is None else self._table._create_resource()

    def _initialize(self) -> Node:
        return _nothing() if self._table is None else self._table._initialize()

    @property
    def initializer(self) -> Node:
        """The node that fills the table."""
        return _nothing() if self._table is None else self._table._init_op

    @property
    def resource_handle(self) -> Any:
        return None if self._table is None else self._table.resource_handle

    name: Any = reads("_table_name")

    def size(self, name: str | None = None) -> Tensor:
        """How many numbers there are, those of the buckets included.

        Args:
          name: name of the node.
        """
        with name_scope(name, f"{self.name}_Size"):
            held = convert_to_tensor(0, dtype=int64) if self._table is None else self._table.size()
            return held + self._num_oov_buckets

    def lookup(self, keys: Any, name: str | None = None) -> Any:
        """The numbers of keys; for one that is not in the table, that of a bucket, by its hash.

        Args:
          keys: a tensor, or a SparseTensor.
          name: name of the node.

        Returns: a tensor, or a SparseTensor where `keys` is one.

        Raises:
          TypeError: the keys are of another type than the table's.
        """
        check_keys(keys, self._key_dtype)
        values = keys.values if isinstance(keys, SparseTensor) else keys
        if self._table is not None and self._table.key_dtype.base is int64:
            values = values if values.dtype.base is int64 else cast(values, int64)
        if not self._num_oov_buckets:
            return like(keys, self._table.lookup(values, name=name))
        with name_scope(name, f"{self.name}_Lookup"):
            function = _bucket_function(self._hasher_spec)
            ids = function(_as_string(values), num_buckets=self._num_oov_buckets, name="hash_bucket")
            if self._table is not None:
                found = self._table.lookup(values)
                buckets = add(ids, self._table.size(), name="Add")
                ids = where_v2(not_equal(found, self._table.default_value), found, buckets)
        return like(keys, ids)


def _nothing() -> Node:
    with name_scope(None, "init"):
        return no_op()


class IdTableWithHashBuckets(_TableWithBuckets):
    """A table from keys to ids, where a key that is absent has the id of a bucket: a hash of the key modulo
    `num_oov_buckets`, behind the ids of the table.

    Args:
      table: a table from texts or int64 to int64; None for buckets alone.
      num_oov_buckets: how many buckets.
      hasher_spec: how keys are hashed.
      name: name of the table.
      key_dtype: type of the keys of `lookup`; the table's by default.

    Raises:
      ValueError: neither a table nor buckets.
      TypeError: a type that can not be.
    """

    def __init__(
        self,
        table: Any,
        num_oov_buckets: int,
        hasher_spec: Any = FastHashSpec,
        name: str | None = None,
        key_dtype: Any = None,
    ) -> None:
        name = name.rstrip("/") if name else name
        if table is not None:
            key_dtype = table.key_dtype if key_dtype is None else key_dtype
            _check_table_types(table, key_dtype, key_dtype)
            name = name or table.name
        else:
            if num_oov_buckets <= 0:
                raise ValueError("oov_buckets must be > 0 if no table is supplied.")
            key_dtype = string if key_dtype is None else key_dtype
            name = name or "hash_bucket"
        _check_key_type(key_dtype)
        if not isinstance(hasher_spec, HasherSpec):
            raise TypeError(f"hasher_spec must be of type HasherSpec, got {hasher_spec}")
        super().__init__(table, num_oov_buckets, hasher_spec, key_dtype, name)

    init: Node = reads("initializer", "Old name of `initializer`.")


class StaticVocabularyTable(_TableWithBuckets):
    """A vocabulary: ids of keys, and buckets behind them for those that are absent, by Fingerprint64.

    Args:
      initializer: gives keys and their ids; None for buckets alone.
      num_oov_buckets: how many buckets; at least one.
      lookup_key_dtype: type of the keys of `lookup`; the initializer's by default.
      name: name of the table.

    Raises:
      ValueError: no buckets.
      TypeError: a type that can not be.
    """

    def __init__(
        self, initializer: Any, num_oov_buckets: int, lookup_key_dtype: Any = None, name: str | None = None
    ) -> None:
        if num_oov_buckets <= 0:
            raise ValueError("oov_buckets must be > 0.")
        name = name.rstrip("/") if name else name
        table = None
        if initializer is not None:
            lookup_key_dtype = initializer.key_dtype if lookup_key_dtype is None else lookup_key_dtype
            _check_table_types(initializer, lookup_key_dtype, initializer.key_dtype)
            table = StaticHashTable(initializer, default_value=-1)
            name = name or table.name
        else:
            lookup_key_dtype, name = string, name or "hash_bucket"
        _check_key_type(lookup_key_dtype)
        super().__init__(table, num_oov_buckets, FastHashSpec, lookup_key_dtype, name)
