"""Events written through a session: the file is where the session's graph runs."""

from __future__ import annotations

from typing import Any

from headrace.functions.array.array import placeholder_with_default
from headrace.functions.values.structure import name_scope
from headrace.ops.array.constant import constant
from headrace.ops.io import summary_writer as ops
from headrace.train.summaries.summary_writer import create_file_writer


class SessionEventWriter:
    """As EventFileWriter, with ops of the session's graph.

    Args:
      session: the session.
      logdir: the directory; made if it is not there.
      max_queue: how many events may wait.
      flush_secs: how often the file is brought up to date, at least.
      filename_suffix: end of the file's name.
    """

    def __init__(
        self,
        session: Any,
        logdir: str | None,
        max_queue: int = 10,
        flush_secs: float = 120,
        filename_suffix: str | None = None,
    ) -> None:
        self._session, self._logdir = session, str(logdir)
        with session.graph.as_default(), name_scope("filewriter"):
            writer = create_file_writer(
                logdir=self._logdir,
                max_queue=max_queue,
                flush_millis=int(flush_secs * 1000),
                filename_suffix=filename_suffix,
            )
            self._event = placeholder_with_default(constant("unused"), shape=[])
            self._add = ops.import_event(writer._resource, self._event, name="import_event")
            self._init, self._flush, self._close = writer.init(), writer.flush(), writer.close()
        session.run(self._init)
        self._closed = False

    def get_logdir(self) -> str:
        """The directory."""
        return self._logdir

    def reopen(self) -> None:
        """Go on after `close`, in a new file."""
        if self._closed:
            self._session.run(self._init)
            self._closed = False

    def add_event(self, event: Any) -> None:
        """Put an event behind the others; a closed writer drops it."""
        if not self._closed:
            self._session.run(self._add, {self._event: event.SerializeToString()})

    def flush(self) -> None:
        """Bring the file up to date."""
        self._session.run(self._flush)

    def close(self) -> None:
        """Write what waits, and close the file."""
        if not self._closed:
            self.flush()
            self._session.run(self._close)
            self._closed = True
