"""Values <-> TensorProto messages, for feeds, fetches and transfers."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.core.dtypes import DType
from headrace.core.errors import UnimplementedError
from headrace.formats import tensor_proto


def to_message(value: Any, dtype: DType | None = None) -> Any:
    """A TensorProto.  Without a type the value's own counts."""
    if not isinstance(value, (np.ndarray, np.generic)):
        raise UnimplementedError(None, None, f"a {type(value).__name__} can not leave its process")
    dtype = dtype or dtypes.as_dtype(value.dtype)
    return tensor_proto.to_proto(value, dtype)


def from_message(message: Any) -> Any:
    return tensor_proto.from_proto(message)
