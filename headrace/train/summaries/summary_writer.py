"""Writers of summaries that are resources of a graph (tf.contrib.summary), the default one, and when to
record."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from headrace.core.modules import late
from headrace.functions.array.array import placeholder
from headrace.functions.math.math import equal
from headrace.graph.defaults import get_default_graph, get_default_session
from headrace.graph.graph import Graph
from headrace.graph.tensor import Tensor
from headrace.ops.array.constant import constant
from headrace.ops.array.source import no_op
from headrace.ops.io import summary_writer as ops
from headrace.train.schedules.step_count import get_or_create_global_step

recorded_summary = late("headrace.train.summaries.recorded_summary")

_INITIALIZERS = "_SUMMARY_WRITER_V2"
SUMMARIES = "_SUMMARY_V2"


class _Now(threading.local):
    """What holds for the summaries that this thread adds."""

    writer: Any = None
    recording: Any = None  # a boolean, a tensor, a function that makes one; None: not decided


_now = _Now()


def default_writer() -> Any:
    """The writer that summaries go to, or None."""
    return _now.writer


class SummaryWriter:
    """A writer of the default graph.

    Args:
      shared_name: writers of one name are the same.
      create: from the handle to the node that opens the file.
      name: name of the handle's node.
    """

    def __init__(
        self, shared_name: str | None, create: Callable[[Any], Any], name: str | None = None
    ) -> None:
        self._resource = ops.summary_writer(shared_name=shared_name or "", name=name)
        self._create = create
        get_default_graph().add_to_collection(_INITIALIZERS, create(self._resource))

    def set_as_default(self) -> None:
        """From here on, summaries go to this writer."""
        _now.writer = self

    @contextmanager
    def as_default(self) -> Iterator[SummaryWriter]:
        """Inside, summaries go to this writer."""
        old, _now.writer = _now.writer, self
        try:
            yield self
            self.flush()
        finally:
            _now.writer = old

    def init(self) -> Any:
        """A node that opens the file."""
        return self._create(self._resource)

    def flush(self) -> Any:
        """A node that puts what waits into the file."""
        return flush(self)

    def close(self) -> Any:
        """A node that closes the file."""
        graph = get_default_graph()
        with graph.control_dependencies([self.flush()]), graph.device("cpu:0"):
            return ops.close_summary_writer(self._resource)


class NoopSummaryWriter:
    """A writer that writes nothing."""

    def set_as_default(self) -> None:
        pass

    @contextmanager
    def as_default(self) -> Iterator[None]:
        yield

    def init(self) -> None:
        pass

    def flush(self) -> None:
        pass

    def close(self) -> None:
        pass


def create_file_writer(
    logdir: Any,
    max_queue: int | Tensor | None = None,
    flush_millis: int | Tensor | None = None,
    filename_suffix: str | Tensor | None = None,
    name: str | None = None,
) -> Any:
    """A writer to a file in a directory; None for the directory makes one that writes nothing.

    Args:
      logdir: the directory.
      max_queue: how many events may wait; 10.
      flush_millis: how often the file is brought up to date, at least; two minutes.
      filename_suffix: end of the file's name; ".v2".
      name: writers of one name are the same; default the directory's.
    """
    if logdir is None:
        return NoopSummaryWriter()
    logdir = str(logdir)
    with get_default_graph().device("cpu:0"):
        if max_queue is None:
            max_queue = constant(10)
        if flush_millis is None:
            flush_millis = constant(2 * 60 * 1000)
        if filename_suffix is None:
            filename_suffix = constant(".v2")

        def create(resource: Any) -> Any:
            return ops.create_summary_file_writer(resource, logdir, max_queue, flush_millis, filename_suffix)

        return SummaryWriter(f"logdir:{logdir}" if name is None else name, create)


def create_summary_file_writer(*args: Any, **kwargs: Any) -> Any:
    """The old name of `create_file_writer`."""
    logging.getLogger("headrace").warning(
        "Deprecation Warning: create_summary_file_writer was renamed to create_file_writer"
    )
    return create_file_writer(*args, **kwargs)


def flush(writer: Any = None, name: str | None = None) -> Any:
    """A node that puts what waits into the file of a writer, or of the default one."""
    writer = default_writer() if writer is None else writer
    if writer is None:
        return no_op()
    with get_default_graph().device("cpu:0"):
        handle = writer._resource if isinstance(writer, SummaryWriter) else writer
        return ops.flush_summary_writer(handle, name=name)


def summary_writer_initializer_op() -> list[Any]:
    """The nodes that open the files of all writers of the graph."""
    return get_default_graph().get_collection(_INITIALIZERS)


def all_v2_summary_ops() -> list[Any]:
    """All summaries of the graph that go to a writer by themselves."""
    return get_default_graph().get_collection(SUMMARIES)


def initialize(graph: Any = None, session: Any = None) -> None:
    """Open the files of all writers.

    Args:
      graph: a graph to write to the default one.
      session: default the default session.

    Raises:
      RuntimeError: there is no default writer.
      ValueError: there is no session.
    """
    if default_writer() is None:
        raise RuntimeError("No default tf.contrib.summary.SummaryWriter found")
    session = get_default_session() if session is None else session
    if session is None:
        raise ValueError("session must be passed if no default session exists")
    session.run(summary_writer_initializer_op())
    if graph is not None:
        message = graph.as_graph_def(add_shapes=True) if isinstance(graph, Graph) else graph
        data = placeholder("string")
        session.run(recorded_summary.graph(data, 0), {data: message.SerializeToString()})


# -- when to record -------------------------------------------------------------------------------
def should_record_summaries() -> Any:
    """Are summaries recorded?  A boolean or a tensor."""
    found = _now.recording() if callable(_now.recording) else _now.recording
    return False if found is None else found


@contextmanager
def record_if(condition: Any) -> Iterator[None]:
    """Inside, summaries are recorded where `condition` (a boolean, a tensor, a function) holds."""
    old, _now.recording = _now.recording, condition
    try:
        yield
    finally:
        _now.recording = old


def always_record_summaries() -> Any:
    """A context: summaries are recorded."""
    return record_if(True)


def never_record_summaries() -> Any:
    """A context: summaries are not recorded."""
    return record_if(False)


def record_summaries_every_n_global_steps(n: int, global_step: Any = None) -> Any:
    """A context: summaries are recorded where the global step is a multiple of n."""
    step = get_or_create_global_step() if global_step is None else global_step
    with get_default_graph().device("cpu:0"):
        return record_if(equal(step % n, 0))
