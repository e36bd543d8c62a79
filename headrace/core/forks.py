"""What must be quiet while the process forks: a child inherits locks, but not the threads that
would release them.

Who has a lock that another thread may hold adds a guard.  Before a fork the guards are asked in
order of rank to become quiet (each waits a bounded time), afterwards they are released in the
parent and made anew in the child.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable

VARIABLES, COMPILER, CODE, TEAM = range(4)  # ranks: the order in which a step takes its locks
PATIENCE = 10.0  # seconds that a fork waits for the steps of other threads, per rank

Release = Callable[[], None]
_guards: dict[int, list[tuple[Callable[[], Release], Callable[[], None]]]] = {}
_held: list[Release] = []
_one_at_a_time = threading.Lock()
pending: list[int] = []  # the thread that forks


def guard(rank: int, quiet: Callable[[], Release], renew: Callable[[], None]) -> None:
    """`quiet()` takes the locks and answers how to release them; `renew()` makes fresh ones."""
    _guards.setdefault(rank, []).append((quiet, renew))


def let_pass() -> None:
    """Called where a step has no locks yet: a thread that wants to fork goes first."""
    while pending and pending[0] != threading.get_ident():
        time.sleep(0.001)


def _before() -> None:
    _one_at_a_time.acquire()
    pending.append(threading.get_ident())
    for rank in sorted(_guards):
        _held.extend(quiet() for quiet, _ in _guards[rank])


def _in_parent() -> None:
    while _held:
        _held.pop()()
    pending.clear()
    _one_at_a_time.release()


def _in_child() -> None:
    global _one_at_a_time
    _one_at_a_time = threading.Lock()
    _held.clear()
    pending.clear()
    for rank in sorted(_guards):
        for _, renew in _guards[rank]:
            renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
