"""The variables of a graph, by collection, and nodes that initialise or check them."""

from __future__ import annotations

import os
from typing import Any

from headrace.core import dtypes
from headrace.core.modules import late
from headrace.functions.control.grouping import group
from headrace.functions.values.structure import name_scope
from headrace.graph.defaults import get_default_graph
from headrace.graph.keys import GraphKeys
from headrace.graph.tensor import Tensor
from headrace.ops.array import source
from headrace.ops.array.constant import constant, pack
from headrace.ops.declaration.array import rank
from headrace.ops.declaration.traits import VARIABLE
from headrace.ops.math.logical import logical_not
from headrace.ops.state import state

indexing = late("headrace.functions.array.indexing")


def global_variables(scope: str | None = None) -> list[Any]:
    """Variables that all tasks share (what `tf.Variable` makes).

    Args:
      scope: a regular expression; only variables whose names it matches at their start.
    """
    return get_default_graph().get_collection(GraphKeys.GLOBAL_VARIABLES, scope)


def all_variables() -> list[Any]:
    """The old name of `global_variables`."""
    return global_variables()


def local_variables(scope: str | None = None) -> list[Any]:
    """Variables of this process, which are not saved: counters, metrics."""
    return get_default_graph().get_collection(GraphKeys.LOCAL_VARIABLES, scope)


def model_variables(scope: str | None = None) -> list[Any]:
    """Variables that inference needs."""
    return get_default_graph().get_collection(GraphKeys.MODEL_VARIABLES, scope)


def trainable_variables(scope: str | None = None) -> list[Any]:
    """Variables that optimizers change."""
    return get_default_graph().get_collection(GraphKeys.TRAINABLE_VARIABLES, scope)


def moving_average_variables(scope: str | None = None) -> list[Any]:
    """Variables that have a moving average."""
    return get_default_graph().get_collection(GraphKeys.MOVING_AVERAGE_VARIABLES, scope)


def variables_initializer(var_list: Any, name: str = "init") -> Any:
    """A node that initialises the given variables, all at once."""
    if var_list:
        return group(*[v.initializer for v in var_list], name=name)
    return source.no_op(name=name)


def global_variables_initializer() -> Any:
    """A node that initialises all global variables."""
    return variables_initializer(global_variables())


def local_variables_initializer() -> Any:
    """A node that initialises all local variables."""
    return variables_initializer(local_variables())


def initialize_variables(var_list: Any, name: str = "init") -> Any:
    """The old name of `variables_initializer`."""
    return variables_initializer(var_list, name)


def initialize_all_variables() -> Any:
    """The old name of `global_variables_initializer`."""
    return global_variables_initializer()


def initialize_local_variables() -> Any:
    """The old name of `local_variables_initializer`."""
    return local_variables_initializer()


def is_variable_initialized(variable: Any, name: str | None = None) -> Tensor:
    """Has the variable (or reference) a value?"""
    if variable.dtype.is_ref:
        known: Tensor = state.is_variable_initialized(variable, name=name)
        return known
    known = variable.is_initialized(name=name)
    return known


def _references() -> list[Tensor]:
    nodes = get_default_graph().get_operations()
    found = [n.outputs[0] for n in nodes if VARIABLE in n.declaration.traits]
    return [t for t in found if t.dtype.is_ref]


def assert_variables_initialized(var_list: Any = None) -> Any:
    """A node that fails if one of the variables has no value; None if there are none."""
    if var_list is None:
        var_list = global_variables() + local_variables()
    var_list = var_list or _references()
    if not var_list:
        return None
    ranks = []
    for variable in var_list:
        with get_default_graph().colocate_with(variable.op):
            ranks.append(rank(variable))
    return ranks[0] if len(ranks) == 1 else pack(ranks, name="stack")


def report_uninitialized_variables(
    var_list: Any = None, name: str = "report_uninitialized_variables"
) -> Tensor:
    """A tensor with the names of the variables that have no value yet.

    Args:
      var_list: variables to check; default all global and local ones.
      name: name of the scope.
    """
    if var_list is None:
        var_list = global_variables() + local_variables() or _references()
    with name_scope(name):
        known = [is_variable_initialized(v) for v in var_list]
        device = os.environ.get("TF_DEVICE_FOR_UNINITIALIZED_VARIABLE_REPORTING", "/cpu:0")
        with get_default_graph().device(device):
            if not var_list:
                return constant([], dtype=dtypes.string)
            missing = logical_not(pack(known, name="stack"))
            names = constant([v.op.name for v in var_list])
            reported: Tensor = indexing.boolean_mask(names, missing)
            return reported
