"""A public namespace (`tf.nn`): a module whose names stand in a table, imported on first use."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from headrace.core.collecting import paused

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


class Namespace(ModuleType):
    """Resolves a name once, then it is an ordinary attribute.

    A namespace may have the name of a folder of ours (`headrace.train`): its modules stay
    importable, but do not hide public names.
    """

    def __init__(self, name: str, doc: str | None = None) -> None:
        super().__init__(name, doc)
        self._homes: dict[str, tuple[str, str]] = {}
        folder = _ROOT.joinpath(*name.split(".")[1:])
        self.__path__: list[str] = [str(folder)] if folder.is_dir() else []

    def __getattr__(self, name: str) -> Any:
        home = self.__dict__["_homes"].get(name)
        if home is None:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        with paused:
            owner = importlib.import_module(home[0])
        value = owner if home[1] == "." else getattr(owner, home[1])
        setattr(self, name, value)
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        own = isinstance(value, ModuleType) and value.__name__ == f"{self.__name__}.{name}"
        if not own or isinstance(value, Namespace) or name not in self._homes:
            super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        public = (n for n in self.__dict__ if not n.startswith("_"))
        return sorted({*self._homes, *public})

    def attach(self, owner: ModuleType, name: str) -> None:
        """Become `owner.name`, importable by that name."""
        sys.modules[self.__name__] = self
        setattr(owner, name, self)
