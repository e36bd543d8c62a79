"""Starting a model from another one's checkpoint: `warm_start`, vocabularies included."""

from __future__ import annotations

from typing import Any, NamedTuple

from headrace.core import log
from headrace.core.errors import NotFoundError
from headrace.graph.defaults import get_default_graph
from headrace.graph.keys import GraphKeys
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.train.checkpoints import saveable
from headrace.train.checkpoints.checkpoint_reader import checkpoint_path
from headrace.train.checkpoints.object_names import object_graph_key_mapping
from headrace.train.checkpoints.remapped_matrix import Vocabularies, matrix_initializer
from headrace.train.checkpoints.start_from_checkpoint import init_from_checkpoint, is_variable
from headrace.variables.partitioned import PartitionedVariable
from headrace.variables.slices import PartitionInfo


class _VocabInfo(NamedTuple):
    new_vocab: Any
    new_vocab_size: int
    num_oov_buckets: int
    old_vocab: Any
    old_vocab_size: int
    backup_initializer: Any
    axis: int


class VocabInfo(_VocabInfo):
    """How the vocabulary of a variable has changed.

    Args:
      new_vocab: path of the new vocabulary, one entry a line.
      new_vocab_size: how many of its entries are used.
      num_oov_buckets: rows for words that are in no vocabulary.
      old_vocab: path of the old vocabulary.
      old_vocab_size: how many of its entries were used; all if -1.
      backup_initializer: makes the values of new entries; zeros if None.
      axis: 0 if rows belong to entries, 1 if columns do.

    Raises:
      ValueError: another axis.
    """

    def __new__(
        cls,
        new_vocab: Any,
        new_vocab_size: int,
        num_oov_buckets: int,
        old_vocab: Any,
        old_vocab_size: int = -1,
        backup_initializer: Any = None,
        axis: int = 0,
    ) -> VocabInfo:
        if axis not in (0, 1):
            raise ValueError(
                f"The only supported values for the axis argument are 0 and 1.  Provided axis: {axis}"
            )
        return super().__new__(
            cls,
            new_vocab,
            new_vocab_size,
            num_oov_buckets,
            old_vocab,
            old_vocab_size,
            backup_initializer,
            axis,
        )


def warm_start(
    ckpt_to_initialize_from: Any,
    vars_to_warm_start: Any = ".*",
    var_name_to_vocab_info: dict[str, VocabInfo] | None = None,
    var_name_to_prev_var_name: dict[str, str] | None = None,
) -> None:
    """Let variables begin with the values of another model.

    Args:
      ckpt_to_initialize_from: the path of its checkpoint, or of a folder.
      vars_to_warm_start: a regular expression for names of trainable variables; a list of such for
        all global variables; a list of variables; or None for those in `var_name_to_vocab_info`.
      var_name_to_vocab_info: vocabularies that have changed, by variable.
      var_name_to_prev_var_name: names in the checkpoint that differ, by variable.

    Raises:
      ValueError: something was said of variables that are not started.
    """
    log.info("Warm-starting from: %s", ckpt_to_initialize_from)
    groups = _groups(vars_to_warm_start)
    infos = var_name_to_vocab_info or {}
    renames = var_name_to_prev_var_name or _object_names(ckpt_to_initialize_from, groups)
    plain, count = {}, 0
    for name, variables in groups.items():
        previous = renames.get(name)
        info = infos.get(name)
        if info:
            _start_with_vocabulary(variables, info, ckpt_to_initialize_from, previous)
        elif vars_to_warm_start:
            plain[previous or name] = variables[0] if len(variables) == 1 else variables
        else:
            continue
        count += 1
        log.debug("Warm-starting variable: %s; prev_var_name: %s", name, previous or "Unchanged")
    init_from_checkpoint(ckpt_to_initialize_from, plain)
    log.info("Warm-started %d variables.", count)
    _check_used("var_name_to_prev_var_name", renames, groups)
    _check_used("var_name_to_vocab_info", infos, groups)


def _check_used(argument: str, given: dict[str, Any], groups: dict[str, Any]) -> None:
    unused = set(given) - set(groups)
    if unused:
        raise ValueError(
            f"You provided the following variables in {argument} that were not used: {unused}.  "
            "Perhaps you misspelled them?  Here is the list of viable variable names: "
            f"{list(groups)}"
        )


