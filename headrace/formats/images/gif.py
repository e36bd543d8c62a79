"""GIF: bytes -> an array [frames, height, width, 3] of uint8.

A frame that does not fill the canvas is laid over the one before it.  Bad data raises ValueError.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

SIGNATURE = b"GIF8"
_MOST_PIXELS = 1 << 29


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def take(self, count: int) -> bytes:
        part = self.data[self.at : self.at + count]
        if len(part) < count:
            raise ValueError("failed to slurp gif file: the file ends early")
        self.at += count
        return part

    def byte(self) -> int:
        return self.take(1)[0]

    def blocks(self) -> bytes:
        """Data in blocks, up to an empty one."""
        parts = []
        while count := self.byte():
            parts.append(self.take(count))
        return b"".join(parts)

    def colors(self, flags: int) -> Any:
        """A table of colours, if the flags say that there is one."""
        if not flags & 0x80:
            return None
        return np.frombuffer(self.take(3 << ((flags & 7) + 1)), np.uint8).reshape(-1, 3)


def decode(data: bytes) -> Any:
    """All frames."""
    reader = _Reader(data)
    if not data.startswith(SIGNATURE):
        raise ValueError("failed to open gif file: not a GIF")
    reader.take(6)
    _, _, flags, _, _ = struct.unpack("<HHBBB", reader.take(7))
    common = reader.colors(flags)
    frames: list[tuple[int, int, Any]] = []
    while (kind := reader.byte()) != 0x3B:  # the trailer
        if kind == 0x21:  # an extension: delays, comments
            reader.byte()
            reader.blocks()
        elif kind == 0x2C:
            frames.append(_frame(reader, common, len(frames)))
        elif kind != 0:
            raise ValueError(f"failed to slurp gif file: unexpected byte {kind}")
    if not frames:
        raise ValueError("gif file does not contain any image")
    return _stacked(frames)


def _frame(reader: _Reader, common: Any, number: int) -> tuple[int, int, Any]:
    """(left, top, colours [height, width, 3])"""
    left, top, width, height, flags = struct.unpack("<HHHHB", reader.take(9))
    colors = reader.colors(flags)
    colors = common if colors is None else colors
    size = reader.byte()
    if width * height >= _MOST_PIXELS:
        raise ValueError(f"gif frame too large: {width} by {height}")
    index = np.frombuffer(_uncompressed(reader.blocks(), size, width * height), np.uint8)
    if colors is None:
        raise ValueError(f"missing color map for frame {number}")
    if index.size and index.max() >= len(colors):
        raise ValueError(f"found color index {index.max()} outside of color map range {len(colors)}")
    index = index.reshape(height, width)
    if flags & 0x40:  # interlaced: every 8th row, and those between in three more passes
        order = [*range(0, height, 8), *range(4, height, 8), *range(2, height, 4)]
        order += range(1, height, 2)
        rows = np.empty_like(index)
        rows[order] = index
        index = rows
    return left, top, colors[index]


def _uncompressed(data: bytes, size: int, count: int) -> bytes:
    """`count` bytes out of LZW codes that start with size + 1 bits."""
    if not 1 <= size <= 11:
        raise ValueError("failed to slurp gif file: bad code size")
    clear, end = 1 << size, (1 << size) + 1
    base = [bytes([i & 255]) for i in range(clear)] + [b"", b""]
    out: list[bytes] = []
    table, width, total = list(base), size + 1, 0
    window = bits = 0
    last = b""
    for byte in data:
        window |= byte << bits
        bits += 8
        while bits >= width:
            code = window & ((1 << width) - 1)
            window >>= width
            bits -= width
            if code == clear:
                table, width, last = list(base), size + 1, b""
                continue
            if code == end:
                return _exactly(out, total, count)
            if code < len(table):
                text = table[code]
            elif code == len(table) and last:
                text = last + last[:1]
            else:
                raise ValueError("failed to slurp gif file: bad code")
            out.append(text)
            total += len(text)
            if last and len(table) < 4096:
                table.append(last + text[:1])
                if len(table) == 1 << width and width < 12:
                    width += 1
            last = text
            if total >= count:
                return _exactly(out, total, count)
    return _exactly(out, total, count)


def _exactly(parts: list[bytes], total: int, count: int) -> bytes:
    if total < count:
        raise ValueError("failed to slurp gif file: image data ends early")
    return b"".join(parts)[:count]


def _stacked(frames: list[tuple[int, int, Any]]) -> Any:
    height = max(pixels.shape[0] for _, _, pixels in frames)
    width = max(pixels.shape[1] for _, _, pixels in frames)
    if len(frames) * height * width >= _MOST_PIXELS:
        raise ValueError(f"gif too large: {len(frames)} frames of {width} by {height}")
    out = np.zeros((len(frames), height, width, 3), np.uint8)
    for i, (left, top, pixels) in enumerate(frames):
        whole = (left, top) == (0, 0) and pixels.shape[:2] == (height, width)
        if not whole:
            if i == 0:
                raise ValueError("the first frame does not fill the canvas")
            out[i] = out[i - 1]
        shown = out[i, top : top + pixels.shape[0], left : left + pixels.shape[1]]
        shown[...] = pixels[: shown.shape[0], : shown.shape[1]]
    return out
