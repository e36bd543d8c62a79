"""Checkpoints, format V1: one table (or one per shard) whose values are messages.

The entry "" says which tensors there are and in which slices; each slice has an entry of its own."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.core.dtypes import DType
from headrace.core.errors import (
    DataLossError,
    InternalError,
    InvalidArgumentError,
    NotFoundError,
    OpError,
    UnimplementedError,
)
from headrace.formats import durable, files, proto, tensor_proto
from headrace.formats.checkpoints import tensor_slice
from headrace.formats.checkpoints.table import Table
from headrace.formats.checkpoints.table_writer import TableWriter
from headrace.formats.checkpoints.tensor_slice import TensorSlice
from headrace.formats.coding import slice_key

Array = np.ndarray[Any, np.dtype[Any]]

VERSION = 1
META_KEY = b""
MAX_MESSAGE = 1 << 31
_HEADER = 1 << 10  # what a message has around its values, generously
# The most bytes that a value takes in a message, by type.
_WIDTHS = {
    "float32": 4, "float64": 8, "int32": 10, "uint8": 2, "int16": 10, "int8": 10, "complex64": 8,
    "int64": 10, "bool": 1, "qint8": 10, "quint8": 2, "qint32": 10, "qint16": 10, "quint16": 3,
    "uint16": 3, "complex128": 16, "float16": 3, "string": 10,
}  # fmt: skip


class _Tensor:
    """What is known of one tensor: type, shape, and which table holds which slice."""

    def __init__(self, dtype: DType, shape: tuple[int, ...]) -> None:
        self.dtype, self.shape = dtype, shape
        self.slices: dict[TensorSlice, Table] = {}


class V1Reader:
    """All files of a checkpoint that match a pattern."""

    def __init__(self, pattern: Any) -> None:
        self.pattern = files.local(pattern)
        self._tensors: dict[str, _Tensor] = {}
        self._tables: list[Table] = []
        paths = files.glob(self.pattern)
        if not paths:
            raise NotFoundError(
                None,
                None,
                "Unsuccessful TensorSliceReader constructor: Failed to find any matching files "
                f"for {self.pattern}",
            )
        try:
            for path in paths:
                self._open(path)
        except OpError:
            self.close()
            raise

    def close(self) -> None:
        for table in self._tables:
            table.close()

    def __enter__(self) -> V1Reader:
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()

    # -- what is there ---------------------------------------------------------------------------
    def __contains__(self, name: str) -> bool:
        return name in self._tensors

    def tensors(self) -> Iterator[tuple[str, DType, tuple[int, ...]]]:
        for name in sorted(self._tensors):
            found = self._tensors[name]
            yield name, found.dtype, found.shape

    def dtype_and_shape(self, name: str) -> tuple[DType, tuple[int, ...]]:
        found = self._find(name)
        return found.dtype, found.shape

    def slices(self, name: str) -> list[TensorSlice]:
        """The parts in which a tensor is stored; none if it is whole."""
        stored = list(self._find(name).slices)
        return [] if len(stored) == 1 and stored[0].is_full else stored

    def _find(self, name: str) -> _Tensor:
        if name not in self._tensors:
            raise NotFoundError(
                None, None, f'Tensor name "{name}" not found in checkpoint files {self.pattern}'
            )
        return self._tensors[name]

    # -- values ----------------------------------------------------------------------------------
    def read(self, name: str, part: TensorSlice | None = None) -> Array:
        """The value of a tensor, or of a part of it."""
        found = self._find(name)
        if part is None:
            part = tensor_slice.full_slice(len(found.shape))
        wanted = part.shape(found.shape)
        if part in found.slices:
            return self._slice_value(name, found, part)
        if 0 in wanted:
            return np.zeros(wanted, found.dtype.numpy)
        boxes = tensor_slice.shared_boxes(found.shape, list(found.slices), part)
        if boxes is None:
            raise InvalidArgumentError(
                None, None, f"Error copying slice data: {self.pattern} has not all of {name} [{part}]"
            )
        read = ((one, box, self._slice_value(name, found, one)) for one, box in boxes)
        out = tensor_slice.assembled(found.shape, part, read)
        if out is None:
            raise _damage(self.pattern, f"parts of tensor {name} overlap")
        return out

    def _slice_value(self, name: str, found: _Tensor, part: TensorSlice) -> Array:
        table, shape = found.slices[part], part.shape(found.shape)
        value = table.get(slice_key(name.encode(), part.extents))
        if value is None:
            raise _damage(table.path, f"tensor {name} [{part}] is missing")
        tensor = _parsed(value, table.path).data.data
        flat = tensor_proto.typed_values(tensor, found.dtype)
        if len(flat) != math.prod(shape):
            raise _damage(
                table.path, f"tensor {name} [{part}] has {len(flat)} values, not {math.prod(shape)}"
            )
        return flat.reshape(shape)

    # -- opening ---------------------------------------------------------------------------------
    def _open(self, path: str) -> None:
        table = Table(path)
        self._tables.append(table)
        value = table.get(META_KEY)
        if value is None:
            raise InternalError(
                None,
                None,
                "Failed to find the saved tensor slices at the beginning of the checkpoint file: " + path,
            )
        meta = _parsed(value, path).meta
        if meta.versions.min_consumer > VERSION or VERSION in meta.versions.bad_consumers:
            raise InvalidArgumentError(
                None,
                None,
                f"Checkpoint min consumer version {meta.versions.min_consumer} above current "
                f"version {VERSION} for TensorFlow 1.15: {path}",
            )
        for entry in meta.tensor:
            self._register(entry, table)

    def _register(self, entry: Any, table: Table) -> None:
        if entry.type not in proto.DataType.values() or not 0 < entry.type < 100:
            raise _damage(table.path, f"tensor {entry.name}: unknown type {entry.type}")
        dtype, shape = dtypes.as_dtype(entry.type), tuple(dim.size for dim in entry.shape.dim)
        if any(size < 0 for size in shape) or len(shape) > tensor_proto.MAX_RANK:
            raise _damage(table.path, f"tensor {entry.name}: impossible shape {list(shape)}")
        known = self._tensors.setdefault(entry.name, _Tensor(dtype, shape))
        if (known.dtype, known.shape) != (dtype, shape):
            raise _damage(table.path, f"tensor {entry.name} has another type or shape elsewhere")
        for message in entry.slice:
            try:
                part = tensor_slice.from_proto(message)
                part.bounds(shape)
            except InvalidArgumentError as error:
                raise _damage(table.path, f"tensor {entry.name}: {error.message}") from None
            if part in known.slices:
                raise _damage(table.path, f"tensor {entry.name} [{part}] is there twice")
            known.slices[part] = table


def _parsed(value: memoryview, path: str) -> Any:
    from google.protobuf.message import DecodeError

    try:
        return proto.SavedTensorSlices.FromString(bytes(value))
    except DecodeError:
        raise _damage(path, "an entry is no SavedTensorSlices") from None


def _damage(path: str, reason: str) -> DataLossError:
    return DataLossError(None, None, f"Unable to read file ({path}): {reason}")


# -- writing -------------------------------------------------------------------------------------
class Item:
    """A tensor to save, or a part of one."""

    def __init__(self, name: str, value: Any, dtype: Any, shape: Sequence[int], part: TensorSlice) -> None:
        self.name, self.value, self.dtype = name, np.asarray(value), dtypes.as_dtype(dtype)
        self.shape, self.part = tuple(shape), part
        self.key = slice_key(name.encode(), part.extents)


def write(path: Any, items: Iterable[Item]) -> None:
    """Write a checkpoint of one file; it appears whole or not at all.

    Raises:
      InvalidArgumentError: a tensor is too large for the format.
    """
    target, items = files.local(path), sorted(items, key=lambda item: item.key)
    meta = _meta(sorted(items, key=lambda item: item.name))
    for item in items:
        _check_size(item)
    durable.remove_stale(target)
    beside = durable.temporary(target)
    with durable.new_file(beside) as file:
        writer = TableWriter(file)
        writer.add(META_KEY, proto.SavedTensorSlices(meta=meta).SerializeToString())
        for item in items:
            writer.add(item.key, _message(item))
        writer.finish()
    durable.rename(beside, target)


def _meta(items: list[Item]) -> Any:
    meta = proto.SavedTensorSliceMeta()
    meta.versions.producer = VERSION
    known: dict[str, Any] = {}
    for item in items:
        if item.name not in known:
            entry = known[item.name] = meta.tensor.add(name=item.name, type=item.dtype.as_datatype_enum)
            entry.shape.SetInParent()
            for size in item.shape:
                entry.shape.dim.add(size=size)
        entry = known[item.name]
        shape = tuple(dim.size for dim in entry.shape.dim)
        if (entry.type, shape) != (item.dtype.as_datatype_enum, item.shape):
            raise InternalError(None, None, f"Mismatching shapes or types: trying to add name {item.name}")
        entry.slice.append(tensor_slice.to_proto(item.part))
    return meta


def _check_size(item: Item) -> None:
    width = _WIDTHS.get(item.dtype.name)
    if width is None:
        raise UnimplementedError(
            None, None, f"Saving data type {item.dtype.name} not yet supported: {item.name}"
        )
    size = _HEADER + len(item.name) + width * item.value.size
    if item.dtype.kind == "s":
        size += sum(len(text) for text in item.value.flat)
    if size > MAX_MESSAGE:
        raise InvalidArgumentError(
            None,
            None,
            f"Tensor slice is too large to serialize (conservative estimate: {size} bytes): {item.name}",
        )


def _message(item: Item) -> bytes:
    saved = proto.SavedTensorSlices()
    saved.data.name = item.name
    saved.data.slice.CopyFrom(tensor_slice.to_proto(item.part))
    saved.data.data.SetInParent()
    tensor_proto.set_typed_values(saved.data.data, item.value, item.dtype)
    return bytes(saved.SerializeToString())
