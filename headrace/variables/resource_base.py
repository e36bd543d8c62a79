"""What all variables by handle do: read, update, scatter; and a variable as of after an update."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, NoReturn

from headrace.core.dtypes import DType
from headrace.core.fields import reads
from headrace.core.modules import late
from headrace.core.shapes import Shape
from headrace.functions.values.structure import name_scope
from headrace.graph.defaults import get_default_graph, has_default_graph
from headrace.graph.tensor import Tensor
from headrace.ops.array.source import identity
from headrace.ops.declaration.convert import convert_to_tensor, register_tensor_conversion_function
from headrace.ops.state import state
from headrace.ops.state.scatter_update import RESOURCE_SCATTER, RESOURCE_SCATTER_ND
from headrace.variables.modes import checked_modes
from headrace.variables.variable import Variable

resource = late("headrace.variables.resource")
slice_update = late("headrace.ops.array.slices.slice_update")
variable_parts = late("headrace.ops.state.variable_parts")


class BaseResourceVariable(Variable):
    """What all variables by handle do; subclasses make or find the handle."""

    _handle: Tensor
    _handle_name: str
    _dtype: DType
    _shape: Shape
    _creation_number = 0  # of eager mode: which came first
    _graph_element: Tensor | None = None  # as of a read that was made with it; eager mode has none
    _cached_value: Tensor | None = None
    _initial_value: Tensor | None = None
    _initializer_op: Any = None
    _is_initialized_op: Any = None
    _save_slice_info: Any = None
    _constraint: Any = None

    name: str = reads("_handle_name")
    device: str = reads("_handle.device")
    dtype: DType = reads("_dtype")
    op: Any = reads("_handle.op")
    graph: Any = reads("_handle.graph")
    shape: Shape = reads("_shape")
    handle: Tensor = reads("_handle")
    create: Any = reads("_initializer_op", "The node that initialises the variable.")

    def _as_graph_element(self) -> Tensor:
        return self._read() if self._graph_element is None else self._graph_element

    def set_shape(self, shape: Any) -> NoReturn:
        raise NotImplementedError("ResourceVariable does not implement set_shape()")

    def numpy(self) -> Any:
        """The value as an array, in eager mode."""
        if not get_default_graph().runs_at_once:
            raise NotImplementedError("numpy() is only available when eager execution is enabled.")
        return self._read().numpy()  # type: ignore[attr-defined]

    def _shape_as_list(self) -> list[int | None] | None:
        return None if self._shape.rank is None else self._shape.as_list()

    def _shape_tuple(self) -> tuple[int | None, ...] | None:
        sizes = self._shape_as_list()
        return None if sizes is None else tuple(sizes)

    def __copy__(self) -> BaseResourceVariable:
        return self

    def __deepcopy__(self, memo: Any) -> Any:
        """Another variable with the same value, in eager mode."""
        if not get_default_graph().runs_at_once:
            raise NotImplementedError("__deepcopy__() is only available when eager execution is enabled.")
        copied = resource.ResourceVariable(
            self._read(),
            self._trainable,
            name=self.name.partition(":")[0],
            dtype=self._dtype,
            constraint=self._constraint,
            synchronization=self._synchronization,
            aggregation=self._aggregation,
            shape=self._shape,
        )
        memo[id(self)] = copied
        return copied

    def __bool__(self) -> bool:
        return bool(self.read_value())

    # -- reading ---------------------------------------------------------------------------------
    def value(self) -> Tensor:
        """The value, cached where the variable has a caching device."""
        if self._cached_value is not None:
            return self._cached_value
        graph = get_default_graph()
        with graph.colocate_with(None, ignore_existing=True), graph.device(self._handle.device):
            return self._read()

    def _read(self) -> Tensor:
        read: Tensor = state.read_variable(self._handle, dtype=self._dtype)
        return read

    _read_variable_op = _read

    def read_value(self) -> Tensor:
        """The value, read when this node runs."""
        graph = get_default_graph()
        with graph.name_scope("Read"), graph.device(self._handle.device):
            value = self._read()
        read: Tensor = identity(value)
        return read

    def sparse_read(self, indices: Any, name: str | None = None) -> Tensor:
        """The rows at `indices`, without reading the rest."""
        with name_scope("Gather" if name is None else name) as scope:
            value = variable_parts.resource_gather(self._handle, indices, dtype=self._dtype, name=scope)
        read: Tensor = identity(value)
        return read

    def gather_nd(self, indices: Any, name: str | None = None) -> Tensor:
        """The elements or slices at index vectors, without reading the rest."""
        with name_scope("GatherNd" if name is None else name) as scope:
            value = variable_parts.resource_gather_nd(self._handle, indices, dtype=self._dtype, name=scope)
        read: Tensor = identity(value)
        return read

    def is_initialized(self, name: str | None = None) -> Tensor:
        """Has the variable a value?"""
        known: Tensor = state.var_is_initialized(self._handle, name=name)
        return known

    # -- updates ---------------------------------------------------------------------------------
    def _in_graph(self) -> AbstractContextManager[Any]:
        """The variable's own graph, unless the user has chosen one."""
        return nullcontext() if has_default_graph() else self._handle.graph.as_default()

    @contextmanager
    def _after_cached_read(self) -> Iterator[None]:
        """A cached read sees the value from before the update."""
        if self._cached_value is None:
            yield
        else:
            with get_default_graph().control_dependencies([self._cached_value]):
                yield

    def assign(
        self, value: Any, use_locking: Any = None, name: str | None = None, read_value: bool = True
    ) -> Any:
        """Give the variable a new value; returns it as of after the assignment (or the node)."""
        with self._in_graph():
            tensor = convert_to_tensor(value, self._dtype)
            self._shape.assert_is_compatible_with(tensor.shape)
            done = state.assign_variable(self._handle, tensor, name=name)
            return self._lazy_read(done) if read_value else done

    def assign_add(
        self, delta: Any, use_locking: Any = None, name: str | None = None, read_value: bool = True
    ) -> Any:
        """Add `delta`; returns the variable as of after the addition (or the node)."""
        with self._in_graph(), self._after_cached_read():
            done = state.assign_add_variable(self._handle, convert_to_tensor(delta, self._dtype), name=name)
            return self._lazy_read(done) if read_value else done

    def assign_sub(
        self, delta: Any, use_locking: Any = None, name: str | None = None, read_value: bool = True
    ) -> Any:
        """Subtract `delta`; returns the variable as of after the subtraction (or the node)."""
        with self._in_graph(), self._after_cached_read():
            done = state.assign_sub_variable(self._handle, convert_to_tensor(delta, self._dtype), name=name)
            return self._lazy_read(done) if read_value else done

    def _lazy_read(self, done: Any) -> BaseResourceVariable:
        """In eager mode the update has happened: whoever reads the variable sees it."""
        return self if get_default_graph().runs_at_once else UpdatedVariable(self, done)

    def _scatter(self, kind: str, indices: Any, values: Any, use_locking: bool, name: Any) -> Any:
        values = convert_to_tensor(values, self._dtype)
        return self._lazy_read(RESOURCE_SCATTER[kind](self._handle, indices, values, name=name))

    def _scatter_nd(self, kind: str, indices: Any, updates: Any, name: Any) -> Any:
        updates = convert_to_tensor(updates, self._dtype)
        done = RESOURCE_SCATTER_ND[kind](self._handle, indices, updates, name=name)
        return self._lazy_read(done)

    def _strided_slice_assign(
        self, begin: Any, end: Any, strides: Any, value: Any, name: Any, **masks: int
    ) -> Any:
        with self._after_cached_read():
            value = convert_to_tensor(value, self._dtype)
            done = slice_update.resource_strided_slice_assign(
                self._handle, begin, end, strides, value, name=name, **masks
            )
            return self._lazy_read(done)

    def count_up_to(self, limit: int) -> Tensor:
        """The value before it was raised by one; OutOfRangeError where it has reached `limit`."""
        counted: Tensor = state.resource_count_up_to(self._handle, limit=limit, T=self._dtype)
        return counted

    def to_proto(self, export_scope: str | None = None) -> Any:
        """The VariableDef of this variable; None where it is not inside `export_scope`."""
        if export_scope is not None and not self._handle.name.startswith(export_scope):
            return None
        snapshot = self._as_graph_element() if self._cached_value is None else self._cached_value
        message = self._definition(export_scope, snapshot)
        message.is_resource = True
        return message

    @staticmethod
    def from_proto(variable_def: Any, import_scope: str | None = None) -> Any:
        return resource.ResourceVariable(variable_def=variable_def, import_scope=import_scope)


