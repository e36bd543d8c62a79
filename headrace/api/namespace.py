"""A public namespace (`tf.nn`): a module whose names stand in a table, imported on first use."""

from __future__ import annotations

import contextlib
import importlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from headrace.api import absent
from headrace.api.absent import Absent
from headrace.core.collecting import paused
from headrace.core.modules import late

modules = late("headrace.api.modules")
wheel = late("headrace.api.wheel")

_BRACES = re.compile(r"\{([^}]*)\}")
_ROOT = Path(__file__).parent.parent


def expand(text: str) -> Iterator[tuple[str, str, str]]:
    """(namespace, public name, internal name) of every word of a table."""
    for word in text.split():
        public, _, internal = word.partition("=")
        match = _BRACES.match(public)
        prefixes = match.group(1).split(",") if match else [""]
        rest = public[match.end() :] if match else public
        for prefix in prefixes:
            place, _, name = (prefix + rest).rpartition(".")
            yield place, name, internal or name


class Home:
    """Where a public name is defined.  An op is a function to its users, one under all its names."""

    def __init__(self, module: str, name: str, public: tuple[str, str]) -> None:
        self.module, self.name, self.public = module, name, public
        self._found: list[Any] = []

    def find(self) -> Any:
        if not self._found:
            with paused:
                owner = importlib.import_module(self.module)
            value = owner if self.name == "." else getattr(owner, self.name)
            make = getattr(type(value), "as_function", None)
            self._found.append(make(value, *self.public) if make else value)
        return self._found[0]


class Namespace(ModuleType):
    """Resolves a name once, then it is an ordinary attribute.

    A namespace may have the name of a folder of ours (`headrace.train`): its modules stay
    importable, but do not hide public names.
    """

    def __init__(self, name: str, doc: str | None = None) -> None:
        super().__init__(name, doc)
        self._homes: dict[str, Home] = {}
        folder = _ROOT.joinpath(*name.split(".")[1:])
        self.__path__: list[str] = [str(folder)] if folder.is_dir() else []

    def __getattr__(self, name: str) -> Any:
        home = self.__dict__["_homes"].get(name)
        value = self._elsewhere(name) if home is None else home.find()
        setattr(self, name, value)
        return value

    def _elsewhere(self, name: str) -> Any:
        """An internal module that is asked for as an attribute (tf.python.ops), or an error."""
        if name.startswith("_") or self._is_file(name):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")

        place = self.__name__.partition(".")[2]
        child = f"{place}.{name}".lstrip(".")
        if modules.find(child) is not None:
            return importlib.import_module(f"headrace.{child}")
        if place.split(".")[0] == "contrib":
            found = wheel.module(child)
            if found is not None:
                return found
            with contextlib.suppress(AttributeError):
                return wheel.name(place, name)
        raise absent.error(self, place, name)

    def _is_file(self, name: str) -> bool:
        """A module of ours: the import system asks for it as an attribute first."""
        return any(Path(p, name).is_dir() or Path(p, f"{name}.py").is_file() for p in self.__path__)

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, ModuleType):
            own = value.__name__ == f"{self.__name__}.{name}"
            hides = own and name in self._homes and not isinstance(value, Namespace)
            if hides or isinstance(value, Absent):
                return
        super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        public = (n for n in self.__dict__ if not n.startswith("_"))
        return sorted({*self._homes, *public})

    def attach(self, owner: ModuleType, name: str) -> None:
        """Become `owner.name`, importable by that name."""
        sys.modules[self.__name__] = self
        setattr(owner, name, self)
