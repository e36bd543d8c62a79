"""Readers: ops that make them, and ops that read records of the files whose names a queue gives.

The ops whose names end in V2 take handles; the older ones references to names.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from headrace.core.errors import require
from headrace.core.shapes import SCALAR, Shape, make_shape
from headrace.formats.records import records
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.resources import Handle
from headrace.ops.declaration.shape_rules import none, require_rank, scalar
from headrace.ops.declaration.signature import Int
from headrace.ops.declaration.text import strings
from headrace.ops.declaration.traits import DEFERRED, FILES, READS, STATEFUL, WRITES
from headrace.ops.queues.queue import QUEUE, reference_to, referenced
from headrace.ops.queues.queue_resource import Queue
from headrace.ops.queues.reader_resource import OneRecord, Reader, Request

READER = "reader"


# -- making ---------------------------------------------------------------------------------------
def _declare(name, make, attrs, doc, older=None, deprecated=26):
    """The op that gives a handle, and the older one that gives a reference.  `make` gets the other
    attributes and says how to read, and whether a file is one record."""

    def found(ctx, container, shared_name, given):
        read, whole = make(**given)
        resource = shared_name or ctx.node.name
        text = f"{name} '{ctx.node.name}'"
        new = lambda: Reader(text, read, whole)
        return ctx.resources.get_or_make(container, READER, resource, new), resource

    def with_handle(ctx, *, container, shared_name, **given):
        reader, resource = found(ctx, container, shared_name, given)
        return Handle(container, resource, READER, ctx.node.device, reader)

    def with_reference(ctx, *, container, shared_name, **given):
        _, resource = found(ctx, container, shared_name, given)
        return reference_to(container, resource)

    for body in (with_handle, with_reference):
        body.__doc__, body.__module__ = doc, __name__
    traits = {STATEFUL, READS}
    new = op(f"{name}V2", "-> reader_handle: resource", attrs=attrs, traits=traits, shape=scalar)
    old = op(
        name,
        "-> reader_handle: Ref(string)",
        attrs=older or attrs,
        traits=traits,
        shape=lambda: Shape.of(2),
        deprecated=deprecated and (deprecated, f"Use {name}V2"),
    )
    return new(with_handle), old(with_reference)


def _whole_file():
    return records.whole, True


def _identity():
    return _itself, True


def _itself(work):
    yield work, work


def _lines(skip_header_lines):
    require(skip_header_lines >= 0, f"skip_header_lines must be >= 0 not {skip_header_lines}")
    return partial(records.lines, skip=skip_header_lines), False


def _fixed(header_bytes, record_bytes, footer_bytes, hop_bytes, encoding=""):
    for name, value in (
        ("header_bytes", header_bytes),
        ("record_bytes", record_bytes),
        ("footer_bytes", footer_bytes),
        ("hop_bytes", hop_bytes),
    ):
        require(value >= 0, f"{name} must be >= 0 not {value}")
    sizes = {"header": header_bytes, "footer": footer_bytes, "hop": hop_bytes}
    return partial(records.fixed, record=record_bytes, encoding=encoding, **sizes), False


def _tfrecords(compression_type):
    return partial(records.tfrecords, compression=compression_type), False


_PLACE = {"container": "", "shared_name": ""}
_SIZES = {"header_bytes": 0, "record_bytes": Int(), "footer_bytes": 0, "hop_bytes": 0}

whole_file_reader_v2, whole_file_reader = _declare(
    "WholeFileReader", _whole_file, _PLACE, "A reader whose records are whole files.", deprecated=None
)
identity_reader_v2, identity_reader = _declare(
    "IdentityReader", _identity, _PLACE, "A reader whose records are the names themselves."
)
text_line_reader_v2, text_line_reader = _declare(
    "TextLineReader", _lines, {"skip_header_lines": 0} | _PLACE, "A reader whose records are lines of text."
)
fixed_length_record_reader_v2, fixed_length_record_reader = _declare(
    "FixedLengthRecordReader",
    _fixed,
    _SIZES | _PLACE | {"encoding": ""},
    "A reader whose records are stretches of one length.",
    older=_SIZES | _PLACE,
)
tf_record_reader_v2, tf_record_reader = _declare(
    "TFRecordReader",
    _tfrecords,
    _PLACE | {"compression_type": ""},
    "A reader whose records are those of TFRecord files.",
)


# -- using ----------------------------------------------------------------------------------------
def _read(ctx, reader, queue):
    return reader.read(OneRecord(ctx, queue))


def _read_up_to(ctx, reader, queue, num_records):
    return reader.read(Request(ctx, queue, int(num_records)))


def _produced(ctx, reader):
    return np.array(reader.produced)


def _completed(ctx, reader):
    return np.array(reader.finished)


def _state(ctx, reader):
    return strings([reader.state()], ())


def _restore(ctx, reader, state):
    shape = ",".join(map(str, state.shape))
    require(state.ndim == 0, f"Reader state must be scalar, but had shape: [{shape}]")
    reader.restore(state.item())
    return ()


def _reset(ctx, reader):
    reader.reset()
    return ()


def _declare_use(name, arguments, results, use, doc, shape, traits):
    def with_handle(ctx, reader_handle, *inputs):
        inputs = [x.get(Queue) if isinstance(x, Handle) else x for x in inputs]
        return use(ctx, reader_handle.get(Reader), *inputs)

    def with_reference(ctx, reader_handle, *inputs):
        inputs = list(inputs)
        if "queue" in arguments:
            inputs[0] = referenced(ctx, inputs[0], QUEUE)
        return use(ctx, referenced(ctx, reader_handle, READER), *inputs)

    for body in (with_handle, with_reference):
        body.__doc__, body.__module__ = doc, __name__
    text = f"reader_handle: HANDLE{arguments} -> {results}"
    new, old = text.replace("HANDLE", "resource"), text.replace("HANDLE", "Ref(string)")
    return (
        op(f"{name}V2", new, traits={STATEFUL, *traits}, shape=shape)(with_handle),
        op(name, old, traits=traits, shape=shape)(with_reference),
    )


def _restore_shape(reader_handle, state):
    require_rank(state, 0)
    return []


def _up_to_shape(reader_handle, queue_handle, num_records):
    require_rank(num_records, 0)
    return [make_shape([None])] * 2


_WAITS = {WRITES, DEFERRED, FILES}
reader_read_v2, reader_read = _declare_use(
    "ReaderRead",
    ", queue_handle: HANDLE",
    "key: string, value: string",
    _read,
    "The next record, of the next file in the queue when one is finished.",
    lambda *inputs: [SCALAR, SCALAR],
    _WAITS,
)
reader_read_up_to_v2, reader_read_up_to = _declare_use(
    "ReaderReadUpTo",
    ", queue_handle: HANDLE, num_records: int64",
    "keys: string, values: string",
    _read_up_to,
    "The next records, of one file at most.",
    _up_to_shape,
    _WAITS,
)
reader_num_records_produced_v2, reader_num_records_produced = _declare_use(
    "ReaderNumRecordsProduced",
    "",
    "records_produced: int64",
    _produced,
    "How many records the reader has given.",
    scalar,
    {READS},
)
reader_num_work_units_completed_v2, reader_num_work_units_completed = _declare_use(
    "ReaderNumWorkUnitsCompleted",
    "",
    "units_completed: int64",
    _completed,
    "How many files the reader has finished.",
    scalar,
    {READS},
)
reader_serialize_state_v2, reader_serialize_state = _declare_use(
    "ReaderSerializeState",
    "",
    "state: string",
    _state,
    "The reader's state, to be restored later.",
    scalar,
    {READS},
)
reader_restore_state_v2, reader_restore_state = _declare_use(
    "ReaderRestoreState",
    ", state: string",
    "",
    _restore,
    "Give the reader a state that it had.",
    _restore_shape,
    {WRITES},
)
reader_reset_v2, reader_reset = _declare_use(
    "ReaderReset", "", "", _reset, "Give the reader its first state.", none, {WRITES}
)
