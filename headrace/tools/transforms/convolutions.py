"""Convolutions with what stands before them: padding, resizing, holes in filters."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.tools.transforms.call import Call, transform
from headrace.tools.transforms.nodes import Match, Nodes, constant, made, node_of, value_of, without_unused

_ATROUS = (
    "BatchToSpaceND",
    ("Conv2D|DepthwiseConv2dNative", ("SpaceToBatchND", "*", "Const", "*"), "Const"),
    "Const",
    "*",
)


@transform("flatten_atrous_conv")
def flatten_atrous_conv(graph: Any, call: Call) -> Any:
    """Space to batch, convolution, batch to space: one convolution whose filter has zeros between."""
    nodes = Nodes(graph.node)
    new: dict[str, list[Any]] = {}
    for found in nodes.matches(_ATROUS):
        back, (conv, (spread, *_), (filter_node,)), _, _ = found
        rates = value_of(nodes[node_of(spread.input[1])])
        name = f"{filter_node.name}/{back.name}" if _is_shared(nodes, filter_node) else ""
        wide = constant(name or filter_node.name, _with_holes(value_of(filter_node), rates), dtypes.float32)
        keys = ["T", "strides", "data_format"]
        keys += ["use_cudnn_on_gpu"] if conv.op == "Conv2D" else []
        flat = made(
            back.name,
            conv.op,
            [spread.input[0], wide.name],
            padding="SAME",
            **{key: conv.attr[key] for key in keys if key in conv.attr},
        )
        flat.device = conv.device
        new[back.name] = [wide, flat]
        if not name:
            new[filter_node.name] = []
    return _replaced(nodes, new, call)


def _with_holes(kernel: Any, rates: Any) -> Any:
    height, width = ((size - 1) * rate + 1 for size, rate in zip(kernel.shape, rates))
    wide = np.zeros((height, width, *kernel.shape[2:]), np.float32)
    wide[:: rates[0], :: rates[1]] = kernel
    return wide


def _is_shared(nodes: Nodes, node: Any) -> bool:
    return len(nodes.uses()[node.name]) > 1


@transform("fuse_pad_and_conv")
def fuse_pad_and_conv(graph: Any, call: Call) -> Any:
    """Mirrored padding and a convolution become one node."""
    return _fused(graph, call, ("Conv2D", ("MirrorPad", "*", "*"), "*"), pads=True, resizes=False)


@transform("fuse_resize_and_conv")
def fuse_resize_and_conv(graph: Any, call: Call) -> Any:
    """Bilinear resizing and a convolution become one node."""
    return _fused(graph, call, ("Conv2D", "ResizeBilinear", "*"), pads=False, resizes=True)


@transform("fuse_resize_pad_and_conv")
def fuse_resize_pad_and_conv(graph: Any, call: Call) -> Any:
    """Bilinear resizing, mirrored padding and a convolution become one node."""
    pattern = ("Conv2D", ("MirrorPad", "ResizeBilinear", "*"), "*")
    return _fused(graph, call, pattern, pads=True, resizes=True)


def _fused(graph: Any, call: Call, pattern: Any, pads: bool, resizes: bool) -> Any:
    nodes = Nodes(graph.node)
    new = {}
    for found in nodes.matches(pattern):
        if _is_plain(found[0]):
            new[found[0].name] = _fused_nodes(found, pads, resizes)
    return _replaced(nodes, new, call)


def _is_plain(conv: Any) -> bool:
    """The fused ops know neither other layouts nor dilations."""
    layout = conv.attr["data_format"].s if "data_format" in conv.attr else b"NHWC"
    dilations = list(conv.attr["dilations"].list.i) if "dilations" in conv.attr else [1]
    return layout == b"NHWC" and set(dilations) == {1}


def _fused_nodes(found: Match, pads: bool, resizes: bool) -> list[Any]:
    conv, below, _ = found
    pad: Any = below[0] if pads else None
    resize: Any = (below[1] if pads else below)[0] if resizes else None
    out, inputs = [], list(resize.input[:2]) if resize is not None else [pad.input[0]]
    attrs = {key: conv.attr[key] for key in ("T", "strides", "padding")}
    if pad is not None:
        inputs.append(pad.input[1])
        attrs["mode"] = pad.attr["mode"]
    else:
        out.append(constant(f"{conv.name}_dummy_paddings", np.zeros((4, 2)), dtypes.int32))
        inputs.append(out[0].name)
        attrs["mode"] = "REFLECT"
    if resize is not None:
        attrs["resize_align_corners"] = resize.attr["align_corners"]
    op = "FusedPadConv2D" if resize is None else "FusedResizeAndPadConv2D"
    return [*out, made(conv.name, op, [*inputs, conv.input[1]], **attrs)]


def _replaced(nodes: Nodes, new: dict[str, list[Any]], call: Call) -> Any:
    """Nodes with others in their places; what was needed for the old ones alone goes."""
    out = [n for node in nodes for n in new.get(node.name, [node])]
    return without_unused(nodes, out, [*call.inputs, *call.outputs])
