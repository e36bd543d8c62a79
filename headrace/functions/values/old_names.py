"""Arguments that have an old and a new name."""

from __future__ import annotations

from typing import Any


def renamed(new: str, value: Any, old: str, old_value: Any) -> Any:
    """The value given under either name; giving both is an error."""
    if old_value is None:
        return value
    if value is not None:
        raise ValueError(f"Cannot specify both '{old}' and '{new}'")
    return old_value
