"""Rows of tables: CSV files, and what an SQL query gives."""

from __future__ import annotations

import sqlite3
from itertools import pairwise
from typing import Any

import numpy as np

from headrace.core.dtypes import DType, as_dtype, float32, float64, int32, int64, string
from headrace.core.errors import InvalidArgumentError, UnknownError, require
from headrace.formats import files
from headrace.formats.records.compression import ByteSource
from headrace.ops.data.file_contents import Files, FilesIterator, compression_of, names_of
from headrace.ops.data.pipeline.dataset import Dataset, Element, Iterator, Place
from headrace.ops.data.pipeline.declaring import OF_ELEMENTS, boxed, dataset_op, scalar_of
from headrace.ops.declaration.signature import Shapes, Types
from headrace.ops.declaration.traits import STATEFUL
from headrace.ops.io.decode_text import column_of, fields_of

_CHUNK = 1 << 18


# -- CSV -------------------------------------------------------------------------------------------
class Csv(Files):
    kind = "CSV"

    def __init__(self, types: Any, shapes: Any, names: Any, compression: Any, form: dict[str, Any]) -> None:
        super().__init__(names, compression)
        self.types, self.shapes = tuple(types), tuple(shapes)
        self.form = form


class Rows:
    """The records of a file: lines, but for those that end within quotes."""

    def __init__(self, dataset: Csv, name: bytes, offset: int) -> None:
        self._source, self._rest, self._at = ByteSource(name, dataset.compression), b"", 0
        self._quotes = dataset.form["quotes"]
        if offset:
            self._source.skip_to(offset)

    @property
    def offset(self) -> int:
        return self._source.offset - len(self._rest) + self._at

    def read(self) -> bytes | None:
        """The next record that is not empty at the file's end."""
        begun = self._at
        while True:
            end = self._end(begun)
            if end >= 0:
                record, self._at = self._rest[self._at : end], end + 1
                if record.endswith(b"\r"):
                    record = record[:-1]
                return record
            begun = len(self._rest) - self._at
            more = self._source.read(_CHUNK)
            if not more:
                record, self._rest, self._at = self._rest[self._at :], b"", 0
                if self._quotes and record.count(b'"') % 2:
                    raise InvalidArgumentError(
                        None, None, "Reached end of file without closing quoted field in record"
                    )
                return record.removesuffix(b"\r") if record else None
            self._rest, self._at = self._rest[self._at :] + more, 0

    def _end(self, begun: int) -> int:
        """Where the record's line ends: the first line end with an even number of quotes before it."""
        end = self._rest.find(b"\n", begun)
        while end >= 0 and self._quotes and self._rest.count(b'"', self._at, end) % 2:
            end = self._rest.find(b"\n", end + 1)
        return end

    def close(self) -> None:
        self._source.close()


class CsvIterator(FilesIterator, over=Csv):
    def open(self, name: bytes, offset: int) -> Rows:
        made = Rows(self.dataset, name, offset)
        if self.dataset.form["header"] and not offset and made.read() is None:
            made.close()
            raise InvalidArgumentError(None, None, "Can't read header of file")
        return made

    def next(self) -> Element | None:
        with files.fenced(self.running.background.folders):
            while self.at < len(self.dataset.names):
                if self.file is None:
                    self.file = self.open(self.dataset.names[self.at], 0)
                record = self.file.read()
                if record is not None:
                    return self._parsed(record)
                self.close()
                self.at += 1
        return None

    def _parsed(self, record: bytes) -> Element:
        form, types = self.dataset.form, self.dataset.types
        fields = fields_of(record, form["delim"], form["quotes"], form["selected"]) or [b""]
        require(len(fields) == len(types), f"Expect {len(types)} fields but have {len(fields)} in record")
        missing = (b"", form["missing"])
        return [
            column_of(f, [field], dtype, default, missing).reshape(())
            for f, (field, dtype, default) in enumerate(zip(fields, types, form["defaults"]))
        ]


_CSV_TYPES = (float32, float64, int32, int64, string)


