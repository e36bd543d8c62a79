"""JPEG (ITU-T T.81, JFIF): bytes -> an array [height, width, channels] of uint8.

Sequential and progressive Huffman coding, 8 bits; grey, YCbCr, RGB, CMYK, YCCK; any sampling.  Bad
data raises ValueError; no more memory is asked for than the header's sizes need.
"""

from __future__ import annotations

import re
import struct
from array import array
from typing import Any

import numpy as np

from headrace.core import hooks
from headrace.formats.images import jpeg_pixels as pixels
from headrace.formats.images import libraries
from headrace.formats.images.jpeg_scan import Component, Truncated, read_scan
from headrace.formats.images.jpeg_tables import USUAL_CODES, ZIGZAG, Codes

SIGNATURE = b"\xff\xd8\xff"
_MOST_BYTES = 1 << 29
_LARGE = 1 << 12  # bytes from which compiled code is asked for
_END_OF_SCAN = re.compile(rb"\xff+[^\x00\xff\xd0-\xd7]", re.DOTALL)
_RESTART = re.compile(rb"\xff[\xd0-\xd7]")


class _Image:
    """What the markers have said so far."""

    def __init__(self) -> None:
        self.height = self.width = 0
        self.parts: list[Component] = []
        self.progressive = False
        self.steps: dict[int, Any] = {}
        self.codes: dict[tuple[int, int], Any] = {}
        self.interval = 0
        self.adobe: int | None = None  # Adobe's colour transform
        self.jfif = False
        self.truncated = False

    @property
    def down(self) -> int:
        return max(part.down for part in self.parts)

    @property
    def across(self) -> int:
        return max(part.across for part in self.parts)

    @property
    def mcus(self) -> tuple[int, int]:
        return _over(self.height, 8 * self.down), _over(self.width, 8 * self.across)


