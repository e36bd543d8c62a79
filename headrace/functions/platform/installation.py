"""tf.sysconfig, tf.resource_loader, libraries of custom ops: where things are on this machine."""

from __future__ import annotations

import os
import sys
from typing import Any, NoReturn

import headrace
from headrace.core.errors import NotFoundError, UnimplementedError
from headrace.formats import files

CXX11_ABI_FLAG = 1
MONOLITHIC_BUILD = 0
_ROOT = os.path.dirname(os.path.abspath(headrace.__file__))


# -- libraries ----------------------------------------------------------------------------------
def _no_library(path: Any, kind: str) -> NoReturn:
    if not files.exists(path):
        raise NotFoundError(None, None, f"{path}: cannot open shared object file: No such file or directory")
    raise UnimplementedError(None, None, f"{path}: {kind} compiled for TensorFlow can not be loaded here")


def load_op_library(library_filename: Any) -> NoReturn:
    """Compiled custom ops are refused: declare the op in Python instead (headrace.ops.declaration.declare).

    Raises:
      NotFoundError: there is no such file.
      UnimplementedError: there is.
    """
    _no_library(library_filename, "ops")


def load_file_system_library(library_filename: Any) -> NoReturn:
    """Compiled file systems are refused."""
    _no_library(library_filename, "a file system")


def load_library(library_location: Any) -> NoReturn:
    """Compiled libraries (a file, or a folder of them) are refused."""
    _no_library(library_location, "a library")


# -- tf.sysconfig -------------------------------------------------------------------------------
def get_include() -> str:
    """The folder of header files: there are none, so it is the package's own."""
    return os.path.join(_ROOT, "include")


def get_lib() -> str:
    """The package's folder."""
    return _ROOT


def get_compile_flags() -> list[str]:
    """Flags for compiling against TensorFlow."""
    return [f"-I{get_include()}", f"-D_GLIBCXX_USE_CXX11_ABI={CXX11_ABI_FLAG}"]


def get_link_flags() -> list[str]:
    """Flags for linking against TensorFlow."""
    return [f"-L{get_lib()}"]


# -- tf.resource_loader -------------------------------------------------------------------------
def get_data_files_path() -> str:
    """The folder of the caller's file."""
    return _folder_of_caller(1)


def _folder_of_caller(depth: int) -> str:
    frame = sys._getframe(depth + 1)
    return os.path.dirname(os.path.abspath(frame.f_code.co_filename))


def get_path_to_datafile(path: str) -> str:
    """A file beside the caller's."""
    return os.path.join(_folder_of_caller(1), path)


def get_root_dir_with_all_resources() -> str:
    """The folder of the caller's file, which data files are beside."""
    return _folder_of_caller(1)


def load_resource(path: str) -> bytes:
    """The bytes of a file, given by its place in the package."""
    return files.read_bytes(os.path.join(_ROOT, path))


def readahead_file_path(path: str, readahead: str = "128M") -> str:
    """The path itself: nothing reads ahead."""
    return path