def _refuse(operator: str, advice: str) -> Any:
    def refuse(self: Any, other: Any) -> NoReturn:
        raise RuntimeError(f"Variable {operator}= value not supported. {advice}")

    return refuse


def _refuse_in_place_operators() -> None:
    """`v += x` would silently make `v` a tensor."""
    rest = "to modify the variable or `var = var {0} value` to get a new Tensor object."
    named = "variable = variable {0} value to get a new Tensor object."
    for names, sign, first in (
        ("__iadd__", "+", f"Use variable.assign_add(value) to modify the variable value and {named}"),
        ("__isub__", "-", f"Use variable.assign_sub(value) to modify the variable value and {named}"),
        ("__imul__", "*", f"Use `var.assign(var {{0}} value)` {rest}"),
        ("__idiv__ __itruediv__ __irealdiv__", "/", f"Use `var.assign(var {{0}} value)` {rest}"),
        ("__ipow__", "**", f"Use `var.assign(var {{0}} value)` {rest}"),
    ):
        for name in names.split():
            setattr(BaseResourceVariable, name, _refuse(sign, first.format(sign)))


_refuse_in_place_operators()


class UpdatedVariable(BaseResourceVariable):
    """A variable as of after an update: reading it waits for that update."""

    def __init__(self, variable: BaseResourceVariable, done: Any) -> None:
        self._handle, self._handle_name = variable._handle, variable._handle_name
        self._dtype, self._shape = variable._dtype, variable._shape
        self._synchronization, self._aggregation, self._trainable = checked_modes(
            None, None, None, variable._handle_name
        )
        self._parent_op = done
        if get_default_graph().building_function:
            self._graph_element = None
        else:
            self._graph_element = self._read()

    name: str = reads("_parent_op.name")
    op: Any = reads("_parent_op")

    def _read(self) -> Tensor:
        with get_default_graph().control_dependencies([self._parent_op]):
            read: Tensor = state.read_variable(self._handle, dtype=self._dtype)
            return read

    def value(self) -> Tensor:
        return self._read()

    def read_value(self) -> Tensor:
        return self._read()


def _to_tensor(
    variable: BaseResourceVariable, dtype: DType | None = None, name: str | None = None, as_ref: bool = False
) -> Tensor:
    if dtype is not None and not dtype.is_compatible_with(variable.dtype):
        raise ValueError(
            f"Incompatible type conversion requested to type {dtype.name!r} for variable of type "
            f"{variable.dtype.name!r}"
        )
    return variable.read_value().op.inputs[0] if as_ref else variable.value()


register_tensor_conversion_function(BaseResourceVariable, _to_tensor)


def is_resource_variable(variable: Any) -> bool:
    return isinstance(variable, BaseResourceVariable) or hasattr(variable, "_should_act_as_resource_variable")
