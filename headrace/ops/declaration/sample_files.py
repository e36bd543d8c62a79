"""Files for the samples of ops that read and write them: a folder of this process."""

from __future__ import annotations

import atexit
import os
import tempfile
from functools import cache

import numpy as np


def text(value: str) -> np.ndarray:
    """A string scalar."""
    out = np.empty((), object)
    out[()] = value.encode()
    return out


def texts(*values: str) -> np.ndarray:
    """A vector of strings."""
    return np.array([value.encode() for value in values], object)


@cache
def _folder() -> str:
    folder = tempfile.TemporaryDirectory(prefix="headrace_samples")
    atexit.register(folder.cleanup)
    return folder.name


def scratch(name: str) -> np.ndarray:
    """A path that a sample may write to; it goes with the process."""
    return text(os.path.join(_folder(), name))


def written(name: str, data: bytes) -> np.ndarray:
    """The path of a file with these bytes."""
    path = scratch(name)
    with open(path.item(), "wb") as file:
        file.write(data)
    return path
