"""Who holds an array: what only one party holds may change in place, or be given away as it is.

CPython counts references.  Local variables and arguments are counted differently from version to
version (some are borrowed, not counted), the items of a list are not: so whoever asks keeps the
array in a list, and the cost of the question itself is measured once, at import.
"""

from __future__ import annotations

import sys
from typing import Any


def holders(values: list[Any], place: int) -> int:
    """How many hold `values[place]`: 1 if this list alone does."""
    return sys.getrefcount(values[place]) - _ASKING


_ASKING = 0  # references that the question itself holds
_ASKING = holders([object()], 0) - 1


def is_changeable(array: Any) -> bool:
    """Whether its only holder may write into it: its memory is its own."""
    return bool(array.flags.writeable and array.flags.owndata)
