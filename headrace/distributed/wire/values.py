"""Values <-> TensorProto messages, for feeds, fetches and transfers.

Values of quantized types are labelled (ops.control.transfer): their arrays say which type it is.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.core.errors import UnimplementedError
from headrace.distributed.wire.objects import (
    handle_from_message,
    handle_to_message,
    variants_from_message,
    variants_to_message,
)
from headrace.formats import tensor_proto
from headrace.ops.control.transfer import labelled, unlabelled
from headrace.ops.declaration.resources import Handle


def to_message(value: Any) -> Any:
    """A TensorProto."""
    if isinstance(value, Handle):
        return handle_to_message(value)
    if not isinstance(value, (np.ndarray, np.generic)):
        raise UnimplementedError(None, None, f"a {type(value).__name__} can not leave its process")
    if is_variant(value):
        return variants_to_message(np.asarray(value))
    dtype = dtypes.as_dtype(value.dtype)
    return tensor_proto.to_proto(unlabelled(value, dtype), dtype)


def from_message(message: Any) -> Any:
    dtype = dtypes.as_dtype(message.dtype)
    if dtype.kind == "r" and not message.tensor_shape.dim:
        return handle_from_message(message)
    if dtype.kind == "v":
        return variants_from_message(message)
    return labelled(tensor_proto.from_proto(message), dtype)


def is_variant(value: Any) -> bool:
    """An array of objects that are no texts."""
    return value.dtype == object and value.size > 0 and not isinstance(value.flat[0], (bytes, str))
