"""tf.graph_util: cut, freeze and shorten GraphDefs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.core.dtypes import as_dtype
from headrace.core.shapes import Shape
from headrace.formats import proto
from headrace.formats.tensor_proto import to_proto

_VARIABLES = frozenset(
    "Assign AssignAdd AssignSub Queue ScatterAdd ScatterDiv ScatterMax ScatterMin ScatterMul "
    "ScatterNdAdd ScatterNdSub ScatterNdUpdate ScatterSub ScatterUpdate TruncatedNormal Variable "
    "VariableV2".split()
)
# The ops between a variable's handle and what reads it.
_PASSING = frozenset({"Enter", "Exit", "Identity", "Merge", "NextIteration", "Switch"})
_ON_CPU = {"DynamicStitch": "T", "ParallelDynamicStitch": "T", "Cast": "SrcT"}  # for int32


def node_name(text: str) -> str:
    """The node of an input: "a" of "a:1" and of "^a"."""
    return text.removeprefix("^").split(":")[0]


def must_run_on_cpu(node: Any, pin_variables_on_cpu: bool = False) -> bool:
    """Has this node (or NodeDef) a kernel for the CPU alone, or is it a variable's and pinned?"""
    message = node.node_def if hasattr(node, "node_def") else node
    if pin_variables_on_cpu and message.op in _VARIABLES:
        return True
    if message.op == "Const":
        return as_dtype(message.attr["dtype"].type) in (dtypes.string, dtypes.int32)
    key = _ON_CPU.get(message.op)
    return key is not None and message.attr[key].type == dtypes.int32.as_datatype_enum


def extract_sub_graph(graph_def: Any, dest_nodes: Any) -> Any:
    """The nodes that `dest_nodes` need, as a GraphDef of its own.

    Args:
      graph_def: a GraphDef.
      dest_nodes: names of nodes.

    Raises:
      TypeError: `graph_def` is not a GraphDef, or `dest_nodes` is one string.
      AssertionError: a name is not in the graph.
    """
    if not isinstance(graph_def, proto.GraphDef):
        raise TypeError("graph_def must be a graph_pb2.GraphDef proto.")
    if isinstance(dest_nodes, str):
        raise TypeError("dest_nodes must be a list.")
    nodes = {n.name: n for n in graph_def.node}
    for name in dest_nodes:
        if name not in nodes:
            raise AssertionError(f"{name} is not in graph")
    kept = _needed(nodes, dest_nodes)
    out = proto.GraphDef(versions=graph_def.versions)
    out.node.extend(n for n in graph_def.node if n.name in kept)
    out.library.CopyFrom(graph_def.library)
    return out


def _needed(nodes: dict[str, Any], wanted: Iterable[str]) -> set[str]:
    kept: set[str] = set()
    stack = list(wanted)
    while stack:
        name = stack.pop()
        if name not in kept:
            kept.add(name)
            node = nodes[name]
            stack += [node_name(i) for i in node.input]
            if "_class" in node.attr:
                groups = [g.decode() for g in node.attr["_class"].list.s]
                stack += [g[5:] for g in groups if g.startswith("loc:@") and g[5:] in nodes]
    return kept


def tensor_shape_from_node_def_name(graph: Any, input_name: str) -> Shape:
    """The shape of a tensor of a graph, by the name that a NodeDef's input has."""
    name = input_name if ":" in input_name else input_name + ":0"
    shape: Shape = graph.get_tensor_by_name(name).get_shape()
    return shape


# -- freezing -----------------------------------------------------------------------------------
def convert_variables_to_constants(
    sess: Any,
    input_graph_def: Any,
    output_node_names: Sequence[str],
    variable_names_whitelist: Iterable[str] | None = None,
    variable_names_blacklist: Iterable[str] | None = None,
) -> Any:
    """The part of a graph that some nodes need, with its variables replaced by their values.

    Args:
      sess: the session that holds the values.
      input_graph_def: the graph.
      output_node_names: names of the nodes to keep.
      variable_names_whitelist: only these variables are replaced.
      variable_names_blacklist: these are not.

    Returns: a GraphDef.
    """
    graph = extract_sub_graph(input_graph_def, output_node_names)
    names = [
        n.name
        for n in graph.node
        if n.op in ("Variable", "VariableV2", "VarHandleOp")
        and (variable_names_whitelist is None or n.name in variable_names_whitelist)
        and (variable_names_blacklist is None or n.name not in variable_names_blacklist)
    ]
    nodes = {n.name: n for n in graph.node}
    reads = ["/Read/ReadVariableOp:0" if nodes[n].op == "VarHandleOp" else ":0" for n in names]
    found = sess.run([n + read for n, read in zip(names, reads)]) if names else []
    values = dict(zip(names, found))
    types = _types_on_the_way(nodes, values)
    out = proto.GraphDef()
    out.library.CopyFrom(graph.library)
    out.versions.CopyFrom(graph.versions)
    for node in graph.node:
        if node.name in values:
            _fill_constant(out.node.add(), node, values[node.name])
        elif node.name not in types:
            out.node.add().CopyFrom(node)
        elif node.op == "ReadVariableOp":
            _fill_identity(out.node.add(), node)
        elif node.op == "ResourceGather":
            _fill_gather(out, node)
        else:
            new = out.node.add()
            new.CopyFrom(node)
            new.attr["T"].CopyFrom(types[node.name])
            new.attr.pop("_output_shapes", None)
    return out


