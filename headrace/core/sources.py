"""What this process runs: the package's own sources, as one hash.

A file that was written after the package was loaded may not be what is running: then there is no hash, and
nothing is kept for other processes or taken from them.
"""

from __future__ import annotations

import os
import time
from functools import cache

_start = time.time()
_DOUBT = 1.0  # seconds by which clocks of files and processes may differ
_FOLDER = os.path.dirname(os.path.dirname(__file__))
# Folders of what planning may load, and of what that may.
DECIDING = ("autodiff", "codegen", "core", "formats", "functions", "graph", "ops", "passes", "plan")


def note_start() -> None:
    """The package is being loaded: what its files hold now is what runs."""
    global _start
    _start = time.time()


@cache
def digest() -> str | None:
    """Of all that decides what a plan's program is; None where it is not known what runs."""
    import hashlib

    found = hashlib.sha256()
    for part in DECIDING:
        paths = _files(os.path.join(_FOLDER, part))
        if not paths:
            return None  # an archive, or compiled files alone
        for path in paths:
            with open(path, "rb") as file:
                text, state = file.read(), os.fstat(file.fileno())
            if max(state.st_mtime, state.st_ctime) > _start - _DOUBT:
                return None
            found.update(f"{os.path.relpath(path, _FOLDER)} {len(text)}\n".encode())
            found.update(text)
    return found.hexdigest()


def _files(folder: str) -> list[str]:
    found = (os.path.join(at, name) for at, _, names in os.walk(folder) for name in names)
    return sorted(path for path in found if path.endswith(".py"))
