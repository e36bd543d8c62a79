"""Checkpoints, format V2, written, and shards merged into one.  A checkpoint appears whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.core.dtypes import DType
from headrace.core.errors import DataLossError, InternalError, InvalidArgumentError, UnimplementedError
from headrace.formats import durable, files, proto
from headrace.formats.checkpoints import bundle_values as values
from headrace.formats.checkpoints import tensor_slice
from headrace.formats.checkpoints.bundle import HEADER_KEY, VERSION, current_index, data_path, index_path
from headrace.formats.checkpoints.table import Table
from headrace.formats.checkpoints.table_writer import TableWriter
from headrace.formats.checkpoints.tensor_slice import TensorSlice
from headrace.formats.coding import slice_key
from headrace.formats.records import crc32c

Array = np.ndarray[Any, np.dtype[Any]]


class BundleWriter:
    """Tensors go to a data file in the order of `add`; `finish` makes the checkpoint valid.

    Used in a `with`: what is not finished is removed.
    """

    def __init__(self, prefix: Any) -> None:
        self.prefix = files.local(prefix)
        self._entries: dict[bytes, Any] = {}
        self._offset = 0
        self._data = durable.temporary(data_path(self.prefix, 0, 1))
        durable.make_folder(self.prefix)
        durable.remove_stale(self.prefix)
        with files.translated(self.prefix):
            self._file: Any = open(self._data, "wb", buffering=0)

    def __enter__(self) -> BundleWriter:
        return self

    def __exit__(self, *error: Any) -> None:
        if self._file is not None:
            self._file.close()
            durable.remove(self._data)
            self._file = None

    def add(self, name: str, value: Any, dtype: Any = None) -> None:
        """A whole tensor.

        Raises:
          InvalidArgumentError: there is one of this name.
        """
        self._add(name.encode(), name, _array(value, dtype))

    def add_slice(
        self, name: str, shape: Sequence[int], part: TensorSlice, value: Any, dtype: Any = None
    ) -> None:
        """A part of the tensor `name`, which has the shape `shape`."""
        shape = tuple(shape)
        if part.is_full or part.shape(shape) == shape:
            return self.add(name, value, dtype)
        array, kind = _array(value, dtype)
        if array.shape != part.shape(shape):
            raise InvalidArgumentError(
                None, None, f"{name}: part {part} of {list(shape)} is not {list(array.shape)}"
            )
        key = name.encode()
        whole = self._entries.setdefault(key, _entry(kind, shape))
        expected = _entry(kind, shape)
        if (whole.dtype, whole.shape) != (expected.dtype, expected.shape) or whole.crc32c:
            raise InvalidArgumentError(None, None, f"Adding duplicate key: {name}")
        self._add(slice_key(key, part.extents), f"{name} [{part}]", (array, kind))
        whole.slices.append(tensor_slice.to_proto(part))

    def _add(self, key: bytes, name: str, typed: tuple[Array, DType]) -> None:
        array, dtype = typed
        if not key or key in self._entries:
            raise InvalidArgumentError(None, None, f"Adding duplicate key: {name}")
        if dtype.kind == "r":
            raise UnimplementedError(None, None, f"{name}: a handle can not be saved")
        with files.translated(self._data):
            size, crc = self._write(array, dtype)
        entry = _entry(dtype, array.shape)
        entry.offset, entry.size, entry.crc32c = self._offset, size, crc32c.mask(crc)
        self._entries[key] = entry
        self._offset += size

    def _write(self, array: Array, dtype: DType) -> tuple[int, int]:
        """Bytes written, and their checksum."""
        if dtype.kind == "s":
            data, crc = values.string_octets(array)
        elif dtype.kind == "v":
            data, crc = values.variant_octets(array)
        else:
            octets = values.octets(array, dtype)
            return octets.size, values.write_octets(self._file.fileno(), self._offset, octets)
        values.write_octets(self._file.fileno(), self._offset, np.frombuffer(data, np.uint8))
        return len(data), crc

    def finish(self) -> None:
        """Bring all to the disk, then make it the checkpoint of this name."""
        with files.translated(self._data):
            os.fsync(self._file.fileno())
        header = proto.BundleHeaderProto(num_shards=1)
        header.version.producer = VERSION
        index = _write_index(self.prefix, header, self._entries)
        try:
            self._file.close()
            durable.replace_set([self._data], [data_path(self.prefix, 0, 1)], index, index_path(self.prefix))
        finally:
            durable.remove(index)
            durable.remove(self._data)
            self._file = None


def _array(value: Any, dtype: Any) -> tuple[Array, DType]:
    """The value as stored, and its type: quantized ones are kept as integers."""
    array: Array = np.asarray(value)
    kind = dtypes.as_dtype(array.dtype if dtype is None else dtype).base_dtype
    if kind.kind not in "srv" and array.dtype != kind.numpy:
        array = array.view(kind.numpy)
    return array, kind


def _entry(dtype: DType, shape: Sequence[int]) -> Any:
    entry = proto.BundleEntryProto(dtype=dtype.as_datatype_enum)
    entry.shape.SetInParent()
    for size in shape:
        entry.shape.dim.add(size=size)
    return entry


def _write_index(prefix: str, header: Any, entries: dict[bytes, Any]) -> str:
    """Write the index beside its place; returns where it is."""
    path = durable.temporary(index_path(prefix))
    with durable.new_file(path) as file:
        writer = TableWriter(file)
        writer.add(HEADER_KEY, header.SerializeToString())
        for key in sorted(entries):
            writer.add(key, entries[key].SerializeToString())
        writer.finish()
    return path


# -- merging -------------------------------------------------------------------------------------
class _Merge:
    """What is known of the shards read so far."""

    def __init__(self) -> None:
        self.header: Any = None
        self.entries: dict[bytes, Any] = {}
        self.shards: dict[str, int] = {}  # data file: its number in the merged checkpoint

    def add(self, prefix: str) -> None:
        with Table(current_index(prefix)) as table:
            count = self._add_header(prefix, table)
            for key, value in table.items():
                if key != HEADER_KEY:
                    self._add_entry(prefix, count, key, _parsed(value, prefix, key))

    def _add_header(self, prefix: str, table: Table) -> int:
        value = table.get(HEADER_KEY)
        if value is None:
            raise DataLossError(None, None, f"{table.path}: there is no header")
        header = _parsed(value, prefix, HEADER_KEY, proto.BundleHeaderProto)
        count = int(header.num_shards)
        if self.header is None:
            self.header = header
        elif (header.endianness, header.version) != (self.header.endianness, self.header.version):
            raise InvalidArgumentError(
                None, None, f"Merging bundles with different format versions or endianness: {prefix}"
            )
        else:
            self.header.num_shards += count
        return count

    def _add_entry(self, prefix: str, count: int, key: bytes, entry: Any) -> None:
        known = self.entries.get(key)
        name = key.decode("utf-8", "replace")
        if known is None:
            path = data_path(prefix, entry.shard_id, count)
            entry.shard_id = self.shards.setdefault(path, len(self.shards))
            self.entries[key] = entry
        elif not known.slices:
            raise InvalidArgumentError(
                None, None, f"Duplicate tensor keyed by {name} encountered, when merging prefix: {prefix}"
            )
        elif not entry.slices:
            raise InternalError(
                None,
                None,
                f"Duplicate tensor keyed by {name}; attempting to merge in a non-slice bundle entry",
            )
        elif (known.dtype, known.shape) != (entry.dtype, entry.shape):
            raise InvalidArgumentError(None, None, f"{name} has another type or shape in {prefix}")
        else:
            known.slices.extend(entry.slices)


def _parsed(value: memoryview, prefix: str, key: bytes, kind: Any = None) -> Any:
    from google.protobuf.message import DecodeError

    try:
        return (kind or proto.BundleEntryProto).FromString(bytes(value))
    except DecodeError:
        raise DataLossError(None, None, f"{prefix}: Entry for key {key!r} not parseable.") from None


def merge(prefixes: Sequence[Any], merged: Any) -> None:
    """Make one checkpoint of several: data files are renamed, one index replaces theirs."""
    target = files.local(merged)
    found = _Merge()
    durable.make_folder(target)
    durable.remove_stale(target)
    sources = [files.local(prefix) for prefix in prefixes]
    for prefix in sources:
        found.add(prefix)
    if found.header is None:
        raise InvalidArgumentError(None, None, f"{target}: there is nothing to merge")
    index = _write_index(target, found.header, found.entries)
    paths = [data_path(target, i, len(found.shards)) for i in range(len(found.shards))]
    try:
        durable.replace_set(list(found.shards), paths, index, index_path(target))
    finally:
        durable.remove(index)
    for prefix in sources:
        if prefix != target:
            durable.remove(index_path(prefix))
