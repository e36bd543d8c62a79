"""Modules that are imported when they are first used.

In: a module's name.  Out: an object with that module's names.

The gradient of one op is made of others, whose gradients are made of the first: their modules need each
other, though not while they are imported.  `late` says so at the head of the file, where a reader looks for
what a module uses, and where tests/test_layers.py sees it:

    reduce = late("headrace.ops.math.reduce")

    @add.gradient
    def _(node, dy):
        return reduce.sum_(dy, 0), ...
"""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any


class _Late:
    __slots__ = ("_module", "_name")

    def __init__(self, name: str) -> None:
        self._name = name
        self._module: ModuleType | None = None

    def __getattr__(self, name: str) -> Any:
        # Nothing is kept but the module: its names may be given other values (core/hooks.py).
        module = self._module
        if module is None:
            module = self._module = importlib.import_module(self._name)
        return getattr(module, name)

    def __repr__(self) -> str:
        return f"<late module {self._name}>"


def late(name: str) -> Any:
    """The module of this name, imported by the first use of something in it."""
    return _Late(name)
