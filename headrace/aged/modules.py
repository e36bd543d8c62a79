"""Modules that are gone from Python: `imp`, and distutils' comparison of versions."""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import sys
from types import ModuleType
from typing import Any

from headrace.aged.names import REMOVED, restore
from headrace.aged.notes import note


def _load_source(name: str, path: str, file: Any = None) -> ModuleType:
    found = importlib.util.spec_from_file_location(name, path)
    if found is None or found.loader is None:
        raise ImportError(f"cannot load {path}")
    module = importlib.util.module_from_spec(found)
    sys.modules[name] = module
    found.loader.exec_module(module)
    return module


def _fill_imp(module: ModuleType) -> None:
    note("the module imp", "its functions are importlib's here")
    module.__dict__.update(
        load_source=_load_source, reload=importlib.reload, new_module=ModuleType, PY_SOURCE=1, C_EXTENSION=3
    )


def _fill_distutils(module: ModuleType) -> None:
    note("the module distutils", "it is setuptools' here")
    for part in ("version", "util", "spawn", "core"):
        theirs = importlib.import_module(f"setuptools._distutils.{part}")
        sys.modules[f"distutils.{part}"] = theirs
        setattr(module, part, theirs)


def _fill_nothing(module: ModuleType) -> None:
    """Its names come from the table of removed names."""


GONE = {"imp": _fill_imp, "distutils": _fill_distutils}


class _Filler:
    def __init__(self, name: str) -> None:
        self._name = name

    def create_module(self, spec: Any) -> ModuleType | None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        GONE.get(self._name, _fill_nothing)(module)
        if self._name in REMOVED:
            restore(module)


def spec(name: str, theirs: Any) -> Any:
    """Python's own where it still has it."""
    return theirs or empty(name)


def empty(name: str) -> Any:
    loader: Any = _Filler(name)
    return importlib.machinery.ModuleSpec(name, loader, is_package=True)
