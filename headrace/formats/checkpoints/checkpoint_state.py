"""The file `checkpoint` in a folder of checkpoints: text that names the newest and those still kept."""

from __future__ import annotations

import os
from typing import Any

from headrace.core import log
from headrace.core.errors import OpError
from headrace.formats import durable, files, proto

FILENAME = "checkpoint"


def state_path(folder: Any, filename: str | None = None) -> str:
    return os.path.join(files.local(folder), filename or FILENAME)


def read(folder: Any, filename: str | None = None) -> Any:
    """The CheckpointState of a folder, with full paths; None where there is none that can be read.

    Raises:
      ValueError: it names no checkpoint.
    """
    from google.protobuf.text_format import ParseError

    path = state_path(folder, filename)
    if not files.exists(path):
        return None
    try:
        state = proto.from_text(files.read_bytes(path).decode(), proto.CheckpointState())
    except (OpError, ParseError, UnicodeDecodeError) as error:
        log.warning("%s: %s", type(error).__name__, error)
        log.warning("%s: Checkpoint ignored", path)
        return None
    if not state.model_checkpoint_path:
        raise ValueError(f"Invalid checkpoint state loaded from {folder}")
    base = files.local(folder)
    state.model_checkpoint_path = os.path.join(base, state.model_checkpoint_path)
    paths = [os.path.join(base, kept) for kept in state.all_model_checkpoint_paths]
    state.all_model_checkpoint_paths[:] = paths
    return state


def write(folder: Any, state: Any, filename: str | None = None) -> None:
    """Replace the file at once; what it names must be on the disk already."""
    durable.write(state_path(folder, filename), proto.to_text(state))
