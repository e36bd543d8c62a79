"""tf.io's records: TFRecord files written and read from Python."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from headrace.formats.records.compression import Compression
from headrace.formats.records.tfrecord import RecordReader, RecordWriter


class TFRecordCompressionType:
    """How records are compressed."""

    NONE = 0
    ZLIB = 1
    GZIP = 2


class TFRecordOptions:
    """Options of TFRecord files; they matter where `compression_type` is given.

    Args:
      compression_type: "GZIP", "ZLIB" or "" (or a TFRecordCompressionType).
      flush_mode: kept for programs that name it; records are flushed when asked for.
      input_buffer_size: kept likewise.
      output_buffer_size: kept likewise.
      window_bits: zlib's window, 8 to 15.
      compression_level: 0 to 9.
      compression_method: zlib's method.
      mem_level: 1 to 9.
      compression_strategy: zlib's strategy.

    Raises:
      ValueError: an unknown compression.
    """

    compression_type_map = {
        TFRecordCompressionType.ZLIB: "ZLIB",
        TFRecordCompressionType.GZIP: "GZIP",
        TFRecordCompressionType.NONE: "",
    }

    def __init__(
        self,
        compression_type: Any = None,
        flush_mode: Any = None,
        input_buffer_size: int | None = None,
        output_buffer_size: int | None = None,
        window_bits: int | None = None,
        compression_level: int | None = None,
        compression_method: Any = None,
        mem_level: int | None = None,
        compression_strategy: Any = None,
    ) -> None:
        self.get_compression_type_string(compression_type)
        self.compression_type, self.flush_mode = compression_type, flush_mode
        self.input_buffer_size, self.output_buffer_size = input_buffer_size, output_buffer_size
        self.window_bits, self.mem_level = window_bits, mem_level
        self.compression_level, self.compression_method = compression_level, compression_method
        self.compression_strategy = compression_strategy

    @classmethod
    def get_compression_type_string(cls, options: Any) -> str:
        """ "GZIP", "ZLIB" or "" for options, a TFRecordCompressionType or a string.

        Raises:
          ValueError: it is none of them.
        """
        if not options:
            return ""
        if isinstance(options, TFRecordOptions):
            return cls.get_compression_type_string(options.compression_type)
        if options in cls.compression_type_map:
            return cls.compression_type_map[options]
        if options in cls.compression_type_map.values():
            return str(options)
        raise ValueError(f'Not a valid compression_type: "{options}"')

    def compression(self) -> Compression:
        """The same for formats/."""
        given = {
            "window_bits": self.window_bits,
            "level": self.compression_level,
            "method": self.compression_method,
            "mem_level": self.mem_level,
            "strategy": self.compression_strategy,
        }
        chosen: dict[str, Any] = {k: v for k, v in given.items() if v is not None}
        return Compression(self.get_compression_type_string(self), **chosen)


def _options(options: Any) -> TFRecordOptions:
    return options if isinstance(options, TFRecordOptions) else TFRecordOptions(options)


def tf_record_iterator(path: Any, options: Any = None) -> Iterator[bytes]:
    """The records of a TFRecord file.

    Args:
      path: its path.
      options: a TFRecordOptions, if it is compressed.

    Raises:
      NotFoundError: there is no such file.
      DataLossError: a record is damaged, or the file ends within one.

    Example:
      >>> for record in tf.python_io.tf_record_iterator("/tmp/data.tfrecord"):
      ...     example = tf.train.Example.FromString(record)
    """
    with RecordReader(path, _options(options).compression()) as reader:
        yield from reader


class TFRecordWriter:
    """Writes records to a TFRecord file.

    Args:
      path: its path.
      options: "GZIP", "ZLIB", a TFRecordCompressionType or a TFRecordOptions.

    Raises:
      NotFoundError, PermissionDeniedError: the file can not be made.
      ValueError: an unknown compression.

    Example:
      >>> with tf.io.TFRecordWriter("/tmp/data.tfrecord") as writer:
      ...     writer.write(example.SerializeToString())
    """

    def __init__(self, path: Any, options: Any = None) -> None:
        self._writer = RecordWriter(path, _options(options).compression())

    def __enter__(self) -> TFRecordWriter:
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()

    def write(self, record: Any) -> None:
        """Write a record: bytes, or text as UTF-8."""
        self._writer.write(record.encode() if isinstance(record, str) else bytes(record))

    def flush(self) -> None:
        """Let readers see all records so far."""
        self._writer.flush()

    def close(self) -> None:
        """Write what is left, and close the file."""
        self._writer.close()
