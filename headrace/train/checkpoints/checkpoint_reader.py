"""Looking into checkpoints from Python: names, shapes, types, values."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

from headrace.core import log
from headrace.core.errors import NotFoundError
from headrace.formats import files
from headrace.formats.checkpoints.checkpoint import describe, open_checkpoint
from headrace.train.checkpoints.checkpoint_files import latest_checkpoint


class CheckpointReader:
    """What a checkpoint holds.  Its list of tensors is read once; values when they are asked for."""

    def __init__(self, filename: Any) -> None:
        self._path = filename.decode() if isinstance(filename, bytes) else filename
        with open_checkpoint(self._path) as reader:
            self._tensors = {name: (dtype, shape) for name, dtype, shape in reader.tensors()}
            self._description = describe(reader)

    def has_tensor(self, tensor_str: str) -> bool:
        """Is there a tensor of this name?"""
        return tensor_str in self._tensors

    def get_variable_to_shape_map(self) -> dict[str, list[int]]:
        """The shape of every tensor, by name."""
        return {name: list(shape) for name, (_, shape) in self._tensors.items()}

    def get_variable_to_dtype_map(self) -> dict[str, Any]:
        """The type of every tensor, by name."""
        return {name: dtype for name, (dtype, _) in self._tensors.items()}

    def get_tensor(self, tensor_str: Any) -> Any:
        """The value of a tensor, as an array.

        Raises:
          NotFoundError: there is none of this name.
          DataLossError: its bytes are damaged.
        """
        name = tensor_str.decode() if isinstance(tensor_str, bytes) else tensor_str
        if name not in self._tensors:
            raise NotFoundError(None, None, f"Key {name} not found in checkpoint ({self._path})")
        with open_checkpoint(self._path) as reader:
            value = reader.read(name)
        dtype, _ = self._tensors[name]
        value = value.view(dtype.as_numpy_dtype) if dtype.is_quantized else value
        return value if value.ndim else value[()]

    def debug_string(self) -> bytes:
        """A line per tensor."""
        return self._description.encode()


def NewCheckpointReader(filepattern: Any) -> CheckpointReader:
    """A reader of the checkpoint at a path.

    Raises:
      NotFoundError: there is none.
      DataLossError: it is damaged.
    """
    return CheckpointReader(filepattern)


def checkpoint_path(ckpt_dir_or_file: Any) -> Any:
    """A path as it is, or the newest checkpoint of a folder."""
    if files.isdir(ckpt_dir_or_file):
        return latest_checkpoint(ckpt_dir_or_file)
    return ckpt_dir_or_file


def load_checkpoint(ckpt_dir_or_file: Any) -> CheckpointReader:
    """A reader of a checkpoint, or of the newest one in a folder.

    Args:
      ckpt_dir_or_file: the path of a checkpoint or of a folder.

    Raises:
      ValueError: the folder has no checkpoint.
    """
    path = checkpoint_path(ckpt_dir_or_file)
    if path is None:
        raise ValueError(
            f"Couldn't find 'checkpoint' file or checkpoints in given directory {ckpt_dir_or_file}"
        )
    return NewCheckpointReader(path)


def load_variable(ckpt_dir_or_file: Any, name: str) -> Any:
    """The value of a variable in a checkpoint.

    Args:
      ckpt_dir_or_file: the path of a checkpoint or of a folder.
      name: the variable's name.
    """
    return load_checkpoint(ckpt_dir_or_file).get_tensor(name.removesuffix(":0"))


def list_variables(ckpt_dir_or_file: Any) -> list[tuple[str, list[int]]]:
    """(name, shape) of every variable in a checkpoint, by name.

    Args:
      ckpt_dir_or_file: the path of a checkpoint or of a folder.
    """
    return sorted(load_checkpoint(ckpt_dir_or_file).get_variable_to_shape_map().items())


def wait_for_new_checkpoint(
    checkpoint_dir: str,
    last_checkpoint: str | None = None,
    seconds_to_sleep: float = 1,
    timeout: float | None = None,
) -> str | None:
    """The newest checkpoint, once it is another than `last_checkpoint`; None after the timeout."""
    log.info("Waiting for new checkpoint at %s", checkpoint_dir)
    end = None if timeout is None else time.time() + timeout
    while True:
        found = latest_checkpoint(checkpoint_dir)
        if found is not None and found != last_checkpoint:
            log.info("Found new checkpoint at %s", found)
            return found
        if end is not None and time.time() + seconds_to_sleep > end:
            return None
        time.sleep(seconds_to_sleep)


def checkpoints_iterator(
    checkpoint_dir: str,
    min_interval_secs: float = 0,
    timeout: float | None = None,
    timeout_fn: Callable[[], bool] | None = None,
) -> Iterator[str]:
    """Paths of new checkpoints as they appear.

    Args:
      checkpoint_dir: the folder to watch.
      min_interval_secs: the least time between two of them.
      timeout: how long to wait for one, in seconds; for ever if None.
      timeout_fn: called when the time has passed; if it returns true, no more will come.
    """
    path: str | None = None
    while True:
        found = wait_for_new_checkpoint(checkpoint_dir, path, timeout=timeout)
        if found is None:
            if not timeout_fn:
                log.info("Timed-out waiting for a checkpoint.")
                return
            if timeout_fn():
                return
            continue
        start, path = time.time(), found
        yield path
        rest = start + min_interval_secs - time.time()
        if rest > 0:
            time.sleep(rest)
