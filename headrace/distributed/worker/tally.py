"""What a task has done so far: counted by whoever does it, read by whoever asks how the task is."""

from __future__ import annotations

import threading
import time

from headrace.core.errors import CancelledError
from headrace.distributed.wire.status import to_status


class Tally:
    """Counts, and the last error that is no echo of an end elsewhere."""

    def __init__(self) -> None:
        self.done = self.failures = 0
        self.error, self.error_at = "", 0.0
        self._lock = threading.Lock()

    def count(self, error: BaseException | None = None) -> None:
        """One more has ended, well or with this error."""
        with self._lock:
            if error is None:
                self.done += 1
                return
            self.failures += 1
            if not isinstance(error, CancelledError):
                self.error, self.error_at = to_status(error)[1], time.time()
