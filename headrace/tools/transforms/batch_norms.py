"""Normalisation and scaling of channels after a convolution, as part of its weights."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.formats import proto
from headrace.tools.transforms.call import Call, transform
from headrace.tools.transforms.nodes import Nodes, constant, graph_of, made, node_of, refuse, value_of

_NORMS = "BatchNormWithGlobalNormalization|FusedBatchNorm|FusedBatchNormV2|FusedBatchNormV3"
_CONV = ("Conv2D|DepthwiseConv2dNative", "*", "Const")
_FOUR = ("Const",) * 4
_SCALED = ("Mul", ("Conv2D|MatMul|DepthwiseConv2dNative", "*", "Const"), "Const")


@transform("fold_batch_norms")
def fold_batch_norms(graph: Any, call: Call) -> Any:
    """A product of channels with constants, after a convolution or a matrix product, goes into weights."""
    nodes = Nodes(graph.node)
    uses = nodes.uses()
    fetched = {node_of(name) for name in call.outputs}
    new: dict[str, list[Any]] = {}
    for product, (conv, _, (weights,)), (factors,) in nodes.matches(_SCALED):
        if any(len(uses[n.name]) > 1 or n.name in fetched for n in (conv, weights, factors)):
            continue
        scale = value_of(factors)
        if scale.shape != (_columns(conv, value_of(weights)),):
            raise refuse(f"Mul constant input to batch norm has bad shape: {list(scale.shape)}")
        moved = proto.NodeDef()
        moved.CopyFrom(conv)
        moved.name = product.name
        new |= {
            weights.name: [_scaled(conv, weights, scale, weights.name)],
            product.name: [moved],
            conv.name: [],
            factors.name: [],
        }
    return graph_of(n for node in nodes for n in new.get(node.name, [node]))


def _columns(conv: Any, kernel: Any) -> int:
    if conv.op == "DepthwiseConv2dNative":
        return int(kernel.shape[2] * kernel.shape[3])
    if conv.op == "MatMul" and "transpose_b" in conv.attr and conv.attr["transpose_b"].b:
        return int(kernel.shape[0])
    return int(kernel.shape[-1])


def _scaled(conv: Any, weights: Any, scale: Any, name: str) -> Any:
    """Weights whose columns are multiplied."""
    kernel = value_of(weights)
    if conv.op == "DepthwiseConv2dNative":
        scale = scale.reshape(kernel.shape[2:])
    elif conv.op == "MatMul" and "transpose_b" in conv.attr and conv.attr["transpose_b"].b:
        scale = scale[:, np.newaxis]
    return constant(name, kernel * scale.astype(kernel.dtype), kernel.dtype)


# -- the old way: one op -------------------------------------------------------------------------
@transform("fold_old_batch_norms")
def fold_old_batch_norms(graph: Any, call: Call) -> Any:
    """Normalisation ops after a convolution, after batch to space of one, or after two that are joined,
    become weights and offsets."""
    fetched = {node_of(name) for name in (*call.inputs, *call.outputs)}
    for pattern, fold in (
        ((_NORMS, _CONV, *_FOUR), _after_convolution),
        ((_NORMS, ("BatchToSpaceND", _CONV, "Const", "Const"), *_FOUR), _after_batches),
        ((_NORMS, ("ConcatV2", _CONV, _CONV, "Const"), *_FOUR), _after_concat),
    ):
        graph = _folded(graph, pattern, fold, fetched)
    return graph


def _folded(graph: Any, pattern: Any, fold: Any, fetched: set[str]) -> Any:
    while True:
        nodes = Nodes(graph.node)
        uses = nodes.uses()
        for found in nodes.matches(pattern):
            norm, inner = found[0], _inner(found[1])
            only_first = not any(
                text.startswith(f"{norm.name}:") and not text.endswith(":0")
                for user in uses[norm.name]
                for text in user.input
            )
            is_free = all(len(uses[n.name]) == 1 and n.name not in fetched for n in inner)
            in_training = "is_training" in norm.attr and norm.attr["is_training"].b
            if only_first and is_free and not in_training:
                break
        else:
            return graph
        constants = [below[0] for below in found[2:]]
        scale, offset = _scale_and_offset(norm, constants)
        new = {norm.name: fold(found, scale, offset)}
        gone = {n.name for n in inner}
        gone |= {c.name for c in constants if len(uses[c.name]) == 1 and c.name not in fetched}
        graph = graph_of(n for node in nodes if node.name not in gone for n in new.get(node.name, [node]))


def _inner(found: Any) -> list[Any]:
    """Nodes between the normalisation and what is convolved."""
    node, *below = found
    if node.op in _CONV[0]:
        return [node, below[1][0]]
    return [node, *(n for part in below if part[0].op in _CONV[0] for n in _inner(part))]


def _scale_and_offset(norm: Any, constants: list[Any]) -> tuple[Any, Any]:
    values = [value_of(c) for c in constants]
    if norm.op == "BatchNormWithGlobalNormalization":
        mean, variance, beta, gamma = values
        key, scales = "variance_epsilon", norm.attr["scale_after_normalization"].b
    else:
        gamma, beta, mean, variance = values
        key, scales = "epsilon", True
    for title, value in (("Variance", variance), ("Beta", beta), ("gamma", gamma)):
        if mean.ndim != 1 or value.shape != mean.shape:
            raise refuse(f"{title} input to batch norm has bad shape: {list(value.shape)}")
    epsilon = norm.attr[key].f if key in norm.attr else 1e-4
    scale = (1 / np.sqrt(variance + np.float32(epsilon))).astype(np.float32)
    if scales:
        scale = scale * gamma
    return scale, beta - mean * scale


def _with_offset(found: Any, scale: Any, offset: Any, name: str) -> list[Any]:
    """Scaled weights, the convolution, the offset, and their sum under a name."""
    conv, _, (weights,) = found
    if scale.shape != (_columns(conv, value_of(weights)),):
        raise refuse(f"Batch norm of {conv.name} has bad shape: {list(scale.shape)}")
    bias = constant(f"{conv.name}_bn_offset", offset, dtypes.float32)
    keys = [key for key in ("T", "data_format") if key in conv.attr]
    total = made(name, "BiasAdd", [conv.name, bias.name], **{key: conv.attr[key] for key in keys})
    return [_scaled(conv, weights, scale, weights.name), conv, bias, total]


def _after_convolution(found: Any, scale: Any, offset: Any) -> list[Any]:
    return _with_offset(found[1], scale, offset, found[0].name)


def _after_batches(found: Any, scale: Any, offset: Any) -> list[Any]:
    norm, (batches, conv_found, *_) = found[:2]
    name = f"{conv_found[0].name}/biasadd"
    moved = proto.NodeDef()
    moved.CopyFrom(batches)
    moved.name, moved.input[0] = norm.name, name
    return [*_with_offset(conv_found, scale, offset, name), moved]


def _after_concat(found: Any, scale: Any, offset: Any) -> list[Any]:
    norm, (joined, first, second, (axis,)) = found[:2]
    parts = [(scale, offset)] * 2
    if int(value_of(axis)) in (3, -1):
        cut = _columns(first[0], value_of(first[2][0]))
        parts = [(scale[:cut], offset[:cut]), (scale[cut:], offset[cut:])]
    out: list[Any] = []
    moved = proto.NodeDef()
    moved.CopyFrom(joined)
    moved.name = norm.name
    for i, (part, values) in enumerate(zip((first, second), parts)):
        moved.input[i] = f"{joined.name}_bn_in{i}"
        out += _with_offset(part, *values, moved.input[i])
    return [*out, moved]