def _groups(wanted: Any) -> dict[str, list[Any]]:
    """Variables by name; parts of one variable together."""
    groups: dict[str, list[Any]] = {}
    for variable in _selected(wanted):
        name = _name(variable if isinstance(variable, list) else [variable])
        groups.setdefault(name, []).append(variable)
    return groups


def _selected(wanted: Any) -> list[Any]:
    graph = get_default_graph()
    if wanted is None or isinstance(wanted, str):
        log.info("Warm-starting variables only in TRAINABLE_VARIABLES.")
        return graph.get_collection(GraphKeys.TRAINABLE_VARIABLES, wanted)
    if not isinstance(wanted, list):
        raise ValueError(f"`vars_to_warm_start must be a `list` or `str`.  Given type is {type(wanted)}")
    if all(isinstance(v, str) for v in wanted):
        return [v for s in wanted for v in graph.get_collection(GraphKeys.GLOBAL_VARIABLES, s)]
    if not all(map(is_variable, wanted)):
        raise ValueError(
            "If `vars_to_warm_start` is a list, it must be all `Variable` or all `str`.  Given "
            f"types are {[type(v) for v in wanted]}"
        )
    return wanted


def _name(variables: list[Any]) -> str:
    named = saveable.op_list_to_dict(variables)
    if len(named) > 1:
        raise TypeError(
            f"`var` = {variables} passed as arg violates the constraints.  name_to_var_dict = {named}"
        )
    return next(iter(named))


def _object_names(path: Any, names: Any) -> dict[str, str]:
    """Keys of an object-based checkpoint by variable names; nothing for another."""
    try:
        keys = object_graph_key_mapping(checkpoint_path(path))
    except NotFoundError:
        return {}
    missing = set(names) - set(keys)
    if missing:
        raise ValueError(
            "The checkpoint to start from was written by tf.train.Checkpoint, and did not contain all "
            f"variables: {missing} are missing."
        )
    return {name: keys[name] for name in names}


def _start_with_vocabulary(variables: Any, info: VocabInfo, checkpoint: Any, previous: str | None) -> None:
    if not (info.new_vocab and info.new_vocab_size and checkpoint and info.old_vocab):
        raise ValueError(
            "Invalid args: Must provide all of [current_vocab_path, current_vocab_size, prev_ckpt, "
            "prev_vocab_path}."
        )
    parts = _parts(variables)
    rows = sum(part.get_shape().as_list()[0] for part in parts)
    for part in parts:
        shape = part.get_shape().as_list()
        sliced = part._get_save_slice_info()
        where = PartitionInfo(sliced.full_shape, sliced.var_offset) if sliced else None
        initialize = _initializer(info, checkpoint, previous or _name(parts), rows, shape[1])
        value = convert_to_tensor(initialize(shape=shape, partition_info=where))
        part._initializer_op = part.assign(value, read_value=False)


def _parts(variables: Any) -> list[Any]:
    if is_variable(variables):
        return [variables]
    if isinstance(variables, PartitionedVariable):
        return variables._get_variable_list()
    if isinstance(variables, list) and all(map(is_variable, variables)):
        return variables
    raise TypeError(
        "var MUST be one of the following: a Variable, list of Variable or PartitionedVariable, "
        f"but is {type(variables)}"
    )


def _initializer(info: VocabInfo, checkpoint: Any, name: str, rows: int, cols: int) -> Any:
    path = checkpoint_path(checkpoint)
    if info.axis == 0:
        return matrix_initializer(
            path,
            name,
            info.new_vocab_size,
            cols,
            Vocabularies(info.old_vocab, info.new_vocab),
            old_row_vocab_size=info.old_vocab_size,
            row_oov=info.num_oov_buckets,
            initializer=info.backup_initializer,
        )
    words = Vocabularies(old_cols=info.old_vocab, new_cols=info.new_vocab)
    return matrix_initializer(
        path,
        name,
        rows,
        info.new_vocab_size,
        words,
        col_oov=info.num_oov_buckets,
        initializer=info.backup_initializer,
    )
