"""Tables that change: elements are inserted and removed; checkpoints hold what they contain."""

from __future__ import annotations

from typing import Any

from headrace.core.dtypes import DTypeLike, as_dtype
from headrace.core.fields import reads
from headrace.functions.values.structure import name_scope
from headrace.graph.defaults import get_default_graph
from headrace.graph.keys import GraphKeys
from headrace.graph.node import Node
from headrace.graph.tensor import Tensor
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.lookup import make_table, use_table
from headrace.train.checkpoints.saveable import SaveableObject, SaveSpec
from headrace.train.lookup.interface import LookupInterface


class _Saveable(SaveableObject):
    """Keys and values of a table, as two tensors of a checkpoint."""

    def __init__(self, table: _ChangingTable, name: str) -> None:
        keys, values = table.export()
        super().__init__(
            table, [SaveSpec(keys, "", f"{name}-keys"), SaveSpec(values, "", f"{name}-values")], name
        )

    def restore(self, restored_tensors: Any, restored_shapes: Any, name: str | None = None) -> Any:
        keys, values = restored_tensors
        with name_scope(name, f"{self.name}_table_restore"):
            with get_default_graph().colocate_with(self.op.resource_handle):
                return use_table.lookup_table_import_v2(self.op.resource_handle, keys, values)


class _ChangingTable(LookupInterface):
    """What both kinds have in common."""

    _Saveable = _Saveable

    def __init__(
        self, key_dtype: Any, value_dtype: Any, default_value: Tensor, name: str, checkpoint: bool
    ) -> None:
        self._default_value, self._value_shape = default_value, default_value.get_shape()
        self._checkpoint, self._name, self._shared_name = checkpoint, name, ""
        super().__init__(key_dtype, value_dtype)
        self._resource_handle = self._create_resource()
        self._table_name = self._resource_handle.op.name.split("/")[-1]
        if checkpoint:
            saveable = self._Saveable(self, name)
            get_default_graph().add_to_collection(GraphKeys.SAVEABLE_OBJECTS, saveable)

    name: Any = reads("_table_name")

    def _at_home(self) -> Any:
        return get_default_graph().colocate_with(self.resource_handle)

    def size(self, name: str | None = None) -> Tensor:
        with name_scope(name, f"{self.name}_Size", [self.resource_handle]), self._at_home():
            found: Tensor = use_table.lookup_table_size_v2(self.resource_handle)
            return found

    def lookup(self, keys: Any, name: str | None = None) -> Tensor:
        """The values of keys; the default value for those that are absent.

        Args:
          keys: a tensor of any shape.
          name: name of the node.
        """
        with name_scope(name, f"{self.name}_lookup_table_find", [self.resource_handle, keys]):
            keys = convert_to_tensor(keys, dtype=self._key_dtype, name="keys")
            with self._at_home():
                found: Tensor = use_table.lookup_table_find_v2(
                    self.resource_handle, keys, self._default_value
                )
        return found

    def insert(self, keys: Any, values: Any, name: str | None = None) -> Node:
        """A node that gives keys their values, new ones or others.

        Args:
          keys: a tensor of any shape.
          values: a value for each.
          name: name of the node.
        """
        with name_scope(name, f"{self.name}_lookup_table_insert", [self.resource_handle, keys, values]):
            keys = convert_to_tensor(keys, self._key_dtype, name="keys")
            values = convert_to_tensor(values, self._value_dtype, name="values")
            with self._at_home():
                made: Node = use_table.lookup_table_insert_v2(self.resource_handle, keys, values)
        return made

    def remove(self, keys: Any, name: str | None = None) -> Node:
        """A node that takes keys and their values out of the table; those that are absent are ignored.

        Args:
          keys: a tensor.
          name: name of the node.

        Raises:
          TypeError: the keys are of another type than the table's.
        """
        if keys.dtype != self._key_dtype:
            raise TypeError(f"Signature mismatch. Keys must be dtype {self._key_dtype}, got {keys.dtype}.")
        values = (self.resource_handle, keys, self._default_value)
        with name_scope(name, f"{self.name}_lookup_table_remove", values):
            made: Node = use_table.lookup_table_remove_v2(self.resource_handle, keys)
        return made

    def export(self, name: str | None = None) -> tuple[Tensor, Tensor]:
        """All keys, and their values.

        Args:
          name: name of the node.
        """
        with name_scope(name, f"{self.name}_lookup_table_export_values", [self.resource_handle]):
            with self._at_home():
                keys, values = use_table.lookup_table_export_v2(
                    self.resource_handle, self._key_dtype, self._value_dtype
                )
        return keys, values

    def _gather_saveables_for_checkpoint(self) -> dict[str, Any]:
        """What a checkpoint holds of it."""
        return {"table": lambda name=self._name: self._Saveable(self, name)}


