"""Events on their way to a file: a thread writes them, so that a step need not wait for the disk."""

from __future__ import annotations

import os
import queue
import threading
import time
from typing import Any

from headrace.formats.records.events import EventsWriter

_END = object()


class EventFileWriter:
    """Writes events to a new file in a directory.

    Args:
      logdir: the directory; made if it is not there.
      max_queue: how many events may wait; `add_event` blocks when there are more.
      flush_secs: how often the file is brought up to date, at least.
      filename_suffix: end of the file's name.
    """

    def __init__(
        self, logdir: Any, max_queue: int = 10, flush_secs: float = 120, filename_suffix: str | None = None
    ) -> None:
        self._logdir = str(logdir)
        os.makedirs(self._logdir, exist_ok=True)
        self._events: queue.Queue[Any] = queue.Queue(max_queue)
        self._writer = EventsWriter(os.path.join(self._logdir, "events"), filename_suffix or "")
        self._writer.open()
        self._flush_secs = flush_secs
        self._closed = True
        self.reopen()

    def get_logdir(self) -> str:
        """The directory."""
        return self._logdir

    def reopen(self) -> None:
        """Go on after `close`, in a new file; nothing happens to one that is open."""
        if self._closed:
            self._thread = threading.Thread(target=self._write, daemon=True)
            self._thread.start()
            self._closed = False

    def add_event(self, event: Any) -> None:
        """Put an event behind the others; a closed writer drops it."""
        if not self._closed:
            self._events.put(event)

    def flush(self) -> None:
        """Wait until all events are in the file."""
        self._events.join()
        self._writer.flush()

    def close(self) -> None:
        """Write what waits, and close the file."""
        self.add_event(_END)
        self.flush()
        self._thread.join()
        self._writer.close()
        self._closed = True

    def _write(self) -> None:
        next_flush = 0.0
        while True:
            event = self._events.get()
            try:
                if event is _END:
                    return
                self._writer.write(event)
                now = time.time()
                if now > next_flush:
                    self._writer.flush()
                    next_flush = now + self._flush_secs
            finally:
                self._events.task_done()
