"""Slots: variables that an optimizer (or an average) keeps beside another variable."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

from headrace.functions.array import array
from headrace.graph.defaults import get_default_graph
from headrace.variables.initializers.initializers import Zeros
from headrace.variables.ref import RefVariable
from headrace.variables.resource_base import is_resource_variable
from headrace.variables.scope import get_variable, get_variable_scope, variable_scope
from headrace.variables.slices import SaveSliceInfo
from headrace.variables.variable import Variable


def _slot_variable(primary: Any, value: Any, validate_shape: bool, shape: Any, dtype: Any) -> Any:
    """The slot itself: never partitioned again, of the same kind as the primary variable."""
    scope = get_variable_scope()
    partitioner = scope.partitioner
    scope.set_partitioner(None)
    use_resource = None
    if is_resource_variable(primary):
        use_resource = True
    elif isinstance(primary, RefVariable):
        use_resource = False
    slot = get_variable(
        "",
        initializer=value,
        trainable=False,
        use_resource=use_resource,
        shape=shape if callable(value) else None,
        dtype=dtype,
        validate_shape=validate_shape,
    )
    scope.set_partitioner(partitioner)
    part = primary._get_save_slice_info() if isinstance(primary, Variable) else None
    if part is not None:
        own_name = slot.op.name[len(primary.op.name) + 1 :]
        slot._set_save_slice_info(
            SaveSliceInfo(
                f"{part.full_name}/{own_name}",
                list(part.full_shape or ()),
                list(part.var_offset or ()),
                list(part.var_shape or ()),
            )
        )
    return slot


def create_slot(primary: Any, val: Any, name: str, colocate_with_primary: bool = True) -> Any:
    """A slot that starts with the tensor `val`."""
    return _create(primary, val, val.get_shape().is_fully_defined(), None, None, name, colocate_with_primary)


def create_slot_with_initializer(
    primary: Any, initializer: Any, shape: Any, dtype: Any, name: str, colocate_with_primary: bool = True
) -> Any:
    """A slot that starts with what an initializer gives."""
    known = shape.is_fully_defined()
    return _create(primary, initializer, known, shape, dtype, name, colocate_with_primary)


def _create(primary: Any, value: Any, known: bool, shape: Any, dtype: Any, name: str, colocate: bool) -> Any:
    graph = get_default_graph()
    with variable_scope(None, f"{primary.op.name}/{name}"):
        with graph.colocate_with(primary.op) if colocate else nullcontext():
            return _slot_variable(primary, value, known, shape, dtype)


def create_zeros_slot(primary: Any, name: str, dtype: Any = None, colocate_with_primary: bool = True) -> Any:
    """A slot of the primary variable's shape that starts with zeros."""
    dtype = primary.dtype if dtype is None else dtype
    shape = primary.get_shape()
    if shape.is_fully_defined():
        return create_slot_with_initializer(primary, Zeros(), shape, dtype, name, colocate_with_primary)
    start = primary.initialized_value() if isinstance(primary, Variable) else primary
    zeros = array.zeros(array.shape(start), dtype.base_dtype)
    return create_slot(primary, zeros, name, colocate_with_primary)
