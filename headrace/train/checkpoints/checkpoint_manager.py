"""tf.train.CheckpointManager: numbers the checkpoints of a Checkpoint, and deletes old ones."""

from __future__ import annotations

import numbers
import os
import time
from typing import Any

from headrace.core import log
from headrace.core.fields import reads
from headrace.graph.defaults import get_default_session
from headrace.train.checkpoints import checkpoint_files
from headrace.train.schedules.step_count import global_step

_HOUR = 3600.0


class CheckpointManager:
    """Keeps the newest checkpoints in a folder; takes over what an earlier one kept there.

    Args:
      checkpoint: the tf.train.Checkpoint.
      directory: the folder.
      max_to_keep: how many to keep; all if None.
      keep_checkpoint_every_n_hours: of those that would go, keep one every so many hours.
      checkpoint_name: beginning of the files' names.

    Raises:
      ValueError: `max_to_keep` is not positive.
    """

    def __init__(
        self,
        checkpoint: Any,
        directory: Any,
        max_to_keep: int | None,
        keep_checkpoint_every_n_hours: float | None = None,
        checkpoint_name: str = "ckpt",
    ) -> None:
        if max_to_keep is not None and max_to_keep <= 0:
            raise ValueError(
                f"Expected a positive integer or `None` for `max_to_max_to_keep`, got {max_to_keep}."
            )
        self._checkpoint, self._directory = checkpoint, os.fspath(directory)
        self._max_to_keep, self._keep_hours = max_to_keep, keep_checkpoint_every_n_hours
        self._prefix = os.path.join(self._directory, checkpoint_name)
        self._kept: dict[str, float] = {}
        self._latest: str | None = None
        self._last_preserved = time.time() - 1
        self._recover()

    def _recover(self) -> None:
        state = checkpoint_files.get_checkpoint_state(self._directory)
        if state is None:
            return
        now = time.time()
        self._latest = state.model_checkpoint_path
        self._last_preserved = state.last_preserved_timestamp
        if now < self._last_preserved:
            log.warning(
                "time.time() returned a value %f seconds behind the last preserved checkpoint timestamp.",
                self._last_preserved - now,
            )
            self._last_preserved = now
        paths = list(state.all_model_checkpoint_paths)
        times = list(state.all_model_checkpoint_timestamps) or [self._last_preserved] * len(paths)
        for path, saved in zip(paths, times):
            if min(saved, now) > self._last_preserved:
                self._kept[path] = min(saved, now)

    latest_checkpoint: str | None = reads("_latest", "The newest checkpoint, or None.")

    @property
    def checkpoints(self) -> list[str]:
        """All that are managed, the newest last."""
        return list(self._kept)

    def save(self, checkpoint_number: Any = None) -> str:
        """Save, and delete what is too much.

        Args:
          checkpoint_number: a number, variable or tensor; the checkpoint's counter if None.

        Returns: the path of the new checkpoint.
        """
        session = get_default_session()
        number = self._checkpoint._next_number(session)
        if checkpoint_number is not None:
            is_number = isinstance(checkpoint_number, numbers.Integral)
            number = checkpoint_number if is_number else global_step(session, checkpoint_number)
        path: str = self._checkpoint.write(f"{self._prefix}-{number}")
        self._kept.pop(path, None)
        self._kept[path] = time.time()
        self._latest = path
        self._write_state()
        self._sweep()
        self._write_state()
        return path

    def _write_state(self) -> None:
        checkpoint_files.write_state(
            self._directory,
            self._latest,
            list(self._kept),
            relative=True,
            all_model_checkpoint_timestamps=list(self._kept.values()),
            last_preserved_timestamp=self._last_preserved,
        )

    def _sweep(self) -> None:
        while self._max_to_keep and len(self._kept) > self._max_to_keep:
            path = next(iter(self._kept))
            saved = self._kept.pop(path)
            hours = self._keep_hours
            if hours and saved - hours * _HOUR >= self._last_preserved:
                self._last_preserved = saved
                continue
            checkpoint_files.remove_checkpoint(path)
