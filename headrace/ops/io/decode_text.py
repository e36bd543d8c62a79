"""Text as tensors: lines of CSV, and Examples in JSON."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from headrace.core.dtypes import float32, float64, int32, int64, string
from headrace.core.errors import InvalidArgumentError, require
from headrace.core.text import as_bytes
from headrace.formats import proto
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.shape_rules import same
from headrace.ops.declaration.signature import Ints, Types
from headrace.ops.declaration.text import each, shown, strings
from headrace.ops.strings.convert import read_number

_TYPE_NAMES = {float32: "float", float64: "double", int32: "int32", int64: "int64"}
_QUOTE, _LINE_ENDS = b'"', b"\r\n"


def csv_shapes(records, record_defaults):
    for default in record_defaults:
        require(default.rank in (None, 0, 1), f"Shape must be at most rank 1 but is rank {default.rank}")
        require(
            default.rank != 1 or default.dim(0) in (None, 0, 1),
            "Shape of a default must be a length-0 or length-1 vector, or a scalar.",
        )
    return [records.plain()] * len(record_defaults)


@op(
    "DecodeCSV",
    "records: string, record_defaults: OUT_TYPE -> output: OUT_TYPE",
    OUT_TYPE=Types((float32, float64, int32, int64, string), min=1),
    field_delim=",",
    use_quote_delim=True,
    na_value="",
    select_cols=Ints(default=[]),
    shape=csv_shapes,
)
def decode_csv(records, record_defaults, *, OUT_TYPE, field_delim, use_quote_delim, na_value, select_cols):
    """The fields of lines of CSV (RFC 4180), one tensor per column.  An empty field, or one that
    equals `na_value`, becomes the column's default; a column without one must not be empty."""
    count, delim = len(OUT_TYPE), as_bytes(field_delim)
    require(len(delim) == 1, "field_delim should be only 1 char")
    require(len(select_cols) in (0, count), "select_cols should match output size")
    require(all(a < b for a, b in pairwise(select_cols)), "select_cols should be strictly increasing indices")
    require(all(c >= 0 for c in select_cols), "select_cols should be non-negative indices")
    for i, default in enumerate(record_defaults):
        require(default.ndim <= 1, "Each record default should be at most rank 1")
        require(
            default.size < 2, f"There should only be 1 default per field but field {i} has {default.size}"
        )
    rows = []
    for i, record in enumerate(records.reshape(-1)):
        row = fields_of(record, delim, use_quote_delim, select_cols)
        require(len(row) == count, f"Expect {count} fields but have {len(row)} in record {i}")
        rows.append(row)
    missing = (b"", as_bytes(na_value))
    return [
        column_of(f, [row[f] for row in rows], dtype, default, missing).reshape(records.shape)
        for f, (dtype, default) in enumerate(zip(OUT_TYPE, record_defaults))
    ]


def column_of(f, fields, dtype, default, missing):
    values = []
    for i, field in enumerate(fields):
        if field in missing:
            require(default.size, f"Field {f} is required but missing in record {i}!")
            values.append(default.reshape(-1)[0])
        elif dtype is string:
            values.append(field)
        else:
            value = read_number(field, dtype)
            require(
                value is not None,
                f"Field {f} in record {i} is not a valid {_TYPE_NAMES.get(dtype)}: {shown(field)}",
            )
            values.append(value)
    if dtype is string:
        return strings(values)
    with np.errstate(over="ignore"):
        return np.array(values, dtype.numpy)


def fields_of(record: bytes, delim: bytes, quotes: bool, selected) -> list[bytes]:
    """The fields of a record, or those whose numbers are selected."""
    if not record:
        return []
    plain = not (quotes and _QUOTE in record) and b"\n" not in record and b"\r" not in record
    if plain:
        fields = record.split(delim)
        return [fields[c] for c in selected if c < len(fields)] if selected else fields
    return _quoted_fields(record, delim, quotes, selected)


