"""Element types as the machine sees them."""

from __future__ import annotations

import numpy as np

from headrace.core import dtypes
from headrace.core.dtypes import DType, NDType
from headrace.core.records import record
from headrace.ops.declaration.emit import Decline


@record
class Kind:
    """An element type as the machine sees it."""

    name: str
    bits: int
    family: str  # f float, i signed, u unsigned, b bool, x index

    @property
    def is_float(self) -> bool:
        return self.family == "f"

    @property
    def is_integer(self) -> bool:
        return self.family in "iux"

    @property
    def is_signed(self) -> bool:
        return self.family in "ix"

    @property
    def bytes(self) -> int:
        return max(self.bits // 8, 1)

    def __repr__(self) -> str:
        return self.name


F16, BF16, F32, F64 = (
    Kind("f16", 16, "f"),
    Kind("bf16", 16, "f"),
    Kind("f32", 32, "f"),
    Kind("f64", 64, "f"),
)
I8, I16, I32, I64 = (Kind(f"i{b}", b, "i") for b in (8, 16, 32, 64))
U8, U16, U32, U64 = (Kind(f"u{b}", b, "u") for b in (8, 16, 32, 64))
BOOL, INDEX = Kind("bool", 1, "b"), Kind("index", 64, "x")

_OF_DTYPE = {
    dtypes.float16: F16, dtypes.bfloat16: BF16, dtypes.float32: F32, dtypes.float64: F64,
    dtypes.int8: I8, dtypes.int16: I16, dtypes.int32: I32, dtypes.int64: I64,
    dtypes.uint8: U8, dtypes.uint16: U16, dtypes.uint32: U32, dtypes.uint64: U64,
    dtypes.bool_: BOOL,
    dtypes.qint8: I8, dtypes.quint8: U8, dtypes.qint16: I16, dtypes.quint16: U16,
    dtypes.qint32: I32,
}  # fmt: skip
TO_DTYPE = {kind: dtype for dtype, kind in reversed(_OF_DTYPE.items())} | {INDEX: dtypes.int64}


TypeLike = Kind | DType | str | type[np.generic] | NDType  # what names an element type


def kind_of(dtype: TypeLike) -> Kind:
    """The kind of a DType, or of what names one."""
    if isinstance(dtype, Kind):
        return dtype
    found = _OF_DTYPE.get(dtypes.as_dtype(dtype).base_dtype)
    if found is None:
        raise Decline(f"{dtype} is not compiled")
    return found
