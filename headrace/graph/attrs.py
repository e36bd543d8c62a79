"""The values that attributes of a node may have, besides plain Python ones.

kind      value in `node.attrs`
string    str, or bytes where it is not UTF-8        int float bool   themselves
type      DType                                      shape            Shape
tensor    Literal                                    func             FunctionName
list(k)   tuple of these
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from headrace.core.dtypes import DType
from headrace.core.modules import late

proto = late("headrace.formats.proto")
tensor_proto = late("headrace.formats.tensor_proto")

_LARGE, _END = 1 << 16, 1 << 12  # bytes


class Literal:
    """A constant tensor: its array is never written.  Compared by content."""

    __slots__ = ("array", "dtype", "_key")

    def __init__(self, array: Any, dtype: DType) -> None:
        self.array, self.dtype, self._key = array, dtype, None
        if isinstance(array, np.ndarray):
            array.flags.writeable = False

    def _content(self) -> Any:
        if self._key is None:
            a = self.array
            data = tuple(a.ravel().tolist()) if a.dtype == object else a.tobytes()
            self._key = (self.dtype, a.shape, data)  # type: ignore[assignment]
        return self._key

    @property
    def _is_large(self) -> bool:
        return bool(self.array.dtype != object and self.array.nbytes > _LARGE)

    def _octets(self) -> Any:
        return np.ascontiguousarray(self.array).reshape(-1).view(np.uint8)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Literal):
            return False
        if self.array is other.array:
            return True
        if (self.dtype, self.array.shape) != (other.dtype, other.array.shape):
            return False
        if self._is_large:
            return bool(np.array_equal(self._octets(), other._octets()))
        return bool(self._content() == other._content())

    def __hash__(self) -> int:
        if not self._is_large:
            return hash(self._content())
        octets = self._octets()  # its ends will do: reading all of a gigabyte takes a second
        ends = octets[:_END].tobytes() + octets[-_END:].tobytes()
        return hash((self.dtype, self.array.shape, ends))

    def __repr__(self) -> str:
        return f"Literal({self.dtype.name}, {np.array2string(np.asarray(self.array), threshold=20)})"


class FunctionName(NamedTuple):
    """A function of the graph's library, with the values of its own attributes."""

    name: str
    attrs: tuple[tuple[str, Any], ...] = ()


def public(value: Any) -> Any:
    """An attribute as `op.get_attr` shows it: text as bytes, lists as lists, messages as protos."""
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, Literal):
        return tensor_proto.to_proto(value.array, value.dtype.as_datatype_enum)
    if isinstance(value, FunctionName):
        return proto.NameAttrList(name=value.name)
    if isinstance(value, tuple):
        return [public(v) for v in value]
    if hasattr(value, "as_proto"):
        return value.as_proto()
    return value
