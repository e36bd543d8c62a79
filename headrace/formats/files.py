"""Local files behind TF's names: tf.gfile and tf.io.gfile.

What the system refuses is an error of core.errors: NotFoundError, AlreadyExistsError, ....  Paths may
be text, bytes or os.PathLike; a leading "file://" is dropped.  Other schemes are not served here.
"""

from __future__ import annotations

import errno
import fnmatch
import glob as globbing
import os
import shutil
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from headrace.core import errors

fence: ContextVar[tuple[str, ...]] = ContextVar("fence", default=())  # the only folders to touch, if any


@contextmanager
def fenced(folders: tuple[str, ...]) -> Iterator[None]:
    """Inside, paths that do not lead into one of the folders are refused; none means: no fence."""
    before = fence.set(folders)
    try:
        yield
    finally:
        fence.reset(before)


_KINDS: dict[int, type[Any]] = {
    errno.ENOENT: errors.NotFoundError,
    errno.EEXIST: errors.AlreadyExistsError,
    errno.EACCES: errors.PermissionDeniedError,
    errno.EPERM: errors.PermissionDeniedError,
    errno.ENOTDIR: errors.FailedPreconditionError,
    errno.EISDIR: errors.FailedPreconditionError,
    errno.ENOTEMPTY: errors.FailedPreconditionError,
    errno.ENOSPC: errors.ResourceExhaustedError,
    errno.EMFILE: errors.ResourceExhaustedError,
    errno.EINVAL: errors.InvalidArgumentError,
}


@contextmanager
def translated(path: Any) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        kind = _KINDS.get(error.errno or 0, errors.UnknownError)
        raise kind(None, None, f"{_text(path)}; {error.strerror or error}") from error


def _text(path: Any) -> str:
    path = os.fspath(path)
    return path.decode("utf-8", "surrogateescape") if isinstance(path, bytes) else str(path)


def local(path: Any) -> str:
    """A path as the system understands it."""
    text = _text(path)
    if text.startswith("file://"):
        return _inside(text[len("file://") :])
    scheme, separator, _ = text.partition("://")
    if separator and scheme.isalnum():
        raise errors.UnimplementedError(
            None, None, f"File system scheme '{scheme}' not implemented (file: '{text}')"
        )
    return _inside(text)


def _inside(path: str) -> str:
    folders = fence.get()
    if folders:
        real = os.path.realpath(path)
        if not any(real == folder or real.startswith(folder.rstrip("/") + "/") for folder in folders):
            raise errors.PermissionDeniedError(
                None, None, f"{path}; only files in {', '.join(folders)} may be used here"
            )
    return path


class FileStatistics:
    """What `stat` says of a path."""

    __slots__ = ("is_directory", "length", "mtime_nsec")

    def __init__(self, length: int, mtime_nsec: int, is_directory: bool) -> None:
        self.length, self.mtime_nsec, self.is_directory = length, mtime_nsec, is_directory


# -- functions of tf.io.gfile -------------------------------------------------------------------
def exists(path: Any) -> bool:
    """Is there a file or a folder of this name?"""
    return os.path.exists(local(path))


def isdir(path: Any) -> bool:
    """Is it a folder?"""
    return os.path.isdir(local(path))


def stat(path: Any) -> FileStatistics:
    """Length, time of the last change, and whether it is a folder.

    Raises:
      NotFoundError: there is nothing of this name.
    """
    with translated(path):
        found = os.stat(local(path))
        return FileStatistics(found.st_size, found.st_mtime_ns, os.path.isdir(local(path)))


def remove(path: Any) -> None:
    """Delete a file."""
    with translated(path):
        if os.path.isdir(local(path)) and not os.path.islink(local(path)):
            raise OSError(errno.EISDIR, "Is a directory")
        os.remove(local(path))


def rmtree(path: Any) -> None:
    """Delete a folder and all in it, or a file."""
    with translated(path):
        if os.path.isdir(local(path)):
            shutil.rmtree(local(path))
        else:
            os.remove(local(path))


def mkdir(path: Any) -> None:
    """Make a folder; the folder around it must exist."""
    with translated(path):
        os.mkdir(local(path))


def makedirs(path: Any) -> None:
    """Make a folder and those around it, where they do not exist."""
    with translated(path):
        os.makedirs(local(path), exist_ok=True)


def copy(src: Any, dst: Any, overwrite: bool = False) -> None:
    """Copy a file.

    Raises:
      AlreadyExistsError: `dst` exists, and `overwrite` is not said.
    """
    _check_free(dst, overwrite)
    with translated(src):
        shutil.copyfile(local(src), local(dst))