def _types_on_the_way(nodes: dict[str, Any], values: dict[str, Any]) -> dict[str, Any]:
    """Nodes that carried a frozen handle and carry its value from now on -> its type attribute."""
    found: dict[str, Any] = {}
    for node in nodes.values():
        if node.op not in ("ReadVariableOp", "ResourceGather"):
            continue
        way = {node.name}
        stack = [node_name(node.input[0])]
        sources = set()
        while stack:
            name = stack.pop()
            if nodes[name].op not in _PASSING:
                sources.add(name)
            elif name not in way:
                way.add(name)
                count = 2 if nodes[name].op == "Merge" else 1
                stack += [node_name(i) for i in nodes[name].input[:count]]
        if any(nodes[name].op != "VarHandleOp" for name in sources):
            raise ValueError("Cannot find the variable that is an input to the ReadVariableOp.")
        if sources <= values.keys():
            found.update(dict.fromkeys(way, node.attr["dtype"]))
    return found


def _fill_constant(new: Any, node: Any, value: Any) -> None:
    new.name, new.op, new.device = node.name, "Const", node.device
    new.attr["dtype"].CopyFrom(node.attr["dtype"])
    new.attr["value"].tensor.CopyFrom(to_proto(value, as_dtype(node.attr["dtype"].type)))


def _fill_identity(new: Any, node: Any) -> None:
    new.name, new.op, new.device = node.name, "Identity", node.device
    new.input.append(node.input[0])
    new.input.extend(i for i in node.input[1:] if i.startswith("^"))
    new.attr["T"].CopyFrom(node.attr["dtype"])
    if "_class" in node.attr:
        new.attr["_class"].CopyFrom(node.attr["_class"])


def _fill_gather(out: Any, node: Any) -> None:
    """ResourceGather reads and gathers: GatherV2 along the axis after the batch dimensions."""
    batch = node.attr["batch_dims"].i if "batch_dims" in node.attr else 0
    kind = as_dtype(node.attr["Tindices"].type)
    axis = out.node.add(name=node.name + "/axis", op="Const", device=node.device)
    axis.attr["dtype"].type = kind.as_datatype_enum
    axis.attr["value"].tensor.CopyFrom(to_proto(np.array(batch, kind.numpy), kind))
    new = out.node.add(name=node.name, op="GatherV2", device=node.device)
    new.input.extend([node.input[0], node.input[1], axis.name])
    new.input.extend(i for i in node.input[2:] if i.startswith("^"))
    new.attr["Tparams"].CopyFrom(node.attr["dtype"])
    for key in ("Tindices", "Taxis"):
        new.attr[key].CopyFrom(node.attr["Tindices"])
    if batch:
        new.attr["batch_dims"].i = batch
    if "_class" in node.attr:
        new.attr["_class"].CopyFrom(node.attr["_class"])


# -- shortening ---------------------------------------------------------------------------------
def remove_training_nodes(input_graph: Any, protected_nodes: Any = None) -> Any:
    """The graph without checks of numerics and without Identity nodes that inference can spare.

    Args:
      input_graph: a GraphDef.
      protected_nodes: names of nodes to keep.

    Returns: a GraphDef.
    """
    protected = set(protected_nodes or ())
    graph = _without_checks(input_graph, protected)
    return _without_identities(graph, protected)


def _without_checks(graph: Any, protected: set[str]) -> Any:
    checks = {
        n.name: n.input[0]
        for n in graph.node
        if n.op == "CheckNumerics" and n.name not in protected and n.input
    }
    out = _empty_like(graph)
    for node in graph.node:
        if node.name in checks:
            continue
        kept = [i for i in node.input if not (i.startswith("^") and i[1:] in checks)]
        _add_redirected(out, node, kept, checks)
    return out


def _without_identities(graph: Any, protected: set[str]) -> Any:
    waited_for = {i[1:] for n in graph.node for i in n.input if i.startswith("^")}
    spared = {
        n.name: n.input[0]
        for n in graph.node
        if n.op == "Identity"
        and n.name not in protected
        and n.name not in waited_for  # else it orders something
        and not any(i.startswith("^") for i in n.input)
    }
    out = _empty_like(graph)
    for node in graph.node:
        if node.name not in spared:
            _add_redirected(out, node, node.input, spared)
    return out


def _empty_like(graph: Any) -> Any:
    """A GraphDef without nodes: versions and functions as they are."""
    out = proto.GraphDef()
    for field in ("versions", "library"):
        if graph.HasField(field):
            getattr(out, field).CopyFrom(getattr(graph, field))
    return out


def _add_redirected(out: Any, node: Any, inputs: Iterable[str], gone: dict[str, str]) -> None:
    """Add a copy of a node whose inputs skip the nodes that are gone."""
    new = out.node.add()
    new.CopyFrom(node)
    del new.input[:]
    for text in inputs:
        while text.removesuffix(":0") in gone:
            text = gone[text.removesuffix(":0")]
        new.input.append(text)
