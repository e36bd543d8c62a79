"""VariableScope: a prefix for the names of variables, and what `get_variable` takes by default."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from headrace.core import dtypes
from headrace.core.dtypes import DTypeLike
from headrace.core.families import takes
from headrace.core.fields import reads
from headrace.graph.defaults import get_default_graph
from headrace.graph.keys import GraphKeys
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.variables.store import VariableStore

_PRIVATE = (
    "Here a custom getter makes the variables ({}), which create_partitioned_variables would pass "
    "by; get_variable with a partitioner asks it."
)


def no_regularizer(_: Any) -> None:
    """Given to `get_variable`, it overrides the regularizer of the scope with none."""
    return None


def defaults(
    initializer: Any = None,
    regularizer: Callable[..., Any] | None = None,
    caching_device: str | Callable[..., Any] | None = None,
    partitioner: Callable[..., Any] | None = None,
    custom_getter: Callable[..., Any] | None = None,
    reuse: Any = None,
    dtype: DTypeLike | None = None,
    use_resource: bool | None = None,
    constraint: Callable[..., Any] | None = None,
) -> None:
    """What a scope says of the variables in it."""


DEFAULTS = tuple(inspect.signature(defaults).parameters)


class VariableScope:
    """A prefix for names of variables, with defaults for what `get_variable` is not told."""

    def __init__(
        self,
        reuse: Any,
        name: str = "",
        initializer: Any = None,
        regularizer: Callable[..., Any] | None = None,
        caching_device: str | Callable[..., Any] | None = None,
        partitioner: Callable[..., Any] | None = None,
        custom_getter: Callable[..., Any] | None = None,
        name_scope: str = "",
        dtype: DTypeLike = dtypes.float32,
        use_resource: bool | None = None,
        constraint: Callable[..., Any] | None = None,
    ) -> None:
        self._reuse, self._name, self._name_scope = reuse, name, name_scope
        self._initializer, self._regularizer = initializer, regularizer
        self._caching_device, self._partitioner = caching_device, partitioner
        self._custom_getter, self._dtype = custom_getter, dtype
        self._use_resource, self._constraint = use_resource, constraint

    name: str = reads("_name")

    @property
    def original_name_scope(self) -> str:
        """The name scope that was opened with this variable scope."""
        return self._name_scope

    reuse: Any = reads("_reuse")
    initializer: Any = reads("_initializer")
    dtype: Any = reads("_dtype")
    use_resource: bool | None = reads("_use_resource")
    regularizer: Any = reads("_regularizer")
    caching_device: Any = reads("_caching_device")
    partitioner: Any = reads("_partitioner")
    custom_getter: Any = reads("_custom_getter")
    constraint: Any = reads("_constraint")

    def reuse_variables(self) -> None:
        """From here on, `get_variable` returns known variables and makes none."""
        self._reuse = True

    def set_initializer(self, initializer: Any) -> None:
        self._initializer = initializer

    def set_dtype(self, dtype: Any) -> None:
        self._dtype = dtype

    def set_use_resource(self, use_resource: bool | None) -> None:
        self._use_resource = use_resource

    def set_regularizer(self, regularizer: Any) -> None:
        self._regularizer = regularizer

    def set_caching_device(self, caching_device: Any) -> None:
        self._caching_device = caching_device

    def set_partitioner(self, partitioner: Any) -> None:
        self._partitioner = partitioner

    def set_custom_getter(self, custom_getter: Any) -> None:
        self._custom_getter = custom_getter

    def get_collection(self, name: str) -> list[Any]:
        """The part of a collection whose names are in this scope."""
        return get_default_graph().get_collection(name, self._name + "/" if self._name else "")

    def trainable_variables(self) -> list[Any]:
        return self.get_collection(GraphKeys.TRAINABLE_VARIABLES)

    def global_variables(self) -> list[Any]:
        return self.get_collection(GraphKeys.GLOBAL_VARIABLES)

    def local_variables(self) -> list[Any]:
        return self.get_collection(GraphKeys.LOCAL_VARIABLES)

    @takes(VariableStore.get_variable, first="var_store", dtype=None)
    def get_variable(
        self, var_store: VariableStore, name: str, dtype: Any, initializer: Any, **options: Any
    ) -> Any:
        """As `tf.get_variable`, in this scope and a given store."""
        full_name = f"{self.name}/{name}" if self.name else name
        with get_default_graph().name_scope(None):
            if dtype is not None and initializer is not None and not callable(initializer):
                found = convert_to_tensor(initializer).dtype.base_dtype
                if found != dtype:
                    raise ValueError(f"Initializer type '{found}' and explicit dtype '{dtype}' don't match.")
            options |= {"dtype": dtype, "initializer": initializer}
            return var_store.get_variable(full_name, **self._completed(options))

    @takes(VariableStore.get_variable, "reuse", "custom_getter", first="var_store", dtype=None)
    def _get_partitioned_variable(self, var_store: VariableStore, name: str | None, **options: Any) -> Any:
        if self._custom_getter is not None:
            raise ValueError(_PRIVATE.format(self._custom_getter))
        options = self._completed(options | {"reuse": self.reuse, "custom_getter": None})
        partitioner = options.pop("partitioner")
        if partitioner is None:
            raise ValueError("No partitioner was specified")
        del options["custom_getter"]
        full_name = "/".join(part for part in (self.name, name) if part)
        with get_default_graph().name_scope(None):
            return var_store._get_partitioned_variable(full_name, partitioner, **options)

    def _completed(self, options: dict[str, Any]) -> dict[str, Any]:
        """`options` of `get_variable`, with the defaults of the scope where they say nothing."""
        return options | {key: either(options[key], getattr(self, f"_{key}")) for key in DEFAULTS}


def either(given: Any, default: Any) -> Any:
    return default if given is None else given
