"""Features of many examples as columns: what ParseExample and its relatives share.

`formats.records.example` finds the features of every example; each becomes one column, whose numbers
are decoded together.  `Reader` does so for Examples, checks what it finds, and fills in defaults.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from headrace.core.dtypes import float32, int64, string
from headrace.core.errors import InvalidArgumentError, require
from headrace.core.shapes import Shape
from headrace.formats.records import example as wire
from headrace.ops.declaration.text import shown, strings

KINDS = {string: wire.BYTES, float32: wire.FLOAT, int64: wire.INT64}
PARSED = (float32, int64, string)
_TYPE_NAMES = {wire.BYTES: "string", wire.FLOAT: "float", wire.INT64: "int64"}
_VALUE_NAMES = {wire.BYTES: "bytes", wire.FLOAT: "float", wire.INT64: "int64"}


def c_shape(shape) -> str:
    """A shape as TF's kernels print it."""
    sizes = shape.sizes if isinstance(shape, Shape) else shape
    return "[" + ",".join("?" if s is None else str(s) for s in sizes) + "]"


def type_name(dtype) -> str:
    """A type as TF's kernels print it."""
    return _TYPE_NAMES[KINDS[dtype]]


@dataclass(slots=True)
class Dense:
    """How a feature of fixed shape is read; with `varies`, its first size follows from the data."""

    key: bytes
    kind: int
    shape: tuple[int, ...]  # without the size that varies
    varies: bool
    default: np.ndarray
    shown: str  # the shape in messages

    @property
    def stride(self) -> int:
        return math.prod(self.shape)


def dense_columns(keys, types, shapes, defaults) -> list[Dense]:
    """The columns of the dense features, checked."""
    columns = []
    for d, (key, dtype, shape, default) in enumerate(zip(keys, types, shapes, defaults)):
        sizes: Any = None if shape.rank is None else shape.sizes
        shown = "<unknown>" if sizes is None else c_shape(shape)
        require(
            sizes is not None and None not in sizes[1:],
            f"dense_shapes[{d}] has unknown rank or unknown inner dimensions: {shown}",
        )
        varies = bool(sizes) and sizes[0] is None
        if varies:
            require(
                default.size == 1,
                f"dense_shape[{d}] is a variable length shape: {shown}, therefore def_value[{d}] "
                "must contain a single element (the padding element).  But its shape is: "
                f"{c_shape(default.shape)}",
            )
        elif default.size:
            require(
                default.shape == sizes,
                f"def_value[{d}].shape() == {c_shape(default.shape)} is not compatible with "
                f"dense_shapes_[{d}] == {shown}",
            )
        shape = sizes[1:] if varies else sizes
        columns.append(Dense(key, KINDS[dtype], shape, varies, default, shown))
    return columns


# -- columns of values ---------------------------------------------------------------------------
class Column:
    """The values of one feature, example by example."""

    __slots__ = ("kind", "parts", "counts")

    def __init__(self, kind: int) -> None:
        self.kind = kind
        self.parts: list[Any] = []
        self.counts: list[int] = []

    def add(self, values, count: int | None = None) -> None:
        self.parts.append(values)
        self.counts.append(wire.count(self.kind, values) if count is None else count)

    def array(self):
        """All values, in one row."""
        if self.kind == wire.BYTES:
            return strings(value for part in self.parts for value in part)
        joined = b"".join(self.parts)
        return wire.floats(joined) if self.kind == wire.FLOAT else wire.integers(joined)


def empty(kind: int):
    return [] if kind == wire.BYTES else b""


def repacked(kind: int, array):
    """An array as a payload: for default values that stand among read ones."""
    flat = array.reshape(-1)
    if kind == wire.BYTES:
        return list(flat)
    if kind == wire.FLOAT:
        return flat.astype("<f4").tobytes()
    return b"".join(_varint(int(value)) for value in flat)


def _varint(value: int) -> bytes:
    value &= 0xFFFFFFFFFFFFFFFF
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def padded(column: Column, dense: Dense, count: int):
    """[count, longest, ...] with the default after the shorter ones."""
    lengths = np.array(column.counts, np.int64) // max(dense.stride, 1)
    longest = int(lengths.max(initial=0))
    padding = dense.default.reshape(-1)[0]
    out = np.full((count, longest, *dense.shape), padding, dense.default.dtype)
    if out.size:
        taken = np.arange(longest) < lengths[:, None]
        out[taken] = column.array().reshape(-1, *dense.shape)
    return out


