"""Public names of private fields: a property that only reads is one line."""

from __future__ import annotations

from operator import attrgetter
from typing import Any


def reads(field: str, doc: str = "") -> Any:
    """A property that gives the attribute `field` of its object; its annotation says the type."""
    return property(attrgetter(field), doc=doc)
