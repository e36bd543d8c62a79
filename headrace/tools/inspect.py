"""headrace inspect PATH: what is in a file or folder, at a glance.

Knows GraphDefs and MetaGraphDefs (binary and text), checkpoints (by prefix, file or folder), SavedModels,
TFRecord files and event files.  --all shows every line, --limit N so many of each kind.
"""

from __future__ import annotations

import argparse
import os
import struct
from collections.abc import Callable, Sequence
from typing import Any

from google.protobuf import text_format
from google.protobuf.message import DecodeError

from headrace.core.errors import OpError
from headrace.formats import files, proto
from headrace.formats.checkpoints import checkpoint
from headrace.formats.checkpoints.table import MAGIC
from headrace.formats.records import crc32c
from headrace.formats.records.compression import NONE, ByteSource, Compression
from headrace.tools.describe_checkpoint import describe_checkpoint, describe_checkpoints
from headrace.tools.describe_graph import describe_graph, describe_meta_graph, describe_saved_model
from headrace.tools.describe_records import compression_of, describe_events, describe_records
from headrace.tools.describe_text import columns, shortened, size
from headrace.train.saved_model.loader import contains_saved_model, parse_saved_model
from headrace.train.saved_model.saved_model_names import SAVED_MODEL_FILENAME_PB, SAVED_MODEL_FILENAME_PBTXT

Described = tuple[str, list[str]]  # what it is, and what is in it
LIMIT = 12


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="headrace inspect", description=__doc__)
    parser.add_argument("path")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--limit", type=int, default=LIMIT)
    given = parser.parse_args(list(words))
    try:
        what, lines = describe(given.path, 0 if given.all else given.limit)
    except (OpError, OSError, ValueError) as error:
        message = error.message if isinstance(error, OpError) else error
        parser.exit(1, f"headrace inspect: {message}\n")
    print("\n".join([f"{given.path}: {what}", *lines]))
    return 0


def describe(path: str, limit: int = LIMIT) -> Described:
    """What a path leads to.

    Raises:
      NotFoundError, DataLossError, ValueError: nothing that is known here.
    """
    if os.path.basename(path) in (SAVED_MODEL_FILENAME_PB, SAVED_MODEL_FILENAME_PBTXT):
        path = os.path.dirname(path) or "."
    if os.path.isdir(path):
        return _folder(path, limit)
    prefix = _checkpoint_prefix(path)
    if prefix is not None:
        return "checkpoint", describe_checkpoint(prefix, limit)
    files.stat(path)  # raises where there is nothing
    for known in (_table, _records, _message, _text):
        found = known(path, limit)
        if found is not None:
            return found
    raise ValueError(f"{path} is no graph, checkpoint, SavedModel, record or event file")


def _folder(path: str, limit: int) -> Described:
    if contains_saved_model(path):
        return "SavedModel", describe_saved_model(path, parse_saved_model(path), limit)
    if os.path.exists(os.path.join(path, "checkpoint")):
        return "folder of checkpoints", describe_checkpoints(path, limit)
    rows = []
    for name in sorted(os.listdir(path)):
        inner = os.path.join(path, name)
        rows.append((name, "folder" if os.path.isdir(inner) else size(os.path.getsize(inner))))
    return "folder", shortened(columns(rows), limit)


def _checkpoint_prefix(path: str) -> str | None:
    """The checkpoint that a path belongs to."""
    stem, dot, end = path.rpartition(".")
    if dot and (end == "index" or end.startswith("data-")) and os.path.exists(f"{stem}.index"):
        return stem
    return path if not os.path.exists(path) and checkpoint.exists(path) else None


def _table(path: str, limit: int) -> Described | None:
    """A checkpoint of the first version is one file that ends like a table."""
    with files.translated(path), open(path, "rb") as file:
        file.seek(0, os.SEEK_END)
        if file.tell() < 8:
            return None
        file.seek(-8, os.SEEK_END)
        if file.read(8) != struct.pack("<Q", MAGIC):
            return None
    return "checkpoint (V1)", describe_checkpoint(path, limit)


def _records(path: str, limit: int) -> Described | None:
    """Records begin with a length and its checksum."""
    kind = compression_of(path)
    source = ByteSource(path, Compression(kind))
    try:
        start = source.read(12)
    except OpError:
        return None
    finally:
        source.close()
    if len(start) < 12 or crc32c.masked(start[:8]) != struct.unpack("<I", start[8:])[0]:
        return None
    if kind == NONE and "tfevents" in os.path.basename(path):
        return "events", describe_events(path, limit)
    return "records", describe_records(path, limit)


_MESSAGES: tuple[tuple[str, str, Callable[[Any, int], list[str]]], ...] = (
    ("MetaGraphDef", "meta graph", describe_meta_graph),
    ("GraphDef", "graph", describe_graph),
)


def _message(path: str, limit: int) -> Described | None:
    data = files.read_bytes(path)
    for name, what, describe_it in _MESSAGES:
        message = getattr(proto, name)()
        try:
            message.ParseFromString(data)
        except DecodeError:
            continue
        graph = message.graph_def if name == "MetaGraphDef" else message
        if any(node.op and node.name for node in graph.node[:10]):
            return f"{what}, {size(len(data))}", describe_it(message, limit)
    return None


def _text(path: str, limit: int) -> Described | None:
    try:
        text = files.read_bytes(path).decode()
    except UnicodeDecodeError:
        return None
    for name, what, describe_it in _MESSAGES:
        message = getattr(proto, name)()
        try:
            proto.from_text(text, message)
        except (text_format.ParseError, RecursionError):
            continue
        if message.ByteSize():
            return f"{what} in text format, {size(len(text))}", describe_it(message, limit)
    return None
