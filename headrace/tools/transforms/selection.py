"""Transforms that choose which nodes a graph has, and in which order."""

from __future__ import annotations

from typing import Any

from headrace.core.dtypes import as_dtype
from headrace.formats import proto
from headrace.ops.declaration import catalog
from headrace.ops.declaration.declare import REGISTRY
from headrace.ops.declaration.messages.node_def import attributes, output_types
from headrace.tools.transforms.call import Call, transform
from headrace.tools.transforms.nodes import (
    Nodes,
    graph_of,
    is_control,
    made,
    node_of,
    redirected,
    refuse,
    tensor,
)


@transform("strip_unused_nodes")
def strip_unused_nodes(graph: Any, call: Call) -> Any:
    """(type, shape, name*, type_for_name*, shape_for_name*): only what outputs need; inputs become
    placeholders of these types and shapes."""
    nodes = Nodes(graph.node)
    inputs = {node_of(name) for name in call.inputs}
    kept = nodes.needed(call.outputs, stop=inputs) | inputs
    out = [
        _placeholder(node, call) if node.name in inputs and node.op != "Placeholder" else node
        for node in nodes
        if node.name in kept
    ]
    return graph_of(out)


def _placeholder(node: Any, call: Call) -> Any:
    kind = _for(call, node.name, "type", "float")
    try:
        dtype = as_dtype("float32" if kind == "float" else kind)
    except TypeError:
        raise refuse(f"Couldn't understand type argument '{kind}'") from None
    shape = proto.AttrValue()
    shape.shape.SetInParent()
    for size in filter(None, _for(call, node.name, "shape", "").split(",")):
        try:
            shape.shape.dim.add(size=int(size))
        except ValueError:
            raise refuse(f"Couldn't understand shape argument '{size}'") from None
    return made(node.name, "Placeholder", [], dtype=dtype, shape=shape)


def _for(call: Call, name: str, key: str, default: str) -> str:
    """A parameter for all nodes, or the one for this node."""
    names, values = call.all("name"), call.all(f"{key}_for_name")
    if values and len(names) != len(values):
        raise refuse(f"You must pass a '{key}_for_name' arg for every 'name'")
    return dict(zip(names, values)).get(name, call.one(key, default))


@transform("remove_nodes")
def remove_nodes(graph: Any, call: Call) -> Any:
    """(op*, max_inputs=1): nodes of these ops go; who used them uses their first input instead."""
    ops, most = set(call.all("op")), call.integer("max_inputs", 1)
    if not ops:
        raise refuse("remove_nodes expects at least one 'op' argument, e.g. remove_nodes(op=Identity)")
    kept = {node_of(name) for name in (*call.inputs, *call.outputs)}
    targets: dict[str, str] = {}
    out = []
    for node in graph.node:
        data = [text for text in node.input if not is_control(text)]
        if node.op not in ops or node.name in kept or not 1 <= len(data) <= most:
            out.append(node)
            continue
        targets[f"{node.name}:0"] = data[0]
        targets[f"^{node.name}"] = f"^{node_of(data[0])}"
    return _without_repeats(redirected(out, targets))


def _without_repeats(graph: Any) -> Any:
    """A node waits for another only once."""
    for node in graph.node:
        controls = dict.fromkeys(text for text in node.input if is_control(text))
        data = [text for text in node.input if not is_control(text)]
        del node.input[:]
        node.input.extend([*data, *controls])
    return graph


@transform("remove_control_dependencies")
def remove_control_dependencies(graph: Any, call: Call) -> Any:
    """No node waits for another whose values it does not use."""
    out = graph_of(graph.node)
    for node in out.node:
        data = [text for text in node.input if not is_control(text)]
        del node.input[:]
        node.input.extend(data)
    return out


@transform("merge_duplicate_nodes")
def merge_duplicate_nodes(graph: Any, call: Call) -> Any:
    """Nodes without state that compute the same become one."""
    catalog.load_all()
    kept = {node_of(name) for name in (*call.inputs, *call.outputs)}
    current = graph
    while True:
        first: dict[bytes, str] = {}
        targets: dict[str, str] = {}
        out = []
        for node in current.node:
            if node.op not in REGISTRY:
                raise refuse(f"Op type not registered '{node.op}'")
            nameless = proto.NodeDef()
            nameless.CopyFrom(node)
            nameless.name = node.name if node.name in kept else ""
            known = first.setdefault(nameless.SerializeToString(deterministic=True), node.name)
            if known == node.name or REGISTRY[node.op].is_stateful:
                out.append(node)
            else:
                targets[f"{node.name}:*"] = known
        current = redirected(out, targets)
        if not targets:
            return current


@transform("sort_by_execution_order")
def sort_by_execution_order(graph: Any, call: Call) -> Any:
    """Every node stands after its inputs, but for the back edges of loops."""
    nodes = Nodes(graph.node)
    uses = nodes.uses()
    waiting = {node.name: _awaited(node, nodes) for node in nodes}
    ready = [name for name, count in waiting.items() if not count]
    out = []
    for name in ready:  # grows while it is walked
        out.append(nodes[name])
        for user in uses[name]:
            waiting[user.name] -= 1
            if waiting[user.name] == 0:
                ready.append(user.name)
    if len(out) < len(waiting):
        stuck = sorted(waiting.keys() - {node.name for node in out})
        raise refuse(f"The graph has a cycle: {', '.join(stuck[:5])}")
    return graph_of(out)


def _awaited(node: Any, nodes: Nodes) -> int:
    """How many inputs must come first; a Merge may start with the input from outside its loop."""
    behind = [nodes[node_of(text)].op in ("NextIteration", "RefNextIteration") for text in node.input]
    if node.op in ("Merge", "RefMerge") and any(behind):
        return len(behind) - sum(behind)
    return len(behind)


@transform("insert_logging")
def insert_logging(graph: Any, call: Call) -> Any:
    """(op*, prefix*, message, show_name, show_op, first_n, summarize): values of nodes are printed."""
    catalog.load_all()
    used: dict[str, set[int]] = {}
    for node in graph.node:
        for text in node.input:
            name, index = tensor(text)
            used.setdefault(name, set()).add(max(index, 0))
    out, targets, spared = [], {}, []
    for node in graph.node:
        out.append(node)
        ops, prefixes = call.all("op"), call.all("prefix")
        wanted = (not ops or node.op in ops) and (not prefixes or node.name.startswith(tuple(prefixes)))
        if not wanted or node.name not in used:
            continue
        printer = f"{node.name}__print__"
        text = f";{node.op};" if call.flag("show_op") else ""
        text += f";{printer};" if call.flag("show_name") else ""
        types = _output_types(node)
        indices = sorted(used[node.name])
        out.append(
            made(
                printer,
                "Print",
                [f"{node.name}:0", *(f"{node.name}:{i}" for i in indices)],
                T=types[0],
                U=[types[i] for i in indices],
                message=text + call.one("message", ""),
                first_n=call.integer("first_n", -1),
                summarize=call.integer("summarize", 1024),
            )
        )
        spared.append(printer)
        targets[f"{node.name}:0"] = f"{printer}:0"
    return redirected(out, targets, spared)


def _output_types(node: Any) -> list[Any]:
    if node.op not in REGISTRY:
        raise refuse(f"Op type not registered '{node.op}'")
    op = REGISTRY[node.op]
    return list(output_types(op, attributes(op, node.attr, node.name)))
