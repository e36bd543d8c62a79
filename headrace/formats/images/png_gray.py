"""Colours of a PNG as brightness, to the last bit as libpng has it.

In: samples of 8 or 16 bits, the file's gamma in units of 1e-5.  Out: one channel of the same type.
With a gamma that matters, brightness is that of linear light, through tables; without one, samples are
mixed as they are: those of 8 bits are cut off, those of 16 bits rounded.
"""

from __future__ import annotations

from typing import Any

import numpy as np

ONE = 100_000  # a gamma of 1
SRGB = 45_455  # of a file that says it is sRGB
_RED, _GREEN = 9797, 19234  # of 32768: ITU-R 601
_BLUE = 32768 - _RED - _GREEN
_NARROW = 5  # bits that tables for 16 bits leave out where 8 bits are wanted


def gray(colors: Any, gamma: int, bits: int) -> Any:
    """`bits`: how many of each sample the caller keeps, the upper ones."""
    if colors.shape[2] == 1:
        return colors
    r, g, b = np.moveaxis(colors, -1, 0)
    is_gray = (r == g) & (r == b)
    if gamma <= 0 or _is_one(gamma):
        mixed = _mixed(r, g, b, 0 if colors.dtype == np.uint8 else 1 << 14)
        return np.where(is_gray, r, mixed).astype(colors.dtype)[..., None]
    inverse = _inverse(gamma)
    left_out = _NARROW if colors.dtype == np.uint16 and bits == 8 else 0
    light, back = (_table(power, colors.dtype, left_out) for power in (inverse, _inverse(inverse)))
    linear = light[colors >> left_out]
    mixed = _mixed(linear[..., 0], linear[..., 1], linear[..., 2], 1 << 14)
    same = _nearest(left_out)[r >> left_out] if left_out else r
    return np.where(is_gray, same, back[mixed >> left_out]).astype(colors.dtype)[..., None]


def _mixed(r: Any, g: Any, b: Any, half: int) -> Any:
    r, g, b = (x.astype(np.int64) for x in (r, g, b))
    return (_RED * r + _GREEN * g + _BLUE * b + half) >> 15


def _is_one(gamma: int) -> bool:
    """So nearly that nothing is corrected."""
    return abs(gamma - ONE) <= 5_000


def _inverse(gamma: int) -> int:
    return int(10**10 / gamma + 0.5)


def _table(power: int, dtype: Any, left_out: int) -> Any:
    """x ** power for all x, scaled to all values of the type."""
    most = int(np.iinfo(dtype).max)
    last = most >> left_out
    power = ONE if _is_one(power) else power
    return np.floor((np.arange(last + 1) / last) ** (power / ONE) * most + 0.5).astype(np.int64)


def _nearest(left_out: int) -> Any:
    """A gray sample of 16 bits, some left out, as the nearest of 8 bits."""
    last = 65535 >> left_out
    bounds = ((np.arange(255) * 257 + 128) * last + 32768) // 65535 + 1
    return np.searchsorted(bounds, np.arange(last + 1), side="right") * 257
