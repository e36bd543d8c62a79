"""Which kind `tf.Variable(...)` makes: by argument, by variable scope, by default."""

from __future__ import annotations

from typing import Any

from headrace.core.modules import late
from headrace.functions.control.init_scope import outermost
from headrace.graph.defaults import get_default_graph
from headrace.variables.ref import RefVariable
from headrace.variables.resource import ResourceVariable

scope = late("headrace.variables.scope")

_resource_by_default = False


def enable_resource_variables() -> None:
    """Make variables by handle wherever `use_resource` is not given."""
    global _resource_by_default
    _resource_by_default = True


def disable_resource_variables() -> None:
    """Make variables by reference wherever `use_resource` is not given."""
    global _resource_by_default
    _resource_by_default = False


def resource_variables_enabled() -> bool:
    """Are variables by handle what `tf.get_variable` makes?"""
    return _resource_by_default


def default_creator(next_creator: Any = None, **arguments: Any) -> Any:
    """The innermost creator: takes what `tf.Variable` takes."""
    assert next_creator is None
    use_resource = arguments.pop("use_resource", None)
    if use_resource is None:
        use_resource = scope.get_variable_scope().use_resource
    if use_resource is None:
        use_resource = _resource_by_default
    if use_resource or outermost(get_default_graph()).runs_at_once:
        arguments.pop("expected_shape", None)
        return ResourceVariable(**arguments)
    arguments.pop("distribute_strategy", None)
    return RefVariable(**arguments)


def from_definition(variable_def: Any, import_scope: str | None = None) -> Any:
    """The variable that a VariableDef names, in the default graph."""
    kind: Any = ResourceVariable if variable_def.is_resource else RefVariable
    return kind(variable_def=variable_def, import_scope=import_scope)
