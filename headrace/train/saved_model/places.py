"""Where the parts of a SavedModel lie."""

from __future__ import annotations

import os
from typing import Any

from headrace.formats import files
from headrace.train.saved_model import saved_model_names as names


def as_text(path: Any) -> str:
    """A path, given as text, bytes or an object that is one."""
    return os.fsdecode(path)


def variables_folder(export_dir: Any) -> str:
    return os.path.join(as_text(export_dir), names.VARIABLES_DIRECTORY)


def variables_path(export_dir: Any) -> str:
    """The prefix of the checkpoint."""
    return os.path.join(variables_folder(export_dir), names.VARIABLES_FILENAME)


def assets_folder(export_dir: Any) -> str:
    return os.path.join(as_text(export_dir), names.ASSETS_DIRECTORY)


def binary_path(export_dir: Any) -> str:
    return os.path.join(as_text(export_dir), names.SAVED_MODEL_FILENAME_PB)


def text_path(export_dir: Any) -> str:
    return os.path.join(as_text(export_dir), names.SAVED_MODEL_FILENAME_PBTXT)


def made(folder: str) -> str:
    """The folder, made where it is missing."""
    files.makedirs(folder)
    return folder
