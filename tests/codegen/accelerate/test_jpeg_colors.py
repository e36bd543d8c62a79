"""The compiled interpolation of a JPEG's colours against NumPy's."""

from __future__ import annotations

import numpy as np
import pytest

from headrace.codegen.accelerate import jpeg_colors
from headrace.formats.images import jpeg_pixels as pixels

pytestmark = pytest.mark.native


@pytest.mark.parametrize("down", [1, 2])
@pytest.mark.parametrize("size", [(1, 16), (1, 17), (2, 31), (3, 32), (17, 33), (40, 160), (33, 257)])
def test_equals_numpy(size, down):
    rng = np.random.default_rng(size[1])
    y, *colors = rng.integers(0, 256, (3, *size), np.uint8)
    stored = [c[::down, ::2].copy() for c in colors]
    repeated = [c.repeat(down, 0).repeat(2, 1)[: size[0], : size[1]] for c in stored]
    smooth = [pixels.upsampled(c, down, 2, True)[: size[0], : size[1]] for c in stored]
    unused = rng.integers(0, 256, size, np.uint8)
    for more in ([], [unused]):  # three bytes to a pixel, and four
        found = jpeg_colors.native()(np.stack([y, *repeated, *more], 2), down)
        assert np.array_equal(found, pixels.to_rgb(y, *smooth))


@pytest.mark.parametrize("value", [0, 255])
def test_extremes(value):
    image = np.full((4, 19, 3), value, np.uint8)
    assert np.array_equal(jpeg_colors.native()(image, 2), pixels.to_rgb(*np.moveaxis(image, 2, 0)))


def test_no_rows():
    assert jpeg_colors.native()(np.zeros((0, 40, 3), np.uint8), 2).shape == (0, 40, 3)


def test_narrow_images_are_left_alone():
    assert jpeg_colors.native()(np.zeros((40, 15, 3), np.uint8), 2) is None
