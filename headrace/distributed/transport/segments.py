"""Shared memory for large arrays between two processes of one host.

The sender copies an array into a segment and tells its number; the receiver sees it in place, and gives the
segment back when the last view of it is gone.  Segments are files without names (memfd), whose descriptors
go over the socket: when both processes are gone, however they ended, nothing is left.  A segment that was
given back is used again, since fresh memory costs more than the copy.

`Lender` is the sender's side, `Borrower` the receiver's.  Neither talks: their link does.
"""

from __future__ import annotations

import ctypes
import fcntl
import mmap
import os
import threading
import weakref
from collections import deque
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from headrace.distributed.transport.frames import Malformed

LARGE = 1 << 16  # bytes from which an array goes by shared memory
KEPT = 512 << 20  # bytes of segments that wait to be used again
_SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW if hasattr(fcntl, "F_SEAL_SHRINK") else 0


def is_supported() -> bool:
    return hasattr(os, "memfd_create") and bool(_SEALS)


@dataclass(slots=True)
class Segment:
    number: int
    size: int
    descriptor: int  # -1 once the peer has it
    memory: Any  # an array of bytes


def _room(size: int) -> int:
    """Sizes that segments have: a few for each power of two, so that similar arrays share them."""
    grain = max(1 << max(size.bit_length() - 3, 0), mmap.PAGESIZE)
    return -(-size // grain) * grain


@cache
def _functions() -> tuple[Any, Any]:
    """The C library's mmap and munmap: Python's would keep a descriptor open for each segment."""
    library = ctypes.CDLL(None, use_errno=True)
    map_, unmap = library.mmap, library.munmap
    map_.restype = ctypes.c_void_p
    map_.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    unmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    return map_, unmap


def mapped(descriptor: int, size: int, protection: int) -> Any:
    """The memory as a buffer, which is there as long as anything looks at it."""
    map_, unmap = _functions()
    address = map_(None, size, protection, mmap.MAP_SHARED, descriptor, 0)
    if address in (None, ctypes.c_void_p(-1).value):
        raise OSError(ctypes.get_errno(), "mmap failed")
    buffer = (ctypes.c_ubyte * size).from_address(address)
    weakref.finalize(buffer, unmap, address, size).atexit = False
    return buffer


def make(size: int) -> tuple[int, Any]:
    """A descriptor of new memory, and the memory."""
    descriptor = os.memfd_create("headrace", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        os.ftruncate(descriptor, size)
        fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, _SEALS)
        buffer = mapped(descriptor, size, mmap.PROT_READ | mmap.PROT_WRITE)
        return descriptor, np.frombuffer(buffer, np.uint8)
    except BaseException:
        os.close(descriptor)
        raise


class Lender:
    """Segments of this side."""

    def __init__(self) -> None:
        self._free: dict[int, list[Segment]] = {}
        self._lent: dict[int, Segment] = {}
        self._kept = 0
        self._next = 1
        self._lock = threading.Lock()

    def lend(self, array: Any) -> tuple[Segment, bool]:
        """A segment with the array in it, and whether the peer has not seen it before."""
        room = _room(array.nbytes)
        with self._lock:
            free = self._free.get(room)
            found = free.pop() if free else None
            if found is not None:
                self._kept -= room
            number, self._next = self._next, self._next + (found is None)
        is_new = found is None
        if found is None:
            found = Segment(number, room, *make(room))
        found.memory[: array.nbytes] = array.reshape(-1).view(np.uint8)
        with self._lock:
            self._lent[found.number] = found
        return found, is_new

    def take_back(self, number: int) -> Segment | None:
        """The peer needs it no more.  Returns it if it is not kept either."""
        with self._lock:
            segment = self._lent.pop(number, None)
            if segment is None:
                raise Malformed(f"segment {number} was not lent")
            if self._kept + segment.size > KEPT:
                return segment
            self._kept += segment.size
            self._free.setdefault(segment.size, []).append(segment)
        return None

    def close(self) -> None:
        with self._lock:
            segments = [*self._lent.values(), *(s for free in self._free.values() for s in free)]
            self._lent.clear()
            self._free.clear()
        for segment in segments:
            forget_descriptor(segment)


def forget_descriptor(segment: Segment) -> None:
    """The mapping needs it no more, nor does the peer once it has its own."""
    if segment.descriptor >= 0:
        os.close(segment.descriptor)
        segment.descriptor = -1


class Borrower:
    """Segments of the other side, mapped here."""

    def __init__(self) -> None:
        self._known: dict[int, Any] = {}
        self.returned: deque[int] = deque()  # numbers of segments that nobody here looks at any more

    def add(self, number: int, size: int, descriptor: int) -> None:
        """Map a new segment.  Its size is sealed: nobody can take memory away that is looked at."""
        try:
            sealed = fcntl.fcntl(descriptor, fcntl.F_GET_SEALS) & _SEALS == _SEALS
            if number in self._known or not sealed or os.fstat(descriptor).st_size != size or not size:
                raise Malformed(f"segment {number} is known, or not sealed, or has not {size} bytes")
            self._known[number] = mapped(descriptor, size, mmap.PROT_READ)
        except OSError as error:
            raise Malformed(f"segment {number}: {error}") from error
        finally:
            os.close(descriptor)

    def borrow(self, number: int, size: int) -> Any:
        """The bytes; when the last view of them is gone, the number is among `returned`."""
        memory = self._known.get(number)
        if memory is None or size > len(memory):
            raise Malformed(f"segment {number} does not have {size} bytes")
        # An array whose base is no array is the base of all views of it: it goes last.
        array = np.frombuffer(memory, np.uint8, size)
        array.flags.writeable = False
        weakref.finalize(array, self.returned.append, number).atexit = False
        return array

    def drop(self, number: int) -> Any:
        """The memory, which nobody needs but for what still looks at it."""
        return self._known.pop(number, None)

    def close(self) -> None:
        self._known.clear()  # arrays that are still looked at keep their memory
