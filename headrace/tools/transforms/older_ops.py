"""Newer ops in the words of older ones, for programs that know only those."""

from __future__ import annotations

from typing import Any

from headrace.core import dtypes
from headrace.tools.transforms.call import Call, transform
from headrace.tools.transforms.nodes import constant, graph_of, is_control, redirected

_ARRAYS = ("TensorArrayV3", "TensorArrayGradV3")
_ACCESS = tuple(
    f"TensorArray{what}V3" for what in "Write Read Gather Scatter Concat Split Size Close".split()
)


@transform("backport_concatv2")
def backport_concatv2(graph: Any, call: Call) -> Any:
    """ConcatV2 becomes Concat, whose axis comes first."""
    out = graph_of(graph.node)
    for node in out.node:
        if node.op == "ConcatV2":
            data = [text for text in node.input if not is_control(text)]
            waits = [text for text in node.input if is_control(text)]
            node.op = "Concat"
            node.attr.pop("Tidx", None)
            del node.input[:]
            node.input.extend([data[-1], *data[:-1], *waits])
    return out


@transform("backport_tensor_array_v3")
def backport_tensor_array_v3(graph: Any, call: Call) -> Any:
    """TensorArrays become those of the second version, which have no flow: a constant takes its place."""
    out: list[Any] = []
    targets = {}
    for node in graph.node:
        out.append(node)
        if node.op in _ARRAYS:
            flow = constant(f"{node.name}/replacement_flow_node", 1.0, dtypes.float32)
            out.append(flow)
            targets[f"{node.name}:1"] = flow.name
    renamed = redirected(out, targets)
    for node in renamed.node:
        if node.op in (*_ARRAYS, *_ACCESS):
            node.op = node.op[:-1] + "2"
            if node.op == "TensorArrayV2":
                node.attr.pop("identical_element_shapes", None)
    return renamed
