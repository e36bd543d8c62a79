"""The loop that runs a program: walks a table of entries and calls what they name.

An entry is a list of 64-bit words; its first word is its kind, its second its length.  Arrays are
named by (base, offset): `bases` holds the addresses of this run's arrays.  The loop is LLVM code
like a kernel, compiled once; functions of libraries reach it through the table `rt`, so the code
can be cached.

    int run(instance, list, how)

`instance` holds words: see INSTANCE.  `how` says what the Python list is for.  PLAIN: its arrays' data
pointers become bases[1:].  CHECKED: it holds the inputs and the fresh outputs; every input must
be an array as `spec` describes it, and a variable that is updated must have no other holder, else
the answer is MISFIT and nothing has happened.  RESUME: go on where the last call stopped.  A
program that takes long stops now and then (PAUSED), so that the interpreter sees signals.  After
FAILED_CHECK and FAILED_LIBRARY, the instance's `number` tells which entry it was.  Where `times` is
not 0, the ticks that every entry takes are added up there.

Entries that jump make loops and branches; some change what a base points to: a cell of an array, the
next place of a stack, the other one of two buffers.  REFUSED: an array was used in a way that it does
not allow.  FULL: a stack has no more room; the same entry is run again once it has.  A FORK is followed
by branches, which the threads of the team walk side by side.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from headrace.codegen.machine import threads
from headrace.codegen.program import native_loop
from headrace.core.dtypes import NDArray
from headrace.core.modules import late

cache = late("headrace.codegen.machine.cache")

KERNEL, EXECUTE, CHECK, FILL, SGEMM = range(5)
JUMP, UNLESS, LEA, SWAP, COPY, CELL, PUSH, POP, ROW, REPEAT, FORK, LIMIT = range(5, 17)
KINDS = (
    "kernel execute check fill sgemm jump unless lea swap copy cell push pop row repeat fork limit"
).split()  # their names, for `HEADRACE_SHOW=step`
RT_WORDS = 8
OK, FAILED_CHECK, PAUSED, FAILED_LIBRARY, MISFIT, REFUSED, FULL = range(7)
RESUME, PLAIN, CHECKED = range(3)
INSTANCE = "words count bases rt scratch spec inputs updates fresh position number times".split()
# A NumPy array as an object: count, type, data, dimensions, sizes, (strides, base), dtype, flags.
_COUNT, _TYPE, _DATA, _NDIM, _SIZES, _DTYPE, _FLAGS = 0, 8, 16, 24, 32, 56, 64
CONTIGUOUS, OWNED, ALIGNED, WRITABLE = 0x1, 0x4, 0x100, 0x400
_ITEMS = 24  # where a list keeps its elements


@lru_cache(maxsize=1)
def runner() -> Callable[[int, int | None, int], int]:
    """The compiled loop, as a function that releases the interpreter while it runs."""
    text, _ = native_loop.text()
    address: int = cache.kernel_address(text, lambda symbol: text.replace("@run(", f"@{symbol}("))
    kind = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
    return kind(address)


@lru_cache(maxsize=1)
def runtime_table() -> ctypes.Array[ctypes.c_int64]:
    """Addresses of library functions that the loop calls; 0 where a library is absent."""
    table = (ctypes.c_int64 * RT_WORDS)()
    gomp = threads.libgomp()
    if gomp is not None:
        for i, name in enumerate(("GOMP_parallel", "omp_get_thread_num", "omp_get_num_threads")):
            table[i] = address_of(getattr(gomp, name))
        table[5] = address_of(gomp.omp_set_num_threads)
    elif (team := threads.own()) is not None:
        threads.team.workers = team
        table[0], table[1] = team.parallel, team.number
    table[6], table[7] = id(np.ndarray), native_loop.text()[1]
    return table


def address_of(function: Any) -> int:  # of a loaded library
    return ctypes.cast(function, ctypes.c_void_p).value or 0


@lru_cache(maxsize=1)
def reads_objects() -> bool:
    """Whether lists and arrays look in memory as `run` reads them (CPython with its global lock;
    checked, not assumed)."""
    if not hasattr(ctypes, "pythonapi") or not getattr(sys, "_is_gil_enabled", lambda: True)():
        return False
    whole = np.arange(6.0)
    arrays = [whole, whole[1:], whole.reshape(3, 2), np.empty((2, 3), np.float32), np.zeros(())]
    items = ctypes.c_void_p.from_address(id(arrays) + _ITEMS).value or 0
    places = (ctypes.c_int64 * len(arrays)).from_address(items)
    return list(places) == [id(a) for a in arrays] and all(map(_looks_known, arrays))


def _looks_known(array: NDArray) -> bool:
    """Whether an array object has its fields at the offsets that native code reads: NumPy does not
    promise them."""

    def word(offset: int) -> int:
        return ctypes.c_int64.from_address(id(array) + offset).value

    sizes = (ctypes.c_int64 * array.ndim).from_address(word(_SIZES)) if array.ndim else ()
    found = (word(_DATA), word(_TYPE), word(_DTYPE), word(_COUNT) + 1, tuple(sizes))
    wanted = (array.ctypes.data, id(np.ndarray), id(array.dtype), sys.getrefcount(array), array.shape)
    small = (ctypes.c_int32.from_address(id(array) + at).value for at in (_NDIM, _FLAGS))
    return found == wanted and tuple(small) == (array.ndim, array.flags.num)


@lru_cache(maxsize=1)
def holders() -> int:
    """The count of an array that only a list holds."""
    arrays = [np.zeros(1)]
    return ctypes.c_int64.from_address(id(arrays[0]) + _COUNT).value
