"""Event files, which TensorBoard reads: TFRecords of Event messages, the first of which names the format."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator
from typing import Any

from headrace.core.errors import DataLossError
from headrace.formats import files, proto
from headrace.formats.records.tfrecord import RecordReader, RecordWriter

VERSION = "brain.Event:2"


class EventsWriter:
    """Writes events to `<prefix>.out.tfevents.<seconds>.<host><suffix>`, made with the first event."""

    def __init__(self, prefix: Any, suffix: str = "") -> None:
        self._prefix, self._suffix = files.local(prefix), suffix
        self._writer: RecordWriter | None = None
        self.path = ""

    def open(self) -> RecordWriter:
        """The file; a new one where somebody has deleted the last."""
        if self._writer is not None and os.path.exists(self.path):
            return self._writer
        if self._writer is not None:
            self._writer.close()
        now = time.time()
        host = socket.gethostname()
        self.path = f"{self._prefix}.out.tfevents.{int(now):010d}.{host}{self._suffix}"
        self._writer = RecordWriter(self.path)
        first = proto.Event(wall_time=now, file_version=VERSION)
        self._writer.write(first.SerializeToString())
        self._writer.flush()
        return self._writer

    def write(self, event: Any) -> None:
        """Add an Event, or one that is serialized already."""
        data = event if isinstance(event, bytes) else event.SerializeToString()
        writer = self._writer if self._writer is not None else self.open()
        writer.write(data)

    def flush(self) -> None:
        if self._writer is not None:
            if not os.path.exists(self.path):
                raise DataLossError(None, None, f"The events file {self.path} has disappeared.")
            self._writer.flush()

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None


def read_events(path: Any) -> Iterator[Any]:
    """The events in a file.

    Raises:
      DataLossError: an event is damaged; its offset is named.
    """
    from google.protobuf.message import DecodeError

    with RecordReader(path) as reader:
        while True:
            start = reader.offset
            record = reader.read()
            if record is None:
                return
            try:
                yield proto.Event.FromString(record)
            except DecodeError:
                raise DataLossError(None, None, f"{path}: no Event at {start}") from None
