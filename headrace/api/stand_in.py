"""`import tensorflow` means headrace, and `headrace.python.ops` is there like `tensorflow.python.ops`.

Two finders of Python's import system.  One, installed by `import headrace`, makes `headrace.PLACE` for
the places of TensorFlow's that no file of ours has.  The other, installed by `install()`, makes
`tensorflow.PLACE` the same module.  `tinyflow` is the same interface under its teaching name.

They do not inherit from importlib.abc, whose import would cost half as much as all of `import headrace`.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import sys
from types import ModuleType
from typing import Any

from headrace.api.absent import Absent, Module
from headrace.core.modules import late
from headrace.version import TF_VERSION

modules = late("headrace.api.modules")
wheel = late("headrace.api.wheel")

_ROOTS = ("tensorflow", "tinyflow")
_IMPERATIVE = ("autograd", "minitorch")


class Root(Module):
    """`tensorflow` itself: headrace's names, TensorFlow's version."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.__file__ = f"<headrace as {name}>"
        self.__version__ = self.VERSION = TF_VERSION
        self._target = sys.modules["headrace"]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        value = getattr(self._target, name)
        setattr(self, name, value)
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        if not isinstance(value, Absent):
            super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return dir(self._target)


class _Alias:
    """Gives a module that exists another name in sys.modules, and leaves it as it is."""

    def __init__(self, module: ModuleType) -> None:
        self._module, self._spec = module, getattr(module, "__spec__", None)

    def create_module(self, spec: Any) -> ModuleType:
        return self._module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self._spec
        # `import tensorflow.a.b as c` looks for an attribute of a, then for a's own name and "b" here.
        sys.modules.setdefault(module.__name__, module)


class OwnPlaces:
    """headrace.PLACE, where TensorFlow has a module and no file of ours is called so."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
        root, _, place = fullname.partition(".")
        is_ours = root != "headrace" or not place or place.startswith("api.")
        return None if is_ours else _spec(fullname, place)


class Finder:
    """Finds `tensorflow` and everything below it."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
        root, _, place = fullname.partition(".")
        if root not in _ROOTS:
            return None
        if not place or place == "compat.v1":
            importlib.import_module("headrace")  # what the module stands for
            return _spec_of(fullname, sys.modules.get(root) or Root(root))
        if fullname == "tinyflow.datasets":
            return _spec_of(fullname, importlib.import_module("headrace.datasets"))
        return _spec(fullname, place)


def _spec(fullname: str, place: str) -> Any:
    if place.startswith("contrib.") and modules.find(place) is None:
        if (theirs := wheel.spec(fullname, place)) is not None:
            return theirs if fullname.startswith("tensorflow.") else _spec_of(fullname, wheel.module(place))
    found = modules.stand_in(place)
    if found is not None:
        return _spec_of(fullname, found)
    error = modules.missing(place)
    if error is not None:
        raise error
    return None


def _spec_of(fullname: str, module: ModuleType | None) -> importlib.machinery.ModuleSpec:
    assert module is not None
    loader: Any = _Alias(module)
    return importlib.machinery.ModuleSpec(fullname, loader, is_package=True)


class ImperativeFinder:
    """`autograd` and `minitorch`, which are packages of ours under their own names."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
        if fullname.partition(".")[0] not in _IMPERATIVE:
            return None
        return _spec_of(fullname, importlib.import_module(f"headrace.{fullname}"))


_finder, _imperative = Finder(), ImperativeFinder()


def install(imperative: bool = False) -> None:
    """From now on, `import tensorflow` and `import tinyflow` give headrace; so do `autograd` and
    `minitorch`, if the imperative interfaces are to stand in as well."""
    for finder in (_finder, _imperative) if imperative else (_finder,):
        if finder not in sys.meta_path:
            sys.meta_path.insert(0, finder)
