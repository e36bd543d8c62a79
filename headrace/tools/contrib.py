"""headrace contrib install|status|remove: the rest of tf.contrib, from TensorFlow 1.15.5's own wheel.

In: the wheel, which pip takes from the user's package index, or a file.  Out: a folder of the cache with the
Python files of contrib and their license, each compared with the wheel's list of digests.  The folder
appears whole or not at all.
"""

from __future__ import annotations

import argparse
import base64
import csv
import hashlib
import io
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from headrace.api import wheel
from headrace.tools.progress import Progress

_INSIDE = "tensorflow_core/"
_TARGET = ["--python-version", "3.7", "--platform", "manylinux2010_x86_64", "--only-binary=:all:"]


class Damaged(Exception):
    """The wheel is not what it says."""


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="headrace contrib", description=__doc__)
    parser.add_argument("what", choices=("install", "status", "remove"))
    parser.add_argument("--wheel", type=Path, help="a file that was downloaded before")
    parser.add_argument("--again", action="store_true", help="install though it is installed")
    given = parser.parse_args(words)
    place = wheel.folder()
    if given.what == "status":
        print(f"{place}: {_count(place)} files" if place.is_dir() else f"not installed: {wheel.COMMAND}")
        return 0 if place.is_dir() else 1
    if given.what == "remove":
        shutil.rmtree(place, ignore_errors=True)
        return 0
    if place.is_dir() and not given.again:
        print(f"{place}: {_count(place)} files, installed before")
        return 0
    try:
        return _install(given.wheel, place)
    except (Damaged, OSError, zipfile.BadZipFile) as error:
        print(f"headrace contrib: {error}; nothing was installed", file=sys.stderr)
        return 1


def _count(place: Path) -> int:
    return sum(1 for _ in place.rglob("*.py"))


def _install(given: Path | None, place: Path) -> int:
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place.parent, prefix="contrib-") as work:
        path = given or _download(Path(work))
        if path is None:
            return 1
        whole = Path(work, "whole")
        _unpack(path, whole)
        if place.is_dir():
            shutil.rmtree(place)
        os.replace(whole, place)
    print(f"{place}: {_count(place)} files of TensorFlow {wheel.VERSION} (Apache 2.0; see METADATA there)")
    return 0


def _download(folder: Path) -> Path | None:
    """The wheel by pip, whose bar shows how far it is; None where pip says what is wrong."""
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--dest", str(folder), *_TARGET]
    done = subprocess.run([*command, f"tensorflow=={wheel.VERSION}"], check=False)
    found = sorted(folder.glob("tensorflow-*.whl"))
    if done.returncode or not found:
        print(
            f"headrace contrib: pip could not get tensorflow {wheel.VERSION}; nothing was installed.  "
            "With a wheel from elsewhere: headrace contrib install --wheel FILE",
            file=sys.stderr,
        )
        return None
    return found[0]


def _unpack(path: Path, folder: Path) -> None:
    """The files of contrib, each as the wheel's RECORD has it."""
    with zipfile.ZipFile(path) as archive:
        digests = dict(_digests(archive))
        wanted = [name for name in digests if name.startswith(f"{_INSIDE}contrib/") and name.endswith(".py")]
        if not wanted:
            raise Damaged(f"{path} has no {_INSIDE}contrib")
        with Progress("unpacking", len(wanted)) as progress:
            for i, name in enumerate(wanted):
                target = folder / name.removeprefix(_INSIDE)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(_checked(archive, name, digests[name]))
                progress.at(i + 1)
        about = [n for n in archive.namelist() if ".dist-info/" in n and n.endswith(("LICENSE", "METADATA"))]
        for name in about:
            (folder / Path(name).name).write_bytes(archive.read(name))


def _digests(archive: zipfile.ZipFile) -> Iterator[tuple[str, str]]:
    record = next((n for n in archive.namelist() if n.endswith(".dist-info/RECORD")), None)
    if record is None:
        raise Damaged(f"{archive.filename} has no RECORD")
    for row in csv.reader(io.StringIO(archive.read(record).decode())):
        if len(row) == 3 and row[1].startswith("sha256="):
            if ".." in Path(row[0]).parts or Path(row[0]).is_absolute():
                raise Damaged(f"{archive.filename} names a file outside of itself: {row[0]}")
            yield row[0], row[1].removeprefix("sha256=")


def _checked(archive: zipfile.ZipFile, name: str, digest: str) -> bytes:
    try:
        data = archive.read(name)
    except KeyError:
        raise Damaged(f"{archive.filename} lacks {name}") from None
    found = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    if found != digest.rstrip("="):
        raise Damaged(f"{name} in {archive.filename} is not what its RECORD says")
    return data
