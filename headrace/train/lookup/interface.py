"""What all tables offer, and those that an initializer fills once."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any, NamedTuple

from headrace.core.dtypes import DType, as_dtype
from headrace.core.fields import reads
from headrace.core.shapes import SCALAR
from headrace.functions.control.init_scope import init_scope
from headrace.functions.sparse.tensor import SparseTensor
from headrace.functions.values.structure import name_scope
from headrace.graph.defaults import get_default_graph
from headrace.graph.node import Node
from headrace.graph.tensor import Tensor
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.lookup import use_table


class Part(NamedTuple):
    """An object that belongs to another, under a name."""

    name: str
    ref: Any


class TableInitializerBase:
    """What fills a table; a base class.

    Args:
      key_dtype: type of the keys.
      value_dtype: type of the values.
    """

    def __init__(self, key_dtype: Any, value_dtype: Any) -> None:
        self._key_dtype, self._value_dtype = as_dtype(key_dtype), as_dtype(value_dtype)

    key_dtype: DType = reads("_key_dtype", "The type of the keys.")
    value_dtype: DType = reads("_value_dtype", "The type of the values.")

    def initialize(self, table: Any) -> Node:
        """The node that fills the table."""
        raise NotImplementedError

    @property
    def _shared_name(self) -> str:
        """The name under which tables of the same content are shared; empty for none."""
        return ""


def check_table_dtypes(table: Any, key_dtype: DType, value_dtype: DType) -> None:
    """The types of an initializer must be the table's."""
    if key_dtype.base != table.key_dtype:
        raise TypeError(f"Invalid key dtype, expected {table.key_dtype} but got {key_dtype}.")
    if value_dtype.base != table.value_dtype:
        raise TypeError(f"Invalid value dtype, expected {table.value_dtype} but got {value_dtype}.")


class LookupInterface:
    """A table that outlives a step; a base class.

    Args:
      key_dtype: type of the keys.
      value_dtype: type of the values.
    """

    def __init__(self, key_dtype: Any, value_dtype: Any) -> None:
        self._key_dtype, self._value_dtype = as_dtype(key_dtype), as_dtype(value_dtype)
        self._resource_handle: Any = None

    key_dtype: DType = reads("_key_dtype", "The type of the keys.")
    value_dtype: DType = reads("_value_dtype", "The type of the values.")

    def _create_resource(self) -> Any:
        raise NotImplementedError

    @property
    def resource_handle(self) -> Any:
        """The handle of the table."""
        if self._resource_handle is None:
            self._resource_handle = self._create_resource()
        return self._resource_handle

    @property
    def name(self) -> Any:
        """The name of the table."""
        return NotImplementedError

    def size(self, name: str | None = None) -> Tensor:
        """How many elements the table has.

        Args:
          name: name of the node.
        """
        raise NotImplementedError

    def lookup(self, keys: Any, name: str | None = None) -> Any:
        """The values of keys.

        Args:
          keys: the keys.
          name: name of the node.
        """
        raise NotImplementedError


def check_keys(keys: Any, dtype: DType) -> None:
    if keys.dtype.base != dtype:
        raise TypeError(f"Signature mismatch. Keys must be dtype {dtype}, got {keys.dtype}.")


class InitializableLookupTableBase(LookupInterface):
    """A table that an initializer fills.

    Args:
      default_value: what a key that is absent has as its value.
      initializer: gives keys and values.
    """

    def __init__(self, default_value: Any, initializer: Any) -> None:
        super().__init__(initializer.key_dtype, initializer.value_dtype)
        self._default_value = convert_to_tensor(default_value, dtype=self._value_dtype)
        self._default_value.shape.merge_with(SCALAR)
        self._initializer = initializer
        with init_scope():
            self._resource_handle = self._create_resource()
        inside = get_default_graph()._get_control_flow_context() is not None
        with init_scope() if inside else nullcontext():
            self._init_op = self._initialize()

    def _initialize(self) -> Node:
        made: Node = self._initializer.initialize(self)
        return made

    _checkpoint_dependencies: tuple[Part, ...] = ()  # it is an object of a model, and has no parts

    default_value: Tensor = reads("_default_value", "What a key that is absent has as its value.")

    def size(self, name: str | None = None) -> Tensor:
        with name_scope(name, f"{self.name}_Size", [self.resource_handle]):
            found: Tensor = use_table.lookup_table_size_v2(self.resource_handle)
            return found

    def lookup(self, keys: Any, name: str | None = None) -> Any:
        """The values of keys; the default value for those that are absent.

        Args:
          keys: a tensor, or a SparseTensor.
          name: name of the node.

        Returns: a tensor, or a SparseTensor where `keys` is one.

        Raises:
          TypeError: the keys are of another type than the table's.
        """
        flat = keys.values if isinstance(keys, SparseTensor) else keys
        check_keys(keys, self._key_dtype)
        with name_scope(name, f"{self.name}_Lookup", (self.resource_handle, flat, self._default_value)):
            values = use_table.lookup_table_find_v2(self.resource_handle, flat, self._default_value)
        values.set_shape(flat.get_shape())
        return like(keys, values)


def like(keys: Any, values: Tensor) -> Any:
    """Values in the form of the keys: dense or sparse."""
    if isinstance(keys, SparseTensor):
        return SparseTensor(keys.indices, values, keys.dense_shape)
    return values