def _quoted_fields(record, delim, quotes, selected):
    found, number, at, end = [], 0, 0, len(record)
    wanted = set(selected)
    last = max(selected, default=-1)
    while at < end:
        if record[at] in _LINE_ENDS:
            at += 1
            continue
        read = _quoted if quotes and record[at : at + 1] == _QUOTE else _unquoted
        field, at = read(record, at, delim, quotes)
        if not selected or number in wanted:
            found.append(field)
        if number == last:  # what comes after the last wanted field is not even looked at
            return found
        number += 1
    if record.endswith(delim) and (not selected or number in wanted):
        found.append(b"")
    return found


def _unquoted(record, at, delim, quotes):
    stop = record.find(delim, at)
    stop = len(record) if stop < 0 else stop
    field = record[at:stop]
    bad = (quotes and _QUOTE in field) or b"\n" in field or b"\r" in field
    require(not bad, "Unquoted fields cannot have quotes/CRLFs inside")
    return field, stop + 1


def _quoted(record, at, delim, quotes):
    """The field whose opening quote is at `at`, and where the next one begins."""
    parts, at = [], at + 1
    while True:
        stop = record.find(_QUOTE, at)
        after = record[stop + 1 : stop + 2]
        if stop < 0 or after not in (delim, _QUOTE, b""):
            require(stop >= 0, "Quoted field has to end with quote followed by delim or end")
            require(False, "Quote inside a string has to be escaped by another quote")
        parts.append(record[at:stop])
        if after != _QUOTE or delim == _QUOTE:
            return b"".join(parts), stop + 2
        parts.append(_QUOTE)
        at = stop + 2


@decode_csv.samples
def _(rng):
    lines = strings([b"1,-2.5,abc", b'3,,"x ""y"", z"', b" 4 ,1e3,"])
    defaults = [np.zeros(0, np.int32), np.array([9.0], np.float32), np.array(b"none", object)]
    yield Sample(lines, defaults)
    yield Sample(lines.reshape(3, 1), [np.array(7, np.int64)], select_cols=[0], note="selected")
    yield Sample(
        strings([b"1\t2", b"NA\t'"]),
        [np.zeros(1), strings([b""])],
        field_delim="\t",
        na_value="NA",
        use_quote_delim=False,
    )
    yield Sample(strings([]), defaults, note="empty")
    for line, raises in (
        (b"1,2", "Expect 3 fields but have 2 in record 0"),
        (b",2,x", "Field 0 is required but missing in record 0!"),
        (b"1.5,2,x", "Field 0 in record 0 is not a valid int32: 1.5"),
        (b"1,2z,x", "Field 1 in record 0 is not a valid float: 2z"),
        (b'1,2,x"y', "Unquoted fields cannot have quotes/CRLFs inside"),
        (b'1,2,"x', "Quoted field has to end with quote followed by delim or end"),
        (b'1,2,"x"y"', "Quote inside a string has to be escaped by another quote"),
    ):
        yield ErrorSample(strings([line]), defaults, raises=raises)
    yield ErrorSample(lines, defaults, field_delim="ab", raises="field_delim should be only 1 char")
    yield ErrorSample(lines, [np.zeros(2), *defaults[1:]], raises="default")


@op("DecodeJSONExample", "json_examples: string -> binary_examples: string", shape=same)
def decode_json_example(json_examples):
    """Examples written in JSON, as serialized Examples."""
    return each(_from_json, json_examples)


def _from_json(text):
    from google.protobuf import json_format

    try:
        message = json_format.Parse(text, proto.Example())
    except (json_format.ParseError, UnicodeDecodeError, RecursionError) as error:
        message = f"Error while parsing JSON: {error}"
        raise InvalidArgumentError(None, None, message) from None
    return message.SerializeToString()


decode_json_example.no_gradient()


@decode_json_example.samples
def _(rng):
    text = b'{"features": {"feature": {"a": {"int64List": {"value": [1, "-2"]}}}}}'
    yield Sample(strings([text, b"{}"]))
    yield Sample(strings([]))
    yield ErrorSample(strings([b"{x"]), raises="Error while parsing JSON")
