"""Readers as Python objects: tf.TextLineReader and its relatives."""

from __future__ import annotations

from typing import Any

from headrace.core.dtypes import resource
from headrace.core.fields import reads
from headrace.functions.io.record_io import TFRecordOptions
from headrace.graph.node import Node
from headrace.graph.tensor import Tensor
from headrace.ops.queues import reader as ops
from headrace.ops.queues.queue import fake_queue


class ReaderBase:
    """Gives records of files whose names a queue gives."""

    def __init__(self, reader_ref: Tensor, supports_serialize: bool = False) -> None:
        """Args:
        reader_ref: the handle of the reader.
        supports_serialize: whether its state can be saved.
        """
        self._reader_ref = reader_ref
        self._supports_serialize = supports_serialize

    reader_ref: Tensor = reads("_reader_ref", "The handle of the reader.")
    supports_serialize: bool = reads("_supports_serialize", "Whether the reader's state can be saved.")

    def read(self, queue: Any, name: str | None = None) -> Any:
        """The next record.

        Args:
          queue: a queue of strings, or its handle.
          name: name of the node.

        Returns:
          Key and value, two scalar strings.
        """
        return self._op("reader_read")(self._reader_ref, self._queue(queue), name=name)

    def read_up_to(self, queue: Any, num_records: Any, name: str | None = None) -> Any:
        """The next records, fewer than asked for where a file ends.

        Args:
          queue: a queue of strings, or its handle.
          num_records: how many.
          name: name of the node.

        Returns:
          Keys and values, two vectors of strings.
        """
        read = self._op("reader_read_up_to")
        return read(self._reader_ref, self._queue(queue), num_records, name=name)

    def num_records_produced(self, name: str | None = None) -> Tensor:
        """How many records the reader has given."""
        result: Tensor = self._op("reader_num_records_produced")(self._reader_ref, name=name)
        return result

    def num_work_units_completed(self, name: str | None = None) -> Tensor:
        """How many files the reader has finished."""
        result: Tensor = self._op("reader_num_work_units_completed")(self._reader_ref, name=name)
        return result

    def serialize_state(self, name: str | None = None) -> Tensor:
        """The state of the reader as a string; not every kind of reader has one."""
        result: Tensor = self._op("reader_serialize_state")(self._reader_ref, name=name)
        return result

    def restore_state(self, state: Any, name: str | None = None) -> Node:
        """A node that gives the reader a state that `serialize_state` gave."""
        result: Node = self._op("reader_restore_state")(self._reader_ref, state, name=name)
        return result

    def reset(self, name: str | None = None) -> Node:
        """A node that gives the reader its first state."""
        result: Node = self._op("reader_reset")(self._reader_ref, name=name)
        return result

    def _op(self, name: str) -> Any:
        new = self._reader_ref.dtype == resource
        return getattr(ops, f"{name}_v2" if new else name)

    def _queue(self, queue: Any) -> Tensor:
        handle = queue if isinstance(queue, Tensor) else queue.queue_ref
        return handle if self._reader_ref.dtype == resource else fake_queue(handle)


class WholeFileReader(ReaderBase):
    """A reader whose records are whole files; the keys are their names."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__(ops.whole_file_reader_v2(name=name), supports_serialize=True)


class IdentityReader(ReaderBase):
    """A reader whose records are the strings of the queue, as key and as value."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__(ops.identity_reader_v2(name=name), supports_serialize=True)


class TextLineReader(ReaderBase):
    """A reader whose records are lines of text, without their ends."""

    def __init__(self, skip_header_lines: int | None = None, name: str | None = None) -> None:
        """Args:
        skip_header_lines: how many lines at the start of every file are no records.
        name: name of the node.
        """
        super().__init__(ops.text_line_reader_v2(skip_header_lines=skip_header_lines, name=name))


class FixedLengthRecordReader(ReaderBase):
    """A reader whose records are stretches of one length."""

    def __init__(
        self,
        record_bytes: int,
        header_bytes: int | None = None,
        footer_bytes: int | None = None,
        hop_bytes: int | None = None,
        name: str | None = None,
        encoding: str | None = None,
    ) -> None:
        """Args:
        record_bytes: length of a record.
        header_bytes: bytes at the start of a file that are no record.
        footer_bytes: bytes at its end that are none.
        hop_bytes: from the start of a record to the next; `record_bytes` if 0.
        name: name of the node.
        encoding: "", "ZLIB" or "GZIP".
        """
        super().__init__(
            ops.fixed_length_record_reader_v2(
                record_bytes=record_bytes,
                header_bytes=header_bytes,
                footer_bytes=footer_bytes,
                hop_bytes=hop_bytes,
                encoding=encoding,
                name=name,
            )
        )


class TFRecordReader(ReaderBase):
    """A reader whose records are those of TFRecord files."""

    def __init__(self, name: str | None = None, options: Any = None) -> None:
        """Args:
        name: name of the node.
        options: a `TFRecordOptions`, or one of `TFRecordCompressionType`.
        """
        kind = TFRecordOptions.get_compression_type_string(options)
        super().__init__(ops.tf_record_reader_v2(name=name, compression_type=kind))
