"""Checkpoints, format V2 (tensor bundles), read: `prefix.index` says where in `prefix.data-i-of-n` the
bytes of each tensor are.  Every checksum is verified; a refusal names file, tensor and offset."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.core.dtypes import DType
from headrace.core.errors import (
    DataLossError,
    InvalidArgumentError,
    NotFoundError,
    OpError,
    UnimplementedError,
)
from headrace.formats import durable, files, proto
from headrace.formats.checkpoints import bundle_values as values
from headrace.formats.checkpoints import tensor_slice
from headrace.formats.checkpoints.table import Table
from headrace.formats.checkpoints.tensor_slice import TensorSlice
from headrace.formats.coding import Damaged, slice_key
from headrace.formats.records import crc32c
from headrace.formats.tensor_proto import MAX_RANK

Array = np.ndarray[Any, np.dtype[Any]]

VERSION = 1  # of the format, which we write and read
HEADER_KEY = b""


def index_path(prefix: str) -> str:
    return f"{prefix}.index"


def data_path(prefix: str, shard: int, shards: int) -> str:
    return f"{prefix}.data-{shard:05d}-of-{shards:05d}"


def current_index(prefix: str) -> str:
    """The index that counts; another than usual only after a crash (see durable)."""
    path = index_path(prefix)
    return durable.current(path, path)


def exists(prefix: Any) -> bool:
    return os.path.exists(current_index(files.local(prefix)))


class BundleReader:
    """A checkpoint.  Data files are opened when a tensor in them is read."""

    def __init__(self, prefix: Any) -> None:
        """Raises NotFoundError, DataLossError, InvalidArgumentError (a format of the future)."""
        self.prefix = files.local(prefix)
        self.path = current_index(self.prefix)
        self._files: dict[int, Any] = {}
        self._table = Table(self.path)
        try:
            header = self._header()
        except OpError:
            self.close()
            raise
        self.num_shards = header.num_shards
        self._is_swapped = header.endianness == 1

    def close(self) -> None:
        self._table.close()
        for file in self._files.values():
            file.close()
        self._files.clear()

    def __enter__(self) -> BundleReader:
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()

    # -- what is there ---------------------------------------------------------------------------
    def __contains__(self, name: str) -> bool:
        return name.encode() in self._table

    def tensors(self) -> Iterator[tuple[str, DType, tuple[int, ...]]]:
        """Name, type and shape of every tensor, in the order of names; parts of them are left out."""
        for key, value in self._table.items():
            if key and not key.startswith(b"\0"):
                name = key.decode("utf-8", "replace")
                entry = self._parsed(value, name)
                yield name, self._dtype(entry, name), self._shape(entry, name)

    def dtype_and_shape(self, name: str) -> tuple[DType, tuple[int, ...]]:
        entry = self._entry(name.encode(), name)
        return self._dtype(entry, name), self._shape(entry, name)

    def slices(self, name: str) -> list[TensorSlice]:
        """The parts in which a tensor is stored; none if it is whole."""
        entry = self._entry(name.encode(), name)
        try:
            return [tensor_slice.from_proto(part) for part in entry.slices]
        except InvalidArgumentError as error:
            raise self._damage(name, error.message) from None

    # -- values ----------------------------------------------------------------------------------
    def read(self, name: str, part: TensorSlice | None = None) -> Array:
        """The value of a tensor, or of a part of it.

        Raises:
          NotFoundError: there is no such tensor.
          DataLossError: its bytes are damaged.
          InvalidArgumentError: the part is not (all) in the checkpoint.
        """
        entry = self._entry(name.encode(), name)
        shape = self._shape(entry, name)
        if part is None or part.is_full or part.shape(shape) == shape:
            if not entry.slices:
                return self._value(entry, name)
            part = tensor_slice.full_slice(len(shape))
        stored = self.slices(name)
        if not stored:
            whole = self._value(entry, name)
            inside = whole[tuple(slice(*bounds) for bounds in part.bounds(shape))]
            return np.array(inside)
        if part in stored:
            return self._slice_value(name, part, part.shape(shape))
        return self._assembled(name, shape, stored, part)

    def _assembled(
        self, name: str, shape: tuple[int, ...], stored: list[TensorSlice], part: TensorSlice
    ) -> Array:
        """A part that lies in several stored ones."""
        try:
            boxes = tensor_slice.shared_boxes(shape, stored, part)
        except InvalidArgumentError as error:
            raise self._damage(name, error.message) from None
        if boxes is None:
            raise InvalidArgumentError(
                None,
                None,
                f"Does not have sufficient slices for partitioned tensor {name} to restore in "
                f"slice_spec: {part} ({self.path})",
            )
        self._check_total(name, [one for one, _ in boxes])
        read = ((one, box, self._slice_value(name, one, one.shape(shape))) for one, box in boxes)
        out = tensor_slice.assembled(shape, part, read)
        if out is None:
            raise self._damage(name, "parts of it overlap")
        return out

    def _check_total(self, name: str, parts: list[TensorSlice]) -> None:
        """Parts that share bytes could ask for more memory than there are bytes in the files."""
        entries = [self._slice_entry(name, part) for part in parts]
        shards = {entry.shard_id for entry in entries}
        present = sum(self._file_size(shard, name) for shard in shards)
        if sum(entry.size for entry in entries) > present:
            raise self._damage(name, "its parts are larger than the data files")

    def _slice_entry(self, name: str, part: TensorSlice) -> Any:
        return self._entry(slice_key(name.encode(), part.extents), f"{name} [{part}]")

    def _slice_value(self, name: str, part: TensorSlice, shape: tuple[int, ...]) -> Array:
        shown = f"{name} [{part}]"
        value = self._value(self._slice_entry(name, part), shown)
        if value.shape != shape:
            raise self._damage(shown, f"a part of shape {list(shape)} is {list(value.shape)}")
        return value

    def _value(self, entry: Any, name: str) -> Array:
        dtype, shape = self._dtype(entry, name), self._shape(entry, name)
        count, size, offset = math.prod(shape), entry.size, entry.offset
        if dtype.kind not in "sv" and size != count * dtype.numpy.itemsize:
            raise self._damage(
                name,
                f"Invalid size in bundle entry: stored size {size}; expected size "
                f"{count * dtype.numpy.itemsize}",
            )
        path = self._shard_path(entry.shard_id)
        present = self._file_size(entry.shard_id, name)
        if min(offset, size) < 0 or offset + size > present:
            raise self._damage(
                name, f"{path} has {present} bytes, the tensor would be at {offset} to {offset + size}"
            )
        is_text = dtype.kind in "sv"
        # The array owns its memory, so that a variable can take it as it is.
        value = np.empty(size, np.uint8) if is_text else np.empty(shape, dtype.numpy)
        data = value.reshape(-1).view(np.uint8)
        try:
            with files.translated(path):
                crc = values.read_octets(self._file(entry.shard_id, name).fileno(), offset, data)
            if is_text:
                value, crc = self._decoded(data, dtype, shape)
            else:
                values.normalize(value, dtype, self._is_swapped)
        except Damaged as error:
            raise self._damage(name, f"{error}: {path}, byte {offset + error.offset}") from None
        if crc32c.mask(crc) != entry.crc32c:
            raise self._damage(
                name,
                f"Checksum does not match: stored {crc32c.unmask(entry.crc32c):08x} vs. calculated "
                f"on the restored bytes {crc:08x}: {path}, bytes {offset} to {offset + size}",
            )
        return value

    def _decoded(self, data: Any, dtype: DType, shape: tuple[int, ...]) -> tuple[Array, int]:
        """Strings or variants, and their checksum."""
        if dtype.kind == "v" and self._is_swapped:
            raise UnimplementedError(
                None, None, f"{self.prefix}: variants of a machine with another byte order"
            )
        count, view = math.prod(shape), memoryview(data)
        found: list[Any]
        if dtype.kind == "s":
            found, crc = values.strings_from_octets(view, count, self._is_swapped)
        else:
            found, crc = values.variants_from_octets(view, count)
        flat = np.empty(count, object)
        flat[:] = found
        return flat.reshape(shape), crc

    # -- entries ---------------------------------------------------------------------------------
    def _header(self) -> Any:
        value = self._table.get(HEADER_KEY)
        if value is None:
            raise self._damage("", "there is no header")
        header = self._parsed(value, "", proto.BundleHeaderProto)
        version = header.version
        if version.min_consumer > VERSION or VERSION in version.bad_consumers:
            raise InvalidArgumentError(
                None,
                None,
                f"Checkpoint min consumer version {version.min_consumer} above current version "
                f"{VERSION} for TensorFlow 1.15: {self.path}",
            )
        if header.num_shards < 0 or header.endianness not in (0, 1):
            raise self._damage("", "the header makes no sense")
        return header

    def _entry(self, key: bytes, name: str) -> Any:
        value = self._table.get(key) if key else None
        if value is None:
            raise NotFoundError(None, None, f"Key {name} not found in checkpoint ({self.path})")
        return self._parsed(value, name)

    def _parsed(self, value: memoryview, name: str, kind: Any = None) -> Any:
        from google.protobuf.message import DecodeError

        try:
            return (kind or proto.BundleEntryProto).FromString(bytes(value))
        except DecodeError:
            raise self._damage(name, "its entry is not parseable") from None

    def _dtype(self, entry: Any, name: str) -> DType:
        if entry.dtype not in proto.DataType.values() or not 0 < entry.dtype < 100:
            raise self._damage(name, f"unknown element type {entry.dtype}")
        dtype = dtypes.as_dtype(entry.dtype)
        if dtype.kind == "r":
            raise self._damage(name, "a handle has no value")
        return dtype

    def _shape(self, entry: Any, name: str) -> tuple[int, ...]:
        shape = tuple(dim.size for dim in entry.shape.dim)
        known = not entry.shape.unknown_rank and all(size >= 0 for size in shape)
        if not known or len(shape) > MAX_RANK or math.prod(s for s in shape if s) >= 2**63:
            raise self._damage(name, f"Invalid tensor shape: {list(shape)}")
        return shape

    # -- files -----------------------------------------------------------------------------------
    def _shard_path(self, shard: int) -> str:
        path = data_path(self.prefix, shard, self.num_shards)
        return durable.current(path, index_path(self.prefix))

    def _file(self, shard: int, name: str) -> Any:
        if shard not in self._files:
            if not 0 <= shard < max(self.num_shards, 1):
                raise self._damage(name, f"it is in shard {shard} of {self.num_shards}")
            path = self._shard_path(shard)
            with files.translated(path):
                self._files[shard] = open(path, "rb", buffering=0)
        return self._files[shard]

    def _file_size(self, shard: int, name: str) -> int:
        return os.fstat(self._file(shard, name).fileno()).st_size

    def _damage(self, name: str, reason: str) -> DataLossError:
        what = f"tensor {name}: " if name else ""
        return DataLossError(
            None,
            None,
            f"Unable to read file ({self.path}). Perhaps the file is corrupt or was produced by a "
            f"newer version of TensorFlow with format changes: {what}{reason}",
        )