def sparse(column: Column, count: int):
    """Indices, values and shape of a ragged matrix."""
    counts = np.array(column.counts, np.int64)
    total = int(counts.sum())
    starts = np.cumsum(counts) - counts
    indices = np.empty((total, 2), np.int64)
    indices[:, 0] = np.repeat(np.arange(len(counts)), counts)
    indices[:, 1] = np.arange(total) - np.repeat(starts, counts)
    return indices, column.array(), np.array([count, counts.max(initial=0)], np.int64)


class Place:
    """Where a message says that something is wrong: in a batch, or in a single example."""

    def __init__(self, name: str | None = None, index: int = 0) -> None:
        self.name, self.index = name, index

    def of(self, key: bytes) -> str:
        if self.name is None:
            return f"Key: {shown(key)}.  "
        return f"Name: {self.name}, Key: {shown(key)}, Index: {self.index}.  "

    def of_example(self) -> str:
        return "" if self.name is None else f"Name: {self.name}, "


# -- reading -------------------------------------------------------------------------------------
class Reader:
    """Reads the wanted features of examples into columns."""

    def __init__(self, sparse_keys, sparse_types, dense: list[Dense]) -> None:
        self.sparse_keys, self.dense = sparse_keys, dense
        self.sparse_kinds = [KINDS[t] for t in sparse_types]
        self.dense_keys = {d.key for d in dense}
        self.wanted = self.dense_keys | set(sparse_keys)
        self.sparse_columns = [Column(kind) for kind in self.sparse_kinds]
        self.dense_columns = [Column(d.kind) for d in dense]

    def read(self, data: bytes, place) -> None:
        """One example; `place.of(key)` begins a message about one of its features."""
        try:
            found = wire.features(data, self.wanted, self.dense_keys)
        except wire.Malformed:
            require(False, f"Could not parse example input, value: '{shown(data)}'")
        for dense, column in zip(self.dense, self.dense_columns):
            span = found.get(dense.key)
            kind, values = (wire.NONE, b"") if span is None else _payload(data, span, dense, place)
            if kind != wire.NONE:
                self._dense(dense, column, kind, values, place)
            elif dense.varies:
                column.add(empty(dense.kind), 0)
            else:
                require(
                    dense.default.size,
                    place.of_example() + f"Feature: {shown(dense.key)} (data type: "
                    f"{_TYPE_NAMES[dense.kind]}) is required but could not be found.",
                )
                column.add(repacked(dense.kind, dense.default), dense.default.size)
        for key, kind, column in zip(self.sparse_keys, self.sparse_kinds, self.sparse_columns):
            span = found.get(key)
            if span is None or span[0] == span[1]:
                column.add(empty(kind), 0)
                continue
            actual, values = _payload(data, span, key, place)
            require(
                actual == kind,
                place.of(key) + f"Data types don't match. Expected type: {_TYPE_NAMES[kind]}, "
                f"Actual type: {_TYPE_NAMES[actual]}",
            )
            column.add(values)

    def _dense(self, dense, column, kind, values, place) -> None:
        require(
            kind == dense.kind,
            place.of(dense.key) + f"Data types don't match. Data type: {_TYPE_NAMES[kind]} but "
            f"expected type: {_TYPE_NAMES[dense.kind]}",
        )
        count, name = wire.count(kind, values), _VALUE_NAMES[kind]
        if dense.varies:
            require(
                dense.stride and count % dense.stride == 0,
                place.of(dense.key) + f"Number of {name} values is not a multiple of stride length. "
                f"Saw {count} values but output shape is: {dense.shown}",
            )
        else:
            require(
                count == dense.stride,
                place.of(dense.key) + f"Number of {name} values != expected.  Values size: {count} "
                f"but output shape: {dense.shown}",
            )
        column.add(values, count)


def _payload(data, span, feature, place):
    try:
        return wire.payload(data, *span)
    except wire.Malformed as error:
        if str(error) == "Unsupported datatype.":
            raise InvalidArgumentError(None, None, str(error)) from None
        key = feature.key if isinstance(feature, Dense) else feature
        message = place.of(key) + "Can't parse serialized Example."
        raise InvalidArgumentError(None, None, message) from None
