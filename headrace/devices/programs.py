"""The programs of regions, by what they were made for; bounded by memory, over all regions of the process.

Who makes a program `add`s it, who runs another one than before says so (`used`).  Where all programs
together hold more than `LIMIT` bytes, those that nobody has used for longest go, of whatever region: a run
that has one of them keeps it.  Programs are added by one thread at a time, which holds the compiler's lock.
"""

from __future__ import annotations

import weakref
from collections import OrderedDict
from contextlib import suppress
from itertools import count
from typing import Any

LIMIT = 1 << 30  # bytes of all programs
KEPT = 0.75  # of them, where some have to go
MOST = 256  # programs of a region

_clock = count()
_every: weakref.WeakValueDictionary[int, Programs] = weakref.WeakValueDictionary()
_held = 0  # bytes, at most: programs of regions that are gone count until the next look


class Programs(OrderedDict[Any, Any]):
    """Of one region; the one used last stands last.  None: the compiler broke."""

    def __init__(self) -> None:
        super().__init__()
        self.last: dict[Any, int] = {}  # when each was used
        _every[id(self)] = self

    def add(self, key: Any, program: Any) -> None:
        global _held
        self[key] = program
        self.used(key)
        while len(self) > MOST:
            old, _ = self.popitem(last=False)
            self.last.pop(old, None)
        _held += _size(program)
        if _held > LIMIT:
            _held = _make_room(program)

    def used(self, key: Any) -> None:
        with suppress(KeyError):  # it has gone meanwhile, for another one
            self.move_to_end(key)
            self.last[key] = next(_clock)

    def drop(self, key: Any) -> None:
        self.last.pop(key, None)
        self.pop(key, None)


def _size(program: Any) -> int:
    return int(getattr(program, "nbytes", 0))


def _make_room(newest: Any) -> int:
    """Drop what was used longest ago, but the newest; the bytes that are left."""
    found = [
        (table.last.get(key, 0), key, program, table)
        for table in list(_every.values())
        for key, program in list(table.items())
    ]
    total = sum(_size(program) for _, _, program, _ in found)
    for _, key, program, table in sorted(found, key=lambda row: row[0]):
        if total <= KEPT * LIMIT or program is newest:
            break
        table.drop(key)
        total -= _size(program)
    return total
