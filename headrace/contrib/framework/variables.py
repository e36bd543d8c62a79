"""tf.contrib.framework: variables of models, and finding them by scope and name."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable
from typing import Any

from headrace.contrib.framework.arg_scope import add_arg_scope
from headrace.core import dtypes
from headrace.core.device_name import DeviceSpec
from headrace.core.dtypes import DTypeLike
from headrace.core.families import takes
from headrace.graph.defaults import get_default_graph
from headrace.graph.keys import GraphKeys
from headrace.train.schedules import step_count
from headrace.variables.modes import VariableAggregation, VariableSynchronization
from headrace.variables.scope import get_variable, get_variable_scope
from headrace.variables.scope_defaults import VariableScope
from headrace.variables.variable import Variable


def local_variable(
    initial_value: Any, validate_shape: bool = True, name: str | None = None, use_resource: bool | None = None
) -> Any:
    """A local variable that is not trained."""
    return Variable(
        initial_value,
        trainable=False,
        collections=[GraphKeys.LOCAL_VARIABLES],
        validate_shape=validate_shape,
        use_resource=use_resource,
        name=name,
    )


def global_variable(
    initial_value: Any, validate_shape: bool = True, name: str | None = None, use_resource: bool | None = None
) -> Any:
    """A global variable that is not trained."""
    return Variable(
        initial_value,
        trainable=False,
        collections=[GraphKeys.GLOBAL_VARIABLES],
        validate_shape=validate_shape,
        use_resource=use_resource,
        name=name,
    )


@add_arg_scope
def variable(
    name: str,
    shape: Any = None,
    dtype: DTypeLike | None = None,
    initializer: Any = None,
    regularizer: Callable[..., Any] | None = None,
    trainable: bool = True,
    collections: Iterable[str] | None = None,
    caching_device: str | Callable[..., Any] | None = None,
    device: str | Callable[..., Any] | None = None,
    partitioner: Callable[..., Any] | None = None,
    custom_getter: Callable[..., Any] | None = None,
    use_resource: bool | None = None,
    synchronization: Any = VariableSynchronization.AUTO,
    aggregation: Any = VariableAggregation.NONE,
) -> Any:
    """As `tf.get_variable`, on a device.

    Args:
      device: where the variable lives.
      name, shape, ...: as of `tf.get_variable`.
    """
    wanted = [GraphKeys.GLOBAL_VARIABLES] if collections is None else collections
    getter: Any = get_variable
    if custom_getter is not None:
        getter = functools.partial(custom_getter, reuse=get_variable_scope().reuse)
    with get_default_graph().device(device or ""):
        return getter(
            name,
            shape=shape,
            dtype=dtype,
            initializer=initializer,
            regularizer=regularizer,
            trainable=trainable,
            collections=list(dict.fromkeys(wanted)),
            caching_device=caching_device,
            partitioner=partitioner,
            use_resource=use_resource,
            synchronization=synchronization,
            aggregation=aggregation,
        )


@add_arg_scope
@takes(variable, dtype=dtypes.float32)
def model_variable(collections: Any, **options: Any) -> Any:
    """As `variable`, in `GraphKeys.MODEL_VARIABLES` too."""
    keys = [*(collections or ()), GraphKeys.GLOBAL_VARIABLES, GraphKeys.MODEL_VARIABLES]
    return variable(**options, collections=keys)


def add_model_variable(var: Any) -> None:
    """Add a variable to `GraphKeys.MODEL_VARIABLES`, once."""
    graph = get_default_graph()
    if not any(known is var for known in graph.get_collection(GraphKeys.MODEL_VARIABLES)):
        graph.add_to_collection(GraphKeys.MODEL_VARIABLES, var)


def assert_or_get_global_step(graph: Any = None, global_step_tensor: Any = None) -> Any:
    """The given global step, checked, or that of the graph."""
    if global_step_tensor is None:
        return step_count.get_global_step(graph)
    step_count.assert_global_step(global_step_tensor)
    return global_step_tensor


# -- finding them ---------------------------------------------------------------------------------
def get_variables(
    scope: Any = None, suffix: str | None = None, collection: str = GraphKeys.GLOBAL_VARIABLES
) -> list[Any]:
    """The variables of a collection.

    Args:
      scope: their names begin with it (a name, a regular expression or a VariableScope).
      suffix: their names end with it.
      collection: the collection.
    """
    if isinstance(scope, VariableScope):
        scope = scope.name
    if suffix is not None:
        scope = (scope or "") + ".*" + (suffix if ":" in suffix else suffix + ":")
    return get_default_graph().get_collection(collection, scope)


def get_model_variables(scope: Any = None, suffix: str | None = None) -> list[Any]:
    """The variables of models; see `get_variables`."""
    return get_variables(scope, suffix, GraphKeys.MODEL_VARIABLES)


def get_local_variables(scope: Any = None, suffix: str | None = None) -> list[Any]:
    """The local variables; see `get_variables`."""
    return get_variables(scope, suffix, GraphKeys.LOCAL_VARIABLES)


def get_trainable_variables(scope: Any = None, suffix: str | None = None) -> list[Any]:
    """The variables that are trained; see `get_variables`."""
    return get_variables(scope, suffix, GraphKeys.TRAINABLE_VARIABLES)


def get_variables_to_restore(include: Any = None, exclude: Any = None) -> list[Any]:
    """The variables in some scopes and not in others.

    Args:
      include: list of scopes; default all.
      exclude: list of scopes; default none.

    Raises:
      TypeError: one of them is no list.
    """
    for name, scopes in (("include", include), ("exclude", exclude)):
        if scopes is not None and not isinstance(scopes, list | tuple):
            raise TypeError(f"{name} is provided but is not a list or a tuple.")
    found = get_variables() if include is None else [v for s in include for v in get_variables(s)]
    left_out = {id(v) for scope in exclude or () for v in get_variables(scope)}
    return [v for v in found if id(v) not in left_out]


def get_variables_by_suffix(suffix: str, scope: Any = None) -> list[Any]:
    """The variables whose names end with `suffix`."""
    return get_variables(scope=scope, suffix=suffix)


def get_variables_by_name(given_name: str, scope: Any = None) -> list[Any]:
    """The variables of this name, in any scope."""
    return get_variables(scope=scope, suffix=f"/{given_name}:|^{given_name}:")


def get_unique_variable(var_op_name: str) -> Any:
    """The variable of this full name.

    Raises:
      ValueError: there is none.
    """
    found = get_variables(scope=var_op_name)
    if not found:
        raise ValueError(f"Couldn't find variable {var_op_name}")
    for candidate in found:
        if candidate.op.name == var_op_name:
            return candidate
    raise ValueError(f"Variable {var_op_name} does not uniquely identify a variable")


def get_variable_full_name(var: Any) -> str:
    """The name of a variable in checkpoints: that of the whole for a part."""
    info = var._get_save_slice_info()
    name: str = info.full_name if info else var.op.name
    return name


def filter_variables(
    var_list: Any, include_patterns: Any = None, exclude_patterns: Any = None, reg_search: bool = True
) -> list[Any]:
    """Those whose names match one of the patterns to include, and none of those to exclude.

    Args:
      var_list: variables.
      include_patterns: regular expressions; default all match.
      exclude_patterns: regular expressions; default none matches.
      reg_search: match anywhere in the name, else at its beginning.
    """
    matches = re.search if reg_search else re.match

    def wanted(v: Any) -> bool:
        if include_patterns is not None:
            if not any(matches(pattern, v.name) for pattern in include_patterns):
                return False
        return not any(matches(pattern, v.name) for pattern in exclude_patterns or ())

    return [v for v in var_list if wanted(v)]


class VariableDeviceChooser:
    """A device function that deals variables out to parameter servers, one after the other.

    Args:
      num_tasks: how many servers; 0 for none.
      job_name: their job.
      device_type, device_index: the device of each.
      replica: their replica.
    """

    def __init__(
        self,
        num_tasks: int = 0,
        job_name: str = "ps",
        device_type: str = "CPU",
        device_index: int = 0,
        replica: int | None = None,
    ) -> None:
        self._num_tasks, self._job_name, self._replica = num_tasks, job_name, replica
        self._device_type, self._device_index = device_type, device_index
        self._next_task_id = 0

    def __call__(self, op: Any) -> str:
        device = DeviceSpec(
            replica=self._replica, device_type=self._device_type, device_index=self._device_index
        )
        if self._num_tasks > 0:
            device.job, device.task = self._job_name, self._next_task_id
            self._next_task_id = (self._next_task_id + 1) % self._num_tasks
        return device.to_string()
