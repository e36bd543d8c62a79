"""A plan as text, and back.

x = Placeholder() {dtype=f32, shape=[2,3]} : f32[2,3]
a = MatMul(x, w) {transpose_a=False} ^init @/device:CPU:0 : f32[2,2]
feed x
return a, b:1
target train
"""

from __future__ import annotations

import ast
import re
from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.core.dtypes import DType
from headrace.core.shapes import Shape, make_shape, show
from headrace.graph.attrs import FunctionName, Literal
from headrace.ops.declaration import catalog
from headrace.ops.declaration.signature import REQUIRED
from headrace.plan.plan import Edge, Output, Plan, PlanNode

_SHORT = {
    "float32": "f32", "float64": "f64", "float16": "f16", "bfloat16": "bf16", "int8": "i8",
    "int16": "i16", "int32": "i32", "int64": "i64", "uint8": "u8", "uint16": "u16",
    "uint32": "u32", "uint64": "u64", "complex64": "c64", "complex128": "c128", "bool": "bool",
    "string": "str", "resource": "res", "variant": "var",
}  # fmt: skip
_LONG = {short: name for name, short in _SHORT.items()}


def to_text(plan: Plan) -> str:
    lines = [_line(n) for n in plan.nodes.values()]
    if plan.feeds:
        lines.append("feed " + ", ".join(plan.feeds))
    if plan.fetches:
        lines.append("return " + ", ".join(str(e) for e in plan.fetches))
    if plan.targets:
        lines.append("target " + ", ".join(plan.targets))
    return "\n".join(lines)


def _line(node: PlanNode) -> str:
    text = f"{node.name} = {node.op.name}({', '.join(str(e) for e in node.inputs)})"
    shown = {k: v for k, v in node.attrs.items() if not _is_default(node, k, v)}
    if shown:
        text += " {" + "; ".join(f"{k}={_value(v)}" for k, v in shown.items()) + "}"
    text += "".join(f" ^{c}" for c in node.control)
    text += f" @{node.device}" if node.device else ""
    outputs = ", ".join(_type(o.dtype) + show(o.shape) for o in node.outputs)
    return f"{text} : {outputs}" if outputs else text


def _is_default(node: PlanNode, name: str, value: Any) -> bool:
    """Attributes that follow from the rest are left out: the parser fills them in."""
    attr = node.op.signature.attrs.get(name)
    if attr is None:
        return False
    return name in node.op.signature.inferred or value == attr.default


def _type(dtype: DType) -> str:
    short = _SHORT.get(dtype.base.name, dtype.base.name)
    return short + "&" if dtype.is_ref else short


def _value(value: Any) -> str:
    """An attribute as text; a large literal only by type and shape."""
    if isinstance(value, DType):
        return _type(value)
    if isinstance(value, Shape):
        return show(value)
    if isinstance(value, Literal):
        if value.array.size > 64:
            return f"<{_type(value.dtype)}{list(value.array.shape)}>"
        numbers = repr(value.array.tolist())
        return _type(value.dtype) + (numbers if value.array.ndim else f"({numbers})")
    if isinstance(value, FunctionName):
        return f"fn:{value.name}"
    if isinstance(value, tuple):
        return "(" + ", ".join(_value(v) for v in value) + ("," if len(value) == 1 else "") + ")"
    return repr(value)


# -- parsing -----------------------------------------------------------------------------------
_NODE = re.compile(
    r"^(?P<name>\S+) = (?P<op>\w+)\((?P<inputs>[^)]*)\)"
    r"(?: \{(?P<attrs>.*)\})?(?P<control>(?: \^\S+)*)(?: @(?P<device>\S+))?(?: : (?P<outputs>.*))?$"
)
_OUTPUT = re.compile(r"(\w+)(&?)(\[[^\]]*\]|\?)")


def from_text(text: str) -> Plan:
    """The plan that `to_text` printed.  Lines may also be separated by ';;'."""
    nodes: dict[str, PlanNode] = {}
    feeds: tuple[str, ...] = ()
    fetches: tuple[Edge, ...] = ()
    targets: tuple[str, ...] = ()
    for raw in text.replace(";;", "\n").splitlines():
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        word, _, rest = line.partition(" ")
        if word == "feed":
            feeds = tuple(_words(rest))
        elif word == "return":
            fetches = tuple(_edge(w) for w in _words(rest))
        elif word == "target":
            targets = tuple(_words(rest))
        else:
            node = _parse_node(line, nodes, len(nodes) + 1)
            nodes[node.name] = node
    return Plan(nodes, feeds, fetches, targets)


