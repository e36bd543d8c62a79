"""What does not depend on inputs is computed once and becomes constants."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.core.errors import OpError
from headrace.formats import proto
from headrace.graph.graph import Graph
from headrace.ops.declaration import catalog
from headrace.ops.declaration.declare import REGISTRY
from headrace.ops.declaration.traits import CONTROL_FLOW, DIFFERENT_EACH_TIME
from headrace.ops.graphdef.importer import import_graph_def
from headrace.session.session import Session
from headrace.tools.transforms.call import Call, transform
from headrace.tools.transforms.nodes import (
    Nodes,
    constant,
    graph_of,
    is_control,
    node_of,
    redirected,
    refuse,
    tensor,
)

_LIMIT = 10 << 20  # bytes of one constant


@transform("fold_constants")
def fold_constants(graph: Any, call: Call) -> Any:
    """(clear_output_shapes=true, exclude_op*, exclude_node*, max_constant_size_in_bytes): what is always
    the same becomes a constant; what outputs do not need goes."""
    if not call.outputs:
        raise refuse("Must specify at least one target to fetch or execute.")
    catalog.load_all()
    cleaned = graph_of(graph.node)
    if call.flag("clear_output_shapes", True):
        for node in cleaned.node:
            node.attr.pop("_output_shapes", None)
    inputs = {node_of(name) for name in call.inputs}
    nodes = _with_placeholders(cleaned, inputs)
    folded = _folded(nodes, graph, call, inputs)
    kept = Nodes(folded.node)
    needed = kept.needed(call.outputs, stop=inputs) | inputs
    return graph_of(node for node in kept if node.name in needed)


def _with_placeholders(graph: Any, inputs: set[str]) -> Nodes:
    """Inputs take no default: they are fed."""
    for node in graph.node:
        if node.name not in inputs:
            continue
        if node.op == "PlaceholderWithDefault":
            node.op = "Placeholder"
            del node.input[:]
        elif node.op != "Placeholder":
            raise refuse(
                f"Input '{node.name}' was expected to be a Placeholder or PlaceholderWithDefault op, "
                f"but was {node.op}"
            )
    return Nodes(graph.node)


def _folded(nodes: Nodes, graph: Any, call: Call, inputs: set[str]) -> Any:
    shapes = _shapes(nodes, graph)
    fixed = _fixed(nodes, call, inputs, shapes)
    edge = _border(nodes, fixed, call)
    limit = call.integer("max_constant_size_in_bytes", _LIMIT)
    values = _values(nodes, fixed, sorted(edge - shapes.keys()), graph) | shapes
    targets: dict[str, str] = {}
    new: dict[str, Any] = {}
    for name, index in sorted(edge):
        value = values[name, index]
        if value.nbytes > limit or value.dtype == object:
            continue
        title = name if index == 0 else f"{name}/_folded_{index}"
        new[title] = constant(title, value, value.dtype)
        if index:
            targets[f"{name}:{index}"] = title
    out = [new.pop(node.name, node) for node in nodes]
    return redirected([*out, *new.values()], targets)


def _fixed(nodes: Nodes, call: Call, inputs: set[str], shapes: dict[tuple[str, int], Any]) -> dict[str, bool]:
    """Node -> is it always the same?"""
    ops, names = set(call.all("exclude_op")), set(call.all("exclude_node"))
    known: dict[str, bool] = dict.fromkeys(inputs, False)

    def may(node: Any) -> bool:
        op = REGISTRY.get(node.op)
        return not (
            op is None
            or op.is_stateful
            or op.traits & {CONTROL_FLOW, DIFFERENT_EACH_TIME}
            or op.name.startswith("Placeholder")
            or node.op in ops
            or node.name in names
            or any(is_control(text) for text in node.input)
            or not op.signature.outputs
        )

    for start in nodes:
        stack = [start]
        while stack:
            node = stack[-1]
            if node.name in known:
                stack.pop()
                continue
            if (node.name, 0) in shapes or not may(node):
                known[node.name] = (node.name, 0) in shapes
                continue
            below = [nodes[node_of(text)] for text in node.input]
            unknown = [n for n in below if n.name not in known]
            if unknown:
                stack += unknown
            else:
                known[node.name] = all(known[n.name] for n in below)
    return known


def _border(nodes: Nodes, fixed: dict[str, bool], call: Call) -> set[tuple[str, int]]:
    """Fixed values that others use, or that are outputs; constants stay as they are."""
    used = {tensor(text) for node in nodes if not fixed[node.name] for text in node.input}
    used |= {tensor(name) for name in call.outputs}
    return {
        (name, index)
        for name, index in used
        if index >= 0 and fixed.get(name, False) and nodes[name].op != "Const"
    }


def _values(
    nodes: Nodes, fixed: dict[str, bool], wanted: list[tuple[str, int]], graph: Any
) -> dict[tuple[str, int], Any]:
    if not wanted:
        return {}
    part = graph_of(nodes[name] for name in nodes.needed([name for name, _ in wanted]))
    part.library.CopyFrom(graph.library)
    part.versions.CopyFrom(graph.versions)
    with Graph().as_default(), Session() as session:
        import_graph_def(part, name="")
        found = session.run([f"{name}:{index}" for name, index in wanted])
    return dict(zip(wanted, map(np.asarray, found)))


def _shapes(nodes: Nodes, graph: Any) -> dict[tuple[str, int], Any]:
    """The values of Shape, Size and Rank nodes whose inputs have shapes that are known."""
    found: dict[tuple[str, int], Any] = {}
    asking = [node for node in nodes if node.op in ("Shape", "Size", "Rank")]
    if not asking:
        return found
    whole = proto.GraphDef(library=graph.library, versions=graph.versions)
    whole.node.extend(nodes)
    with Graph().as_default() as imported:
        try:
            import_graph_def(whole, name="")
        except (OpError, ValueError):  # ops of others have no shapes here
            return found
        for node in asking:
            if any(is_control(text) for text in node.input):
                continue
            operation = imported.get_operation_by_name(node.name)
            shape = operation.inputs[0].shape
            kind = operation.outputs[0].dtype.numpy
            if node.op == "Rank" and shape.rank is not None:
                found[node.name, 0] = np.array(shape.rank, kind)
            elif shape.is_fully_defined():
                sizes = shape.as_list()
                value = sizes if node.op == "Shape" else int(np.prod(sizes, dtype=np.int64))
                found[node.name, 0] = np.array(value, kind)
    return found