def _over(whole: int, part: int) -> int:
    """Division, rounded up."""
    return -(-whole // part)


# -- markers --------------------------------------------------------------------------------------
def _parse(data: bytes, header_only: bool = False, with_tables: bool = True) -> _Image:
    if not data.startswith(SIGNATURE[:2]):
        raise ValueError("not a JPEG")
    image, at = _Image(), 2
    while True:
        while data[at : at + 1] not in (b"\xff", b""):
            at += 1
        while data[at : at + 1] == b"\xff":
            at += 1
        if at >= len(data):
            if not image.parts or header_only:
                raise ValueError("no image")
            image.truncated = True
            return image
        kind = data[at]
        at += 1
        if kind == 0xD9:
            return image
        if kind in (0x01, 0x00) or 0xD0 <= kind <= 0xD7:
            continue
        length = int.from_bytes(data[at : at + 2], "big")
        body = data[at + 2 : at + length]
        if length < 2 or len(body) < length - 2:
            if image.parts and not header_only:
                image.truncated = True
                return image
            raise ValueError("a segment ends early")
        at += length
        if kind == 0xDA:
            if header_only:
                return image
            at = _scan(image, body, data, at)
            if image.truncated:
                return image
        elif with_tables or kind not in (0xDB, 0xC4):
            _segment(image, kind, body)


def _segment(image: _Image, kind: int, body: bytes) -> None:
    if kind == 0xDB:
        _read_steps(image, body)
    elif kind == 0xC4:
        _read_codes(image, body)
    elif kind in (0xC0, 0xC1, 0xC2):
        _read_frame(image, body, progressive=kind == 0xC2)
    elif 0xC3 <= kind <= 0xCF and kind not in (0xC8, 0xCC):
        raise ValueError(f"JPEG process {kind:#x} is not supported")
    elif kind == 0xDD:
        image.interval = int.from_bytes(body[:2], "big")
    elif kind == 0xE0 and body.startswith(b"JFIF\0"):
        image.jfif = True
    elif kind == 0xEE and body.startswith(b"Adobe") and len(body) >= 12:
        image.adobe = body[11]


def _read_steps(image: _Image, body: bytes) -> None:
    while body:
        wide, number = body[0] >> 4, body[0] & 15
        size = 128 if wide else 64
        if len(body) < 1 + size or wide > 1 or number > 3:
            raise ValueError("bad quantization table")
        values = np.frombuffer(body, ">u2" if wide else np.uint8, 64, 1).astype(np.int64)
        steps = np.empty(64, np.int64)
        steps[ZIGZAG] = values
        image.steps[number] = steps
        body = body[1 + size :]


def _read_codes(image: _Image, body: bytes) -> None:
    while body:
        if len(body) < 17:
            raise ValueError("bad Huffman table")
        kind, number, counts = body[0] >> 4, body[0] & 15, tuple(body[1:17])
        total = sum(counts)
        if kind > 1 or number > 3 or total > 256 or len(body) < 17 + total:
            raise ValueError("bad Huffman table")
        image.codes[kind, number] = Codes(counts, tuple(body[17 : 17 + total])).lookup()
        body = body[17 + total :]


def _read_frame(image: _Image, body: bytes, progressive: bool) -> None:
    if image.parts or len(body) < 6:
        raise ValueError("bad frame header")
    depth, image.height, image.width, count = struct.unpack_from(">BHHB", body)
    if depth != 8 or count not in (1, 3, 4) or len(body) < 6 + 3 * count:
        raise ValueError("bad frame header")
    if not image.height or not image.width:
        raise ValueError(f"Invalid image size: {image.width} x {image.height}")
    if image.height * image.width * count >= _MOST_BYTES:
        raise ValueError("Image too large")
    image.progressive = progressive
    for i in range(count):
        number, factors, table = body[6 + 3 * i : 9 + 3 * i]
        across, down = factors >> 4, factors & 15
        if not 1 <= across <= 4 or not 1 <= down <= 4 or table > 3:
            raise ValueError("bad sampling factors")
        image.parts.append(Component(number, down, across, table))
    rows, columns = image.mcus
    for part in image.parts:
        height = _over(image.height * part.down, image.down)
        width = _over(image.width * part.across, image.across)
        part.rows, part.columns = _over(height, 8), _over(width, 8)
        part.stride, part.stored_rows = columns * part.across, rows * part.down


def _make_room(image: _Image) -> None:
    for part in image.parts:
        if not part.values:
            part.values = array("h", bytes(128 * part.stride * part.stored_rows))


def _scan(image: _Image, body: bytes, data: bytes, at: int) -> int:
    """Read a scan; returns where its data ends."""
    count = body[0] if body else 0
    if not image.parts or not 1 <= count <= 4 or len(body) < 4 + 2 * count:
        raise ValueError("bad scan header")
    _make_room(image)
    chosen = []
    for i in range(count):
        number, tables = body[1 + 2 * i], body[2 + 2 * i]
        part = next((p for p in image.parts if p.number == number), None)
        if part is None or part in chosen:
            raise ValueError("bad scan header")
        part.codes = (_codes(image, 0, tables >> 4), _codes(image, 1, tables & 15))
        chosen.append(part)
    first, last, bits = body[1 + 2 * count : 4 + 2 * count]
    high, low = bits >> 4, bits & 15
    if image.progressive and (first > last or last > 63 or low > 13 or (first == 0 and last)):
        raise ValueError("bad scan header")
    if image.progressive and first and count > 1:
        raise ValueError("bad scan header")
    found = _END_OF_SCAN.search(data, at)
    end = found.start() if found else len(data)
    segments = _RESTART.split(data[at:end])
    try:
        read_scan(segments, chosen, image.mcus, image.interval, first, last, high, low, image.progressive)
    except Truncated:
        image.truncated = True
    except OverflowError:
        raise ValueError("a coefficient is too large") from None
    return end


def _codes(image: _Image, kind: int, number: int) -> Any:
    """A table of codes; the usual ones where the file brings none (motion JPEG)."""
    if (kind, number) not in image.codes and number < 2:
        image.codes[kind, number] = USUAL_CODES[number][kind].lookup()
    return image.codes.get((kind, number))


# -- the image ------------------------------------------------------------------------------------
def read_shape(data: bytes) -> tuple[int, int, int]:
    """(height, width, channels), from the header alone."""
    image = _parse(data, header_only=True)
    if not image.parts:
        raise ValueError("no image")
    return image.height, image.width, len(image.parts)


def decode(
    data: bytes,
    channels: int = 0,
    ratio: int = 1,
    smooth: bool = True,
    recover: bool = False,
    acceptable_fraction: float = 1.0,
    fast: bool = False,
) -> Any:
    """An image.

    channels: 1 grey, 3 RGB, 0 as in the file.  ratio: 1, 2, 4 or 8 times smaller.  smooth: colours
    are interpolated.  recover: what is missing at the end is filled up; else at least
    acceptable_fraction of the rows must be there, and the others are 0.  fast: the less exact
    transform (at full size alone).
    """
    head = _parse(data, header_only=True, with_tables=False)
    if not head.parts:
        raise ValueError("no image")
    quick = _by_library(head, data, channels or min(len(head.parts), 3), ratio, smooth, fast)
    if quick is not None:
        return quick
    image = _parse(data)
    _make_room(image)
    planes = _planes(image, ratio, smooth, fast and ratio == 1)
    result = _colored(image, planes, channels)
    if image.truncated and not recover:
        present = _rows_present(image) // ratio
        if present < min(1.0, acceptable_fraction) * len(result):
            raise ValueError("Premature end of JPEG data")
        result[present:] = 0
    return result


def _by_library(image: _Image, data: bytes, channels: int, ratio: int, smooth: bool, fast: bool) -> Any:
    """The whole image by Pillow's decoder; None where it has no way to these numbers, or where the data are
    damaged: it knows the fast transform with repeated colours alone, and the accurate one with
    interpolated ones."""
    height, width = _over(image.height, ratio), _over(image.width, ratio)
    count = len(image.parts)
    if count == 1 or (count == 3 and channels == 1 and not _is_rgb(image)):
        plane = libraries.jpeg_pixels(data, "L", height, width, ratio, fast)
        return None if plane is None else np.repeat(plane[..., None], channels, axis=2)
    if count == 4 or channels == 1:
        return None
    scales = [_scale(image, part, ratio) for part in image.parts]
    if scales[0] != (1, 1) or _is_rgb(image):
        return None
    if all(_side(image, part, 8 // ratio) < 8 for part in image.parts):
        fast = not smooth  # smaller transforms are of one kind
    if set(scales) == {(1, 1)} or fast != smooth:
        return libraries.jpeg_pixels(data, "RGB", height, width, ratio, fast)
    if not fast or ratio > 1 or not {scales[1], scales[2]} <= {(1, 2), (2, 2)}:
        return None
    whole = libraries.jpeg_words(data, "YCbCr", height, width, True)
    if whole is None:
        whole = libraries.jpeg_pixels(data, "YCbCr", height, width, 1, True)
    if whole is None:
        return None
    native = hooks.native_jpeg_colors.value
    if native is not None and scales[1] == scales[2] and whole.size > _LARGE:
        colored = native(whole, scales[1][0])
        if colored is not None:
            return colored
    colors = []
    for k in (1, 2):
        down, across = scales[k]
        stored = np.ascontiguousarray(whole[::down, ::across, k])
        colors.append(pixels.upsampled(stored, down, across, True)[:height, :width])
    return pixels.to_rgb(whole[..., 0], *colors)


def _scale(image: _Image, part: Component, ratio: int) -> tuple[int, int]:
    """How many times a component is smaller than the result, down and across, once it is transformed."""
    side = 8 // ratio
    own = _side(image, part, side)
    down, across = image.down * side, image.across * side
    if down % (part.down * own) or across % (part.across * own):
        raise ValueError("fractional sampling is not supported")
    return down // (part.down * own), across // (part.across * own)


def _side(image: _Image, part: Component, side: int) -> int:
    """How many pixels a block becomes: more than `side` instead of interpolation."""
    own = side
    while (
        own < 8
        and _halves(image.down * side, part.down * own)
        and _halves(image.across * side, part.across * own)
    ):
        own *= 2
    return own


def _rows_present(image: _Image) -> int:
    """Rows above the first block row that is still empty in all components."""
    part = image.parts[0]
    blocks = np.frombuffer(part.values, np.int16).reshape(part.stored_rows, -1)
    filled = np.flatnonzero(blocks.any(axis=1))
    whole = int(filled[-1]) if len(filled) else 0  # the last one may be incomplete
    return min(whole * 8 * image.down // part.down, image.height)


def _planes(image: _Image, ratio: int, smooth: bool, fast: bool) -> list[Any]:
    """The components at full size (over ratio)."""
    height, width = _over(image.height, ratio), _over(image.width, ratio)
    side = 8 // ratio
    planes = []
    for part in image.parts:
        if part.table not in image.steps:
            raise ValueError("a quantization table is missing")
        values = np.frombuffer(part.values, np.int16).astype(np.int64)
        quantized = values.reshape(part.stored_rows, part.stride, 64)
        own = _side(image, part, side)
        if fast:
            plane = pixels.fast_samples(quantized, image.steps[part.table])
        else:
            blocks = quantized * image.steps[part.table]
            plane = pixels.samples(blocks.reshape(*blocks.shape[:2], 8, 8), own)
        down, across = _scale(image, part, ratio)
        plane = plane[: _over(height, down), : _over(width, across)]
        planes.append(pixels.upsampled(plane, down, across, smooth)[:height, :width])
    return planes


def _halves(whole: int, part: int) -> bool:
    return whole % (2 * part) == 0


def _colored(image: _Image, planes: list[Any], channels: int) -> Any:
    """Grey or RGB."""
    count = len(planes)
    channels = channels or min(count, 3)
    if count == 1:
        return np.repeat(planes[0][..., None], channels, axis=2)
    if count == 4:
        if channels == 1:
            raise ValueError("CMYK can not become grey")
        inks = np.stack(planes, 2)
        if image.adobe == 2:
            inks[..., :3] = 255 - pixels.to_rgb(*planes[:3])
        return pixels.from_cmyk(inks, image.adobe is not None)
    if not _is_rgb(image):
        if channels == 1:
            return planes[0][..., None].copy()
        return pixels.to_rgb(*planes)
    rgb = np.stack(planes, 2)
    return pixels.brightness(rgb)[..., None] if channels == 1 else rgb


def _is_rgb(image: _Image) -> bool:
    if image.jfif:
        return False
    if image.adobe is not None:
        return image.adobe == 0
    return [part.number for part in image.parts] == [82, 71, 66]  # the letters
