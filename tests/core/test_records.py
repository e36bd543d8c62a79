"""Records: data that does not change."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, field

import pytest

from headrace.core.records import record


@record
class Point:
    x: int
    y: int = 0
    note: str = field(default="", compare=False)


def test_records_are_equal_where_their_fields_are():
    assert Point(1) == Point(1, 0, note="other") != Point(2)
    assert len({Point(1), Point(1, 0)}) == 1


def test_a_record_does_not_change():
    with pytest.raises(FrozenInstanceError):
        Point(1).x = 2
    assert not hasattr(Point(1), "__dict__")
