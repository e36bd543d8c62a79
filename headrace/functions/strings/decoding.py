"""tf.io.decode_raw and tf.io.decode_csv."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from headrace.core.dtypes import DTypeLike
from headrace.graph.tensor import Tensor
from headrace.ops.io import decode_raw as raw
from headrace.ops.io import decode_text as text


def decode_raw(
    input_bytes: Any = None,
    out_type: DTypeLike | None = None,
    little_endian: bool = True,
    name: str | None = None,
    bytes: Any = None,
) -> Tensor:
    """The numbers whose bytes the strings are.

    Args:
      input_bytes: strings of one length.
      out_type: type of the numbers.
      little_endian: whether the lowest byte of a number comes first.
      name: name of the node.
      bytes: old name of `input_bytes`.

    Returns:
      A tensor with one more dimension than `input_bytes`.
    """
    if bytes is not None:
        if input_bytes is not None:
            raise ValueError("Cannot specify both 'bytes' and 'input_bytes'")
        input_bytes = bytes
    if out_type is None:
        raise ValueError("decode_raw_v1() missing 1 positional argument: 'out_type'")
    return raw.decode_raw(input_bytes, out_type, little_endian=little_endian, name=name)


def decode_csv(
    records: Any,
    record_defaults: Any,
    field_delim: str = ",",
    use_quote_delim: bool = True,
    name: str | None = None,
    na_value: str = "",
    select_cols: Sequence[int] | None = None,
) -> list[Tensor]:
    """The fields of lines of CSV (RFC 4180), one tensor per column.

    Args:
      records: strings, one line each.
      record_defaults: one tensor per column, whose type the column gets: a default value, or an empty
        vector where the field must not be empty.
      field_delim: the character between fields.
      use_quote_delim: whether double quotes have a meaning.
      name: name of the node.
      na_value: another text that means an empty field.
      select_cols: numbers of the columns to read, in rising order; all if not given.

    Returns:
      A list of tensors of the shape of `records`.

    Raises:
      ValueError: `select_cols` is not in order, or does not fit `record_defaults`.
    """
    if select_cols is not None:
        if any(a >= b for a, b in pairwise(select_cols)):
            raise ValueError("select_cols is not strictly increasing.")
        if select_cols[0] < 0:
            raise ValueError("select_cols contains negative values.")
        if len(select_cols) != len(record_defaults):
            raise ValueError("Length of select_cols and record_defaults do not match.")
    found = text.decode_csv(
        records=records,
        record_defaults=record_defaults,
        field_delim=field_delim,
        use_quote_delim=use_quote_delim,
        na_value=na_value,
        name=name,
        select_cols=select_cols,
    )
    return list(found)
