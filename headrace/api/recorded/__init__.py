"""The names of TensorFlow 1.15, as `scripts/record_names` wrote them down.

public.txt has tf.*, v2.txt tf.compat.v2.*, contrib.txt tf.contrib.*, internal.txt what lies below
tensorflow.python, .core and so on.
A line is a module and its names; a name that is a module itself ends with a dot.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

_FOLDER = Path(__file__).parent


@cache
def names(file: str) -> dict[str, dict[str, bool]]:
    """The modules of a file: their names, and whether each is a module."""
    found = {}
    for line in (_FOLDER / f"{file}.txt").read_text(encoding="ascii").splitlines():
        place, _, text = line.partition(": ")
        found[place] = {word.removesuffix("."): word.endswith(".") for word in text.split()}
    return found


def _has(place: str) -> bool | None:
    """Is it a module?  None: TensorFlow 1.15 has nothing there."""
    parent, _, name = place.rpartition(".")
    for file in ("public", "contrib", "internal"):
        known = names(file)
        if place in known or known.get(parent, {}).get(name):
            return True
        if name in known.get(parent, {}):
            return False
    return True if place in ("python", "core", "contrib", "tools", "examples") else None


def is_name(place: str) -> bool:
    """Does TensorFlow 1.15 have a name or a module there?"""
    return _has(place) is not None


def is_module(place: str) -> bool:
    """Does TensorFlow 1.15 have a module there?"""
    return _has(place) is True
