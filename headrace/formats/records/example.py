"""tf.train.Example and SequenceExample as bytes on the wire, read without building messages.

In: serialized bytes.  Out: where each feature lies (`features`, `sections`), and what it holds
(`payload`): packed numbers stay bytes, so that a whole batch is decoded by one NumPy call (`floats`,
`integers`).  What is not wire format raises Malformed; nothing is read outside the given bytes.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Any

import numpy as np

NONE, BYTES, FLOAT, INT64 = 0, 1, 2, 3  # the field of Feature.kind that is set

Array = np.ndarray[Any, np.dtype[Any]]
Spans = dict[bytes, tuple[int, int]]


class Malformed(ValueError):
    """The bytes are not those of the expected message."""


def varint(data: bytes, at: int, end: int) -> tuple[int, int]:
    """A number at `at` and where it ends; at most 64 bits count."""
    value = shift = 0
    while at < end and shift < 70:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFFFFFFFFFFFFFF, at
        shift += 7
    raise Malformed("a number does not end")


def _length(data: bytes, at: int, end: int) -> tuple[int, int]:
    """Start and end of a field whose length stands at `at`."""
    if at < end and data[at] < 0x80:
        size, at = data[at], at + 1
    else:
        size, at = varint(data, at, end)
    if size > end - at:
        raise Malformed("a field is longer than its message")
    return at, at + size


def sections(data: bytes) -> list[tuple[int, int, int]]:
    """The length-delimited fields of a message as (number, start, end); others are passed over."""
    found = []
    at, end = 0, len(data)
    while at < end:
        tag, at = varint(data, at, end)
        match tag & 7:
            case 2:
                start, at = _length(data, at, end)
                found.append((tag >> 3, start, at))
            case 0:
                _, at = varint(data, at, end)
            case 1:
                at += 8
            case 5:
                at += 4
            case _:
                raise Malformed(f"wire type {tag & 7}")
    if at > end:
        raise Malformed("a field is longer than its message")
    return found


def features(data: bytes, wanted: Container[bytes], dense: Container[bytes] = ()) -> Spans:
    """Where the wanted features of an Example lie.  Of several under one name the last counts; for
    the names in `dense`, the last that is not empty."""
    found: Spans = {}
    if len(data) > 1 and data[0] == 0x0A:  # the ordinary case: one field, the map
        start, stop = _length(data, 1, len(data))
        if stop == len(data):
            entries(data, start, stop, wanted, dense, found)
            return found
    for number, start, stop in sections(data):
        if number == 1:
            entries(data, start, stop, wanted, dense, found)
    return found


def entries(
    data: bytes, at: int, end: int, wanted: Container[bytes], dense: Container[bytes], found: Spans
) -> None:
    """Add the wanted entries of a map<string, message> to `found`."""
    while at < end:
        # The ordinary entry is short: 0A size 0A size key 12 size value, every size in one byte.
        if end - at > 5 and (size := data[at + 1]) < 0x80 and at + 2 + size <= end:
            middle = at + 4 + data[at + 3]
            stop = at + 2 + size
            if (
                middle + 1 < stop
                and data[at] == 0x0A == data[at + 2]
                and data[middle] == 0x12
                and middle + 2 + data[middle + 1] == stop
            ):
                key, start = data[at + 4 : middle], middle + 2
                if key in wanted and not (start == stop and key in found and key in dense):
                    found[key] = (start, stop)
                at = stop
                continue
        key, start, at = _entry(data, at, end)
        if key in wanted and not (start == at and key in found and key in dense):
            found[key] = (start, at)


def _entry(data: bytes, at: int, end: int) -> tuple[bytes, int, int]:
    """Key, and start and end of the value, of the map entry at `at`."""
    if data[at] != 0x0A:
        raise Malformed("a map has another field")
    at, stop = _length(data, at + 1, end)
    if at >= stop or data[at] != 0x0A:
        raise Malformed("a map entry has no key")
    start, at = _length(data, at + 1, stop)
    key = data[start:at]
    if at >= stop or data[at] != 0x12:
        raise Malformed("a map entry has no value")
    start, at = _length(data, at + 1, stop)
    if at != stop:
        raise Malformed("a map entry has more than a key and a value")
    return key, start, stop


def payload(data: bytes, start: int, end: int) -> tuple[int, Any]:
    """What a Feature holds: its kind, and a list of bytes or packed numbers."""
    if start == end:
        return NONE, b""
    tag, size = data[start], end - start
    # The ordinary short feature: tag size 0A size values, every size in one byte.
    if 4 <= size < 0x82 and data[start + 3] == size - 4 and data[start + 1] == size - 2:
        if data[start + 2] == 0x0A:
            if tag == 0x12 and not size & 3:
                return FLOAT, data[start + 4 : end]
            if tag == 0x1A and data[end - 1] < 0x80:
                return INT64, data[start + 4 : end]
            if tag == 0x0A:
                return BYTES, [data[start + 4 : end]]
    if tag not in (0x0A, 0x12, 0x1A):
        raise Malformed("Unsupported datatype.")
    at, end = _length(data, start + 1, end)
    if tag == 0x0A:
        return BYTES, _strings(data, at, end)
    if at == end:
        return tag >> 3, b""
    if data[at] == 0x0A:  # packed
        at, end = _length(data, at + 1, end)
        if tag == 0x12:
            end -= (end - at) % 4
        elif end > at and data[end - 1] >= 0x80:
            raise Malformed("a number does not end")
        return tag >> 3, data[at:end]
    return tag >> 3, _packed(data, at, end, tag)


def _strings(data: bytes, at: int, end: int) -> list[bytes]:
    values = []
    while at < end:
        if data[at] != 0x0A:
            raise Malformed("a list of bytes has another field")
        start, at = _length(data, at + 1, end)
        values.append(data[start:at])
    return values


def _packed(data: bytes, at: int, end: int, tag: int) -> bytes:
    """Numbers that stand each under its own tag, without the tags."""
    parts = []
    while at < end:
        if data[at] != (0x0D if tag == 0x12 else 0x08):
            raise Malformed("a list of numbers has another field")
        if tag == 0x12:
            stop = at + 5
            if stop > end:
                raise Malformed("a number does not end")
        else:
            _, stop = varint(data, at + 1, end)
        parts.append(data[at + 1 : stop])
        at = stop
    return b"".join(parts)


def rows(data: bytes, start: int, end: int) -> list[tuple[int, int]]:
    """Where the features of a FeatureList lie."""
    found = []
    at = start
    while at < end:
        if data[at] != 0x0A:
            raise Malformed("a feature list has another field")
        begin, at = _length(data, at + 1, end)
        found.append((begin, at))
    return found


def floats(packed: bytes) -> Array:
    """Packed floats as an array."""
    return np.frombuffer(packed, "<f4").astype(np.float32)


def integers(packed: bytes) -> Array:
    """Packed varints as int64; the last byte ends a number."""
    raw = np.frombuffer(packed, np.uint8)
    low = raw < 0x80
    if low.all():
        return raw.astype(np.int64)
    ends = np.flatnonzero(low)
    starts = np.concatenate(([0], ends[:-1] + 1))
    sizes = ends - starts + 1
    if sizes.max() > 10:
        raise Malformed("a number does not end")
    place = np.arange(raw.size) - np.repeat(starts, sizes)
    with np.errstate(over="ignore"):
        bits = (raw & 0x7F).astype(np.uint64) << (7 * place).astype(np.uint64)
        return np.bitwise_or.reduceat(bits, starts).view(np.int64)


def count(kind: int, values: Any) -> int:
    """How many values a payload has."""
    if kind == FLOAT:
        return len(values) // 4
    if kind == INT64:
        # A byte below 128 ends a number.
        return int(np.count_nonzero(np.frombuffer(values, np.uint8) < 0x80))
    return len(values)
