"""Checkpoints, described in lines of text."""

from __future__ import annotations

import math
from typing import Any

from headrace.formats.checkpoints.checkpoint import open_checkpoint
from headrace.tools.describe_text import columns, shape, shortened, size
from headrace.train.checkpoints.checkpoint_files import get_checkpoint_state


def describe_checkpoint(prefix: Any, limit: int) -> list[str]:
    """The tensors of a checkpoint: name, type, shape, size, and in how many slices they lie."""
    with open_checkpoint(prefix) as reader:
        rows, total, numbers = [], 0, 0
        for name, dtype, sizes in sorted(reader.tensors()):
            count = math.prod(sizes)
            parts = len(reader.slices(name))
            bytes_ = count * dtype.size if dtype.kind not in "srv" else 0
            total += bytes_
            numbers += count
            note = f"in {parts} slices" if parts > 1 else ""
            rows.append((name, dtype.name, shape(sizes), size(bytes_) if bytes_ else "", note))
    lines = shortened(columns(rows), limit)
    return [*lines, f"  {len(rows)} tensors, {numbers:,} numbers, {size(total)}"]


def describe_checkpoints(folder: str, limit: int) -> list[str]:
    """What the state file of a folder says, and its latest checkpoint."""
    state = get_checkpoint_state(folder)
    if state is None:
        return ["no checkpoint state"]
    lines = [f"latest  {state.model_checkpoint_path}"]
    others = [p for p in state.all_model_checkpoint_paths if p != state.model_checkpoint_path]
    lines += [f"also    {path}" for path in others]
    return [*lines, *describe_checkpoint(state.model_checkpoint_path, limit)]
