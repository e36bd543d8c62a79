"""Variables by reference, TF 1's default: a node whose output is a reference to the state."""

from __future__ import annotations

from typing import Any, NoReturn

from headrace.core.dtypes import DType
from headrace.core.families import takes
from headrace.core.fields import reads
from headrace.core.modules import late
from headrace.core.shapes import Shape, as_shape
from headrace.functions.control.init_scope import init_scope
from headrace.functions.values.structure import name_scope
from headrace.graph.defaults import get_default_graph
from headrace.graph.scope_names import add_scope
from headrace.graph.tensor import Tensor
from headrace.ops.array.source import identity
from headrace.ops.declaration.convert import convert_to_tensor, register_tensor_conversion_function
from headrace.ops.state import state
from headrace.ops.state.scatter_update import SCATTER, SCATTER_ND
from headrace.variables.initializers.initial_value import guarded
from headrace.variables.modes import checked_modes
from headrace.variables.slices import SaveSliceInfo
from headrace.variables.variable import Variable, check_control_flow, checked_collections

slice_update = late("headrace.ops.array.slices.slice_update")


class RefVariable(Variable):
    """A variable whose ops take a reference (`dtype` is a reference type)."""

    @takes(Variable.__init__, "use_resource", synchronization=None, aggregation=None)
    def __init__(
        self,
        initial_value: Any,
        collections: Any,
        caching_device: Any,
        name: Any,
        constraint: Any,
        **given: Any,
    ) -> None:
        if self._is_found(given["variable_def"], initial_value, given["import_scope"]):
            return
        if initial_value is None:
            raise ValueError("initial_value must be specified.")
        self._set_modes(given["synchronization"], given["aggregation"], given["trainable"], name)
        self._constraint, self._save_slice_info = constraint, None
        self._caching_device = caching_device
        collections = checked_collections(collections, self._trainable, constraint)
        with init_scope():
            whether = given["validate_shape"]
            self._make(initial_value, whether, caching_device, name, given["dtype"], given["shape"])
            get_default_graph().add_to_collections(collections, self)

    _variable: Tensor
    _snapshot: Tensor

    def _make(
        self, value: Any, validate_shape: bool, caching_device: Any, name: Any, dtype: Any, shape: Any
    ) -> None:
        with name_scope(name, "Variable", [] if callable(value) else [value]) as scope:
            if callable(value):
                self._make_from_function(value, validate_shape, scope, dtype, shape)
            else:
                self._initial_value = convert_to_tensor(value, dtype, name="initial_value")
                check_control_flow(self._initial_value, scope)
                self._make_reference(validate_shape, scope, shape)
            assert self._initial_value is not None
            if validate_shape and not self._initial_value.get_shape().is_fully_defined():
                raise ValueError(f"initial_value must have a shape specified: {self._initial_value}")
            self._initializer_op = state.assign(
                self._variable, guarded(scope, self._initial_value), validate_shape=validate_shape
            ).op
            graph = get_default_graph()
            if caching_device is not None:
                with graph.device(caching_device):
                    self._snapshot = identity(self._variable, name="read")
            else:
                with graph.colocate_with(self._variable.op):
                    self._snapshot = identity(self._variable, name="read")

    def _make_from_function(
        self, function: Any, validate_shape: bool, scope: str, dtype: Any, shape: Any
    ) -> None:
        """The nodes that the function makes live where the variable will."""
        graph = get_default_graph()
        with graph._attr_scope({"_class": (f"loc:@{scope.rstrip('/')}",)}):
            with graph.name_scope("Initializer"), graph.device(None):
                self._initial_value = convert_to_tensor(function(), dtype, name="initial_value")
            self._make_reference(validate_shape, scope, shape)

    def _make_reference(self, validate_shape: bool, scope: str, shape: Any) -> None:
        assert self._initial_value is not None
        if shape is None:
            shape = self._initial_value.get_shape() if validate_shape else Shape(None)
        self._variable = state.variable_v2(
            shape=as_shape(shape), dtype=self._initial_value.dtype.base, name=scope
        )

    def _find(self, variable_def: Any, import_scope: str | None) -> None:
        """Take the nodes that a VariableDef names."""
        graph = get_default_graph()

        def element(name: str) -> Any:
            return graph.as_graph_element(add_scope(name, import_scope))

        self._variable = element(variable_def.variable_name)
        self._initializer_op = element(variable_def.initializer_name)
        initial = variable_def.initial_value_name
        self._initial_value = element(initial) if initial else None
        self._snapshot = element(variable_def.snapshot_name)
        self._synchronization, self._aggregation, self._trainable = checked_modes(
            variable_def.synchronization,
            variable_def.aggregation,
            variable_def.trainable,
            variable_def.variable_name,
        )
        self._save_slice_info: SaveSliceInfo | None = None
        if variable_def.HasField("save_slice_info_def"):
            self._save_slice_info = SaveSliceInfo(
                save_slice_info_def=variable_def.save_slice_info_def, import_scope=import_scope
            )
        self._constraint = self._caching_device = None

    # -- the variable as a tensor ----------------------------------------------------------------
    def _as_graph_element(self) -> Tensor:
        return self._variable

    def _ref(self) -> Tensor:
        return self._variable

    @property
    def sparse_read(self) -> NoReturn:
        raise AttributeError("a variable by reference has no sparse_read")

    @property
    def gather_nd(self) -> NoReturn:
        raise AttributeError("a variable by reference has no gather_nd")

    def value(self) -> Tensor:
        """The value as of the last snapshot: the tensor that uses of the variable read."""
        return self._snapshot

    def read_value(self) -> Tensor:
        """The value, read when this node runs."""
        read: Tensor = identity(self._variable, name="read")
        return read

    name: str = reads("_variable.name")
    device: str = reads("_variable.device")
    dtype: DType = reads("_variable.dtype")
    op: Any = reads("_variable.op")
    graph: Any = reads("_variable.graph")

    @property
    def shape(self) -> Shape:
        return self._variable.get_shape()

    def set_shape(self, shape: Any) -> None:
        """Add to what is known of the shape."""
        self._variable.set_shape(shape)
        self._snapshot.set_shape(shape)

    # -- updates ---------------------------------------------------------------------------------
    def assign(
        self, value: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> Any:
        """Give the variable a new value; returns it after the assignment (or the node)."""
        done = state.assign(self._variable, value, use_locking=use_locking, name=name)
        return done if read_value else done.op

    def assign_add(
        self, delta: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> Any:
        """Add `delta`; returns the variable after the addition (or the node)."""
        done = state.assign_add(self._variable, delta, use_locking=use_locking, name=name)
        return done if read_value else done.op

    def assign_sub(
        self, delta: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> Any:
        """Subtract `delta`; returns the variable after the subtraction (or the node)."""
        done = state.assign_sub(self._variable, delta, use_locking=use_locking, name=name)
        return done if read_value else done.op

    def _scatter(self, kind: str, indices: Any, values: Any, use_locking: bool, name: Any) -> Any:
        return SCATTER[kind](self._variable, indices, values, use_locking=use_locking, name=name)

    def _scatter_nd(self, kind: str, indices: Any, updates: Any, name: Any) -> Any:
        return SCATTER_ND[kind](self._variable, indices, updates, use_locking=True, name=name)

    def _strided_slice_assign(
        self, begin: Any, end: Any, strides: Any, value: Any, name: Any, **masks: int
    ) -> Any:
        return slice_update.strided_slice_assign(
            self._variable, begin, end, strides, value, name=name, **masks
        )

    def count_up_to(self, limit: int) -> Tensor:
        """The value before it was raised by one; OutOfRangeError where it has reached `limit`."""
        counted: Tensor = state.count_up_to(self._variable, limit=limit)
        return counted

    def to_proto(self, export_scope: str | None = None) -> Any:
        """The VariableDef of this variable; None where it is not inside `export_scope`."""
        if export_scope is not None and not self.name.startswith(export_scope):
            return None
        return self._definition(export_scope, self._snapshot)


def _to_tensor(
    variable: RefVariable, dtype: DType | None = None, name: str | None = None, as_ref: bool = False
) -> Tensor:
    if dtype is not None and not dtype.is_compatible_with(variable.dtype):
        raise ValueError(
            f"Incompatible type conversion requested to type '{dtype.name}' for variable of type "
            f"'{variable.dtype.name}'"
        )
    return variable._ref() if as_ref else variable.value()


register_tensor_conversion_function(RefVariable, _to_tensor)
