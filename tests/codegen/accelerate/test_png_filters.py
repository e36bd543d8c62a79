"""The compiled loop over PNG's filters against the one in Python."""

from __future__ import annotations

import numpy as np
import pytest

from headrace.codegen.accelerate import png_filters
from headrace.formats.images import png

pytestmark = pytest.mark.native


@pytest.mark.parametrize("step", [1, 2, 3, 4, 6, 8])
@pytest.mark.parametrize("size", [(1, 1), (7, 3), (40, 31)])
def test_equals_python(step, size):
    unfiltered = png_filters.native()
    rng = np.random.default_rng(step)
    lines = rng.integers(0, 256, (size[0], 1 + size[1] * step), np.uint8)
    lines[:, 0] = rng.integers(0, 5, size[0])
    assert np.array_equal(unfiltered(lines, step), png._unfiltered(lines, step))


def test_empty_and_damaged_lines():
    unfiltered = png_filters.native()
    assert unfiltered(np.zeros((0, 4), np.uint8), 3).shape == (0, 3)
    assert unfiltered(np.zeros((4, 1), np.uint8), 3).shape == (4, 0)
    lines = np.zeros((3, 4), np.uint8)
    lines[1, 0] = 5
    assert unfiltered(lines, 3) is None
