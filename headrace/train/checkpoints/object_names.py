"""Checkpoints of tf.train.Checkpoint, read by variable names: they hold a graph of objects that says which
key belongs to which variable."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from headrace.core.errors import DataLossError, NotFoundError
from headrace.formats import proto
from headrace.formats.checkpoints.checkpoint import open_checkpoint
from headrace.train.checkpoints import saveable

GRAPH_KEY = "_CHECKPOINTABLE_OBJECT_GRAPH"


def object_graph_of(checkpoint_path: Any) -> Any:
    """The TrackableObjectGraph in a checkpoint.

    Raises:
      NotFoundError: it has none.
      DataLossError: it is damaged.
    """
    from google.protobuf.message import DecodeError

    with open_checkpoint(checkpoint_path) as reader:
        serialized = reader.read(GRAPH_KEY)
    try:
        return proto.TrackableObjectGraph.FromString(serialized.item())
    except (DecodeError, TypeError, ValueError):
        raise DataLossError(None, None, f"{checkpoint_path}: {GRAPH_KEY} is no graph of objects") from None


def object_graph_key_mapping(checkpoint_path: Any) -> dict[str, str]:
    """Keys in the checkpoint by the names of variables.

    Raises:
      NotFoundError: the checkpoint has no graph of objects.
    """
    nodes = object_graph_of(checkpoint_path).nodes
    return {a.full_name: a.checkpoint_key for node in nodes for a in node.attributes}


def saver_for_objects(
    make_saver: Any,
    checkpoint_path: str,
    var_list: Iterable[Any] | None = None,
    names_to_keys: dict[str, str] | None = None,
    cached_saver: Any = None,
) -> Any:
    """A saver of variables under the keys of an object-based checkpoint.

    Raises:
      ValueError: the checkpoint is of another kind.
      NotFoundError: it lacks variables.
    """
    if names_to_keys is None:
        try:
            names_to_keys = object_graph_key_mapping(checkpoint_path)
        except NotFoundError:
            raise ValueError(f"Checkpoint in {checkpoint_path} not an object-based checkpoint.") from None
    if var_list is None:
        var_list = saveable.all_saveable_objects()
    saveables = saveable.validate_and_slice_inputs(var_list)
    current = {spec.name for one in saveables for spec in one.specs}
    _check_names(current, set(names_to_keys))
    for one in saveables:
        for spec in one.specs:
            spec.name = names_to_keys[spec.name]
    return make_saver(saveables) if cached_saver is None else cached_saver


def _check_names(current: set[str], stored: set[str]) -> None:
    missing = current - stored
    if missing:
        raise NotFoundError(
            None,
            None,
            f"\n\nExisting variables not in the checkpoint: {', '.join(sorted(missing))}\n\n"
            "Variables names when this checkpoint was written which don't exist now: "
            f"{', '.join(sorted(stored - current))}\n\n"
            f"({len(current & stored)} variable name(s) did match)\n\n"
            "Could not find some variables in the checkpoint (see names above). It was written by "
            "tf.train.Checkpoint or Keras, and is read by variable names: names may have changed, "
            "or variables are new. A Saver(var_list={old name: variable}) reads what is there.",
        )
