"""PNG (ISO/IEC 15948): bytes <-> arrays [height, width, channels] of uint8 or uint16.

All colour types, bit depths and interlacing are read; what is written is not interlaced.  Bad data
raises ValueError; no more memory is asked for than the header's sizes need.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from headrace.core import hooks
from headrace.core.records import record
from headrace.formats.images import libraries, png_gray

SIGNATURE = b"\x89PNG\r\n\x1a\n"
_CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}  # by colour type: grey, RGB, palette, grey + A, RGBA
_DEPTHS = {0: (1, 2, 4, 8, 16), 2: (8, 16), 3: (1, 2, 4, 8), 4: (8, 16), 6: (8, 16)}
_COLOR_TYPE = {1: 0, 2: 4, 3: 2, 4: 6}  # by number of channels
_ADAM7 = (
    (0, 0, 8, 8),
    (0, 4, 8, 8),
    (4, 0, 8, 4),
    (0, 2, 4, 4),
    (2, 0, 4, 2),
    (0, 1, 2, 2),
    (1, 0, 2, 1),
)  # first row, first column, steps
_MOST_PIXELS = 1 << 29
_LARGE = 1 << 14  # bytes from which a compiled kernel is worth its first call


@record
class Header:
    width: int
    height: int
    depth: int
    color: int
    interlaced: bool

    @property
    def channels(self) -> int:
        return _CHANNELS[self.color]


# -- reading ------------------------------------------------------------------------------------
def _chunks(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    if not data.startswith(SIGNATURE):
        raise ValueError("not a PNG")
    at = len(SIGNATURE)
    while at + 12 <= len(data):
        length, kind = struct.unpack_from(">I4s", data, at)
        body = data[at + 8 : at + 8 + length]
        if len(body) < length or at + 12 + length > len(data):
            raise ValueError("a chunk ends early")
        (stored,) = struct.unpack_from(">I", data, at + 8 + length)
        if zlib.crc32(body, zlib.crc32(kind)) != stored:
            raise ValueError(f"bad checksum of chunk {kind!r}")
        yield kind, body
        if kind == b"IEND":
            return
        at += 12 + length


def _header(body: bytes) -> Header:
    if len(body) != 13:
        raise ValueError("bad header")
    width, height, depth, color, method, filters, interlace = struct.unpack(">IIBBBBB", body)
    if color not in _DEPTHS or depth not in _DEPTHS[color] or method or filters or interlace > 1:
        raise ValueError("bad header")
    if not 0 < width < 1 << 27 or not 0 < height < 1 << 27 or width * height >= _MOST_PIXELS:
        raise ValueError(f"PNG size too large for int: {width} by {height}")
    return Header(width, height, depth, color, bool(interlace))


def read_header(data: bytes) -> Header:
    """The header alone."""
    kind, body = next(_chunks(data))
    if kind != b"IHDR":
        raise ValueError("no header")
    return _header(body)


def decode(data: bytes, channels: int = 0, bits: int = 8) -> Any:
    """An image.

    channels: 1 grey, 2 grey and alpha, 3 RGB, 4 RGBA; 0: as in the file.  bits: 8 or 16.
    """
    is_srgb = False
    header, palette, clear, gamma, packed = None, None, None, png_gray.ONE, []
    for kind, body in _chunks(data):
        if header is None:
            if kind != b"IHDR":
                raise ValueError("no header")
            header = _header(body)
        elif kind == b"PLTE":
            palette = np.frombuffer(body, np.uint8).reshape(-1, 3)
        elif kind == b"tRNS":
            clear = body
        elif kind == b"gAMA" and len(body) == 4 and not is_srgb:
            gamma = int.from_bytes(body, "big")
        elif kind == b"sRGB":
            gamma, is_srgb = png_gray.SRGB, True
        elif kind == b"IDAT":
            packed.append(body)
    if header is None or not packed:
        raise ValueError("no image data")
    samples = _samples(header, b"".join(packed))
    return _converted(header, samples, palette, clear, gamma, channels, bits)


def _passes(header: Header) -> list[tuple[int, int, slice, slice]]:
    """(height, width, rows, columns) of the parts that the image is stored in."""
    if not header.interlaced:
        return [(header.height, header.width, slice(None), slice(None))]
    found = []
    for row, column, down, across in _ADAM7:
        height = -(-(header.height - row) // down)
        width = -(-(header.width - column) // across)
        if height > 0 and width > 0:
            found.append((height, width, slice(row, None, down), slice(column, None, across)))
    return found


def _samples(header: Header, packed: bytes) -> Any:
    """Unpacked samples [height, width, channels], as they are in the file."""
    bits = header.depth * header.channels
    if not header.interlaced and header.depth <= 8:
        stride = (header.width * bits + 7) // 8
        quick = libraries.png_lines(packed, header.height, stride, max(1, bits // 8))
        if quick is not None:
            return _unpacked(quick, header, header.width)
    needed = sum(h * (1 + (w * bits + 7) // 8) for h, w, _, _ in _passes(header))
    try:
        raw = zlib.decompressobj().decompress(packed, needed)
    except zlib.error as error:
        raise ValueError(f"bad image data: {error}") from None
    if len(raw) < needed:
        raise ValueError("image data ends early")
    kind = np.uint16 if header.depth == 16 else np.uint8
    out = np.zeros((header.height, header.width, header.channels), kind)
    at = 0
    unfiltered = hooks.native_unfilter.value if needed > _LARGE else None
    for height, width, rows, columns in _passes(header):
        stride = (width * bits + 7) // 8
        size = height * (1 + stride)
        lines = np.frombuffer(raw, np.uint8, size, at).reshape(height, 1 + stride)
        at += size
        plain = None if unfiltered is None else unfiltered(lines, max(1, bits // 8))
        if plain is None:
            plain = _unfiltered(lines, max(1, bits // 8))
        out[rows, columns] = _unpacked(plain, header, width)
    return out


def _unpacked(lines: Any, header: Header, width: int) -> Any:
    height = len(lines)
    if header.depth == 16:
        return lines.reshape(-1).view(">u2").reshape(height, width, header.channels)
    if header.depth == 8:
        return lines.reshape(height, width, header.channels)
    per = 8 // header.depth
    shifts = np.arange(8 - header.depth, -1, -header.depth, dtype=np.uint8)
    split = (lines[:, :, None] >> shifts) & ((1 << header.depth) - 1)
    return split.reshape(height, -1)[:, :width, None].astype(np.uint8) if per else split


def _unfiltered(lines: Any, step: int) -> Any:
    """Lines without their prediction: each begins with the number of its filter."""
    kinds, body = lines[:, 0], lines[:, 1:]
    out = np.empty(body.shape, np.uint8)
    above = np.zeros(body.shape[1], np.uint8)
    for i, kind in enumerate(kinds.tolist()):
        if kind == 0:
            out[i] = body[i]
        elif kind == 1:
            out[i] = _summed(body[i], step)
        elif kind == 2:
            out[i] = body[i] + above
        elif kind == 3:
            out[i] = _averaged(body[i].tolist(), above.tolist(), step)
        elif kind == 4:
            out[i] = _paethed(body[i].tolist(), above.tolist(), step)
        else:
            raise ValueError(f"bad filter {kind}")
        above = out[i]
    return out


def _summed(line: Any, step: int) -> Any:
    """Running sums, of every step-th byte."""
    width = -(-len(line) // step) * step
    whole = np.zeros(width, np.uint8)
    whole[: len(line)] = line
    return np.cumsum(whole.reshape(-1, step), axis=0, dtype=np.uint8).reshape(-1)[: len(line)]


def _averaged(line: list[int], above: list[int], step: int) -> list[int]:
    out = [0] * step
    for x, up in zip(line, above):
        out.append((x + ((out[-step] + up) >> 1)) & 255)
    return out[step:]


def _paethed(line: list[int], above: list[int], step: int) -> list[int]:
    out = [0] * step
    corners = [0] * step + above
    for x, b, c in zip(line, above, corners):
        a = out[-step]
        pa, pb = b - c, a - c
        pc = abs(pa + pb)
        pa, pb = abs(pa), abs(pb)
        best = a if pa <= pb and pa <= pc else b if pb <= pc else c
        out.append((x + best) & 255)
    return out[step:]


# -- what the caller wants ----------------------------------------------------------------------
def _converted(
    header: Header, samples: Any, palette: Any, clear: bytes | None, gamma: int, channels: int, bits: int
) -> Any:
    """Samples with this many channels and bits."""
    if header.color == 3:
        colors, alpha = _looked_up(samples[..., 0], palette, clear)
        channels = channels or (3 if clear is None else 4)
    else:
        colors, alpha = _split(header, samples, clear)
        channels = channels or header.channels
    colors = png_gray.gray(colors, gamma, bits) if channels < 3 else _rgb(colors)
    if bits == 8 and colors.dtype == np.uint16:
        colors, alpha = (None if x is None else (x >> 8).astype(np.uint8) for x in (colors, alpha))
    if channels % 2 == 0:
        most = np.iinfo(colors.dtype).max
        alpha = np.full(colors.shape[:2], most, colors.dtype) if alpha is None else alpha
        colors = np.concatenate([colors, alpha[..., None]], 2)
    if bits == 16 and colors.dtype == np.uint8:
        colors = colors.astype(np.uint16) * 257
    return np.ascontiguousarray(colors)


def _looked_up(index: Any, palette: Any, clear: bytes | None) -> tuple[Any, Any]:
    if palette is None or index.max(initial=0) >= len(palette):
        raise ValueError("a colour is not in the palette")
    alpha = None
    if clear is not None:
        table = np.full(256, 255, np.uint8)
        table[: len(clear)] = np.frombuffer(clear[:256], np.uint8)
        alpha = table[index]
    return palette[index], alpha


def _split(header: Header, samples: Any, clear: bytes | None) -> tuple[Any, Any]:
    """(colours, alpha or None); grey of few bits becomes 8 bits."""
    if header.color in (4, 6):
        return samples[..., :-1], samples[..., -1]
    alpha = None
    if clear is not None and len(clear) == 2 * header.channels:
        key = np.frombuffer(clear, ">u2")
        seen = (samples != key).any(axis=2)
        most = 65535 if header.depth == 16 else 255
        alpha = np.where(seen, most, 0).astype(samples.dtype)
    if header.depth < 8:
        samples = samples * np.uint8(255 // ((1 << header.depth) - 1))
    return samples, alpha


def _rgb(colors: Any) -> Any:
    return np.broadcast_to(colors, (*colors.shape[:2], 3))


# -- writing ------------------------------------------------------------------------------------
def encode(image: Any, compression: int = -1) -> bytes:
    """The PNG of an array [height, width, 1 to 4 channels] of uint8 or uint16."""
    height, width, channels = image.shape
    depth = 16 if image.dtype == np.uint16 else 8
    raw = np.ascontiguousarray(image.astype(">u2" if depth == 16 else np.uint8))
    lines = raw.view(np.uint8).reshape(height, -1)
    header = struct.pack(">IIBBBBB", width, height, depth, _COLOR_TYPE[channels], 0, 0, 0)
    body = zlib.compress(_filtered(lines, channels * depth // 8), compression)
    return SIGNATURE + b"".join(
        _chunk(kind, part) for kind, part in ((b"IHDR", header), (b"IDAT", body), (b"IEND", b""))
    )


def _chunk(kind: bytes, body: bytes) -> bytes:
    checksum = zlib.crc32(body, zlib.crc32(kind))
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", checksum)


def _filtered(lines: Any, step: int) -> bytes:
    """Every line under the filter that leaves the smallest differences."""
    x = lines.astype(np.int16)
    above, left, corner = np.zeros_like(x), np.zeros_like(x), np.zeros_like(x)
    above[1:], left[:, step:], corner[1:, step:] = x[:-1], x[:, :-step], x[:-1, :-step]
    pa, pb = np.abs(above - corner), np.abs(left - corner)
    pc = np.abs(left + above - 2 * corner)
    paeth = np.where((pa <= pb) & (pa <= pc), left, np.where(pb <= pc, above, corner))
    guesses = [np.zeros_like(x), left, above, (left + above) >> 1, paeth]
    rest = np.stack([(x - guess).astype(np.uint8) for guess in guesses])
    cost = np.abs(rest.view(np.int8).astype(np.int64)).sum(axis=2)
    best = cost.argmin(axis=0)
    chosen = rest[best, np.arange(len(lines))]
    return np.concatenate([best.astype(np.uint8)[:, None], chosen], 1).tobytes()