def rename(src: Any, dst: Any, overwrite: bool = False) -> None:
    """Move a file or a folder.

    Raises:
      AlreadyExistsError: `dst` exists, and `overwrite` is not said.
    """
    _check_free(dst, overwrite)
    with translated(src):
        os.replace(local(src), local(dst))


def _check_free(dst: Any, overwrite: bool) -> None:
    if not overwrite and exists(dst):
        raise errors.AlreadyExistsError(None, None, "file already exists")


def listdir(path: Any) -> list[str]:
    """Names in a folder, without its own path.

    Raises:
      NotFoundError: there is no such folder.
    """
    if not isdir(path):
        raise errors.NotFoundError(None, None, "Could not find directory")
    with translated(path):
        return os.listdir(local(path))


def glob(pattern: Any) -> list[str]:
    """Paths that match a pattern (or one of a list of patterns) with *, ? and [...]."""
    patterns = list(pattern) if isinstance(pattern, (list, tuple)) else [pattern]
    found: list[str] = []
    for one in patterns:
        text = local(one)
        if not globbing.has_magic(text):
            found += [text] if os.path.lexists(text) else []
            continue
        found += sorted(_matches(text))
    return found


def _matches(pattern: str) -> list[str]:
    """Part by part: * does not cross a separator, and hidden files are files like others."""
    folder, _, name = pattern.rpartition("/")
    root = "/" if pattern.startswith("/") and not folder else folder
    folders = _matches(folder) if globbing.has_magic(folder) else [root]
    found = []
    for one in folders:
        if not globbing.has_magic(name):
            found += [os.path.join(one, name)] if os.path.lexists(os.path.join(one, name)) else []
        elif os.path.isdir(one or "."):
            names = fnmatch.filter(os.listdir(one or "."), name)
            found += [os.path.join(one, n) for n in names]
    return found


def walk(
    top: Any, topdown: bool = True, onerror: Callable[[Any], None] | None = None
) -> Iterator[tuple[str, list[str], list[str]]]:
    """(folder, folders in it, files in it) for a folder and all below it."""
    path = _text(top)
    try:
        names = sorted(listdir(path))
    except errors.NotFoundError as error:
        if onerror:
            onerror(error)
        return
    folders = [n for n in names if isdir(os.path.join(path, n))]
    here = (path, folders, [n for n in names if n not in set(folders)])
    if topdown:
        yield here
    for name in here[1]:
        yield from walk(os.path.join(path, name), topdown, onerror)
    if not topdown:
        yield here


# -- tf.gfile's spellings -----------------------------------------------------------------------
def exists_v1(filename: Any) -> bool:
    """Is there a file or a folder of this name?"""
    return exists(filename)


def is_directory_v1(dirname: Any) -> bool:
    """Is it a folder?"""
    return isdir(dirname)


def stat_v1(filename: Any) -> FileStatistics:
    """Length, time of the last change, and whether it is a folder."""
    return stat(filename)


def remove_v1(filename: Any) -> None:
    """Delete a file."""
    remove(filename)


def delete_recursively_v1(dirname: Any) -> None:
    """Delete a folder and all in it."""
    rmtree(dirname)


def mkdir_v1(dirname: Any) -> None:
    """Make a folder; the folder around it must exist."""
    mkdir(dirname)


def makedirs_v1(dirname: Any) -> None:
    """Make a folder and those around it, where they do not exist."""
    makedirs(dirname)


def copy_v1(oldpath: Any, newpath: Any, overwrite: bool = False) -> None:
    """Copy a file."""
    copy(oldpath, newpath, overwrite)


def rename_v1(oldname: Any, newname: Any, overwrite: bool = False) -> None:
    """Move a file or a folder."""
    rename(oldname, newname, overwrite)


def list_directory_v1(dirname: Any) -> list[str]:
    """Names in a folder."""
    return listdir(dirname)


def glob_v1(filename: Any) -> list[str]:
    """Paths that match a pattern."""
    return glob(filename)


def walk_v1(top: Any, in_order: bool = True) -> Iterator[tuple[str, list[str], list[str]]]:
    """(folder, folders in it, files in it) for a folder and all below it."""
    return walk(top, in_order)


# -- whole files --------------------------------------------------------------------------------
def read_bytes(path: Any) -> bytes:
    """All of a file."""
    with translated(path), open(local(path), "rb") as file:
        return file.read()


def write_whole(path: Any, data: bytes | str) -> None:
    """A file that readers see either as it was or complete."""
    text = data.encode() if isinstance(data, str) else data
    temporary = f"{local(path)}.tmp{uuid.uuid4().hex}"
    with translated(path):
        try:
            with open(temporary, "wb") as file:
                file.write(text)
            os.replace(temporary, local(path))
        except OSError:
            if os.path.exists(temporary):
                os.remove(temporary)
            raise
