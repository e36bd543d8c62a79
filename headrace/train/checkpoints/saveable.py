"""What a saver can save: objects that say which tensors they are, under which names, and how they take
values back.  Variables, parts of variables, and whatever else offers `_gather_saveables_for_checkpoint`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from headrace.core.device_name import DeviceSpec
from headrace.graph.defaults import get_default_graph
from headrace.graph.keys import GraphKeys
from headrace.graph.tensor import Tensor
from headrace.ops.array.reshape import reshape
from headrace.ops.array.source import identity
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.declaration.traits import VARIABLE
from headrace.ops.state import state
from headrace.variables.partitioned import PartitionedVariable
from headrace.variables.resource_base import BaseResourceVariable, is_resource_variable
from headrace.variables.variable import Variable

_VALUE_KEY = "VARIABLE_VALUE"  # the attribute under which an object keeps its own name


def cpu_of(device: str) -> str:
    """The CPU of the task that a device belongs to."""
    return DeviceSpec.from_string(device).replace(device_type="CPU", device_index=0).to_string()


class SaveSpec:
    """One tensor to save.

    Args:
      tensor: the tensor, or a function that makes it.
      slice_spec: which slice of a larger tensor it is; empty if it is whole.
      name: its name in the checkpoint.
      dtype: its type; needed where `tensor` is a function.
      device: its device; needed where `tensor` is a function.
    """

    def __init__(
        self, tensor: Any, slice_spec: str, name: str, dtype: Any = None, device: Any = None
    ) -> None:
        self._tensor, self.slice_spec, self.name = tensor, slice_spec, name
        if not callable(tensor):
            dtype, device = tensor.dtype, tensor.device
        elif dtype is None or device is None:
            raise AssertionError(
                "When passing a callable `tensor` to a SaveSpec, an explicit dtype and device must "
                "be provided."
            )
        self.dtype, self.device = dtype, device

    @property
    def tensor(self) -> Any:
        return self._tensor() if callable(self._tensor) else self._tensor


class SaveableObject:
    """Tensors that are saved together, and how they are restored; a base class.

    Args:
      op: what they belong to: a variable, a table.
      specs: a SaveSpec per tensor; all on one device.
      name: the name of the object.
    """

    def __init__(self, op: Any, specs: list[SaveSpec], name: str) -> None:
        self.op, self.specs, self.name = op, specs, name

    @property
    def optional_restore(self) -> bool:
        """May a checkpoint lack it?"""
        return False

    @property
    def device(self) -> str:
        device: str = self.specs[0].device
        return device

    def restore(self, restored_tensors: Any, restored_shapes: Any) -> Any:
        """A node that gives the object these values (reshaped, where shapes are given)."""
        raise ValueError("Calling an abstract method.")


class ReferenceVariableSaveable(SaveableObject):
    """A variable by reference."""

    def __init__(self, var: Any, slice_spec: str, name: str) -> None:
        super().__init__(var, [SaveSpec(var, slice_spec, name, dtype=var.dtype)], name)

    def restore(self, restored_tensors: Any, restored_shapes: Any) -> Any:
        return state.assign(
            _reference(self.op),
            _shaped(restored_tensors, restored_shapes),
            validate_shape=restored_shapes is None and self.op.get_shape().is_fully_defined(),
        )


def _reference(variable: Any) -> Any:
    return convert_to_tensor(variable, as_ref=True)


def _shaped(tensors: Any, shapes: Any) -> Any:
    return tensors[0] if shapes is None else reshape(tensors[0], shapes[0])


class ResourceVariableSaveable(SaveableObject):
    """A variable by handle, or a read of one."""

    def __init__(self, var: Any, slice_spec: str, name: str) -> None:
        self._device, self._shape = var.device, var.shape
        tensor: Tensor | Callable[[], Tensor]
        if isinstance(var, Tensor):
            self.handle_op, tensor = var.op.inputs[0], var
        elif is_resource_variable(var):
            self.handle_op, tensor = var.handle, lambda: _read(var)
        else:
            raise ValueError(f"Saveable is neither a resource variable nor a read operation. Got: {var!r}")
        spec = SaveSpec(tensor, slice_spec, name, dtype=var.dtype, device=var.device)
        super().__init__(var, [spec], name)

    def restore(self, restored_tensors: Any, restored_shapes: Any) -> Any:
        value = _shaped(restored_tensors, restored_shapes)
        with get_default_graph().device(self._device):
            value = identity(value)
            self._shape.assert_is_compatible_with(value.shape)
            return state.assign_variable(self.handle_op, value)


def _read(variable: Any) -> Tensor:
    graph = get_default_graph()
    with graph.device(variable.device):
        value = variable.read_value()
        with graph.device("/device:CPU:0"):  # a checkpoint is written by the CPU of its task
            copy: Tensor = identity(value)
            return copy


# -- from what users pass ------------------------------------------------------------------------
def all_saveable_objects(scope: str | None = None) -> list[Any]:
    """What a saver saves by default: global variables and registered objects."""
    graph = get_default_graph()
    return graph.get_collection(GraphKeys.GLOBAL_VARIABLES, scope) + graph.get_collection(
        GraphKeys.SAVEABLE_OBJECTS, scope
    )


def _gathers(value: Any) -> bool:
    return hasattr(value, "_gather_saveables_for_checkpoint") and not isinstance(value, Variable)


def saveable_objects_for_op(op: Any, name: Any) -> Iterator[SaveableObject]:
    """The objects that save `op` under `name`.

    Raises:
      TypeError: the name is no text, or `op` can not be saved.
      ValueError: a list holds something else than parts of one variable.
    """
    if not isinstance(name, str):
        raise TypeError(
            "names_to_saveables must be a dict mapping string names to trackable operations. Name "
            f"is not a string: {name}"
        )
    if isinstance(op, SaveableObject):
        yield op
    elif isinstance(op, (list, tuple, PartitionedVariable)):
        yield from _slices(list(op), name)
    elif _gathers(op):
        for attribute, factory in op._gather_saveables_for_checkpoint().items():
            full = name if attribute == _VALUE_KEY else f"{name}_{attribute}"
            made = factory(full) if callable(factory) else factory
            yield from saveable_objects_for_op(made, made.name)
    elif isinstance(op, BaseResourceVariable):
        yield ResourceVariableSaveable(op if op._graph_element is None else op._graph_element, "", name)
    else:
        tensor = convert_to_tensor(op, as_ref=True)
        if not _is_variable(tensor):
            raise TypeError(
                "names_to_saveables must be a dict mapping string names to Tensors/Variables. Not "
                f"a variable: {tensor}"
            )
        yield _saveable(tensor, "", name)


def _saveable(variable: Any, slice_spec: str, name: str) -> SaveableObject:
    node = variable.op
    by_reference = VARIABLE in node.declaration.traits and node.outputs[0].dtype.is_ref
    kind = ReferenceVariableSaveable if by_reference else ResourceVariableSaveable
    return kind(variable, slice_spec, name)


def _slices(parts: list[Any], name: str) -> Iterator[SaveableObject]:
    full_name = None
    for part in parts:
        if not isinstance(part, Variable):
            raise ValueError(f"Slices must all be Variables: {part}")
        info = part._get_save_slice_info()
        if not info:
            raise ValueError(f"Slices must all be slices: {part}")
        if full_name not in (None, info.full_name):
            raise ValueError(f"Slices must all be from the same tensor: {full_name} != {info.full_name}")
        full_name = info.full_name
        yield _saveable(part, info.spec, name)


def _is_variable(value: Any) -> bool:
    if not isinstance(value, Tensor):
        return False
    kind = value.op.declaration
    return VARIABLE in kind.traits or kind is state.read_variable


def op_list_to_dict(op_list: Any, convert_variable_to_tensor: bool = True) -> dict[str, Any]:
    """Names for a list of variables and objects; parts of one variable come under its name.

    Raises:
      TypeError: it is no list, or holds something that can not be saved.
      ValueError: two have the same name.
    """
    if not isinstance(op_list, (list, tuple, set)):
        raise TypeError(f"Variables to save should be passed in a dict or a list: {op_list}")
    named: dict[str, Any] = {}
    for var in sorted(op_list, key=lambda x: x.name):  # the same graph each time
        info = var._get_save_slice_info() if isinstance(var, Variable) else None
        if isinstance(var, SaveableObject):
            named[var.name] = var
        elif isinstance(var, PartitionedVariable):
            _add(named, var.name, var)
        elif info:
            held = named.setdefault(info.full_name or "", [])
            if not isinstance(held, list):
                raise ValueError(f"Mixing slices and non-slices with the same name: {info.full_name}")
            held.append(var)
        elif _gathers(var):
            made = [
                factory() if callable(factory) else factory
                for factory in var._gather_saveables_for_checkpoint().values()
            ]
            named.update(op_list_to_dict(made))
        else:
            _add(named, *_named_variable(var, convert_variable_to_tensor))
    return named


def _named_variable(var: Any, to_tensor: bool) -> tuple[str, Any]:
    if to_tensor:
        resource = isinstance(var, BaseResourceVariable)
        var = var._graph_element if resource else convert_to_tensor(var, as_ref=True)
        if not _is_variable(var):
            raise TypeError(f"Variable to save is not a Variable: {var}")
    is_read = var.op.declaration is state.read_variable
    return (var.op.inputs[0].op.name if is_read else var.op.name), var


def _add(named: dict[str, Any], name: str, value: Any) -> None:
    if name in named:
        raise ValueError(f"At least two variables have the same name: {name}")
    named[name] = value


def validate_and_slice_inputs(names_to_saveables: Any) -> list[SaveableObject]:
    """The objects of a dict (or list), in the order of their names; each at most once."""
    if not isinstance(names_to_saveables, dict):
        names_to_saveables = op_list_to_dict(names_to_saveables)
    saveables: list[SaveableObject] = []
    seen: set[int] = set()
    for name, op in sorted(names_to_saveables.items(), key=lambda item: item[0]):
        for saveable in saveable_objects_for_op(op, name):
            if id(saveable.op) in seen:
                raise ValueError(f"The same saveable will be restored with two names: {saveable.name}")
            seen.add(id(saveable.op))
            saveables.append(saveable)
    return saveables
