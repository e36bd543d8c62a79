"""Element types.  One `DType` per type and one per reference to it, interned: compare with `is` or `==`.

`dtype.numpy` is the NumPy type in which values are kept (quantized types as plain integers,
strings, resources and variants as objects); `as_numpy_dtype` is the type that TF shows to users.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from headrace.core.fields import reads

NDArray = np.ndarray[
    Any, Any
]  # NumPy's, of any shape and type: what is known of a value before it is looked at
NDType = np.dtype[Any]

_REF_OFFSET = 100  # TF numbers a reference type 100 above its base


class DType:
    """The type of a tensor's elements."""

    __slots__ = ("_enum", "_name", "numpy", "_shown", "kind", "base", "_ref")

    _enum: int
    _name: str
    numpy: np.dtype[Any]
    _shown: Any
    kind: str  # f float, i signed, u unsigned, b bool, c complex, s string, r resource, v variant
    base: DType
    _ref: DType | None

    def __init__(self, type_enum: int) -> None:
        """Copies the fields of the type with this number (TF's public constructor)."""
        other = _BY_ENUM[int(type_enum)]
        for slot in DType.__slots__:
            setattr(self, slot, getattr(other, slot))

    name: str = reads("_name")
    as_datatype_enum: int = reads("_enum")
    as_numpy_dtype: Any = reads("_shown")
    base_dtype: DType = reads("base")

    @property
    def real_dtype(self) -> DType:
        return _REAL.get(self.base, self.base) if self.kind == "c" else self

    @property
    def is_ref(self) -> bool:
        return self._enum > _REF_OFFSET

    _is_ref_dtype = is_ref

    @property
    def as_ref(self) -> DType:
        """The reference type of this type."""
        return self._ref or self

    _as_ref = as_ref

    @property
    def is_numpy_compatible(self) -> bool:
        return self.kind not in "rv"

    @property
    def is_bool(self) -> bool:
        return self.kind == "b"

    @property
    def is_integer(self) -> bool:
        return self.kind in "iu" and not self.is_quantized

    @property
    def is_floating(self) -> bool:
        return self.kind == "f"

    @property
    def is_complex(self) -> bool:
        return self.kind == "c"

    @property
    def is_quantized(self) -> bool:
        return self._name.startswith(("qint", "quint"))

    @property
    def is_unsigned(self) -> bool:
        return self.kind == "u" and not self.is_quantized

    @property
    def size(self) -> int:
        """Bytes of one element; 1 where an element has no fixed size, as in TF."""
        return 1 if self.kind in "srv" else self.numpy.itemsize

    @property
    def min(self) -> Any:
        return self._bound("min")

    @property
    def max(self) -> Any:
        return self._bound("max")

    def _bound(self, which: str) -> Any:
        match self.base.kind:
            case "b":
                return which == "max"
            case "f":
                return getattr(ml_dtypes.finfo(self.numpy), which)  # type: ignore[no-untyped-call]
            case "i" | "u":
                return getattr(np.iinfo(self.numpy), which)
        raise TypeError(f"Cannot find {which}imum value of {self}.")

    @property
    def limits(self) -> tuple[Any, Any]:
        return self.limits_for(clip_negative=True)

    def limits_for(self, clip_negative: bool = True) -> tuple[Any, Any]:
        """The range of intensities that images of this type use."""
        if self.base.kind in "fb":
            return (0, 1)
        low, high = self.min, self.max
        return (0 if clip_negative else low, high)

    def is_compatible_with(self, other: Any) -> bool:
        other = as_dtype(other)
        return self._enum in (other._enum, other.base._enum)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if other is None:
            return False
        try:
            return self._enum == as_dtype(other)._enum
        except TypeError:
            return False

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return self._enum

    def __repr__(self) -> str:
        return "tf." + self._name

    def __str__(self) -> str:
        return f"<dtype: {self._name!r}>"

    def __int__(self) -> int:
        return self._enum

    def __reduce__(self) -> tuple[Any, tuple[int]]:
        return as_dtype, (self._enum,)


def _make(enum: int, name: str, numpy: Any, shown: Any, kind: str) -> DType:
    dtype = object.__new__(DType)
    dtype._enum, dtype._name, dtype.numpy, dtype.kind = (enum, name, np.dtype(numpy), kind)
    dtype._shown, dtype.base, dtype._ref = shown, dtype, None
    return dtype


# number, name, kept as, kind
_TABLE: tuple[tuple[int, str, Any, str], ...] = (
    (1, "float32", np.float32, "f"),
    (2, "float64", np.float64, "f"),
    (3, "int32", np.int32, "i"),
    (4, "uint8", np.uint8, "u"),
    (5, "int16", np.int16, "i"),
    (6, "int8", np.int8, "i"),
    (7, "string", np.object_, "s"),
    (8, "complex64", np.complex64, "c"),
    (9, "int64", np.int64, "i"),
    (10, "bool", np.bool_, "b"),
    (11, "qint8", np.int8, "i"),
    (12, "quint8", np.uint8, "u"),
    (13, "qint32", np.int32, "i"),
    (14, "bfloat16", ml_dtypes.bfloat16, "f"),
    (15, "qint16", np.int16, "i"),
    (16, "quint16", np.uint16, "u"),
    (17, "uint16", np.uint16, "u"),
    (18, "complex128", np.complex128, "c"),
    (19, "float16", np.float16, "f"),
    (20, "resource", np.object_, "r"),
    (21, "variant", np.object_, "v"),
    (22, "uint32", np.uint32, "u"),
    (23, "uint64", np.uint64, "u"),
)


