"""GraphDefs, MetaGraphDefs and SavedModels, described in lines of text."""

from __future__ import annotations

import os
from collections import Counter
from typing import Any

from headrace.core.dtypes import as_dtype
from headrace.formats import proto
from headrace.tools.describe_checkpoint import describe_checkpoint
from headrace.tools.describe_text import columns, counts, shape, shortened, size
from headrace.train.saved_model import places

_SOURCES = ("Placeholder", "PlaceholderV2", "PlaceholderWithDefault")
_VARIABLES = ("Variable", "VariableV2", "VarHandleOp")


def describe_graph(graph: Any, limit: int) -> list[str]:
    """Nodes, inputs, outputs, variables and functions of a GraphDef."""
    nodes = list(graph.node)
    kinds = Counter(n.op for n in nodes)
    constants = sum(n.attr["value"].ByteSize() for n in nodes if n.op == "Const")
    lines = [
        f"  nodes      {len(nodes)} of {len(kinds)} kinds: {counts(kinds, limit)}",
        f"  made for   producer {graph.versions.producer}, consumers from {graph.versions.min_consumer}",
    ]
    if constants:
        lines.append(f"  constants  {size(constants)}")
    devices = sorted({n.device for n in nodes if n.device})
    if devices:
        lines.append(f"  devices    {', '.join(devices)}")
    used = {i.removeprefix("^").split(":")[0] for n in nodes for i in n.input}
    for title, chosen in (
        ("inputs", [n for n in nodes if n.op in _SOURCES]),
        ("variables", [n for n in nodes if n.op in _VARIABLES]),
        ("outputs", [n for n in nodes if n.name not in used and n.op != "NoOp"]),
    ):
        if chosen:
            lines.append(f"  {title}")
            lines += shortened(columns([_node(n) for n in chosen], "    "), limit, "    ")
    if graph.library.function:
        lines.append("  functions")
        rows = [
            (f.signature.name, f"{len(f.node_def)} nodes", _signature(f.signature))
            for f in graph.library.function
        ]
        lines += shortened(columns(rows, "    "), limit, "    ")
    return lines


def _node(node: Any) -> tuple[str, str, str]:
    attr = node.attr["dtype"] if "dtype" in node.attr else node.attr["T"]
    dtype = type_name(attr.type) if attr.type else ""
    sizes = ""
    if "shape" in node.attr:
        sizes = _shape(node.attr["shape"].shape)
    elif "_output_shapes" in node.attr and node.attr["_output_shapes"].list.shape:
        sizes = _shape(node.attr["_output_shapes"].list.shape[0])
    return node.name, node.op, f"{dtype} {sizes}".strip()


def type_name(number: int) -> str:
    """The name of an element type, or its number where that is nobody's."""
    try:
        return str(as_dtype(number).name)
    except TypeError:
        return f"type {number}"


def _shape(message: Any) -> str:
    return shape(None if message.unknown_rank else [d.size for d in message.dim])


def _signature(message: Any) -> str:
    inputs = ", ".join(a.name for a in message.input_arg)
    return f"{inputs} -> {', '.join(a.name for a in message.output_arg)}"


def describe_meta_graph(message: Any, limit: int) -> list[str]:
    """A graph with its signatures and collections."""
    info = message.meta_info_def
    lines = [f"  written by tensorflow {info.tensorflow_version or '?'}"]
    lines += describe_graph(message.graph_def, limit)
    for name in sorted(message.signature_def):
        signature = message.signature_def[name]
        lines.append(f"  signature  {name}  {signature.method_name}".rstrip())
        rows = [
            (way, key, *_tensor(infos[key]))
            for way, infos in (("in", signature.inputs), ("out", signature.outputs))
            for key in sorted(infos)
        ]
        lines += columns(rows, "    ")
    found = {key: _length(message.collection_def[key]) for key in sorted(message.collection_def)}
    if found:
        lines.append("  collections  " + ", ".join(f"{k} {n}" for k, n in found.items()))
    if message.HasField("saver_def"):
        saver = message.saver_def
        version = proto.SaverDef.CheckpointFormatVersion.Name(saver.version)
        lines.append(f"  saver      {version}, {saver.save_tensor_name}, {saver.restore_op_name}")
    return lines


def _tensor(info: Any) -> tuple[str, str]:
    dtype = type_name(info.dtype) if info.dtype else "?"
    name = info.name or info.coo_sparse.values_tensor_name or info.WhichOneof("encoding") or ""
    return f"{dtype} {_shape(info.tensor_shape)}", name


def _length(collection: Any) -> int:
    kind = collection.WhichOneof("kind")
    return 0 if kind is None else len(getattr(collection, kind).value)


def describe_saved_model(folder: str, message: Any, limit: int) -> list[str]:
    """All graphs of a SavedModel, its assets and variables."""
    lines = [f"schema {message.saved_model_schema_version}"]
    for number, graph in enumerate(message.meta_graphs, 1):
        tags = ", ".join(graph.meta_info_def.tags) or "no tags"
        lines.append(f"graph {number}: {tags}")
        lines += describe_meta_graph(graph, limit)
    assets = places.assets_folder(folder)
    if os.path.isdir(assets) and os.listdir(assets):
        rows = [(n, size(os.path.getsize(os.path.join(assets, n)))) for n in os.listdir(assets)]
        lines += ["assets", *shortened(columns(sorted(rows)), limit)]
    variables = places.variables_path(folder)
    if os.path.exists(f"{variables}.index"):
        lines += ["variables", *describe_checkpoint(variables, limit)]
    return lines
