"""Snappy blocks, decompressed: old checkpoints hold them.  In: bytes.  Out: bytes, or `Damaged`."""

from __future__ import annotations

from headrace.formats.coding import Buffer, Damaged, read_bytes, read_varint

_MOST = 22  # three bytes may stand for 64; a block that promises more is no block


def decompress(data: Buffer) -> bytes:
    """The bytes of a compressed block."""
    size, at = read_varint(data, 0, bits=32)
    if size > _MOST * len(data):
        raise Damaged(f"{len(data)} bytes cannot become {size}", 0)
    out = bytearray()
    while at < len(data):
        tag = data[at]
        if tag & 3 == 0:
            chunk, at = _literal(data, at)
            out += chunk
        else:
            length, distance, at = _reference(data, at)
            _repeat(out, length, distance, at)
        if len(out) > size:
            break
    if len(out) != size:
        raise Damaged(f"a block of {size} bytes has another size", at)
    return bytes(out)


def _literal(data: Buffer, at: int) -> tuple[bytes, int]:
    length = data[at] >> 2
    at += 1
    if length >= 60:  # the length itself follows, in one to four bytes
        raw, at = read_bytes(data, at, length - 59)
        length = int.from_bytes(raw, "little")
    return read_bytes(data, at, length + 1)


def _reference(data: Buffer, at: int) -> tuple[int, int, int]:
    """Length of what is repeated, how far back it is, and the place after."""
    tag = data[at]
    width = (0, 1, 2, 4)[tag & 3]
    raw, end = read_bytes(data, at + 1, width)
    distance = int.from_bytes(raw, "little")
    if width == 1:
        return ((tag >> 2) & 7) + 4, distance | (tag >> 5) << 8, end
    return (tag >> 2) + 1, distance, end


def _repeat(out: bytearray, length: int, distance: int, at: int) -> None:
    if not 0 < distance <= len(out):
        raise Damaged(f"a reference {distance} bytes back, after {len(out)} bytes", at)
    start = len(out) - distance
    if distance >= length:
        out += out[start : start + length]
    else:  # what is repeated grows while it is copied
        pattern = bytes(out[start:])
        out += (pattern * (length // distance + 1))[:length]
