"""The thread team: the system's libgomp, which oneDNN uses too.

Loaded on first use, with a short spin: libgomp's default wait collapses on a busy machine.  Between
two kernels a thread waits about 0.1 ms before it sleeps; 0.04 ms where others want to run.  Waits three
times as long gain nothing on a quiet machine, and beside one busy process a step of many kernels
takes a third longer with them.
Before a fork the forking thread's team is dissolved, so that parent and child both start a fresh
one.  Without libgomp the threads are our own (codegen.machine.own_team).
"""

from __future__ import annotations

import ctypes
import ctypes.util
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache

from headrace.codegen.machine.own_team import OwnTeam, own_team
from headrace.codegen.machine.refusals import Cancel
from headrace.core import forks, options

SPIN_COUNT, BUSY_SPIN_COUNT = "3000", "1000"
BUSY = 2  # processes that want to run, per core
_PAUSE_HARD = 2
MOST = 64  # threads: as many counters as the loop of native_loop has


@lru_cache(maxsize=1)
def libgomp() -> ctypes.CDLL | None:
    """The library, or None where the system has none."""
    if "gomp" in options.without():
        return None
    given = os.environ.get("GOMP_SPINCOUNT")
    if given is None:
        os.environ["GOMP_SPINCOUNT"] = spin_count()  # read once, when the library is loaded
    try:
        library = ctypes.CDLL("libgomp.so.1", mode=ctypes.RTLD_GLOBAL)
    except OSError:
        return None
    finally:
        if given is None:
            del os.environ["GOMP_SPINCOUNT"]
    _protect_forks(library)
    return library


def spin_count() -> str:
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    return BUSY_SPIN_COUNT if load > BUSY * (os.cpu_count() or 1) else SPIN_COUNT


def _protect_forks(library: ctypes.CDLL) -> None:
    pause = getattr(library, "omp_pause_resource_all", None)
    if pause is not None:
        pause.argtypes, pause.restype = [ctypes.c_int], ctypes.c_int
        os.register_at_fork(before=lambda: pause(_PAUSE_HARD))
    else:
        # An old libgomp cannot dissolve a team: the child works on one thread.
        os.register_at_fork(after_in_child=lambda: library.omp_set_num_threads(1))


@lru_cache(maxsize=1)
def count() -> int:
    """How many threads a large kernel uses."""
    wanted = os.environ.get("HEADRACE_THREADS") or os.environ.get("OMP_NUM_THREADS")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if wanted and wanted.isdigit() and int(wanted) > 0:
        cores = min(int(wanted), cores)
    cores = min(cores, MOST)
    library = libgomp()
    if library is not None:
        library.omp_set_num_threads(cores)
    elif own_team(cores) is None:
        return 1
    return cores


def own() -> OwnTeam | None:
    """The team that stands in for libgomp's, where that is missing."""
    return None if libgomp() is not None else own_team(count())


class Team:
    """Programs that use all cores take turns, first come first served: two teams would only share
    the same cores.  A long program gives way between its pauses."""

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._taken = False
        self.workers: OwnTeam | None = None  # to be started first
        self._queue: deque[threading.Lock] = deque()

    @property
    def is_wanted(self) -> bool:
        return bool(self._queue)

    def acquire(self, cancel: Cancel) -> None:
        """Raises `cancel.reason` once there is one."""
        with self._mutex:
            if not self._taken:
                self._taken = True
                if self.workers is not None:
                    self.workers.start()
                return
            turn = threading.Lock()
            turn.acquire()
            self._queue.append(turn)
        try:
            while not turn.acquire(timeout=_GLANCE):
                if cancel.reason is not None:
                    raise cancel.reason
        except BaseException:
            self._leave(turn)
            raise

    def _leave(self, turn: threading.Lock) -> None:
        with self._mutex:
            if turn in self._queue:
                self._queue.remove(turn)
                return
        self.release()  # it was handed over meanwhile

    def release(self) -> None:
        with self._mutex:
            if self._queue:
                self._queue.popleft().release()
            else:
                self._taken = False


_GLANCE = 0.05  # seconds between two looks at the token of a step that waits for the team
team = Team()


class _Late:
    """The token of a fork that waits for the team."""

    def __init__(self) -> None:
        self._until = time.monotonic() + forks.PATIENCE

    @property
    def reason(self) -> TimeoutError | None:
        return TimeoutError() if time.monotonic() > self._until else None


def _quiet() -> Callable[[], None]:
    """Nobody is in a parallel region while the process forks."""
    try:
        team.acquire(_Late())
    except TimeoutError:
        return lambda: None
    return team.release


def _renew() -> None:
    workers = team.workers
    team.__init__()  # type: ignore[misc]
    team.workers = workers


forks.guard(forks.TEAM, _quiet, _renew)


@contextmanager
def limited_to(number: int) -> Iterator[None]:
    """Library objects that this thread makes inside of the block are made for `number` threads."""
    library = libgomp()
    if library is None:
        yield
        return
    library.omp_set_num_threads(number)
    try:
        yield
    finally:
        library.omp_set_num_threads(count())
