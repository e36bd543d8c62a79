"""The tables of docs/differences.md, as the tests read them.

    for entry in entries(): entry.ops, entry.alternatives
    is_listed(case)                 whether a difference from TensorFlow stands there

The first column of a table names ops (`*` stands for any letters), the second the conditions under which
they differ (tests/ops/calls/conditions.py): all of them hold, or all of another group behind `or`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

from tests.ops.calls.conditions import Case, holds

DOCUMENT = Path(__file__).parents[3] / "docs" / "differences.md"


@dataclass(frozen=True)
class Entry:
    ops: frozenset[str]
    alternatives: tuple[tuple[str, ...], ...]
    line: int

    def covers(self, case: Case) -> bool:
        return self.names(case.call.op.name) and any(
            all(holds(c, case) for c in group) for group in self.alternatives
        )

    def names(self, op: str) -> bool:
        return op in self.ops or any("*" in o and fnmatchcase(op, o) for o in self.ops)


@cache
def entries() -> list[Entry]:
    found = []
    for number, line in enumerate(DOCUMENT.read_text().splitlines(), 1):
        cells = line.split("|")
        if not line.startswith("| `") or len(cells) < 5:
            continue
        names = frozenset(re.findall(r"`([\w*]+)`", cells[1]))
        groups = tuple(tuple(re.findall(r"`([^`]+)`", g)) for g in re.split(r"\bor\b", cells[2]))
        found.append(Entry(names, groups, number))
    return found


def is_listed(case: Case) -> bool:
    return any(entry.covers(case) for entry in entries())
