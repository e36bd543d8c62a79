"""tf.summary.FileWriter: summaries, graphs and other events of a run, in a file for TensorBoard."""

from __future__ import annotations

import logging
import os
import threading
import time
import warnings
from collections.abc import Callable
from typing import Any

from headrace.formats import proto
from headrace.graph.defaults import get_default_graph
from headrace.graph.graph import Graph
from headrace.train.meta_graph.meta_graph_export import create_meta_graph_def
from headrace.train.summaries.event_queue import EventFileWriter
from headrace.train.summaries.event_session import SessionEventWriter
from headrace.train.summaries.plugin_asset import get_all_plugin_assets


class SummaryToEventTransformer:
    """Makes events of summaries and the like, with time and step.

    Args:
      event_writer: has `add_event` and `get_logdir`.
      graph: a graph to add first.
      graph_def: the old way to give it.
    """

    def __init__(self, event_writer: Any, graph: Any = None, graph_def: Any = None) -> None:
        self.event_writer = event_writer
        self._run_tags: set[str] = set()
        self._described: set[str] = set()  # tags whose metadata has been written
        if graph is not None or graph_def is not None:
            self.add_graph(graph=graph, graph_def=graph_def)
            known = graph.as_graph_def(add_shapes=True) if isinstance(graph, Graph) else graph
            self.add_meta_graph(create_meta_graph_def(graph_def=graph_def or known))

    def add_summary(self, summary: Any, global_step: Any = None) -> None:
        """Add a summary.

        Args:
          summary: a Summary message, or a serialized one, as summary ops return it.
          global_step: number of the step.
        """
        if isinstance(summary, bytes):
            summary = proto.Summary.FromString(summary)
        for value in summary.value:
            if value.tag in self._described:
                value.ClearField("metadata")  # once in a file is enough
            else:
                self._described.add(value.tag)
        self._add_event(proto.Event(summary=summary), global_step)

    def add_session_log(self, session_log: Any, global_step: Any = None) -> None:
        """Add a SessionLog message: that a session has started, or stopped."""
        self._add_event(proto.Event(session_log=session_log), global_step)

    def add_graph(self, graph: Any, global_step: Any = None, graph_def: Any = None) -> None:
        """Add a graph.

        Args:
          graph: a Graph.
          global_step: number of the step.
          graph_def: a GraphDef, the old way to give it.

        Raises:
          ValueError: both are given.
        """
        if graph is not None and graph_def is not None:
            raise ValueError("Please pass only graph, or graph_def (deprecated), but not both.")
        found = graph if graph is not None else graph_def
        if isinstance(found, Graph):
            self._write_plugin_assets(found)
            found = found.as_graph_def(add_shapes=True)
        elif isinstance(found, proto.GraphDef):
            logging.getLogger("headrace").warning(
                "Passing a `GraphDef` to the SummaryWriter is deprecated. Pass a `Graph` object "
                "instead, such as `sess.graph`."
            )
        else:
            raise TypeError("The passed graph must be an instance of `Graph` or the deprecated `GraphDef`")
        self._add_event(proto.Event(graph_def=found.SerializeToString()), global_step)

    def _write_plugin_assets(self, graph: Graph) -> None:
        for asset in get_all_plugin_assets(graph):
            folder = os.path.join(self.event_writer.get_logdir(), "plugins", asset.plugin_name)
            os.makedirs(folder, exist_ok=True)
            for name, content in asset.assets().items():
                with open(os.path.join(folder, name), "w") as file:
                    file.write(content)

    def add_meta_graph(self, meta_graph_def: Any, global_step: Any = None) -> None:
        """Add a MetaGraphDef message.

        Raises:
          TypeError: it is something else.
        """
        if not isinstance(meta_graph_def, proto.MetaGraphDef):
            raise TypeError(f"meta_graph_def must be type MetaGraphDef, saw type: {type(meta_graph_def)}")
        event = proto.Event(meta_graph_def=meta_graph_def.SerializeToString())
        self._add_event(event, global_step)

    def add_run_metadata(self, run_metadata: Any, tag: str, global_step: Any = None) -> None:
        """Add what a step says of itself.

        Args:
          run_metadata: a RunMetadata message.
          tag: its name, used once.
          global_step: number of the step.

        Raises:
          ValueError: the tag was used before.
        """
        if tag in self._run_tags:
            raise ValueError("The provided tag was already used for this event type")
        self._run_tags.add(tag)
        event = proto.Event()
        event.tagged_run_metadata.tag = tag
        event.tagged_run_metadata.run_metadata = run_metadata.SerializeToString()
        self._add_event(event, global_step)

    def _add_event(self, event: Any, step: Any) -> None:
        event.wall_time = time.time()
        if step is not None:
            event.step = int(step)
        self.event_writer.add_event(event)


