"""Variables whose initial values are those of a checkpoint: `init_from_checkpoint`."""

from __future__ import annotations

from typing import Any

from headrace.core import log
from headrace.graph.defaults import get_default_graph
from headrace.ops.io.checkpoint import restore_v2
from headrace.train.checkpoints import saveable
from headrace.train.checkpoints.checkpoint_reader import checkpoint_path, load_checkpoint
from headrace.variables.resource_base import is_resource_variable
from headrace.variables.store import default_store
from headrace.variables.variable import Variable


def is_variable(value: Any) -> bool:
    return isinstance(value, Variable) or bool(is_resource_variable(value))


def init_from_checkpoint(ckpt_dir_or_file: Any, assignment_map: dict[Any, Any]) -> None:
    """Let variables take their initial values from a checkpoint, when their initializers run.

    Args:
      ckpt_dir_or_file: the path of a checkpoint or of a folder.
      assignment_map: from names in the checkpoint to variables: `{"old/w": "new/w"}`,
        `{"old/w": variable}`, `{"old/w": [parts of a variable]}`, or from scope to scope
        (`{"old/": "new/"}`; "/" for all).

    Raises:
      ValueError: a variable or a tensor is missing, or shapes differ.

    Example:
      >>> tf.train.init_from_checkpoint("/tmp/model.ckpt", {"encoder/": "new_encoder/"})
    """
    path = checkpoint_path(ckpt_dir_or_file)
    shapes = load_checkpoint(ckpt_dir_or_file).get_variable_to_shape_map()
    store = default_store()._vars
    for name, target in sorted(assignment_map.items()):
        found = _variables(target, store)
        if found is not None:
            _check_one(found, name, shapes, ckpt_dir_or_file)
            _start(found, path, name)
        else:
            _start_scope(name, target, shapes, store, path, ckpt_dir_or_file)


def _variables(target: Any, store: dict[str, Any]) -> Any:
    """A variable, or a list of parts of one, for an object or a name; None for a scope."""
    if is_variable(target) or (isinstance(target, list) and all(map(is_variable, target))):
        return target
    found = store.get(target)
    return found if found is not None else _parts(target, store)


def _parts(name: str, store: dict[str, Any]) -> list[Any] | None:
    parts: list[Any] = []
    while (part := store.get(f"{name}/part_{len(parts)}")) is not None:
        parts.append(part)
    return parts or None


def _check_one(found: Any, name: str, shapes: dict[str, list[int]], source: Any) -> None:
    if name not in shapes:
        raise ValueError(f"Tensor {name} is not found in {source} checkpoint {shapes}")
    if is_variable(found) and not found.get_shape().is_compatible_with(shapes[name]):
        raise ValueError(
            f"Shape of variable {found.name} ({found.get_shape()}) doesn't match with shape of "
            f"tensor {name} ({shapes[name]}) from checkpoint reader."
        )


def _start_scope(
    name: str, target: str, shapes: dict[str, list[int]], store: Any, path: Any, source: Any
) -> None:
    """All variables in a scope, from those of a scope of the checkpoint."""
    scope = target.rpartition("/")[0]
    if not name.endswith("/"):
        raise ValueError(
            f"Assignment map with scope only name {scope} should map to scope only {name}. Should "
            "be 'scope/': 'other_scope/'."
        )
    inside = {
        variable.partition("/part_")[0] for variable in store if not scope or variable.startswith(scope + "/")
    }
    for variable in sorted(inside):
        rest = variable[len(scope) :]
        rest = rest if target == "/" else rest[1:]
        stored = (rest if name == "/" else name + rest).removesuffix("/")
        if stored not in shapes:
            raise ValueError(
                f"Tensor {stored} ({variable[len(scope) + 1 :]} in {name}) is not found in "
                f"{source} checkpoint"
            )
        found = store.get(variable)
        _start(found if found is not None else _parts(variable, store), path, stored)


def _start(found: Any, path: Any, name: str) -> None:
    if not isinstance(found, (list, tuple)):
        _set_initializer(found, path, name, "")
        return
    full_name = None
    for part in found:
        info = part._get_save_slice_info()
        if full_name not in (None, info.full_name):
            raise ValueError(f"Slices must all be from the same tensor: {full_name} != {info.full_name}")
        full_name = info.full_name
        _set_initializer(part, path, name, info.spec)


def _set_initializer(variable: Any, path: Any, name: str, slice_spec: str) -> None:
    """Reading the checkpoint takes the place of the variable's initializer."""
    graph = get_default_graph()
    # Reading is done by a CPU, and must not bring the variable there.
    with graph.device(variable.device), graph.device("/cpu:0"):
        (value,) = restore_v2(
            path, [name], [slice_spec], [variable.dtype.base_dtype], name="checkpoint_initializer"
        )
        named = saveable.op_list_to_dict([variable])
        (target,) = [
            one for key, item in named.items() for one in saveable.saveable_objects_for_op(item, key)
        ]
    variable._initializer_op = target.restore([value], restored_shapes=None)
    value.set_shape(variable.shape)
    variable._initial_value = value
    log.debug("Initialize variable %s from checkpoint %s with %s", variable.name, path, name)
