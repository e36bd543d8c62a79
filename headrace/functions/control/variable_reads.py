"""How loops over a function let the variables that it makes be read once, not in every iteration.

Variables come after functions in the order of folders, so variables.scope says it here.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

_around: Callable[[], AbstractContextManager[Any]] = nullcontext


def cached() -> AbstractContextManager[Any]:
    """Inside, `get_variable` keeps what it read beside its user."""
    return _around()


def set_caching(around: Callable[[], AbstractContextManager[Any]]) -> None:
    global _around
    _around = around