class MutableHashTable(_ChangingTable):
    """A table that changes.

    Args:
      key_dtype: type of the keys.
      value_dtype: type of the values.
      default_value: what a key that is absent has as its value: a scalar or a vector.
      name: name of the node.
      checkpoint: do checkpoints hold its content?
    """

    def __init__(
        self,
        key_dtype: DTypeLike,
        value_dtype: DTypeLike,
        default_value: Any,
        name: str = "MutableHashTable",
        checkpoint: bool = True,
    ) -> None:
        default = convert_to_tensor(default_value, dtype=value_dtype)
        super().__init__(key_dtype, value_dtype, default, name, checkpoint)

    def _create_resource(self) -> Any:
        common = {
            "shared_name": self._shared_name,
            "use_node_name_sharing": self._checkpoint,
            "key_dtype": self._key_dtype,
            "value_dtype": self._value_dtype,
            "name": self._name,
        }
        if self._value_shape.ndims == 0:
            return make_table.mutable_hash_table_v2(**common)
        return make_table.mutable_hash_table_of_tensors_v2(**common, value_shape=self._value_shape)


class DenseHashTable(_ChangingTable):
    """A table that changes, of keys and values that are scalars or vectors; checkpoints hold it as a table of
    buckets.

    Args:
      key_dtype: type of the keys.
      value_dtype: type of the values.
      default_value: what a key that is absent has as its value.
      empty_key: a key that stands for an empty bucket, and is never used otherwise.
      deleted_key: a key that stands for a deleted one, and is never used otherwise.
      initial_num_buckets: how many buckets there are at first: a power of two.
      name: name of the node.
      checkpoint: do checkpoints hold its content?
    """

    def __init__(
        self,
        key_dtype: DTypeLike,
        value_dtype: DTypeLike,
        default_value: Any,
        empty_key: Any,
        deleted_key: Any,
        initial_num_buckets: int | None = None,
        name: str = "MutableDenseHashTable",
        checkpoint: bool = True,
    ) -> None:
        default = convert_to_tensor(default_value, dtype=value_dtype, name="default_value")
        self._initial_num_buckets = initial_num_buckets
        self._empty_key = convert_to_tensor(empty_key, dtype=key_dtype, name="empty_key")
        self._deleted_key = convert_to_tensor(deleted_key, dtype=key_dtype, name="deleted_key")
        super().__init__(key_dtype, value_dtype, default, name, checkpoint)

    def _create_resource(self) -> Any:
        buckets = self._initial_num_buckets
        return make_table.mutable_dense_hash_table_v2(
            empty_key=self._empty_key,
            deleted_key=self._deleted_key,
            shared_name=self._shared_name,
            use_node_name_sharing=self._checkpoint,
            value_dtype=as_dtype(self._value_dtype),
            value_shape=self._value_shape,
            name=self._name,
            **({} if buckets is None else {"initial_num_buckets": buckets}),
        )

    def insert_or_assign(self, keys: Any, values: Any, name: str | None = None) -> Node:
        """`insert`, under the name of standard containers.

        Args:
          keys: a tensor of any shape.
          values: a value for each.
          name: name of the node.
        """
        return self.insert(keys, values, name)

    def erase(self, keys: Any, name: str | None = None) -> Node:
        """`remove`, under the name of standard containers.

        Args:
          keys: a tensor.
          name: name of the node.
        """
        return self.remove(keys, name)
