"""Variables by handle: a resource that outlives the step, made or found again by its name."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Iterable
from typing import Any

from headrace.core.dtypes import DTypeLike, as_dtype
from headrace.core.shapes import Shape, as_shape
from headrace.functions.control.init_scope import init_scope
from headrace.functions.values.structure import name_scope
from headrace.graph.defaults import get_default_graph
from headrace.graph.scope_names import add_scope
from headrace.graph.tensor import Tensor
from headrace.ops.array.source import identity
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.state import state
from headrace.variables.initializers.initial_value import guarded
from headrace.variables.modes import checked_modes
from headrace.variables.resource_base import BaseResourceVariable
from headrace.variables.slices import SaveSliceInfo
from headrace.variables.variable import check_control_flow, checked_collections

_numbers = itertools.count(1)


class ResourceVariable(BaseResourceVariable):
    """A variable by handle, with its initial value."""

    def __init__(
        self,
        initial_value: Any = None,
        trainable: bool | None = None,
        collections: Iterable[str] | None = None,
        validate_shape: bool = True,
        caching_device: str | Callable[..., Any] | None = None,
        name: str | None = None,
        dtype: DTypeLike | None = None,
        variable_def: Any = None,
        import_scope: str | None = None,
        constraint: Callable[..., Any] | None = None,
        distribute_strategy: Any = None,
        synchronization: Any = None,
        aggregation: Any = None,
        shape: Any = None,
    ) -> None:
        if self._is_found(variable_def, initial_value, import_scope):
            return
        self._set_modes(synchronization, aggregation, trainable, name)
        if initial_value is None:
            raise ValueError("initial_value must be specified.")
        if isinstance(initial_value, Tensor) and initial_value.graph.building_function:
            raise ValueError(
                "Tensor-typed variable initializers must either be wrapped in an init_scope or "
                "callable (e.g., `tf.Variable(lambda : tf.truncated_normal([10, 40]))`) when "
                "building functions."
            )
        self._constraint = constraint
        collections = checked_collections(collections, self._trainable, constraint)
        with init_scope():
            graph = get_default_graph()
            if graph.runs_at_once:
                self._make_at_once(initial_value, name, dtype, shape)
            else:
                self._make(initial_value, caching_device, name, dtype, shape)
                graph.add_to_collections(collections, self)

    def _make_at_once(self, value: Any, name: Any, dtype: Any, shape: Any) -> None:
        """In eager mode it has its value from the start, and lives as long as this object."""
        with name_scope(name, "Variable", []) as scope:
            initial = convert_to_tensor(value() if callable(value) else value, dtype, name="initial_value")
            self._shape = _checked_shape(shape, initial)
            self._dtype = initial.dtype.base
            self._handle_name = scope.rstrip("/") + ":0"
            self._creation_number = next(_numbers)
            self._handle = state.var_handle(shape=self._shape, dtype=self._dtype)
            self._handle.variable = weakref.ref(self)  # type: ignore[attr-defined]
            state.assign_variable(self._handle, initial)

    def _make(self, value: Any, caching_device: Any, name: Any, dtype: Any, shape: Any) -> None:
        with name_scope(name, "Variable", [] if callable(value) else [value]) as scope:
            shared_name = scope.rstrip("/")
            graph = get_default_graph()
            with graph._attr_scope({"_class": (f"loc:@{shared_name}",)}):
                with graph.name_scope("Initializer"), graph.device(None):
                    value = value() if callable(value) else value
                    initial = convert_to_tensor(value, dtype, name="initial_value")
                self._shape = _checked_shape(shape, initial)
                self._dtype = initial.dtype.base
                self._make_handle(shared_name, scope)
            check_control_flow(initial, scope)
            with graph.name_scope("IsInitialized"):
                self._is_initialized_op = state.var_is_initialized(self._handle)
            with (
                graph.name_scope("Assign") as assign_scope,
                graph.colocate_with(None, ignore_existing=True),
                graph.device(self._handle.device),
            ):
                self._initializer_op = state.assign_variable(
                    self._handle, guarded(scope, initial), name=assign_scope
                )
            self._initial_value = initial
            self._make_read(caching_device)

    def _make_handle(self, shared_name: str, scope: str) -> None:
        self._handle = state.var_handle(
            shape=self._shape,
            dtype=self._dtype,
            shared_name=shared_name,
            container=get_default_graph()._container,
            name=scope,
        )
        self._handle_name = shared_name + ":0"

    def _make_read(self, caching_device: Any) -> None:
        graph = get_default_graph()
        with graph.name_scope("Read"):
            with graph.device(self._handle.device):
                self._graph_element = self._read()
            if caching_device is not None:
                with graph.colocate_with(None, ignore_existing=True), graph.device(caching_device):
                    self._cached_value = identity(self._graph_element)

    def _find(self, variable_def: Any, import_scope: str | None) -> None:
        """Take the nodes that a VariableDef names."""
        if not variable_def.is_resource:
            raise ValueError("Trying to restore Variable as ResourceVariable.")
        graph = get_default_graph()

        def element(name: str) -> Any:
            return graph.as_graph_element(add_scope(name, import_scope))

        self._handle = element(variable_def.variable_name)
        self._handle_name = self._handle.name
        self._shape = as_shape(self._handle.op.attrs["shape"])
        self._dtype = as_dtype(self._handle.op.attrs["dtype"])
        self._initializer_op = element(variable_def.initializer_name)
        initial = variable_def.initial_value_name
        self._initial_value = element(initial) if initial else None
        self._synchronization, self._aggregation, self._trainable = checked_modes(
            variable_def.synchronization,
            variable_def.aggregation,
            variable_def.trainable,
            variable_def.variable_name,
        )
        if variable_def.snapshot_name:
            snapshot = element(variable_def.snapshot_name)
            self._cached_value = snapshot if snapshot.op.declaration is not state.read_variable else None
            while snapshot.op.declaration is not state.read_variable:
                snapshot = snapshot.op.inputs[0]
            self._graph_element = snapshot
        else:
            read = self._handle.op.name + "/Read/ReadVariableOp:0"
            self._graph_element = graph.get_tensor_by_name(read)
        if variable_def.HasField("save_slice_info_def"):
            self._save_slice_info = SaveSliceInfo(
                save_slice_info_def=variable_def.save_slice_info_def, import_scope=import_scope
            )


def _checked_shape(shape: Any, initial: Tensor) -> Shape:
    if shape is None:
        return initial.shape
    given = as_shape(shape)
    if not initial.shape.is_compatible_with(given):
        raise ValueError(
            f"The initial value's shape ({initial.shape}) is not compatible with the explicitly "
            f"supplied `shape` argument ({given})."
        )
    return given
