"""JPEG's arithmetic on arrays: cosine transforms, sampling of colours, colour spaces, both ways.

Decoders compute in fixed point, and their errors are part of the numbers: the accurate transform
back is that of Loeffler, Ligtenberg and Moschytz (1989) in 13 bits, the fast one (TF's default) that
of Arai, Agui and Nakajima (1988) in 8.  Colours are converted in 16 bits.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np


def _cosines(n: int) -> Any:
    """The orthonormal cosine transform of n points, as a matrix."""
    k, i = np.arange(n)[:, None], np.arange(n)
    rows = np.cos((2 * i + 1) * k * np.pi / (2 * n)) * np.sqrt(2 / n)
    rows[0] /= np.sqrt(2)
    return rows


# -- blocks ---------------------------------------------------------------------------------------
def samples(coefficients: Any, side: int) -> Any:
    """Blocks of coefficients [rows, columns, 8, 8] as an image of bytes; `side` pixels per block,
    each the mean of those of the full size."""
    if side == 8:
        return _full_samples(coefficients)
    basis = _cosines(8).reshape(8, side, 8 // side).mean(axis=2)
    pixels = basis.T @ coefficients @ basis
    rows, columns = coefficients.shape[:2]
    image = pixels.transpose(0, 2, 1, 3).reshape(rows * side, columns * side)
    # Halves go up, as in integer arithmetic; the little more is for the error of these floats.
    return np.clip(np.floor(image + 128.5 + 1e-6), 0, 255).astype(np.uint8)


def _full_samples(coefficients: Any) -> Any:
    basis = _accurate_basis()
    tall = (np.einsum("ik,rckj->rcij", basis, coefficients) + 1024) >> 11
    wide = (tall @ basis.T + (1 << 17)) >> 18
    rows, columns = coefficients.shape[:2]
    image = wide.transpose(0, 2, 1, 3).reshape(rows * 8, columns * 8)
    return np.clip(image + 128, 0, 255).astype(np.uint8)


@cache
def _accurate_basis() -> Any:
    """The transform of eight points as integers, times 8192.  Each entry is a sum of the rounded
    factors of its paths through the flow graph, so it is not just a rounded cosine."""

    def fixed(x: float) -> int:
        return int(x * 8192 + 0.5)

    x = np.eye(8, dtype=np.int64)  # each row: which input it is
    common = (x[2] + x[6]) * fixed(0.541196100)
    outer = common + x[2] * fixed(0.765366865)
    inner = common - x[6] * fixed(1.847759065)
    plus, minus = (x[0] + x[4]) * 8192, (x[0] - x[4]) * 8192
    even = [plus + outer, minus + inner, minus - inner, plus - outer]
    shared = (x[7] + x[3] + x[5] + x[1]) * fixed(1.175875602)
    a, b = -(x[7] + x[1]) * fixed(0.899976223), -(x[5] + x[3]) * fixed(2.562915447)
    c = shared - (x[7] + x[3]) * fixed(1.961570560)
    d = shared - (x[5] + x[1]) * fixed(0.390180644)
    odd = [
        x[1] * fixed(1.501321110) + a + d,
        x[3] * fixed(3.072711026) + b + c,
        x[5] * fixed(2.053119869) + b + d,
        x[7] * fixed(0.298631336) + a + c,
    ]
    pairs = [(e + o, e - o) for e, o in zip(even, odd)]
    return np.stack([p for p, _ in pairs] + [m for _, m in reversed(pairs)])


_SCALE = np.array([1.0, *(np.cos(np.arange(1, 8) * np.pi / 16) * np.sqrt(2))])


def fast_samples(quantized: Any, steps: Any) -> Any:
    """Quantized blocks [rows, columns, 64] as an image of bytes, by the fast transform."""
    scales = np.rint(16384 * np.outer(_SCALE, _SCALE)).astype(np.int64).reshape(64)
    factors = (steps * scales + 2048) >> 12
    rows, columns = quantized.shape[:2]
    blocks = (quantized * factors).astype(np.int32).reshape(rows, columns, 8, 8)
    blocks = _fast_pass(np.moveaxis(blocks, 2, 0))  # down the columns
    blocks = _fast_pass(np.moveaxis(blocks, 3, 0))  # along the rows
    image = np.moveaxis(blocks, (0, 1), (3, 1)).reshape(rows * 8, columns * 8)
    return np.clip((image >> 5) + 128, 0, 255).astype(np.uint8)


def _fast_pass(x: Any) -> Any:
    """Eight points along the first axis; products are cut to integers at once."""

    def times(value: Any, factor: int) -> Any:
        return value * factor >> 8

    even, odd = x[0] + x[4], x[0] - x[4]
    both = x[2] + x[6]
    turned = times(x[2] - x[6], 362) - both
    upper = [even + both, odd + turned, odd - turned, even - both]
    a, b, c, d = x[5] + x[3], x[5] - x[3], x[1] + x[7], x[1] - x[7]
    last = c + a
    common = times(b + d, 473)
    third = times(b, -669) + common - last
    second = times(c - a, 362) - third
    first = times(d, 277) - common + second
    lower = [last, third, second, -first]
    pairs = [(u + v, u - v) for u, v in zip(upper, lower)]
    return np.stack([p for p, _ in pairs] + [m for _, m in reversed(pairs)])


def coefficients(image: Any, steps: Any) -> Any:
    """An image of bytes, its sides multiples of 8, as quantized blocks [rows, columns, 64]."""
    rows, columns = image.shape[0] // 8, image.shape[1] // 8
    blocks = image.astype(np.float64).reshape(rows, 8, columns, 8).transpose(0, 2, 1, 3) - 128
    basis = _cosines(8)
    found = (basis @ blocks @ basis.T).reshape(rows, columns, 64) / steps
    return (np.sign(found) * np.floor(np.abs(found) + 0.5)).astype(np.int32)


# -- sampling -------------------------------------------------------------------------------------
def upsampled(plane: Any, down: int, across: int, smooth: bool) -> Any:
    """A plane of colour, so many times as high and wide."""
    if smooth and (down, across) == (1, 2) and plane.shape[1] > 2:
        return _widened(plane.astype(np.int32), 4, 1, 2).astype(np.uint8)
    if smooth and (down, across) == (2, 2) and plane.shape[1] > 2:
        x = plane.astype(np.int32)
        above, below = np.concatenate([x[:1], x[:-1]]), np.concatenate([x[1:], x[-1:]])
        tall = np.stack([3 * x + above, 3 * x + below], 1).reshape(-1, x.shape[1])
        return _widened(tall, 16, 8, 7).astype(np.uint8)
    return plane.repeat(down, axis=0).repeat(across, axis=1)


def _widened(x: Any, total: int, left_bias: int, right_bias: int) -> Any:
    """Twice as wide: three parts of the nearer column, one of the further."""
    unit = total // 4
    left, right = np.empty_like(x), np.empty_like(x)
    left[:, 1:] = (3 * x[:, 1:] + x[:, :-1] + left_bias) // total
    right[:, :-1] = (3 * x[:, :-1] + x[:, 1:] + right_bias) // total
    if unit == 1:
        left[:, 0], right[:, -1] = x[:, 0], x[:, -1]
    else:
        left[:, 0] = (4 * x[:, 0] + left_bias) // total
        right[:, -1] = (4 * x[:, -1] + right_bias) // total
    return np.stack([left, right], 2).reshape(len(x), -1)


def downsampled(plane: Any) -> Any:
    """Half as high and wide: means, rounded up and down in turn."""
    x = plane.astype(np.int32)
    total = x[::2, ::2] + x[::2, 1::2] + x[1::2, ::2] + x[1::2, 1::2]
    bias = 1 + np.arange(total.shape[1]) % 2
    return ((total + bias) >> 2).astype(np.uint8)


# -- colours --------------------------------------------------------------------------------------
def fixed(x: float) -> int:
    return int(x * 65536 + 0.5)


def to_rgb(y: Any, cb: Any, cr: Any) -> Any:
    """Brightness and two differences of colour as RGB [height, width, 3]."""
    rgb = np.empty((*y.shape, 3), np.uint8)
    bright, half = y.astype(np.int16), np.int32(1 << 15)
    blue, red = (c.astype(np.int32) - np.int32(128) for c in (cb, cr))
    sums = (fixed(1.402) * red, -fixed(0.34414) * blue - fixed(0.71414) * red, fixed(1.772) * blue)
    for k, part in enumerate(sums):
        part += half
        part >>= 16
        plane = part.astype(np.int16)
        plane += bright
        np.clip(plane, 0, 255, out=plane)
        rgb[..., k] = plane
    return rgb


def brightness(rgb: Any) -> Any:
    r, g, b = np.moveaxis(rgb.astype(np.int32), -1, 0)
    total = fixed(0.299) * r + fixed(0.587) * g + fixed(0.114) * b + (1 << 15)
    return (total >> 16).astype(np.uint8)


def from_rgb(rgb: Any) -> list[Any]:
    """Brightness and two differences of colour."""
    r, g, b = np.moveaxis(rgb.astype(np.int32), -1, 0)
    middle = (128 << 16) + (1 << 15) - 1
    blue = -fixed(0.16874) * r - fixed(0.33126) * g + fixed(0.5) * b + middle
    red = fixed(0.5) * r - fixed(0.41869) * g - fixed(0.08131) * b + middle
    return [brightness(rgb), (blue >> 16).astype(np.uint8), (red >> 16).astype(np.uint8)]


def from_cmyk(inks: Any, inverted: bool) -> Any:
    """Four inks [height, width, 4] as RGB; Adobe's programs store what is left of the white."""
    x = inks.astype(np.int32)
    x = x if inverted else 255 - x
    return (x[..., :3] * x[..., 3:] // 255).astype(np.uint8)
