"""Data that does not change: what events, actions and parts of plans are made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from typing import dataclass_transform
else:

    def dataclass_transform(**_: Any) -> Callable[[Any], Any]:  # Python's own is there from 3.11 on
        return lambda thing: thing


C = TypeVar("C", bound=type)


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(cls: C) -> C:
    """A frozen dataclass with slots: two records are equal where their fields are."""
    freeze: Any = dataclass(frozen=True, slots=True)
    made: C = freeze(cls)
    return made
