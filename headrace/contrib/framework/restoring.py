"""tf.contrib.framework: variables from values, or from a checkpoint."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from headrace.contrib.framework.variables import get_variable_full_name
from headrace.functions.array.array import placeholder
from headrace.functions.control.grouping import group
from headrace.graph.defaults import get_default_graph
from headrace.graph.keys import GraphKeys
from headrace.train.checkpoints.checkpoint_reader import NewCheckpointReader
from headrace.train.checkpoints.saver import Saver

_log = logging.getLogger("headrace")


def assign_from_values(var_names_to_values: dict[str, Any]) -> tuple[Any, dict[Any, Any]]:
    """A node that assigns values, and what to feed it.

    Args:
      var_names_to_values: arrays, by full name of a variable.

    Raises:
      ValueError: there is no variable of a name.
    """
    feeds, assignments = {}, []
    for name, value in var_names_to_values.items():
        var = _named(name)
        given = _placeholder(var)
        assignments.append(var.assign(given))
        feeds[given] = value.reshape(var.shape.as_list())
    return group(*assignments), feeds


def _named(name: str) -> Any:
    found = get_default_graph().get_collection(GraphKeys.GLOBAL_VARIABLES, name)
    if not found:
        raise ValueError(f"Variable {name} wasn't found")
    if len(found) == 1:
        return found[0]
    for var in found:
        if var.op.name == name:
            return var
    raise ValueError(f"Variable {name} doesn't uniquely identify a variable")


def _placeholder(var: Any) -> Any:
    return placeholder(var.dtype.base_dtype, var.shape, name=f"placeholder/{var.op.name}")


def assign_from_values_fn(var_names_to_values: dict[str, Any]) -> Callable[[Any], Any]:
    """A function of a session that assigns the values of `assign_from_values`."""
    assignment, feeds = assign_from_values(var_names_to_values)
    return lambda session: session.run(assignment, feeds)


def assign_from_checkpoint(
    model_path: Any, var_list: Any, ignore_missing_vars: bool = False
) -> tuple[Any, dict[Any, Any]]:
    """A node that assigns what a checkpoint holds, and what to feed it.

    Args:
      model_path: the checkpoint.
      var_list: variables, or a dictionary from names in the checkpoint to a variable or several.
      ignore_missing_vars: leave out those that the checkpoint does not have.

    Raises:
      ValueError: the checkpoint lacks one, or has it in another shape.
    """
    reader = NewCheckpointReader(model_path)
    feeds, assignments = {}, []
    for name, variables in _grouped(var_list).items():
        if not reader.has_tensor(name):
            message = f"Checkpoint is missing variable [{name}]"
            if not ignore_missing_vars:
                raise ValueError(message)
            _log.warning(message)
            continue
        value = reader.get_tensor(name)
        for var in variables:
            given = _placeholder(var)
            assignments.append(var.assign(given))
            feeds[given] = _part(var, name, value)
    return group(*assignments), feeds


def _grouped(var_list: Any) -> dict[str, list[Any]]:
    grouped: dict[str, list[Any]] = {}
    if isinstance(var_list, dict):
        for name, value in var_list.items():
            grouped[name] = list(value) if isinstance(value, list | tuple) else [value]
    else:
        for var in var_list:
            grouped.setdefault(get_variable_full_name(var), []).append(var)
    return grouped


def _part(var: Any, name: str, value: Any) -> Any:
    """What of a value belongs to a variable, which may be a part of a larger one."""
    info = var._get_save_slice_info()
    if info:
        ranges = zip(info.var_offset, info.var_shape, strict=True)
        return value[tuple(slice(start, start + size) for start, size in ranges)]
    if var.shape.as_list() != list(value.shape):
        raise ValueError(
            f"Total size of new array must be unchanged for {name} lh_shape: [{value.shape}], "
            f"rh_shape: [{var.shape}]"
        )
    return value


def assign_from_checkpoint_fn(
    model_path: Any, var_list: Any, ignore_missing_vars: bool = False, reshape_variables: bool = False
) -> Callable[[Any], None] | None:
    """A function of a session that restores variables from a checkpoint; None if none are left.

    Args:
      model_path: the checkpoint.
      var_list: variables, or a dictionary from names in the checkpoint.
      ignore_missing_vars: leave out those that the checkpoint does not have.
      reshape_variables: shapes may differ, if sizes do not.

    Raises:
      ValueError: `var_list` is empty.
    """
    if not var_list:
        raise ValueError("var_list cannot be empty")
    if ignore_missing_vars:
        reader = NewCheckpointReader(model_path)
        named = var_list if isinstance(var_list, dict) else {v.op.name: v for v in var_list}
        for name in named:
            if not reader.has_tensor(name):
                _log.warning("Variable %s missing in checkpoint %s", name, model_path)
        var_list = {name: v for name, v in named.items() if reader.has_tensor(name)}
    if not var_list:
        _log.warning("No Variables to restore")
        return None
    saver = Saver(var_list, reshape=reshape_variables)
    return lambda session: saver.restore(session, model_path)
