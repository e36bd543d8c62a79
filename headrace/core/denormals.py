"""Numbers too small for a full mantissa count as zero while a step runs, as in TF: they are up to a
hundred times slower.  A flag of the processor, per thread; without effect where there is none."""

from __future__ import annotations

import ctypes
import platform
import sys
from collections.abc import Callable
from functools import cache, wraps
from typing import Any, TypeVar

from headrace.core.float_errors import silent

Function = TypeVar("Function", bound=Callable[..., Any])

_FLUSH = 0x8040  # of MXCSR: results to zero, operands as zero
_Environment = ctypes.c_uint32 * 8  # glibc's fenv_t on x86-64: 28 bytes of the x87, then MXCSR
_MXCSR = 7


@cache
def _library() -> Any:
    """read(environment), put(environment) of the C library; environments without and with the flag.
    None where there are none."""
    if not sys.platform.startswith("linux") or platform.machine() != "x86_64":
        return None
    if platform.libc_ver()[0] != "glibc":
        return None
    library = ctypes.CDLL("libm.so.6")
    plain, flush = _Environment(), _Environment()
    for environment in (plain, flush):
        library.fegetenv(environment)
    plain[_MXCSR] &= ~_FLUSH
    flush[_MXCSR] |= _FLUSH
    return library.fegetenv, library.fesetenv, (plain, flush)


class flushed:
    """Inside a `with`, denormal numbers are zero in this thread (with False: are numbers again)."""

    __slots__ = ("_before", "_flush")

    def __init__(self, flush: bool = True) -> None:
        self._flush, self._before = flush, _Environment()

    def __enter__(self) -> None:
        functions = _library()
        if functions is not None:
            read, put, environments = functions
            read(self._before)
            put(environments[self._flush])

    def __exit__(self, *_: Any) -> None:
        functions = _library()
        if functions is not None:
            functions[1](self._before)


def flushing(function: Function) -> Function:
    """The function, with denormal numbers as zero and without complaints about floats."""

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        with flushed(), silent():
            return function(*args, **kwargs)

    return call  # type: ignore[return-value]