def _shown_type(name: str, numpy: Any) -> Any:
    """Quantized types are one-field structures to the user, so that they differ from integers."""
    if name.startswith(("qint", "quint")):
        return np.dtype([(name, numpy)])
    return numpy


_BY_ENUM: dict[int, DType] = {}
_BY_NAME: dict[str, DType] = {}
for _enum, _name, _numpy, _kind in _TABLE:
    _base = _make(_enum, _name, _numpy, _shown_type(_name, _numpy), _kind)
    _reference = _make(_enum + _REF_OFFSET, _name + "_ref", _numpy, _shown_type(_name, _numpy), _kind)
    _base._ref, _reference.base, _reference._ref = _reference, _base, _reference
    for _dtype in (_base, _reference):
        _BY_ENUM[_dtype._enum] = _BY_NAME[_dtype._name] = _dtype

_BY_NAME["half"], _BY_NAME["double"] = _BY_NAME["float16"], _BY_NAME["float64"]
_BY_NAME["half_ref"], _BY_NAME["double_ref"] = (_BY_NAME["float16_ref"], _BY_NAME["float64_ref"])
_BY_NAME["float"], _BY_NAME["float_ref"] = _BY_NAME["float32"], _BY_NAME["float32_ref"]

float32, float64, int32, uint8 = (_BY_NAME[n] for n in ("float32", "float64", "int32", "uint8"))
int16, int8, string, complex64 = (_BY_NAME[n] for n in ("int16", "int8", "string", "complex64"))
int64, bool_, qint8, quint8 = (_BY_NAME[n] for n in ("int64", "bool", "qint8", "quint8"))
qint32, bfloat16, qint16 = (_BY_NAME[n] for n in ("qint32", "bfloat16", "qint16"))
quint16, uint16, complex128 = (_BY_NAME[n] for n in ("quint16", "uint16", "complex128"))
float16, resource, variant = (_BY_NAME[n] for n in ("float16", "resource", "variant"))
uint32, uint64 = _BY_NAME["uint32"], _BY_NAME["uint64"]
half, double = float16, float64

_REAL = {complex64: float32, complex128: float64}

_BY_NUMPY: dict[Any, DType] = {
    d.numpy: d for d in (_BY_ENUM[e] for e in (1, 2, 3, 4, 5, 6, 8, 9, 10, 14, 17, 18, 19, 22, 23))
}
_BY_NUMPY |= {np.dtype(q.as_numpy_dtype): q for q in (qint8, quint8, qint32, qint16, quint16)}
_BY_PYTHON: dict[Any, DType] = {
    float: float32,
    int: int64,
    bool: bool_,
    complex: complex128,
    object: string,
    str: string,
    bytes: string,
}


def named(names: str) -> tuple[DType, ...]:
    """Element types by their names, with spaces between them."""
    return tuple(_BY_NAME[name] for name in names.split())


# The sets that op declarations speak of.  Their order is that of TF's own lists.
FLOATS = (bfloat16, float16, float32, float64)
COMPLEX = (complex64, complex128)
INDEX = (int32, int64)
NUMBERS = named(
    "float32 float64 int32 uint8 int16 int8 complex64 int64 qint8 quint8 qint32 "
    "bfloat16 uint16 complex128 float16 uint32 uint64"
)
REALS = named("float32 float64 int32 uint8 int16 int8 int64 bfloat16 uint16 float16 uint32 uint64")
QUANTIZED = (qint8, quint8, qint32, qint16, quint16)
QUANTIZED_DTYPES = frozenset([*QUANTIZED, *(d.as_ref for d in QUANTIZED)])  # TF's name

ALL = tuple(_BY_ENUM[row[0]] for row in _TABLE)


DTypeLike = DType | int | str | type[Any] | np.dtype[Any]  # what `as_dtype` takes


def as_dtype(type_value: Any) -> DType:
    """The DType that a TF number, a name, a NumPy type or a Python type stands for."""
    if isinstance(type_value, DType):
        return type_value
    if isinstance(type_value, (int, np.integer)) and not isinstance(type_value, bool):
        found = _BY_ENUM.get(int(type_value))
    elif isinstance(type_value, str):
        found = _BY_NAME.get(type_value)
    elif isinstance(type_value, type) and type_value in _BY_PYTHON:
        found = _BY_PYTHON[type_value]
    else:
        found = _from_numpy(type_value)
    if found is None:
        raise TypeError(f"Cannot convert value {type_value!r} to a TensorFlow DType.")
    return found


def _from_numpy(value: Any) -> DType | None:
    try:
        # a scalar class has a `dtype` too, but only its instances know which
        numpy = np.dtype(value if isinstance(value, type) else getattr(value, "dtype", value))
    except TypeError:
        return None
    if numpy.kind in "SUO":
        return string
    return _BY_NUMPY.get(numpy)
