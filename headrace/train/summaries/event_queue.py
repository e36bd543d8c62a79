"""Events on their way to a file: a thread writes them, so that a step need not wait for the disk.

Training goes on where events can not be written (the disk is full, somebody deleted the file): they are lost,
which is said once.
"""

from __future__ import annotations

import os
import queue
import threading
import time
from collections.abc import Callable
from typing import Any

from headrace.core import log
from headrace.core.errors import OpError
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
        self._is_told = False  # that events are lost
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
        if not self._closed:
            self._events.join()
            self._attempt(self._writer.flush)

    def close(self) -> None:
        """Write what waits, and close the file."""
        if self._closed:
            return
        self._events.put(_END)
        self._thread.join()
        self._attempt(self._writer.flush)
        self._attempt(self._writer.close)
        self._closed = True

    def _attempt(self, action: Callable[..., Any], *arguments: Any) -> None:
        try:
            action(*arguments)
            self._is_told = False
        except (OpError, OSError) as error:
            if not self._is_told:
                log.warning("Events for %s are lost: %s", self._logdir, error)
            self._is_told = True

    def _write(self) -> None:
        next_flush = 0.0
        while True:
            event = self._events.get()
            try:
                if event is _END:
                    return
                self._attempt(self._writer.write, event)
                now = time.time()
                if now > next_flush:
                    self._attempt(self._writer.flush)
                    next_flush = now + self._flush_secs
            finally:
                self._events.task_done()
