"""NumPy's complaints about floats (a division by zero, an overflow, NaN made of infinities) while a step
runs: kernels do as TF's and say nothing; a user's own function hears them as he asked for."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any

import numpy as np

_outside: ContextVar[Any] = ContextVar("outside", default=None)  # np.geterr() there


class silent:
    """Inside a `with`, in this thread: nobody complains."""

    __slots__ = ("_token",)

    def __enter__(self) -> None:
        self._token = _outside.set(np.seterr(all="ignore"))

    def __exit__(self, *_: Any) -> None:
        before = _outside.get()
        _outside.reset(self._token)
        np.seterr(**(before or {}))


def as_outside() -> np.errstate:
    """For a `with` around a function of the user's: what holds outside of the step."""
    return np.errstate(**(_outside.get() or {}))
