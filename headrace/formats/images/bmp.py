"""BMP: bytes -> an array [height, width, channels] of uint8.  Uncompressed, 8, 24 or 32 bits."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np


def decode(data: bytes, channels: int = 0) -> Any:
    """An image; `channels` must be that of the file, or 0."""
    if len(data) < 32:
        raise ValueError(
            "Incomplete bmp content, requires at least 32 bytes to find the header size, width, "
            f"height, and bpp, got {len(data)} bytes"
        )
    (start,) = struct.unpack_from("<i", data, 10)
    width, height = struct.unpack_from("<ii", data, 18)
    (bits,) = struct.unpack_from("<i", data, 28)
    if channels and channels != bits // 8:
        raise ValueError(f"channels attribute {channels} does not match bits per pixel from file {bits // 8}")
    channels = bits // 8
    if channels not in (1, 3, 4):
        raise ValueError(f"Number of channels must be 1, 3 or 4, was {channels}")
    if width <= 0:
        raise ValueError("Width must be positive")
    if height == 0:
        raise ValueError("Height must be nonzero")
    if start < 0:
        raise ValueError("header size must be nonnegative")
    if width * abs(height) >= (1 << 31) // 8:
        raise ValueError("Total possible pixel bytes must be less than 2^30")
    rows = abs(height)
    stride = (channels * width + 3) // 4 * 4
    needed = start + (rows - 1) * stride + width * channels
    if needed > len(data):
        raise ValueError(f"Incomplete bmp content, requires at least {needed} bytes, got {len(data)} bytes")
    body = np.zeros(rows * stride, np.uint8)
    given = np.frombuffer(data, np.uint8, min(len(data) - start, rows * stride), start)
    body[: len(given)] = given
    pixels = body.reshape(rows, stride)[:, : width * channels].reshape(rows, width, channels)
    if height > 0:  # the bottom row comes first
        pixels = pixels[::-1]
    order = [2, 1, 0, 3][:channels] if channels > 1 else [0]
    return np.ascontiguousarray(pixels[..., order])
