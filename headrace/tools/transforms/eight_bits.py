"""Float nodes become nodes that compute with eight bits, where there are such ops."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headrace.core import dtypes
from headrace.core.dtypes import as_dtype
from headrace.formats import proto
from headrace.tools.transforms.call import Call, transform
from headrace.tools.transforms.nodes import (
    Nodes,
    constant,
    graph_of,
    is_control,
    made,
    node_of,
    parts,
    redirected,
    refuse,
    without_unused,
)
from headrace.tools.transforms.selection import merge_duplicate_nodes

_BYTE, _WIDE = dtypes.quint8, dtypes.qint32


@dataclass(frozen=True)
class Rule:
    """How a float op is computed with eight bits."""

    copied: str = ""  # attributes that are the same
    types: str = "T"  # attributes with the type of the inputs
    wide: str = ""  # the attribute with the type of a result of 32 bits
    plain: tuple[int, ...] = ()  # inputs that stay as they are
    ranges_apart: bool = False  # all lower ends, then all upper ends


_TWO = "T1 T2"
RULES = {
    "Add": Rule(types=_TWO, wide="Toutput"),
    "AvgPool": Rule("ksize strides padding"),
    "BiasAdd": Rule(types=_TWO, wide="out_type"),
    "Concat": Rule("N", plain=(0,), ranges_apart=True),
    "Conv2D": Rule("strides padding dilations", "Tinput Tfilter", "out_type"),
    "MatMul": Rule("transpose_a transpose_b", _TWO, "Toutput"),
    "MaxPool": Rule("ksize strides padding"),
    "Mul": Rule(types=_TWO, wide="Toutput"),
    "Relu": Rule(types="Tinput"),
    "ResizeBilinear": Rule("align_corners half_pixel_centers", plain=(1,)),
    "Relu6": Rule(types="Tinput"),
    "Reshape": Rule("Tshape", plain=(1,)),
}
_PASSING = ("Relu", "Relu6", "MaxPool", "Reshape")  # rounding may be done before them as well


@transform("quantize_nodes")
def quantize_nodes(graph: Any, call: Call) -> Any:
    """(input_min, input_max, fallback_min, fallback_max, ignore_op*): nodes compute with eight bits.

    With a range of inputs, placeholders take bytes; with a fallback range, results of 32 bits are
    brought to it, and not to the range that they turn out to have.
    """
    ranges = _range(call, "fallback_min", "fallback_max")
    graph = _byte_placeholders(graph, _range(call, "input_min", "input_max"))
    graph = _early_fake_quants(graph)
    out: list[Any] = []
    for node in graph.node:
        if node.op == "FakeQuantWithMinMaxVars":
            out += _known_range(node, Nodes(graph.node))
        elif node.op in RULES and node.op not in call.all("ignore_op") and _fits(node):
            out += _eight_bit_nodes(node, ranges)
        else:
            out.append(node)
    merged = merge_duplicate_nodes(graph_of(out), call)
    return _without_detours(_trained_ranges(merged), call)


def _range(call: Call, low: str, high: str) -> tuple[float, float] | None:
    if not call.all(low) and not call.all(high):
        return None
    if not call.all(low) or not call.all(high):
        raise refuse(f"You must pass both {low} and {high} into quantize_nodes")
    return call.number(low, 0), call.number(high, 0)


def _fits(node: Any) -> bool:
    """Of floats, and without what the eight-bit ops do not know."""
    layout = node.attr["data_format"].s if "data_format" in node.attr else b"NHWC"
    padding = node.attr["padding"].s if "padding" in node.attr else b"SAME"
    is_float = node.attr["T"].type == dtypes.float32.as_datatype_enum
    return is_float and layout == b"NHWC" and padding != b"EXPLICIT"


def _eight_bit_nodes(node: Any, ranges: tuple[float, float] | None) -> list[Any]:
    rule = RULES[node.op]
    out: list[Any] = []
    data = [text for text in node.input if not is_control(text)]
    waits = [text for text in node.input if is_control(text)]
    quantized = []
    for i, text in enumerate(data):
        if i not in rule.plain:
            new = _quantized(text, f"{node.name}_eightbit/{_as_name(text)}")
            quantized.append(new[-1].name)
            out += new
    remaining = iter(quantized)
    inputs = [t if i in rule.plain else f"{next(remaining)}:0" for i, t in enumerate(data)]
    pairs = [(f"{name}:1", f"{name}:2") for name in quantized]
    ordered = zip(*pairs) if rule.ranges_apart else pairs
    inputs += [text for pair in ordered for text in pair]
    main = made(f"{node.name}/eightbit", f"Quantized{node.op}", [*inputs, *waits])
    for key in rule.copied.split():
        if key in node.attr:
            main.attr[key].CopyFrom(node.attr[key])
    for key in rule.types.split():
        main.attr[key].type = _BYTE.as_datatype_enum
    out.append(main)
    result = main.name
    if rule.wide:
        main.attr[rule.wide].type = _WIDE.as_datatype_enum
        out += _narrowed(main.name, ranges)
        result = out[-1].name
    return [*out, _floats(node.name, result)]


def _as_name(text: str) -> str:
    _, name, port = parts(text)
    return name + port.replace(":", "__port__")


def _quantized(text: str, name: str) -> list[Any]:
    """Nodes that find the range of a tensor and make bytes of it."""
    wait = [f"^{node_of(text)}"]
    dims = constant(f"{name}/reshape_dims", [-1], dtypes.int32)
    axes = constant(f"{name}/reduction_dims", [0], dtypes.int32)
    for node in (dims, axes):
        node.input.extend(wait)
    flat = made(f"{name}/reshape", "Reshape", [text, dims.name], T=dtypes.float32)
    ends = [
        made(f"{name}/{op.lower()}", op, [flat.name, axes.name], T=dtypes.float32, keep_dims=False)
        for op in ("Min", "Max")
    ]
    bytes_ = made(
        f"{name}/quantize", "QuantizeV2", [text, *(end.name for end in ends)], T=_BYTE, mode="MIN_FIRST"
    )
    return [dims, axes, flat, *ends, bytes_]


def _narrowed(name: str, ranges: tuple[float, float] | None) -> list[Any]:
    """Nodes that bring a result of 32 bits to bytes."""
    outputs = [f"{name}:{i}" for i in range(3)]
    if ranges is None:
        found = made(f"{name}/requant_range", "RequantizationRange", outputs, Tinput=_WIDE)
        before, ends = [found], [f"{found.name}:0", f"{found.name}:1"]
    else:
        before = [
            constant(f"{name}/fallback_{end}", value, dtypes.float32)
            for end, value in zip(("min", "max"), ranges)
        ]
        ends = [node.name for node in before]
    narrow = made(f"{name}/requantize", "Requantize", [*outputs, *ends], Tinput=_WIDE, out_type=_BYTE)
    return [*before, narrow]


def _floats(name: str, source: str) -> Any:
    inputs = [f"{source}:{i}" for i in range(3)]
    return made(name, "Dequantize", inputs, T=_BYTE, mode="MIN_FIRST")


# -- placeholders, trained ranges ----------------------------------------------------------------
def _byte_placeholders(graph: Any, ranges: tuple[float, float] | None) -> Any:
    if ranges is None:
        return graph
    out, targets, spared = [], {}, []
    for node in graph.node:
        if node.op != "Placeholder" or as_dtype(node.attr["dtype"].type) is not dtypes.float32:
            out.append(node)
            continue
        new = proto.NodeDef()
        new.CopyFrom(node)
        new.attr["dtype"].type = _BYTE.as_datatype_enum
        ends = [
            constant(f"{node.name}_eightbit/{end}", value, dtypes.float32)
            for end, value in zip(("min", "max"), ranges)
        ]
        floats = made(
            f"{node.name}_eightbit/dequantize",
            "Dequantize",
            [node.name, *(end.name for end in ends)],
            T=_BYTE,
            mode="MIN_FIRST",
        )
        out += [new, *ends, floats]
        targets[f"{node.name}:0"] = floats.name
        spared.append(floats.name)
    return redirected(out, targets, spared)


def _early_fake_quants(graph: Any) -> Any:
    """Trained ranges move up, to the node whose result they are about."""
    graph = graph_of(graph.node)
    nodes = Nodes(graph.node)
    uses = nodes.uses()
    for fake in list(graph.node):
        if fake.op != "FakeQuantWithMinMaxVars":
            continue
        last = first = nodes[node_of(fake.input[0])]
        while first.op in _PASSING and len(uses[first.name]) == 1:
            below = nodes[node_of(first.input[0])]
            if below.op not in _PASSING or len(uses[below.name]) > 1:
                break
            first = below
        if first.op not in _PASSING or len(uses[first.name]) > 1:
            continue
        # source -> first ... last -> fake  becomes  source -> fake' -> first ... last (named fake)
        hoisted = f"{fake.name}_hoisted"
        source, first.input[0] = first.input[0], hoisted
        fake.input[0] = source
        fake.name, last.name = hoisted, fake.name
        nodes = Nodes(graph.node)
        uses = nodes.uses()
    return graph


def _known_range(node: Any, nodes: Nodes) -> list[Any]:
    """A trained range: bytes of that range, and floats again."""
    ends = [nodes[node_of(text)] for text in node.input[1:3]]
    if any(end.op != "Const" for end in ends):
        return [node]
    bytes_ = made(f"{node.name}_eightbit/quantize", "QuantizeV2", node.input[:3], T=_BYTE, mode="MIN_FIRST")
    return [bytes_, _floats(node.name, bytes_.name)]


def _trained_ranges(graph: Any) -> Any:
    """A result that is brought to the range it has, made floats and brought to a trained range: at once
    to that."""
    nodes = Nodes(graph.node)
    new: dict[str, Any] = {}
    pattern = ("QuantizeV2", ("Dequantize", "Requantize", "Requantize", "Requantize"), "Const", "Const")
    for bytes_, (_, (narrow, *_), *_), *_ in nodes.matches(pattern):
        if nodes[node_of(narrow.input[3])].op == "RequantizationRange":
            new[bytes_.name] = made(
                bytes_.name,
                "Requantize",
                [*narrow.input[:3], *bytes_.input[1:3]],
                Tinput=_WIDE,
                out_type=_BYTE,
            )
    return graph_of(new.get(node.name, node) for node in nodes)


def _without_detours(graph: Any, call: Call) -> Any:
    """Bytes that become floats and bytes again stay bytes."""
    nodes = Nodes(graph.node)
    targets = {}
    for bytes_, (floats, *_), *_ in nodes.matches(("QuantizeV2", "Dequantize", "Min", "Max")):
        if floats.attr["T"].type == bytes_.attr["T"].type:
            for i in range(3):
                targets[f"{bytes_.name}:{i}"] = floats.input[i]
    out = redirected(nodes, targets).node
    return without_unused(nodes, out, [*call.inputs, *call.outputs])
