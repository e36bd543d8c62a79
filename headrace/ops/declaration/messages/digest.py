"""A short fingerprint of an OpDef: everything that makes two ops compatible, without the prose."""

from __future__ import annotations

import hashlib
from typing import Any

from headrace.core.dtypes import as_dtype
from headrace.formats.tensor_proto import from_proto, set_typed_values


def digest(op_def: Any) -> str:
    copy = type(op_def)()
    copy.CopyFrom(op_def)
    copy.summary = copy.description = ""
    copy.deprecation.explanation = ""
    if not copy.deprecation.version:
        copy.ClearField("deprecation")
    for arg in [*copy.input_arg, *copy.output_arg]:
        arg.description = ""
    for attr in copy.attr:
        attr.description = ""
        # The order in which a set of allowed values is written says nothing.
        for values in (attr.allowed_values.list.type, attr.allowed_values.list.s):
            ordered = sorted(values)
            del values[:]
            values.extend(ordered)
        # Nor does the way in which a tensor is.
        if attr.default_value.tensor.tensor_content:
            _spell_out(attr.default_value.tensor)
        if not attr.allowed_values.list.type and not attr.allowed_values.list.s:
            attr.ClearField("allowed_values")
    return hashlib.sha256(copy.SerializeToString(deterministic=True)).hexdigest()[:12]


def _spell_out(tensor: Any) -> None:
    """Elements one by one, in place of bytes."""
    dtype, array = as_dtype(tensor.dtype), from_proto(tensor)
    tensor.tensor_content = b""
    set_typed_values(tensor, array, dtype)
