"""A frozen graph made smaller for inference: without training nodes, batch normalisation folded into the
weights of convolutions, resizing and padding fused with them.

headrace optimize --input_graph g.pb --output_graph o.pb --input_node_names x --output_node_names y
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from headrace.core import log
from headrace.core.dtypes import as_dtype
from headrace.formats import proto
from headrace.formats.tensor_proto import from_proto, to_proto
from headrace.functions.io.graph_tools import remove_training_nodes
from headrace.tools.strip_unused import change_graph, graph_arguments, strip_unused

# Where the inputs of a normalisation stand: convolution, mean, variance, offset, scale.
_INPUTS = {
    "BatchNormWithGlobalNormalization": (0, 1, 2, 3, 4),
    "FusedBatchNorm": (0, 3, 4, 2, 1),
    "FusedBatchNormV2": (0, 3, 4, 2, 1),
    "FusedBatchNormV3": (0, 3, 4, 2, 1),
}
_CONVOLUTIONS = ("Conv2D", "DepthwiseConv2dNative")


def optimize_for_inference(
    input_graph_def: Any,
    input_node_names: Any,
    output_node_names: Any,
    placeholder_type_enum: Any,
    toco_compatible: bool = False,
) -> Any:
    """Make a frozen graph smaller and faster.

    Args:
      input_graph_def: a GraphDef.
      input_node_names: names of the nodes that are fed.
      output_node_names: names of the nodes that are fetched.
      placeholder_type_enum: type of what is fed, or a list of types.
      toco_compatible: without ops that TensorFlow Lite's converter does not know.

    Returns:
      A GraphDef.
    """
    ensure_graph_is_valid(input_graph_def)
    graph = strip_unused(input_graph_def, input_node_names, output_node_names, placeholder_type_enum)
    graph = remove_training_nodes(graph, output_node_names)
    graph = fold_batch_norms(graph)
    if not toco_compatible:
        graph = fuse_resize_and_conv(graph, output_node_names)
    ensure_graph_is_valid(graph)
    return graph


def ensure_graph_is_valid(graph_def: Any) -> None:
    """Every name is there once, every input exists.

    Raises:
      ValueError: it is not so.
    """
    nodes = _by_name(graph_def)
    for node in graph_def.node:
        for name in node.input:
            if node_name_from_input(name) not in nodes:
                raise ValueError("Input for ", node.name, " not found: ", name)


def _by_name(graph_def: Any) -> dict[str, Any]:
    nodes: dict[str, Any] = {}
    for node in graph_def.node:
        if node.name in nodes:
            raise ValueError("Duplicate node names detected for ", node.name)
        nodes[node.name] = node
    return nodes


def node_name_from_input(node_name: str) -> str:
    """The node that an input names."""
    name = node_name.removeprefix("^")
    stem, colon, index = name.rpartition(":")
    return stem if colon and index.isdigit() else name


def _copied(graph_def: Any, keep: Any, new: list[Any]) -> Any:
    out = proto.GraphDef()
    out.library.CopyFrom(graph_def.library)
    out.versions.CopyFrom(graph_def.versions)
    out.node.extend(node for node in graph_def.node if keep(node))
    out.node.extend(new)
    return out


# -- batch normalisation -------------------------------------------------------------------------
def fold_batch_norms(input_graph_def: Any) -> Any:
    """Normalisations of convolutions with constant weights become part of these weights.

    Args:
      input_graph_def: a GraphDef whose variables are constants.

    Returns:
      A GraphDef.
    """
    nodes = _by_name(input_graph_def)
    uses = _uses(input_graph_def)
    gone: set[str] = set()
    new: list[Any] = []
    for node in input_graph_def.node:
        if node.op in _INPUTS:
            folded = _Folding(node, nodes, uses)
            if folded.refusal:
                log.warning(folded.refusal)
            else:
                gone |= folded.replaced
                new += folded.nodes()
    return _copied(input_graph_def, lambda node: node.name not in gone, new)


def _uses(graph_def: Any) -> Counter[str]:
    """How often each node is an input; outputs after the first count by their own names too."""
    inputs = [i for n in graph_def.node for i in n.input]
    return Counter(node_name_from_input(i) for i in inputs) + Counter(i for i in inputs if ":" in i)


class _Folding:
    """One normalisation and the convolution before it."""

    def __init__(self, node: Any, nodes: dict[str, Any], uses: Counter[str]) -> None:
        self.node, self.refusal = node, ""
        inputs = [nodes[node_name_from_input(node.input[i])] for i in _INPUTS[node.op]]
        self.conv, constants = inputs[0], inputs[1:]
        if self.conv.op not in _CONVOLUTIONS:
            self.refusal = f"Didn't find expected Conv2D or DepthwiseConv2dNative input to '{node.name}'"
            return
        if node.op.startswith("Fused") and "is_training" in node.attr:
            if node.attr["is_training"].b:
                self.refusal = f"'{node.name}' normalises by its batch, as in training"
                return
        self.weights = nodes[node_name_from_input(self.conv.input[1])]
        for source in (self.weights, *constants):
            if source.op != "Const":
                self.refusal = (
                    f"Didn't find expected Constant input to '{node.name}', found {source.op} "
                    f"'{source.name}' instead. Maybe because freeze_graph wasn't run first?"
                )
                return
        shared = [n.name for n in (self.conv, self.weights) if uses[n.name] > 1]
        others = [f"{node.name}:{i}" for i in range(1, 6) if uses[f"{node.name}:{i}"]]
        if shared or others:
            self.refusal = f"{[*shared, *others]} are used by other nodes than '{node.name}' too"
            return
        self.replaced = {node.name, self.conv.name, self.weights.name}
        self.replaced |= {c.name for c in constants if uses[c.name] == 1}
        self.values = [_value(c) for c in constants]
        self.type = constants[0].attr["dtype"]
        kernel = _value(self.weights)
        count = kernel.shape[3] if self.conv.op == "Conv2D" else kernel.shape[2] * kernel.shape[3]
        for source, value in zip(constants, self.values):
            if value.shape != (count,):
                self.refusal = (
                    f"Incorrect shape for '{source.name}', found {value.shape}, expected "
                    f"{(count,)}, for node {node.name}"
                )

    def nodes(self) -> list[Any]:
        """Weights, convolution, offset, sum."""
        mean, variance, beta, gamma = self.values
        scale = 1 / np.sqrt(variance + self._epsilon())
        if self.node.op.startswith("Fused") or self.node.attr["scale_after_normalization"].b:
            scale = scale * gamma
        kernel = _value(self.weights)
        shape = (-1,) if self.conv.op == "Conv2D" else kernel.shape[2:]
        weights = _constant(self.weights.name, kernel * scale.reshape(shape), self.weights.attr["dtype"])
        offset = _constant(f"{self.conv.name}_bn_offset", beta - mean * scale, self.type)
        conv = proto.NodeDef()
        conv.CopyFrom(self.conv)
        total = proto.NodeDef(name=self.node.name, op="BiasAdd", device=self.node.device)
        total.input.extend([conv.name, offset.name])
        total.attr["T"].CopyFrom(conv.attr["T"])
        if "data_format" in conv.attr:
            total.attr["data_format"].CopyFrom(conv.attr["data_format"])
        return [weights, conv, offset, total]

    def _epsilon(self) -> float:
        key = "epsilon" if self.node.op.startswith("Fused") else "variance_epsilon"
        return float(self.node.attr[key].f) if key in self.node.attr else 1e-4


def _value(node: Any) -> Any:
    return from_proto(node.attr["value"].tensor)


def _constant(name: str, value: Any, dtype: Any) -> Any:
    node = proto.NodeDef(name=name, op="Const")
    node.attr["dtype"].CopyFrom(dtype)
    kind = as_dtype(dtype.type)
    node.attr["value"].tensor.CopyFrom(to_proto(np.asarray(value, kind.numpy), kind))
    return node


# -- resizing and padding ------------------------------------------------------------------------
def fuse_resize_and_conv(input_graph_def: Any, output_node_names: Any) -> Any:
    """Bilinear resizing and mirrored padding before a convolution become one op with it.

    Args:
      input_graph_def: a GraphDef.
      output_node_names: names of the nodes that are fetched.

    Returns:
      A GraphDef.
    """
    nodes = _by_name(input_graph_def)
    uses = _uses(input_graph_def)
    uses.update(output_node_names)
    gone: set[str] = set()
    new: list[Any] = []
    for conv in input_graph_def.node:
        if conv.op != "Conv2D":
            continue
        pad = nodes[node_name_from_input(conv.input[0])]
        resize = pad
        if pad.op == "MirrorPad":
            resize = nodes[node_name_from_input(pad.input[0])]
        else:
            pad = None
        if resize.op != "ResizeBilinear":
            resize = None
        if pad is None and resize is None:
            continue
        gone.add(conv.name)
        for node in (pad, resize):
            if node is not None:
                uses[node.name] -= 1
        new += _fused(conv, pad, resize)
    return _copied(input_graph_def, lambda node: node.name not in gone and uses[node.name] > 0, new)


def _fused(conv: Any, pad: Any, resize: Any) -> list[Any]:
    made = []
    fused = proto.NodeDef(
        name=conv.name, op="FusedPadConv2D" if resize is None else "FusedResizeAndPadConv2D"
    )
    if pad is not None:
        paddings = pad.input[1]
        fused.attr["mode"].CopyFrom(pad.attr["mode"])
    else:
        nothing = proto.AttrValue(type=as_dtype("int32").as_datatype_enum)
        made.append(_constant(f"{conv.name}_dummy_paddings", np.zeros((4, 2), np.int32), nothing))
        paddings = made[0].name
        fused.attr["mode"].s = b"REFLECT"
    if resize is not None:
        fused.input.extend([resize.input[0], resize.input[1], paddings, conv.input[1]])
        fused.attr["resize_align_corners"].CopyFrom(resize.attr["align_corners"])
    else:
        fused.input.extend([pad.input[0], paddings, conv.input[1]])
    for key in ("T", "strides", "padding"):
        fused.attr[key].CopyFrom(conv.attr[key])
    return [*made, fused]


def main(arguments: Sequence[str]) -> int:
    parser = graph_arguments("optimize", __doc__)
    return change_graph(parser, parser.parse_args(list(arguments)), optimize_for_inference)
