"""A function's body <-> FunctionDef.

In a FunctionDef an input is named "argument", "node:output argument:number" or "^node"; in a GraphDef
"node:number in all".  Attributes may be placeholders for attributes of the function.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from typing import Any

from headrace.core.errors import InvalidArgumentError
from headrace.core.shapes import UNKNOWN, Shape
from headrace.formats import proto
from headrace.graph.node import Node
from headrace.graph.tensor import Tensor
from headrace.ops.declaration import catalog
from headrace.ops.declaration.declare import Op
from headrace.ops.declaration.messages import node_def
from headrace.ops.declaration.messages.op_def import fill, kind_of, read, to_signature
from headrace.ops.declaration.traits import STATEFUL
from headrace.ops.graphdef.function_graph import FunctionGraph
from headrace.ops.graphdef.graph_import import Import
from headrace.version import GRAPH_DEF_VERSION


# -- graph -> FunctionDef -----------------------------------------------------------------------
class _Names:
    """Names of arguments, results and nodes: one space, each used once."""

    def __init__(self) -> None:
        self.used: set[str] = set()

    def take(self, name: str) -> str:
        found, count = name, 0
        while found in self.used:
            found, count = f"{name}_{count}", count + 1
        self.used.add(found)
        return found

    def take_argument(self, name: str) -> str:
        plain = re.sub(r"[^a-z0-9]", "_", name.lower())
        return self.take(re.sub(r"^[^a-z]+", "", plain) or "unknown")


def to_function_def(
    graph: FunctionGraph,
    name: str,
    append_hash: bool = False,
    out_names: Sequence[str] = (),
    description: str | None = None,
) -> Any:
    """The body as a FunctionDef.  With `append_hash`, the name tells equal bodies from others."""
    if out_names and len(out_names) != len(graph.outputs):
        raise InvalidArgumentError(
            None,
            None,
            "output names must be either empty or equal in size to outputs. output names size = "
            f"{len(out_names)} outputs size = {len(graph.outputs)}",
        )
    message = proto.FunctionDef()
    names = _Names()
    signature = message.signature
    edges: dict[Tensor, str] = {}
    for tensor in graph.inputs:
        argument = names.take_argument(tensor.op.name)
        signature.input_arg.add(name=argument, type=tensor.dtype.base.as_datatype_enum)
        edges[tensor] = argument
    results = [
        names.take(given) if given else names.take_argument(t.op.name)
        for t, given in zip(graph.outputs, out_names or [""] * len(graph.outputs))
    ]
    arguments = {t.op for t in graph.inputs}
    body = [n for n in graph.get_operations() if n not in arguments]
    called = {n: names.take(n.name) for n in body}
    for node in body:
        edges.update(_output_names(node, called[node]))
    called.update((t.op, edges[t]) for t in graph.inputs)
    for node in body:
        _fill_body_node(message.node_def.add(), node, called, edges)
    for result, tensor in zip(results, graph.outputs):
        if tensor.dtype.is_ref:
            raise InvalidArgumentError(
                None,
                None,
                f"Output {tensor.value_index} of node '{tensor.op.name}' has a reference type "
                f"{node_def.type_name(tensor.dtype)}",
            )
        signature.output_arg.add(name=result, type=tensor.dtype.as_datatype_enum)
        message.ret[result] = edges[tensor]
    signature.is_stateful = any(STATEFUL in n.declaration.traits for n in body)
    signature.name = f"{name}_{_digest(message)}" if append_hash else name
    signature.description = description or ""
    return message


def _output_names(node: Node, name: str) -> dict[Tensor, str]:
    found: dict[Tensor, str] = {}
    flat = iter(node.outputs)
    for argument, count in output_counts(node.declaration, node.attrs):
        for i in range(count):
            found[next(flat)] = f"{name}:{argument}:{i}"
    return found


def output_counts(op: Op, attrs: Any) -> list[tuple[str, int]]:
    """(output argument, how many tensors it stands for) of a node."""
    return [(arg.name, len(arg.types(attrs))) for arg in op.signature.outputs]


def _fill_body_node(message: Any, node: Node, called: dict[Node, str], edges: Any) -> None:
    message.CopyFrom(node.node_def)
    message.name = called[node]
    del message.input[:]
    message.input.extend(edges[t] for t in node.inputs)
    message.input.extend(sorted("^" + called[n] for n in node._control_inputs))


def _digest(message: Any) -> str:
    """A fingerprint of signature and body, whatever their names outside."""
    return hashlib.sha256(message.SerializeToString(deterministic=True)).hexdigest()[:16]


# -- FunctionDef -> graph -----------------------------------------------------------------------
def to_graph(message: Any, library: dict[str, Any], attrs: dict[str, Any]) -> FunctionGraph:
    """The body of a FunctionDef for these attributes.  `library` has the functions it may call."""
    signature = message.signature
    graph = FunctionGraph(signature.name)
    graph._functions = library
    shapes = message.attr["_input_shapes"].list.shape if "_input_shapes" in message.attr else ()
    edges: dict[str, str] = {}
    flat = 0
    for arg in to_signature(signature).inputs:
        for i, dtype in enumerate(arg.types(attrs)):
            if dtype is None:
                raise InvalidArgumentError(
                    None, None, f"Argument {arg.name} of function {signature.name} has no type"
                )
            shape = Shape(shapes[flat]) if flat < len(shapes) else UNKNOWN
            tensor = graph.add_argument(dtype, shape, arg.name if not i else f"{arg.name}_{i}")
            edges[arg.name if not i else f"{arg.name}:{i}"] = tensor.op.name
            edges[f"{arg.name}:{i}"] = tensor.op.name
            flat += 1
    nodes = proto.GraphDef()
    nodes.versions.producer = GRAPH_DEF_VERSION
    for node in message.node_def:
        copy = nodes.node.add()
        copy.CopyFrom(node)
        for key in list(copy.attr):
            substitute(copy.attr[key], attrs)
        edges.update(_flat_names(copy, library))
    taken = {t.op.name: t for t in graph.inputs}
    for node in nodes.node:
        flat_inputs = [_flat_input(text, edges, node.name, signature.name) for text in node.input]
        del node.input[:]
        node.input.extend(i for i in flat_inputs if i[1:] not in taken or i[0] != "^")
        if "_class" in node.attr:
            del node.attr["_class"]  # it names nodes outside
    mapping = {(name, 0): tensor for name, tensor in taken.items()}
    job = Import(graph, nodes, mapping, "")
    with graph.as_default():
        job.run([])
    results = [message.ret[arg.name] for arg in signature.output_arg]
    graph.outputs = [
        t
        for arg, text in zip(signature.output_arg, results)
        for t in _results(graph, job, edges, text, arg, attrs, signature.name)
    ]
    kept = [job.made[job.places[n]] for n in message.control_ret.values() if n in job.places]
    graph.control_returns = [n for n in kept if n is not None]
    return graph


def _results(
    graph: FunctionGraph, job: Any, edges: dict[str, str], text: str, arg: Any, attrs: Any, name: str
) -> list[Tensor]:
    """The tensors of one output argument."""
    count = attrs[arg.number_attr] if arg.number_attr else 1
    count = len(attrs[arg.type_list_attr]) if arg.type_list_attr else count
    flat = _flat_input(text, edges, arg.name, name)
    node_name, _, index = flat.partition(":")
    if node_name in job.places:
        node = job.made[job.places[node_name]]
        start = int(index or 0)
        if start + count > len(node.outputs):
            raise InvalidArgumentError(None, None, f"{name} returns {text}, which does not exist")
        return list(node.outputs[start : start + count])
    return [graph._nodes[node_name].outputs[0]]


def _flat_names(node: Any, library: dict[str, Any]) -> dict[str, str]:
    """ "node:output:0" -> "node:3" for every output of a node of a body."""
    function = library.get(node.op)
    op = function.op if function is not None else catalog.find(node.op)
    attrs = node_def.attributes(op, node.attr, node.name)
    found = {node.name: node.name}
    at = 0
    for argument, count in output_counts(op, attrs):
        for i in range(count):
            found[f"{node.name}:{argument}:{i}"] = f"{node.name}:{at}" if at else node.name
            at += 1
    return found


def _flat_input(text: str, edges: dict[str, str], node: str, function: str) -> str:
    control = "^" if text.startswith("^") else ""
    name = text.removeprefix("^")
    found = edges.get(name)
    if found is None and name.endswith(":0") and name.count(":") == 1:
        found = edges.get(name[:-2])
    if found is None:
        raise InvalidArgumentError(
            None, None, f"input {text} is not found: of node {node} in function {function}"
        )
    return control + found


def substitute(message: Any, attrs: dict[str, Any]) -> None:
    """Replace a placeholder by the attribute it stands for, also inside function attributes."""
    match message.WhichOneof("value"):
        case "placeholder":
            key = message.placeholder
            if key not in attrs:
                raise InvalidArgumentError(None, None, f"Failed to bind all placeholders: {key}")
            message.Clear()
            fill(message, kind_of(attrs[key]), attrs[key])
        case "func":
            for key in list(message.func.attr):
                substitute(message.func.attr[key], attrs)
        case "list":
            for function in message.list.func:
                for key in list(function.attr):
                    substitute(function.attr[key], attrs)


def bound_attributes(message: Any, attrs: Any) -> dict[str, Any]:
    """The attributes of a function for one call: given ones, then the signature's defaults."""
    found = dict(attrs)
    for attr in message.signature.attr:
        if attr.name not in found and attr.HasField("default_value"):
            found[attr.name] = read(attr.default_value)
    return found
