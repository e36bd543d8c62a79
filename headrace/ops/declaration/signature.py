"""The signature of an op: arguments and attributes.

    "a: T, b: T -> product: T"                 one type attribute
    "values: N*T, axis: Tidx -> output: T"     a list of N tensors of one type
    "input: Tin -> output: Tout"               where Tin is declared as a list of types
    "ref: Ref(T), value: T -> output_ref: Ref(T)"
    "handle: resource ->"                      a fixed type

Attributes are keyword arguments of @op, in TF's order:

    T=NUMBERS            a type, one of these            T=Type(FLOATS, default=float32)
    N=Int(min=1)         an integer, required            k=1, alpha=0.2, flag=False, mode="x"
    padding=String("SAME", "VALID")                      strides=Ints()       dilations=Ints([1, 1])
    shape=ShapeAttr()    value=TensorAttr()    f=Function()    Tin=Types(min=1)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Any

from headrace.core import dtypes
from headrace.core.dtypes import DType
from headrace.core.records import record
from headrace.core.shapes import as_shape

REQUIRED: Any = object()


@record
class Attr:
    """One attribute: its kind, and what values it may have."""

    kind: str
    default: Any = REQUIRED
    min: int | None = None
    allowed: tuple[Any, ...] | None = None

    @property
    def is_list(self) -> bool:
        return self.kind.startswith("list(")

    @property
    def element(self) -> str:
        return self.kind[5:-1] if self.is_list else self.kind


def Type(allowed: Iterable[DType] | None = None, default: Any = REQUIRED) -> Attr:
    return Attr("type", default, None, None if allowed is None else tuple(allowed))


INDEX32 = Type(dtypes.INDEX, default=dtypes.int32)  # int32 or int64, of sizes and places
INDEX64 = Type(dtypes.INDEX, default=dtypes.int64)


def Types(allowed: Iterable[DType] | None = None, default: Any = REQUIRED, min: int | None = None) -> Attr:
    return Attr("list(type)", _tuple(default), min, None if allowed is None else tuple(allowed))


def Int(default: Any = REQUIRED, min: int | None = None) -> Attr:
    return Attr("int", default, min)


def Ints(default: Any = REQUIRED, min: int | None = None) -> Attr:
    return Attr("list(int)", _tuple(default), min)


def Float(default: Any = REQUIRED) -> Attr:
    return Attr("float", default)


def Floats(default: Any = REQUIRED, min: int | None = None) -> Attr:
    return Attr("list(float)", _tuple(default), min)


def Bool(default: Any = REQUIRED) -> Attr:
    return Attr("bool", default)


def Bools(default: Any = REQUIRED, min: int | None = None) -> Attr:
    return Attr("list(bool)", _tuple(default), min)


def String(*allowed: str, default: Any = REQUIRED) -> Attr:
    return Attr("string", default, None, allowed or None)


def Strings(*allowed: str, default: Any = REQUIRED, min: int | None = None) -> Attr:
    return Attr("list(string)", _tuple(default), min, allowed or None)


def ShapeAttr(default: Any = REQUIRED) -> Attr:
    return Attr("shape", default if default is REQUIRED else as_shape(default))


def Shapes(default: Any = REQUIRED, min: int | None = None) -> Attr:
    return Attr("list(shape)", _tuple(default), min)


def TensorAttr(default: Any = REQUIRED) -> Attr:
    return Attr("tensor", default)


def TensorAttrs(default: Any = REQUIRED, min: int | None = None) -> Attr:
    return Attr("list(tensor)", _tuple(default), min)


def Function(default: Any = REQUIRED) -> Attr:
    return Attr("func", default)


def Functions(default: Any = REQUIRED, min: int | None = None) -> Attr:
    return Attr("list(func)", _tuple(default), min)


def _tuple(default: Any) -> Any:
    return default if default is REQUIRED else tuple(default)


def as_attr(value: Any) -> Attr:
    """The short spellings of the module docstring."""
    if isinstance(value, Attr):
        return value
    if isinstance(value, tuple) and value and all(isinstance(v, DType) for v in value):
        return Type(value)
    if isinstance(value, DType):
        return Type(default=value)
    for kind in (bool, int, float):  # bool first: it is an int to Python
        if isinstance(value, kind):
            return Attr(kind.__name__, value)
    if isinstance(value, str):
        return String(default=value)
    raise TypeError(f"not an attribute declaration: {value!r}")


@record
class Arg:
    """One input or output.  Exactly one of dtype, type_attr, list_attr says its type."""

    name: str
    dtype: DType | None = None
    type_attr: str | None = None
    list_attr: str | None = None  # a list of types: as many tensors as types
    number_attr: str | None = None  # N tensors of one type
    is_ref: bool = False

    @property
    def is_list(self) -> bool:
        return self.number_attr is not None or self.list_attr is not None

    def types(self, attrs: Mapping[str, Any]) -> list[DType]:
        """The types of the tensors that this argument stands for."""
        if self.list_attr is not None:
            found = list(attrs[self.list_attr])
        else:
            one = attrs[self.type_attr] if self.type_attr is not None else self.dtype
            found = [one] * self.count(attrs)
        return [t.as_ref for t in found] if self.is_ref else found

    def count(self, attrs: Mapping[str, Any]) -> int:
        """How many tensors this argument stands for."""
        if self.list_attr is not None:
            return len(attrs[self.list_attr])
        return 1 if self.number_attr is None else int(attrs[self.number_attr])


@record
class Signature:
    inputs: tuple[Arg, ...]
    outputs: tuple[Arg, ...]
    attrs: dict[str, Attr] = field(hash=False)
    inferred: frozenset[str]  # attributes that follow from the inputs

    @property
    def free(self) -> list[str]:
        """Attributes that a caller gives."""
        return [name for name in self.attrs if name not in self.inferred]


def parse(text: str, attrs: dict[str, Any]) -> Signature:
    declared = {name: as_attr(value) for name, value in attrs.items()}
    left, arrow, right = text.partition("->")
    if not arrow:
        raise ValueError(f"a signature needs '->': {text!r}")
    inputs, outputs = _args(left, declared), _args(right, declared)
    inferred = {a for i in inputs for a in (i.type_attr, i.list_attr, i.number_attr) if a}
    return Signature(inputs, outputs, declared, frozenset(inferred))


def _args(text: str, attrs: dict[str, Attr]) -> tuple[Arg, ...]:
    return tuple(_arg(part.strip(), attrs) for part in text.split(",") if part.strip())


def _arg(text: str, attrs: dict[str, Attr]) -> Arg:
    name, _, kind = (part.strip() for part in text.partition(":"))
    is_ref = kind.startswith("Ref(")
    if is_ref:
        kind = kind[4:-1]
    number, star, rest = kind.partition("*")
    if star:
        kind, number = rest.strip(), number.strip()
    attr = attrs.get(kind)
    number_attr = number if star else None
    if attr is None:
        return Arg(name, dtypes.as_dtype(kind), number_attr=number_attr, is_ref=is_ref)
    if attr.kind == "list(type)":
        return Arg(name, list_attr=kind, is_ref=is_ref)
    return Arg(name, type_attr=kind, number_attr=number_attr, is_ref=is_ref)
