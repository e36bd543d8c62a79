"""Faults of the compiler: what should compile fails in a way that nobody foresaw.

A user's program goes on, with the reference, and a warning says so.  A test must not: with
HEADRACE_FAULTS=raise, which the tests set, a fault ends the step, in whatever thread or process.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager


class CompilerFault(Exception):
    """Something that should compile does not."""


@contextmanager
def naming(kernel: str) -> Iterator[None]:
    """What fails in here is a fault of the compiler, and names the kernel."""
    try:
        yield
    except Exception as error:  # whatever it is: the reference can still run
        raise CompilerFault(f"kernel {kernel}: {error!r}") from error


def are_fatal() -> bool:
    asked = os.environ.get
    return asked("HEADRACE_FAULTS") == "raise" or asked("HEADRACE_COMPILE") in ("always", "open")


def report(what: str, error: Exception) -> None:
    """`what` runs uncompiled; raises CompilerFault where that is not to be borne."""
    reason = str(error) if isinstance(error, CompilerFault) else repr(error)
    text = f"{what} runs uncompiled: {reason}"
    if are_fatal():
        raise CompilerFault(text) from error
    warnings.warn(text, stacklevel=2)
