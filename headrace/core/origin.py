"""Which line of the user's program made a node: the innermost frame outside this package."""

from __future__ import annotations

import linecache
import os
import sys
from typing import NamedTuple

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_SKIPPED = ("<frozen", os.path.dirname(os.path.abspath(linecache.__file__)) + os.sep + "contextlib")


class Origin(NamedTuple):
    """A line of the user's program.  Its text is read only when somebody asks for it."""

    filename: str
    line: int
    function: str

    @property
    def text(self) -> str:
        return linecache.getline(self.filename, self.line).strip()

    @property
    def place(self) -> str:
        return f"{os.path.basename(self.filename)}:{self.line}"

    def __str__(self) -> str:
        return f"{self.place}   {self.text}".rstrip()


UNKNOWN = Origin("?", 0, "?")


def here() -> Origin:
    """The user's line that is being executed."""
    frame = sys._getframe(1)
    last = frame
    while frame is not None:
        filename = frame.f_code.co_filename
        if not filename.startswith(_PACKAGE) and not filename.startswith(_SKIPPED):
            return Origin(filename, frame.f_lineno, frame.f_code.co_name)
        last, frame = frame, frame.f_back  # type: ignore[assignment]
    return Origin(last.f_code.co_filename, last.f_lineno, last.f_code.co_name)
