"""The value of a variant tensor's element that holds a whole tensor."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.core.dtypes import DType


class TensorVariant:
    """A tensor as one element; `dtype` tells quantized types from plain integers."""

    __slots__ = ("array", "dtype")

    def __init__(self, array: Any, dtype: DType) -> None:
        self.array, self.dtype = array, dtype

    def __repr__(self) -> str:
        return f"<variant {self.dtype.name}{list(np.shape(self.array))}>"
