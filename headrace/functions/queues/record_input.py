"""RecordInput as a Python object: shuffled batches of records."""

from __future__ import annotations

from typing import Any

from headrace.functions.array.stacking import split
from headrace.functions.io.record_io import TFRecordCompressionType, TFRecordOptions
from headrace.functions.values.structure import name_scope
from headrace.ops.array.reshape import reshape
from headrace.ops.queues.record_input import record_input


class RecordInput:
    """Gives batches of records of TFRecord files, shuffled, without end."""

    def __init__(
        self,
        file_pattern: str,
        batch_size: int = 1,
        buffer_size: int = 1,
        parallelism: int = 1,
        shift_ratio: float = 0,
        seed: int = 0,
        name: str | None = None,
        batches: int | None = None,
        compression_type: Any = None,
    ) -> None:
        """Args:
        file_pattern: which files; several patterns have commas between them.
        batch_size: how many records at a time.
        buffer_size: how many records are mixed.
        parallelism: how many files are read side by side.
        shift_ratio: which part of the list of files is moved to its end.
        seed: seed of the order.
        name: name of the node.
        batches: give so many batches, as lists of scalars.
        compression_type: one of `TFRecordCompressionType`.
        """
        self._batch_size = batch_size * (1 if batches is None else batches)
        self._batches, self._file_pattern = batches, file_pattern
        self._buffer_size, self._parallelism = buffer_size, parallelism
        self._shift_ratio, self._seed, self._name = shift_ratio, seed, name
        kind = TFRecordCompressionType.NONE if compression_type is None else compression_type
        self._compression_type = kind

    def get_yield_op(self) -> Any:
        """The node whose every run gives the next records."""
        kind = TFRecordOptions.get_compression_type_string(TFRecordOptions(self._compression_type))
        records = record_input(
            file_pattern=self._file_pattern,
            file_buffer_size=self._buffer_size,
            file_parallelism=self._parallelism,
            file_shuffle_shift_ratio=self._shift_ratio,
            batch_size=self._batch_size,
            file_random_seed=self._seed,
            compression_type=kind,
            name=self._name,
        )
        if self._batches is None:
            return records
        with name_scope(self._name):
            parts = [reshape(part, []) for part in split(records, self._batch_size, 0)]
            return [parts[i :: self._batches] for i in range(self._batches)]
