"""The checkpoints of a folder: which there are, which is the newest, and how they are removed."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Any

from headrace.core import log
from headrace.formats import durable, files, proto
from headrace.formats.checkpoints import bundle, checkpoint, checkpoint_state
from headrace.train.checkpoints.saver_builder import V2


def _text(path: Any) -> str:
    path = os.fspath(path)
    return path.decode() if isinstance(path, bytes) else path


def generate_checkpoint_state_proto(
    save_dir: Any,
    model_checkpoint_path: Any,
    all_model_checkpoint_paths: Any = None,
    all_model_checkpoint_timestamps: Any = None,
    last_preserved_timestamp: float | None = None,
) -> Any:
    """The CheckpointState of a folder.

    Args:
      save_dir: the folder.
      model_checkpoint_path: the newest checkpoint.
      all_model_checkpoint_paths: all that are kept, the newest last.
      all_model_checkpoint_timestamps: when each of them was saved, in seconds.
      last_preserved_timestamp: when the last one was saved that is kept for good.

    Returns: a CheckpointState; paths are relative to a relative folder.

    Raises:
      ValueError: there are more or fewer times than paths.
    """
    newest = _text(model_checkpoint_path)
    paths = all_model_checkpoint_paths if all_model_checkpoint_paths is not None else []
    if not paths or paths[-1] != model_checkpoint_path:
        log.info("%s is not in all_model_checkpoint_paths. Manually adding it.", model_checkpoint_path)
        paths.append(model_checkpoint_path)
    times = all_model_checkpoint_timestamps
    if times and len(times) != len(paths):
        raise ValueError(
            "Checkpoint timestamps, if provided, must match checkpoint paths (got paths "
            f"{paths} and timestamps {times})"
        )
    texts = [_text(path) for path in paths]
    folder = _text(save_dir)
    if not os.path.isabs(folder):
        newest = _relative(newest, folder)
        texts = [_relative(path, folder) for path in texts]
    return proto.CheckpointState(
        model_checkpoint_path=newest,
        all_model_checkpoint_paths=texts,
        all_model_checkpoint_timestamps=times,
        last_preserved_timestamp=last_preserved_timestamp,
    )


def _relative(path: str, folder: str) -> str:
    return path if os.path.isabs(path) else os.path.relpath(path, folder or ".")


def update_checkpoint_state(
    save_dir: str,
    model_checkpoint_path: str,
    all_model_checkpoint_paths: Sequence[str] | None = None,
    latest_filename: str | None = None,
    all_model_checkpoint_timestamps: Sequence[float] | None = None,
    last_preserved_timestamp: float | None = None,
) -> None:
    """Write the file `checkpoint` of a folder.

    Args:
      save_dir: the folder.
      model_checkpoint_path: the newest checkpoint.
      all_model_checkpoint_paths: all that are kept, the newest last.
      latest_filename: the file's name; "checkpoint" if None.
      all_model_checkpoint_timestamps: when each of them was saved, in seconds.
      last_preserved_timestamp: when the last one was saved that is kept for good.

    Raises:
      RuntimeError: the checkpoint has the name of the file.
    """
    write_state(
        save_dir,
        model_checkpoint_path,
        all_model_checkpoint_paths,
        latest_filename,
        all_model_checkpoint_timestamps=all_model_checkpoint_timestamps,
        last_preserved_timestamp=last_preserved_timestamp,
    )


def write_state(
    save_dir: str,
    newest: Any,
    kept: Any = None,
    filename: str | None = None,
    relative: bool = False,
    **times: Any,
) -> None:
    """`update_checkpoint_state`, with paths relative to the folder if asked for."""
    if relative:
        newest = _inside(_text(newest), _text(save_dir))
        kept = [_inside(_text(path), _text(save_dir)) for path in kept or ()]
    state = generate_checkpoint_state_proto(save_dir, newest, kept, **times)
    if checkpoint_state.state_path(save_dir, filename) == state.model_checkpoint_path:
        raise RuntimeError(
            f"Save path '{newest}' conflicts with path used for checkpoint state.  Please use a "
            "different save path."
        )
    checkpoint_state.write(save_dir, state, filename)


def _inside(path: str, folder: str) -> str:
    return os.path.relpath(path, folder) if os.path.isabs(path) else path


def get_checkpoint_state(checkpoint_dir: Any, latest_filename: str | None = None) -> Any:
    """The CheckpointState in a folder, or None.

    Args:
      checkpoint_dir: the folder.
      latest_filename: the file's name; "checkpoint" if None.

    Raises:
      ValueError: it names no checkpoint.
    """
    return checkpoint_state.read(checkpoint_dir, latest_filename)


def latest_checkpoint(checkpoint_dir: Any, latest_filename: str | None = None) -> str | None:
    """The path of the newest checkpoint in a folder, or None.

    Args:
      checkpoint_dir: the folder.
      latest_filename: the name of the state file; "checkpoint" if None.
    """
    state = get_checkpoint_state(checkpoint_dir, latest_filename)
    if state is None:
        return None
    newest = str(state.model_checkpoint_path)
    if checkpoint.exists(newest):
        return newest
    log.error("Couldn't match files for checkpoint %s", newest)
    return None


def checkpoint_exists(checkpoint_prefix: Any) -> bool:
    """Is there a checkpoint of this name, of either format?"""
    return checkpoint.exists(_text(checkpoint_prefix))


def get_checkpoint_mtimes(checkpoint_prefixes: Any) -> list[float]:
    """When checkpoints were saved, in seconds; those that do not exist are left out."""
    times = []
    for prefix in checkpoint_prefixes:
        path = files.local(_text(prefix))
        found = files.glob(bundle.current_index(path)) or files.glob(path)
        if found:
            times.append(files.stat(found[0]).mtime_nsec / 1e9)
    return times


def remove_checkpoint(
    checkpoint_prefix: Any, checkpoint_format_version: int = V2, meta_graph_suffix: str = "meta"
) -> None:
    """Delete the files of a checkpoint.

    Args:
      checkpoint_prefix: its path.
      checkpoint_format_version: SaverDef.V1 or SaverDef.V2.
      meta_graph_suffix: the ending of its meta graph.
    """
    prefix = files.local(_text(checkpoint_prefix))
    patterns = [meta_graph_filename(prefix, meta_graph_suffix)]
    if checkpoint_format_version == V2:
        # the index goes first: what is left over then is no checkpoint
        indices = [prefix + ".index" + durable.SUFFIX, prefix + ".index"]
        shards = prefix + ".data-?????-of-?????"
        patterns = [*indices, *patterns, shards, shards + durable.SUFFIX]
    else:
        patterns.append(prefix)
    for pattern in patterns:
        for path in files.glob(pattern):
            files.remove(path)


def meta_graph_filename(checkpoint_filename: str, meta_graph_suffix: str = "meta") -> str:
    """Where the meta graph of a checkpoint is; shards share one."""
    base = re.sub(r"-[\d\?]+-of-\d+$", "", checkpoint_filename)
    return f"{base}.{meta_graph_suffix}"