def _words(text: str) -> list[str]:
    return [w.strip() for w in text.split(",") if w.strip()]


def _edge(text: str) -> Edge:
    name, _, index = text.rpartition(":")
    return Edge(name, int(index)) if name else Edge(text, 0)


def _parse_node(line: str, nodes: dict[str, PlanNode], number: int) -> PlanNode:
    """One line as a node; the types that the text leaves out follow from the op's signature."""
    found = _NODE.match(line)
    if not found:
        raise ValueError(f"not a plan node: {line!r}")
    op = catalog.find(found["op"])
    inputs = tuple(_edge(w) for w in _words(found["inputs"]))
    outputs = tuple(
        Output(_dtype(kind).as_ref if ref else _dtype(kind), _shape(size))
        for kind, ref, size in _OUTPUT.findall(found["outputs"] or "")
    )
    attrs = _parse_attrs(op, found["attrs"] or "")
    types = [nodes[e.node].outputs[e.index].dtype if e.node in nodes else None for e in inputs]
    _infer(op, attrs, types, outputs)
    declared = [t for arg in op.signature.inputs for t in arg.types(attrs)]
    return PlanNode(
        found["name"],
        op,
        inputs,
        tuple(c[1:] for c in found["control"].split()),
        attrs,
        outputs,
        tuple(declared),
        found["device"] or "",
        (),
        number,
    )


def _parse_attrs(op: Any, text: str) -> dict[str, Any]:
    given: dict[str, Any] = {}
    for part in text.split("; ") if text else []:
        name, _, value = part.partition("=")
        spec = op.signature.attrs.get(name)
        given[name] = _parse_value(value, spec.kind if spec else None)
    out = {}
    for name, spec in op.signature.attrs.items():
        if name in given:
            out[name] = given.pop(name)
        elif name not in op.signature.inferred and spec.default is not _required():
            out[name] = spec.default
    return out | given


def _required() -> Any:
    return REQUIRED


def _infer(op: Any, attrs: dict[str, Any], types: list[Any], outputs: tuple[Output, ...]) -> None:
    """Types and counts that follow from the inputs (and, failing that, from the outputs)."""
    at = 0
    for position, arg in enumerate(op.signature.inputs):
        rest = len(op.signature.inputs) - position - 1
        count = len(types) - at - rest if arg.is_list else 1
        mine = types[at : at + count]
        at += count
        if arg.number_attr:
            attrs.setdefault(arg.number_attr, count)
        if arg.list_attr:
            attrs.setdefault(arg.list_attr, tuple(t.base for t in mine))
        if arg.type_attr and mine and mine[0] is not None:
            attrs.setdefault(arg.type_attr, mine[0].base)
    for arg, output in zip(op.signature.outputs, outputs):
        if arg.type_attr:
            attrs.setdefault(arg.type_attr, output.dtype.base)


def _parse_value(text: str, kind: str | None) -> Any:
    """The inverse of `_value` for an attribute of this kind."""
    literal = re.match(r"^([a-z]+\d*)(\[.*\]|\(.*\))$", text)
    if kind == "type":
        return _dtype(text)
    if kind == "shape":
        return _shape(text)
    if kind == "tensor" and literal:
        dtype = _dtype(literal[1])
        value = _numbers(literal[2])
        return Literal(np.array(value, dtype.numpy), dtype)
    if kind == "func":
        return FunctionName(text.removeprefix("fn:"))
    if kind == "list(type)":
        return tuple(_dtype(w) for w in _words(text.strip("()")))
    if kind == "list(shape)":
        return tuple(_shape(w) for w in re.findall(r"\[[^\]]*\]|\?", text))
    return ast.literal_eval(text)


def _dtype(text: str) -> DType:
    return dtypes.as_dtype(_LONG.get(text, text))


def _shape(text: str) -> Shape:
    if text == "?":
        return make_shape(None)
    return make_shape(None if w == "?" else int(w) for w in _words(text.strip("[]")))


def _numbers(text: str) -> Any:
    """Nested lists of numbers, with NaN and infinities, which Python prints but does not read."""
    quoted = re.sub(r"(?<![\w'])(-?(?:nan|inf))\b", r"'\1'", text)

    def convert(value: Any) -> Any:
        if isinstance(value, list):
            return [convert(v) for v in value]
        return float(value) if isinstance(value, str) else value

    return convert(ast.literal_eval(quoted))
