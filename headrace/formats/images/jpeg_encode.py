"""Arrays [height, width, 1 or 3] of uint8 -> JPEG bytes (JFIF), sequential or progressive.

All symbols of the image are made at once with NumPy; each is a code, then some bits of its number.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from headrace.core.records import record
from headrace.formats.images import jpeg_pixels as pixels
from headrace.formats.images import libraries
from headrace.formats.images.jpeg_tables import (
    CHROMINANCE,
    LUMINANCE,
    USUAL_CODES,
    ZIGZAG,
    Codes,
    best_codes,
    steps,
)

_XMP = b"http://ns.adobe.com/xap/1.0/\0"


@record
class Plane:
    """Quantized blocks of a component: [block rows, block columns, 64], in zigzag order."""

    blocks: Any
    factor: int  # blocks of an MCU, down and across
    table: int  # 0 luminance, 1 chrominance
    rows: int  # blocks that the image needs
    columns: int


def encode(
    image: Any,
    quality: int = 95,
    progressive: bool = False,
    optimize: bool = False,
    downsample: bool = True,
    density_unit: int = 1,
    density: tuple[int, int] = (300, 300),
    xmp: bytes = b"",
) -> bytes:
    """The JPEG of an image.

    quality: 0 to 100.  optimize: codes made for this image.  downsample: colours at half the
    height and width.  density_unit: 1 per inch, 2 per centimetre.  xmp: metadata.
    """
    height, width, channels = image.shape
    if not 0 < height < 65536 or not 0 < width < 65536:
        raise ValueError(f"Invalid image size: {width} x {height}")
    head = _segment(0xE0, b"JFIF\0\1\1" + struct.pack(">BHHBB", density_unit, *density, 0, 0))
    if xmp:
        head += _segment(0xE1, _XMP + xmp)
    made = libraries.jpeg_file(image, quality, progressive, optimize, downsample and channels == 3)
    if made is not None and made[2:11] == b"\xff\xe0\0\x10JFIF\0":
        return made[:2] + head + made[20:]  # behind the library's own first segment
    tables = [steps(base, quality) for base in (LUMINANCE, CHROMINANCE)[: 1 if channels == 1 else 2]]
    planes = _planes(image, tables, downsample)
    parts = [b"\xff\xd8", head]
    for number, table in enumerate(tables):
        parts.append(_segment(0xDB, bytes([number]) + bytes(table[ZIGZAG].tolist())))
    parts.append(_frame(height, width, planes, progressive))
    parts += _scans(planes, progressive, optimize)
    return b"".join([*parts, b"\xff\xd9"])


def _segment(kind: int, body: bytes) -> bytes:
    if len(body) > 65533:
        raise ValueError("a segment is too long")
    return struct.pack(">BBH", 0xFF, kind, len(body) + 2) + body


def _frame(height: int, width: int, planes: list[Plane], progressive: bool) -> bytes:
    body = struct.pack(">BHHB", 8, height, width, len(planes))
    for number, plane in enumerate(planes, 1):
        body += bytes([number, plane.factor * 17, plane.table])
    return _segment(0xC2 if progressive else 0xC0, body)


def _planes(image: Any, tables: list[Any], downsample: bool) -> list[Plane]:
    height, width, channels = image.shape
    if channels == 1:
        return [_plane(image[..., 0], 1, 0, tables[0], 1)]
    most = 2 if downsample else 1
    found = []
    for i, channel in enumerate(pixels.from_rgb(image)):
        if i and downsample:
            even = np.pad(channel, ((0, height % 2), (0, width % 2)), mode="edge")
            found.append(_plane(pixels.downsampled(even), 1, 1, tables[1], most // 2))
        else:
            found.append(_plane(channel, most if i == 0 else 1, min(i, 1), tables[min(i, 1)], most))
    return found


def _plane(channel: Any, factor: int, table: int, step: Any, per: int) -> Plane:
    """A component, padded to whole MCUs by repeating its last row and column."""
    side = 8 * factor
    rows, columns = -(-channel.shape[0] // 8), -(-channel.shape[1] // 8)
    pads = [(0, -n % side) for n in channel.shape]
    whole = np.pad(channel, pads, mode="edge")
    return Plane(pixels.coefficients(whole, step)[..., ZIGZAG], factor, table, rows, columns)


# -- symbols --------------------------------------------------------------------------------------
@record
class Symbols:
    """In the order of the file: which table (0 DC, 1 AC; + 2 for chrominance), symbol, more bits."""

    table: Any
    symbol: Any
    extra: Any  # the bits of the number
    count: Any  # how many of them


def _sizes(values: Any) -> Any:
    """How many bits the absolute values need."""
    return np.ceil(np.log2(np.abs(values) + 1)).astype(np.int64)


def _low_bits(values: Any, sizes: Any) -> Any:
    """Positive numbers as they are, negative ones minus 1, in so many bits."""
    return np.where(values < 0, values - 1, values) & ((1 << sizes) - 1)


def _symbols(blocks: Any, change: Any, table: Any, dc: bool, ac: bool) -> Symbols:
    """blocks: [n, 64] in the order of the scan; change: their DC differences; table: per block."""
    columns: list[tuple[Any, ...]] = []  # (block, rank inside of it, table, symbol, extra, count)
    number = np.arange(len(blocks))
    if dc:
        size = _sizes(change)
        columns.append((number, 0 * number, 2 * table, size, _low_bits(change, size), size))
    if ac:
        block, place = np.nonzero(blocks[:, 1:])
        place = place + 1
        value = blocks[block, place]
        same = np.zeros(len(block), bool)
        same[1:] = block[1:] == block[:-1]
        before = np.where(same, np.concatenate([[0], place[:-1]]), 0)
        run = place - before - 1
        size = _sizes(value)
        kind = 2 * table[block] + 1
        symbol = (run % 16) * 16 + size
        columns.append((block, 4 * place + 3, kind, symbol, _low_bits(value, size), size))
        for extra in range(3):  # sixteen zeros at a time
            long = run // 16 > extra
            zero = 0 * block[long]
            rank = 4 * place[long] + extra
            columns.append((block[long], rank, kind[long], zero + 0xF0, zero, zero))
        open_ = number[blocks[:, 63] == 0]
        zero = 0 * open_
        columns.append((open_, zero + 999, 2 * table[open_] + 1, zero, zero, zero))
    merged = [np.concatenate(parts) for parts in zip(*columns)]
    order = np.lexsort((merged[1], merged[0]))
    return Symbols(*(part[order] for part in merged[2:]))


def _interleaved(planes: list[Plane]) -> tuple[Any, Any, Any]:
    """(blocks, DC differences, tables) of a scan over all components, MCU by MCU."""
    if len(planes) == 1:
        return _alone(planes[0])
    blocks, changes, tables = [], [], []
    for plane in planes:
        f = plane.factor
        rows, columns = plane.blocks.shape[0] // f, plane.blocks.shape[1] // f
        units = plane.blocks.reshape(rows, f, columns, f, 64).transpose(0, 2, 1, 3, 4)
        units = units.reshape(rows * columns, f * f, 64)
        blocks.append(units)
        changes.append(_changes(units.reshape(-1, 64)).reshape(units.shape[:2]))
        tables.append(np.full(units.shape[:2], plane.table))
    joined = [np.concatenate(part, 1) for part in (blocks, changes, tables)]
    return joined[0].reshape(-1, 64), joined[1].reshape(-1), joined[2].reshape(-1)


def _alone(plane: Plane) -> tuple[Any, Any, Any]:
    """The same for one component: only the blocks that the image needs."""
    blocks = plane.blocks[: plane.rows, : plane.columns].reshape(-1, 64)
    return blocks, _changes(blocks), np.full(len(blocks), plane.table)


def _changes(blocks: Any) -> Any:
    return np.diff(blocks[:, 0], prepend=0)


# -- scans ----------------------------------------------------------------------------------------
def _scans(planes: list[Plane], progressive: bool, optimize: bool) -> list[bytes]:
    """Tables of codes and scans.  Progressive: first all DC, then AC of each component."""
    everything = range(len(planes))
    if not progressive:
        symbols = _symbols(*_interleaved(planes), dc=True, ac=True)
        return _scan(symbols, planes, everything, 0, 63, optimize)
    parts = _scan(_symbols(*_interleaved(planes), dc=True, ac=False), planes, everything, 0, 0, optimize)
    for i, plane in enumerate(planes):
        symbols = _symbols(*_alone(plane), dc=False, ac=True)
        parts += _scan(symbols, planes, [i], 1, 63, optimize)
    return parts


def _scan(
    symbols: Symbols, planes: list[Plane], chosen: Any, first: int, last: int, optimize: bool
) -> list[bytes]:
    parts, found = [], {}
    for table in sorted({int(t) for t in np.unique(symbols.table)}):
        codes = USUAL_CODES[table // 2][table % 2]
        if optimize:
            used = symbols.symbol[symbols.table == table]
            codes = best_codes(np.bincount(used, minlength=256))
        found[table] = codes
        head = bytes([(table % 2) << 4 | table // 2])
        parts.append(_segment(0xC4, head + bytes(codes.counts) + bytes(codes.symbols)))
    body = bytes([len(chosen)])
    for i in chosen:
        body += bytes([i + 1, planes[i].table * 17])
    parts.append(_segment(0xDA, body + bytes([first, last, 0])))
    parts.append(_packed(symbols, found))
    return parts


def _packed(symbols: Symbols, tables: dict[int, Codes]) -> bytes:
    """The bits of all symbols, filled up with ones, 0xFF followed by 0."""
    codes, lengths = np.zeros((4, 256), np.int64), np.zeros((4, 256), np.int64)
    for table, found in tables.items():
        codes[table], lengths[table] = found.encoder()
    code = codes[symbols.table, symbols.symbol]
    value = (code << symbols.count) | symbols.extra
    size = lengths[symbols.table, symbols.symbol] + symbols.count
    ends = np.cumsum(size)
    total = int(ends[-1]) if len(ends) else 0
    bits = np.ones(-(-total // 8) * 8, np.uint8)
    for i in range(int(size.max(initial=0))):
        used = size > i
        bits[ends[used] - 1 - i] = value[used] >> i & 1
    return np.packbits(bits).tobytes().replace(b"\xff", b"\xff\0")
