"""The thread team: the system's libgomp, which oneDNN uses too.

Loaded on first use, with a short spin: libgomp's default wait collapses on a busy machine.  Between
two kernels a thread waits about 0.4 ms before it sleeps; 0.04 ms where many others want to run.
Before a fork the forking thread's team is dissolved, so that parent and child both start a fresh
one; without libgomp everything runs on the calling thread.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

SPIN_COUNT, BUSY_SPIN_COUNT = "10000", "1000"
BUSY = 10  # processes that want to run, per core
_PAUSE_HARD = 2
MOST = 64  # threads: as many counters as the loop of native_loop has


@lru_cache(maxsize=1)
def libgomp() -> Any | None:
    """The library, or None where the system has none."""
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


def _protect_forks(library: Any) -> None:
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
    cores = (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    if wanted and wanted.isdigit() and int(wanted) > 0:
        cores = min(int(wanted), cores)
    library = libgomp()
    if library is None:
        return 1
    cores = min(cores, MOST)
    library.omp_set_num_threads(cores)
    return cores


# Programs that use the team take turns: two teams would only share the same cores.
team = threading.Lock()


def _fresh_lock() -> None:
    global team
    team = threading.Lock()  # another thread may have held it when the process forked


os.register_at_fork(after_in_child=_fresh_lock)


@contextmanager
def limited_to(number: int) -> Iterator[None]:
    """Library objects that are made here, on this thread, are made for so many threads."""
    library = libgomp()
    if library is None:
        yield
        return
    library.omp_set_num_threads(number)
    try:
        yield
    finally:
        library.omp_set_num_threads(count())
