"""Writers of summaries as resources: ops that put values into an event file when they run."""

from __future__ import annotations

import os
import threading
import time

import numpy as np

from headrace.core.dtypes import REALS, as_dtype, float16, float32, uint8
from headrace.core.errors import InvalidArgumentError, NotFoundError, require
from headrace.formats import files, proto, tensor_proto
from headrace.formats.records.events import EventsWriter
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.resources import Handle
from headrace.ops.declaration.samples import Sample
from headrace.ops.declaration.shape_rules import none, scalar
from headrace.ops.declaration.signature import Int, Type
from headrace.ops.declaration.traits import FILES, HOST, STATEFUL, WRITES
from headrace.ops.io import summary_message as message

KIND = "summary writer"


class Writer:
    """The place of a writer: empty until `CreateSummaryFileWriter` runs, and after it is closed.

    Events wait in memory until there are more than `max_queue`, or until `flush_millis` have passed.
    """

    def __init__(self, name):
        self.name, self.lock = name, threading.Lock()
        self.file, self.waiting = None, []

    def create(self, logdir, max_queue, flush_millis, suffix):
        with self.lock:
            if self.file is None:
                files.makedirs(logdir)
                self.file = EventsWriter(os.path.join(logdir, "events"), suffix)
                self.file.open()
                self.max_queue, self.flush_seconds = max_queue, flush_millis / 1000
                self.flushed = time.time()

    def add(self, event):
        with self.lock:
            self.check()
            self.waiting.append(event)
            overdue = time.time() - self.flushed > self.flush_seconds
            if len(self.waiting) > self.max_queue or overdue:
                self.write()

    def flush(self):
        with self.lock:
            self.check()
            self.write()

    def close(self):
        with self.lock:
            self.check()
            self.write()
            self.file.close()
            self.file = None

    def check(self):
        if self.file is None:
            raise NotFoundError(None, None, f"Resource localhost/{self.name}/{KIND} does not exist.")

    def write(self):
        for event in self.waiting:
            self.file.write(event)
        self.waiting.clear()
        self.file.flush()
        self.flushed = time.time()


def _declared(name, signature, **attrs):
    """An op on a writer, with no result."""
    return op(
        name,
        f"writer: resource{signature} ->",
        shape=none,
        attrs=attrs,
        traits={STATEFUL, HOST, WRITES, FILES},
    )


def _text(value, what):
    require(value.ndim == 0, f"{what} must be a scalar")
    return value.item().decode("utf-8", "replace")


def _event(step):
    return proto.Event(step=int(step), wall_time=time.time())


# -- the writer -----------------------------------------------------------------------------------
@op(
    "SummaryWriter",
    "-> writer: resource",
    shared_name="",
    container="",
    traits={STATEFUL, HOST},
    shape=scalar,
)
def summary_writer(ctx, *, shared_name, container):
    """A handle to a writer."""
    name = shared_name or ctx.node.name
    writer = ctx.resources.get_or_make(container, KIND, name, lambda: Writer(name))
    return Handle(container, name, KIND, ctx.node.device, writer)


@_declared(
    "CreateSummaryFileWriter",
    ", logdir: string, max_queue: int32, flush_millis: int32, filename_suffix: string",
)
def create_summary_file_writer(writer, logdir, max_queue, flush_millis, filename_suffix):
    """Let the writer write to a new file in `logdir`; one that does so already goes on."""
    writer.get(Writer).create(
        _text(logdir, "logdir"), int(max_queue), int(flush_millis), _text(filename_suffix, "filename_suffix")
    )


@_declared("FlushSummaryWriter", "")
def flush_summary_writer(writer):
    """Put what waits into the file."""
    writer.get(Writer).flush()


@_declared("CloseSummaryWriter", "")
def close_summary_writer(writer):
    """Put what waits into the file, and close it."""
    writer.get(Writer).close()


# -- values ---------------------------------------------------------------------------------------
@_declared("WriteSummary", ", step: int64, tensor: T, tag: string, summary_metadata: string", T=Type())
def write_summary(writer, step, tensor, tag, summary_metadata, *, T):
    """Any tensor, with what a plugin of TensorBoard should know."""
    event = _event(step)
    value = event.summary.value.add(tag=_text(tag, "tag"))
    value.tensor.CopyFrom(tensor_proto.to_proto(tensor, as_dtype(T).as_datatype_enum))
    if summary_metadata.item():
        value.metadata.ParseFromString(summary_metadata.item())
    writer.get(Writer).add(event)


@_declared("WriteRawProtoSummary", ", step: int64, tensor: string")
def write_raw_proto_summary(writer, step, tensor):
    """Serialized summaries, as one event."""
    event = _event(step)
    for part in tensor.reshape(-1):
        event.summary.MergeFrom(proto.Summary.FromString(part))
    writer.get(Writer).add(event)


@_declared("ImportEvent", ", event: string")
def import_event(writer, event):
    """An event that is serialized already."""
    from google.protobuf.message import DecodeError

    try:
        found = proto.Event.FromString(event.item())
    except DecodeError:
        raise InvalidArgumentError(None, None, "Unable to parse event.") from None
    writer.get(Writer).add(found)


@_declared("WriteScalarSummary", ", step: int64, tag: string, value: T", T=REALS)
def write_scalar_summary(writer, step, tag, value):
    """A number."""
    event = _event(step)
    event.summary.value.add(tag=_text(tag, "tag"), simple_value=float(np.float32(value)))
    writer.get(Writer).add(event)


@_declared("WriteHistogramSummary", ", step: int64, tag: string, values: T", T=Type(REALS, default=float32))
def write_histogram_summary(ctx, writer, step, tag, values):
    """How values are distributed."""
    event = _event(step)
    found = message.histogram(values, ctx.node.name)
    event.summary.value.add(tag=_text(tag, "tag")).histo.CopyFrom(found)
    writer.get(Writer).add(event)


@_declared(
    "WriteImageSummary",
    ", step: int64, tag: string, tensor: T, bad_color: uint8",
    max_images=Int(default=3, min=1),
    T=Type((uint8, float32, float16), default=float32),
)
def write_image_summary(writer, step, tag, tensor, bad_color, *, max_images):
    """Pictures, as PNG."""
    event = _event(step)
    event.summary.CopyFrom(message.images(tag.item(), tensor, max_images, bad_color))
    writer.get(Writer).add(event)


@_declared(
    "WriteAudioSummary",
    ", step: int64, tag: string, tensor: float32, sample_rate: float32",
    max_outputs=Int(default=3, min=1),
)
def write_audio_summary(writer, step, tag, tensor, sample_rate, *, max_outputs):
    """Sounds, as WAV."""
    event = _event(step)
    event.summary.CopyFrom(message.audio(tag.item(), tensor, sample_rate.item(), max_outputs))
    writer.get(Writer).add(event)


@_declared("WriteGraphSummary", ", step: int64, tensor: string")
def write_graph_summary(writer, step, tensor):
    """A serialized GraphDef."""
    event = _event(step)
    event.graph_def = tensor.item()
    writer.get(Writer).add(event)


@summary_writer.samples
def _(rng):
    yield Sample(shared_name="w")
