"""Record files and event files, described in lines of text."""

from __future__ import annotations

import os
import time
from typing import Any

from google.protobuf.message import DecodeError

from headrace.formats import files, proto
from headrace.formats.records import example as wire
from headrace.formats.records.compression import GZIP, NONE, ZLIB, Compression
from headrace.formats.records.tfrecord import RecordReader
from headrace.tools.describe_text import columns, shortened, size
from headrace.tools.progress import Progress

_LOOKED_AT = 1000  # records whose features are counted
_KINDS = {wire.BYTES: "bytes", wire.FLOAT: "float", wire.INT64: "int64", wire.NONE: "empty"}


def compression_of(path: Any) -> str:
    """How a file is compressed, by its first bytes."""
    with files.translated(path), open(files.local(path), "rb") as file:
        start = file.read(2)
    if start == b"\x1f\x8b":
        return GZIP
    if len(start) == 2 and start[0] & 0x0F == 8 and int.from_bytes(start, "big") % 31 == 0:
        return ZLIB
    return NONE


def describe_records(path: Any, limit: int) -> list[str]:
    """How many records, how long, and what features they have if they are Examples."""
    kind = compression_of(path)
    sizes: list[int] = []
    features: dict[bytes, Feature] = {}
    other = 0
    total = os.path.getsize(files.local(path))
    with (
        RecordReader(path, Compression(kind)) as reader,
        Progress("reading", total if kind == NONE else 0) as progress,
    ):
        for record in reader:
            sizes.append(len(record))
            progress.at(reader.offset)
            if len(sizes) <= _LOOKED_AT:
                other += not _count_features(record, features)
    if not sizes:
        return ["no records"]
    shown = f"{kind.lower()}, " if kind else ""
    lines = [f"{shown}{len(sizes)} records, {size(sum(sizes))}: {size(min(sizes))} to {size(max(sizes))}"]
    looked_at = min(len(sizes), _LOOKED_AT)
    if features and other < looked_at:
        lines.append(f"Examples (of {looked_at} records looked at, {looked_at - other})")
        rows = [
            (name.decode("utf-8", "replace"), *found.text(looked_at))
            for name, found in sorted(features.items())
        ]
        lines += shortened(columns(rows), limit)
    return lines


class Feature:
    """What is known of the features of one name."""

    def __init__(self) -> None:
        self.kinds: set[int] = set()
        self.counts: list[int] = []

    def text(self, records: int) -> tuple[str, str, str]:
        low, high = min(self.counts), max(self.counts)
        values = str(low) if low == high else f"{low} to {high}"
        often = "" if len(self.counts) == records else f"in {len(self.counts)} of {records}"
        return "/".join(_KINDS[k] for k in sorted(self.kinds)), f"{values} values", often


class _All:
    """Holds everything."""

    def __contains__(self, key: object) -> bool:
        return True


def _count_features(record: bytes, features: dict[bytes, Feature]) -> bool:
    """Add what an Example has; False if the record is none."""
    try:
        found = {name: wire.payload(record, *span) for name, span in wire.features(record, _All()).items()}
    except wire.Malformed:
        return False
    for name, (kind, values) in found.items():
        feature = features.setdefault(name, Feature())
        feature.kinds.add(kind)
        feature.counts.append(wire.count(kind, values))
    return bool(found)


# -- events --------------------------------------------------------------------------------------
def describe_events(path: Any, limit: int) -> list[str]:
    """When, which steps, which tags; the last value of numbers."""
    tags: dict[str, list[Any]] = {}  # tag -> [kind, count, first step, last step, last value]
    others: dict[str, int] = {}
    times: list[float] = []
    total = os.path.getsize(files.local(path))
    with RecordReader(path) as reader, Progress("reading", total) as progress:
        for record in reader:
            progress.at(reader.offset)
            try:
                event = proto.Event.FromString(record)
            except DecodeError:
                others["damaged"] = others.get("damaged", 0) + 1
                continue
            times.append(event.wall_time)
            what = event.WhichOneof("what") or "empty"
            if what == "summary":
                for value in event.summary.value:
                    _add_value(tags, value, event.step)
            else:
                others[what] = others.get(what, 0) + 1
    if not times:
        return ["no events"]
    moment = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(times[0]))
    lines = [f"{len(times)} events from {moment}, over {times[-1] - times[0]:.0f} s"]
    if others:
        lines.append("  " + ", ".join(f"{k} {n}" for k, n in sorted(others.items())))
    rows = [
        (tag, kind, f"{count} values", f"steps {first} to {last}", value)
        for tag, (kind, count, first, last, value) in sorted(tags.items())
    ]
    return [*lines, *shortened(columns(rows), limit)]


def _add_value(tags: dict[str, list[Any]], value: Any, step: int) -> None:
    kind = value.WhichOneof("value") or "empty"
    last = f"last {value.simple_value:.6g}" if kind == "simple_value" else ""
    if kind == "tensor":
        kind = value.metadata.plugin_data.plugin_name or kind
    found = tags.setdefault(value.tag, [kind, 0, step, step, last])
    found[1] += 1
    found[3:] = [step, last]
