"""tensorflow.python.lib.io.file_io: whole files at once."""

from __future__ import annotations

from typing import Any

from headrace.formats import files
from headrace.formats.gfile import GFile


def read_file_to_string(filename: Any, binary_mode: bool = False) -> Any:
    """The whole file, as text or octets."""
    with GFile(filename, "rb" if binary_mode else "r") as file:
        return file.read()


def write_string_to_file(filename: Any, file_content: Any) -> None:
    """Make the file hold this and nothing else."""
    with GFile(filename, "w") as file:
        file.write(file_content)


def atomic_write_string_to_file(filename: Any, contents: Any, overwrite: bool = True) -> None:
    """The same; a reader sees the old file or the new one."""
    written = f"{filename}.tmp"
    write_string_to_file(written, contents)
    files.rename_v1(written, filename, overwrite)
