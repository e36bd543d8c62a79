"""Saying once, in one line, what an aged program was given, and where it asked."""

from __future__ import annotations

import sys
from types import FrameType

_said: set[str] = set()
_SKIPPED = ("<frozen ", "importlib")


def note(name: str, instead: str) -> None:
    """`name` is gone, and stands for `instead` here."""
    if name in _said:
        return
    _said.add(name)
    print(f"headrace run: {_place()}: {name} is gone; {instead}", file=sys.stderr)


def _place() -> str:
    """The line outside of this package and of the import system that asked."""
    here = __name__.rpartition(".")[0]
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        file, module = frame.f_code.co_filename, frame.f_globals.get("__name__", "")
        if not module.startswith(here) and not any(word in file for word in _SKIPPED):
            return f"{file}:{frame.f_lineno}"
        frame = frame.f_back
    return "?"
