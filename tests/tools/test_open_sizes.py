"""Open sizes in words."""

from __future__ import annotations

import numpy as np
import pytest

from headrace.codegen.open_region import Given, OpenRegion
from headrace.tools import open_sizes

pytestmark = pytest.mark.pure


def region():
    now = Given(((5, 8), (5, 7), (7,)), {2: np.array([7], np.int64)})
    before = Given(((6, 8), (6, 9), (9,)), {2: np.array([9], np.int64)})
    return OpenRegion(now, [before], {})


def test_equal_sizes_have_one_letter():
    made = region()
    assert open_sizes.shapes(made) == "[A, 8], [A, B], [B], values B"
    assert open_sizes.numbers((5, 7)) == "A=5 B=7"


def test_guards_are_comparisons():
    made = region()
    a, b = made.symbols
    assert a < b and a + b >= 6 and 2 * a * b != 71 and b // 3 == 2
    assert open_sizes.guards(made) == ["A < B", "A + B >= 6", "2 A B != 71", "(B // 3) == 2"]


def test_there_are_more_sizes_than_letters():
    assert open_sizes.numbers(range(2, 30)).endswith("Z=27 A1=28 B1=29")
