"""Keys and values out of the lines of a text file."""

from __future__ import annotations

import logging

import numpy as np

from headrace.core.dtypes import DType, NDArray, float32, float64, int32, int64, string
from headrace.core.errors import InvalidArgumentError, OutOfRangeError, require
from headrace.formats import files
from headrace.ops.declaration.text import shown, strings
from headrace.ops.strings.convert import read_number

WHOLE_LINE, LINE_NUMBER = -2, -1  # what a column's index may be instead
_TYPES = {int32: "int32", int64: "int64", float32: "float", float64: "double"}


def read(
    path: bytes, size: int, delimiter: bytes, key: tuple[int, DType], value: tuple[int, DType]
) -> tuple[NDArray, NDArray]:
    """The keys and values of the first `size` lines (all, if it is -1); `key` and `value` say the column
    and the type of each."""
    _check_types(key, value)
    lines = _lines(path, size)
    if max(key[0], value[0]) < 0:
        return _column(lines, None, *key), _column(lines, None, *value)
    rows = [line.split(delimiter) for line in lines]
    last = max(key[0], value[0])
    for number, row in enumerate(rows):
        require(
            last < len(row),
            f"Invalid number of columns in {shown(path)} line {number} ({shown(lines[number])}) : expected "
            f"{last} got {len(row)}",
        )
    return _column(lines, rows, *key), _column(lines, rows, *value)


def _check_types(key: tuple[int, DType], value: tuple[int, DType]) -> None:
    for name, (index, dtype) in (("Key", key), ("Value", value)):
        require(
            index != LINE_NUMBER or dtype is int64,
            f"{name} index for line number requires table {name.lower()} dtype of int64, got {dtype.name}",
        )
    require(
        key[0] != WHOLE_LINE or key[1] is string or key[1].kind in "iu",
        f"Key index for whole line requires string or integer table key, got {key[1].name}",
    )
    require(
        value[0] != WHOLE_LINE or value[1] is string,
        f"Value index for whole line requires table value dtype of string, got {value[1].name}",
    )


def _lines(path: bytes, size: int) -> list[bytes]:
    """Without their ends; carriage returns are dropped wherever they stand."""
    data = files.read_bytes(path)
    if b"\r" in data:
        data = data.replace(b"\r", b"")
    lines = data.split(b"\n")
    if not lines[-1]:
        lines.pop()
    if size != -1:
        if len(lines) > size:
            logging.getLogger("tensorflow").warning(
                "Truncated %s before its end at %d records.", shown(path), size
            )
            del lines[size:]
        require(
            len(lines) == size, f"Invalid vocab_size in {shown(path)}: expected {size} but got {len(lines)}"
        )
    if b"" in lines:
        at = sum(len(line) + 1 for line in lines[: lines.index(b"") + 1])
        raise InvalidArgumentError(
            None, None, f"Invalid content in {shown(path)}: empty line found at position {at}."
        )
    if not lines:
        raise OutOfRangeError(None, None, "eof")
    return lines


def _column(lines: list[bytes], rows: list[list[bytes]] | None, index: int, dtype: DType) -> NDArray:
    if index == LINE_NUMBER:
        return np.arange(len(lines), dtype=np.int64)
    fields = lines if index == WHOLE_LINE or rows is None else [row[index] for row in rows]
    if dtype is string:
        column: NDArray = strings(fields)
        return column
    require(dtype in _TYPES, f"Data type {dtype.name} not supported.")
    return np.array([_number(field, n, dtype) for n, field in enumerate(fields)], dtype.numpy)


def _number(field: bytes, line: int, dtype: DType) -> int | float:
    found: int | float | None = read_number(field, dtype)
    if found is None:
        message = f"Field {shown(field)} in line {line} is not a valid {_TYPES[dtype]}."
        raise InvalidArgumentError(None, None, message)
    return found