class FileWriter(SummaryToEventTransformer):
    """Writes events to a new file in a directory, in a thread of its own.

    Args:
      logdir: the directory; made if it is not there.
      graph: a graph to add first, such as `sess.graph`.
      max_queue: how many events may wait before `add_...` does.
      flush_secs: how often the file is brought up to date, at least.
      graph_def: the old way to give the graph.
      filename_suffix: end of the file's name.
      session: write through ops of the session's graph instead.

    Example:
      >>> with tf.summary.FileWriter("logs", sess.graph) as writer:
      ...     writer.add_summary(sess.run(summaries), global_step=step)
    """

    def __init__(
        self,
        logdir: str | None,
        graph: Graph | None = None,
        max_queue: int = 10,
        flush_secs: float = 120,
        graph_def: Any = None,
        filename_suffix: str | None = None,
        session: Any = None,
    ) -> None:
        self._closed = False
        writer: Any = None
        if session is None:
            writer = EventFileWriter(logdir, max_queue, flush_secs, filename_suffix)
        else:
            writer = SessionEventWriter(session, logdir, max_queue, flush_secs, filename_suffix)
        super().__init__(writer, graph, graph_def)

    def __enter__(self) -> FileWriter:
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()

    def get_logdir(self) -> str:
        """The directory."""
        logdir: str = self.event_writer.get_logdir()
        return logdir

    def _warn_if_event_writer_is_closed(self) -> None:
        if self._closed:
            warnings.warn(
                "Attempting to use a closed FileWriter. The operation will be a noop unless the "
                "FileWriter is explicitly reopened.",
                stacklevel=3,
            )

    def _add_event(self, event: Any, step: Any) -> None:
        self._warn_if_event_writer_is_closed()
        super()._add_event(event, step)

    def add_event(self, event: Any) -> None:
        """Add an Event message as it is."""
        self._warn_if_event_writer_is_closed()
        self.event_writer.add_event(event)

    def flush(self) -> None:
        """Wait until all events are in the file."""
        self._warn_if_event_writer_is_closed()
        self.event_writer.flush()

    def close(self) -> None:
        """Write what waits, and close the file."""
        self.event_writer.close()
        self._closed = True

    def reopen(self) -> None:
        """Go on after `close`, in a new file."""
        self.event_writer.reopen()
        self._closed = False


class FileWriterCache:
    """One FileWriter for each directory."""

    _make: Callable[..., FileWriter] = FileWriter
    _cache: dict[str, FileWriter] = {}
    _lock = threading.RLock()

    @staticmethod
    def use(make: Callable[..., FileWriter]) -> Callable[..., FileWriter]:
        """Let another class, for a test, make the writers; the one that did so far."""
        before, FileWriterCache._make = FileWriterCache._make, make
        return before

    @staticmethod
    def clear() -> None:
        """Close and forget all of them."""
        with FileWriterCache._lock:
            for writer in FileWriterCache._cache.values():
                writer.close()
            FileWriterCache._cache = {}

    @staticmethod
    def get(logdir: Any) -> FileWriter:
        """The writer of a directory; a new one begins with the default graph."""
        with FileWriterCache._lock:
            if logdir not in FileWriterCache._cache:
                FileWriterCache._cache[logdir] = FileWriterCache._make(logdir, graph=get_default_graph())
            return FileWriterCache._cache[logdir]
