"""Installing it all: a finder that follows imports, and the modules that are imported already."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from headrace.aged import messages, modules
from headrace.aged.behaviour import PATCHES
from headrace.aged.names import REMOVED, restore
from headrace.aged.notes import note


class _After(importlib.abc.Loader):
    """A module's own loader, and what comes after it."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        made: ModuleType | None = self._loader.create_module(spec)
        return made

    def exec_module(self, module: ModuleType) -> None:
        path = Path(getattr(module, "__file__", None) or "")
        if path.name.endswith("_pb2.py") and messages.is_old(path):
            note(f"the generated code of {path.name}", "its messages are made from its descriptor")
            messages.fill(module, path)
            return
        self._loader.exec_module(module)
        _mend(module)


def _mend(module: ModuleType) -> None:
    if module.__name__ in PATCHES:
        PATCHES[module.__name__](module)
    if module.__name__ in REMOVED:
        restore(module)


class _Finder(importlib.abc.MetaPathFinder):
    """Finds what the others find, and mends it; and modules that are gone."""

    _busy: set[str] = set()

    def find_spec(self, fullname: str, path: Sequence[str] | None = None, target: Any = None) -> Any:
        is_ours = fullname in PATCHES or fullname in REMOVED or fullname.endswith("_pb2")
        if fullname in modules.GONE:
            return modules.spec(fullname, self._elsewhere(fullname, path))
        if not is_ours or fullname.startswith(("google.protobuf.", "headrace.")):
            return None
        spec = self._elsewhere(fullname, path)
        if spec is None and fullname in REMOVED:  # scipy.misc
            return modules.empty(fullname)
        if spec is not None and spec.loader is not None and spec.origin not in (None, "built-in"):
            spec.loader = _After(spec.loader)
        return spec

    def _elsewhere(self, fullname: str, path: Sequence[str] | None) -> Any:
        for finder in sys.meta_path:
            if finder is not self and (spec := finder.find_spec(fullname, path)) is not None:
                return spec
        return None


def install() -> None:
    """From now on, the names are back."""
    if any(isinstance(finder, _Finder) for finder in sys.meta_path):
        return
    sys.meta_path.insert(0, _Finder())
    for name in {*PATCHES, *REMOVED}:
        module = sys.modules.get(name)
        if module is not None:
            _mend(module)
        elif name in sys.builtin_module_names:
            _mend(importlib.import_module(name))
