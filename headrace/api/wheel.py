"""The long tail of tf.contrib: TF 1.15.5's own Python files, which `headrace contrib install` puts there.

They run unchanged on top of our modules.  A module of ours comes first wherever there is one, so that nothing
exists twice: a file of the wheel that imports `tensorflow.contrib.framework` gets ours.  A name that our part
of a package lacks is looked for in the wheel's `__init__` of it.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from headrace.aged import messages
from headrace.core import options
from headrace.core.modules import late

stand_in = late("headrace.api.stand_in")

VERSION = "1.15.5"
COMMAND = "headrace contrib install"
# Packages whose ops are native code or services that are not here: what to use instead.
NATIVE = {
    "bigtable": "tf.data with files",
    "cloud": "files of the machine",
    "ffmpeg": "tf.audio.decode_wav",
    "hadoop": "tf.data.TFRecordDataset",
    "ignite": "tf.data with files",
    "kafka": "tf.data.Dataset.from_generator",
    "kinesis": "tf.data.Dataset.from_generator",
    "tensorrt": "compiled sessions, which need no conversion",
    "tpu": "CPUs: estimators without TPUs",
}
_PRIVATE = "tensorflow_wheel"  # where our packages' originals are in sys.modules


def folder() -> Path:
    """Where the files are, once they are installed: it holds `contrib`."""
    return options.cache_directory() / f"contrib-{VERSION}"


def file_of(place: str) -> Path | None:
    """The wheel's file for a module below `tensorflow.`: a package's __init__, or a module."""
    words = place.split(".")
    if words[0] != "contrib" or not all(word.isidentifier() for word in words):
        return None
    base = folder().joinpath(*words)
    for path in (base / "__init__.py", base.with_suffix(".py")):
        if path.is_file():
            return path
    return None


def spec(fullname: str, place: str) -> importlib.machinery.ModuleSpec | None:
    """How to import a module of the wheel by the name `tensorflow.PLACE`."""
    path = file_of(place)
    if path is None:
        return None
    below = [str(path.parent)] if path.name == "__init__.py" else None
    if messages.is_old(path):
        loader: Any = _Messages(path)
        return importlib.machinery.ModuleSpec(fullname, loader, origin=str(path))
    return importlib.util.spec_from_file_location(fullname, path, submodule_search_locations=below)


def module(place: str) -> ModuleType | None:
    """A module of the wheel that we have not ourselves."""
    if file_of(place) is None:
        return None
    stand_in.install()
    return importlib.import_module(f"tensorflow.{place}")


class _Messages:
    """Makes a module of old generated messages."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def create_module(self, spec: Any) -> ModuleType | None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        messages.fill(module, self._path)


def _original(place: str) -> ModuleType | None:
    """The wheel's form of a package that we have, on top of our modules."""
    name = f"{_PRIVATE}.{place}"
    if name in sys.modules:  # it is being imported
        return sys.modules[name]
    found = spec(name, place)
    if found is None or found.loader is None:
        return None
    stand_in.install()
    made = importlib.util.module_from_spec(found)
    sys.modules[made.__name__] = made
    try:
        found.loader.exec_module(made)
    except BaseException:
        del sys.modules[made.__name__]
        raise
    return made


def name(place: str, word: str) -> Any:
    """A name of a package that our part of it lacks; AttributeError where the wheel has it not either."""
    return getattr(_there(place), word)


def _there(place: str) -> Any:
    """The wheel's form of a module; of slim.learning, what slim's own __init__ calls so."""
    parent, _, last = place.rpartition(".")
    if not parent:
        raise AttributeError(place)
    original = _original(place)
    return getattr(_there(parent), last) if original is None else original


def advice(place: str) -> str:
    """What to do about an absent name below tf.contrib."""
    package = (place.split(".") + [""])[1]
    if package in NATIVE:
        return f"it needs native code or a service; use {NATIVE[package]}"
    if not folder().is_dir():
        return f"`{COMMAND}` brings the rest of tf.contrib from TensorFlow {VERSION}'s own wheel"
    return "docs/compatibility.md"
