"""What must be quiet while the process forks: a child inherits locks, but not the threads that
would release them.

Who has a lock that another thread may hold adds a guard.  Before a fork the guards are asked in
order of rank to become quiet (each waits a bounded time), afterwards they are released in the
parent and made anew in the child.
"""

from __future__ import annotations

import os
from collections.abc import Callable

VARIABLES, COMPILER, TEAM = range(3)  # ranks: the order in which a step takes its locks
PATIENCE = 10.0  # seconds that a fork waits for the steps of other threads, per rank

Release = Callable[[], None]
_guards: dict[int, list[tuple[Callable[[], Release], Callable[[], None]]]] = {}
_held: list[Release] = []


def guard(rank: int, quiet: Callable[[], Release], renew: Callable[[], None]) -> None:
    """`quiet()` takes the locks and answers how to release them; `renew()` makes fresh ones."""
    _guards.setdefault(rank, []).append((quiet, renew))


def _before() -> None:
    for rank in sorted(_guards):
        _held.extend(quiet() for quiet, _ in _guards[rank])


def _in_parent() -> None:
    while _held:
        _held.pop()()


def _in_child() -> None:
    _held.clear()
    for rank in sorted(_guards):
        for _, renew in _guards[rank]:
            renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