@dataset_op(
    "CSVDataset",
    "filenames: string, compression_type: string, buffer_size: int64, header: bool, field_delim: string, "
    "use_quote_delim: bool, na_value: string, select_cols: int64, record_defaults: output_types "
    "-> handle: variant",
    [STATEFUL],
    also="ExperimentalCSVDataset",
    attrs={"output_types": Types(_CSV_TYPES, min=1), "output_shapes": Shapes(min=1)},
)
def csv_dataset(
    ctx, filenames, compression_type, buffer_size, header, field_delim, use_quote_delim, na_value,
    select_cols, record_defaults, *, output_types, output_shapes,
):  # fmt: skip
    """The rows of CSV files, a scalar for each column."""
    for i, default in enumerate(record_defaults):
        require(default.ndim <= 1, "Each record default should be at most rank 1")
        require(
            default.size < 2, f"There should only be 1 default per field but field {i} has {default.size}"
        )
    require(np.ndim(select_cols) == 1, "`select_cols` must be a vector.")
    require(scalar_of(buffer_size, "buffer_size") > 0, "buffer_size should be positive")
    delim = scalar_of(field_delim, "field_delim")
    require(len(delim) == 1, "field_delim should be only 1 char")
    selected = tuple(select_cols.tolist())
    require(len(selected) in (0, len(output_types)), "select_cols should match output size")
    require(all(a < b for a, b in pairwise(selected)), "select_cols should be strictly increasing indices")
    require(all(c >= 0 for c in selected), "select_cols should be non-negative indices")
    form = {
        "header": scalar_of(header, "header"),
        "delim": delim,
        "quotes": scalar_of(use_quote_delim, "use_quote_delim"),
        "missing": scalar_of(na_value, "na_value"),
        "selected": selected,
        "defaults": list(record_defaults),
    }
    names, compression = names_of(filenames), compression_of(compression_type)
    return Csv(output_types, output_shapes, names, compression, form)


# -- SQL -------------------------------------------------------------------------------------------
_SQL_TYPES = frozenset(map(as_dtype, "string int8 int16 int32 int64 uint8 uint16 bool float64".split()))


class Query(Dataset):
    kind = "Sql"

    def __init__(self, types: Any, shapes: Any, source: bytes, query: bytes) -> None:
        super().__init__(types, shapes)
        self.source, self.query = source, query


class QueryIterator(Iterator, over=Query):
    """Rows are read in whichever thread asks; only one does at a time."""

    def __init__(self, dataset: Any, running: Any, path: str) -> None:
        super().__init__(dataset, running, path)
        self.connection: sqlite3.Connection | None = None
        self.rows: Any = None
        self.given = 0

    def next(self) -> Element | None:
        try:
            if self.connection is None:
                self._open()
            row = next(self.rows, None)
        except sqlite3.Error as error:
            raise UnknownError(None, None, str(error)) from None
        self.given += 1
        if row is None:
            return None
        types = self.dataset.types
        return [_converted(value, dtype) for value, dtype in zip(row, types)]

    def _open(self) -> None:
        with files.fenced(self.running.background.folders):
            path = files.local(self.dataset.source)
        try:
            found = sqlite3.connect(f"file:{path}?mode=ro", uri=True, check_same_thread=False)
        except sqlite3.OperationalError as error:
            raise InvalidArgumentError(None, None, f"Failed to connect to database: {error}") from None
        found.text_factory = bytes
        self.connection = found
        self.rows = found.execute(self.dataset.query.decode())
        have = len(self.rows.description or ())
        wanted = len(self.dataset.types)
        require(
            have == wanted,
            f"The number of columns in query ({have}) must match the number of elements in output_types "
            f"({wanted}).",
        )

    def save(self) -> Place:
        return {"given": self.given, "opened": self.connection is not None}

    def restore(self, place: Place) -> None:
        if place["opened"]:
            self._open()
            for _ in range(place["given"]):
                next(self.rows, None)
            self.given = place["given"]

    def close(self) -> None:
        connection, self.connection = self.connection, None
        if connection is not None:
            connection.close()


def _converted(value: Any, dtype: DType) -> Any:
    """A value of a column as sqlite's own conversions give it."""
    if dtype is string:
        if value is None:
            return boxed(b"")
        return boxed(value if isinstance(value, bytes) else str(value).encode())
    number = _number(value)
    if dtype.name == "bool":
        return np.array(int(number) != 0)
    if dtype.kind in "iu":
        bits = 8 * dtype.numpy.itemsize
        return np.array(int(number) & ((1 << bits) - 1), np.uint64).astype(dtype.numpy)
    return np.array(number, dtype.numpy)


def _number(value: Any) -> float | int:
    if value is None:
        return 0
    if isinstance(value, (int, float)):
        return value
    text = value.decode("utf-8", "replace").strip()
    for convert in (int, float):
        try:
            found: float | int = convert(text)
            return found
        except ValueError:
            continue
    return 0


@dataset_op(
    "SqlDataset",
    "driver_name: string, data_source_name: string, query: string -> handle: variant",
    [STATEFUL],
    also="ExperimentalSqlDataset",
    attrs=OF_ELEMENTS,
)
def sql_dataset(ctx, driver_name, data_source_name, query, *, output_types, output_shapes):
    """The rows that a query of a database gives."""
    driver = scalar_of(driver_name, "driver_name").decode()
    require(
        driver == "sqlite",
        f"tensorflow: The database type, {driver}, is not supported by SqlDataset. The set of supported "
        "databases is: {'sqlite'}.",
    )
    for i, dtype in enumerate(output_types):
        allowed = dtype in _SQL_TYPES
        require(allowed, f"Each element of `output_types_` must be supported; element {i} is {dtype.name}")
    source, text = scalar_of(data_source_name, "data_source_name"), scalar_of(query, "query")
    return Query(output_types, output_shapes, source, text)
