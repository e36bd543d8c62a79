"""GraphDef in, nodes out: what the model of memory interprets.

Calls of functions become copies of their bodies.  Nothing of the project but its messages is used: the
model is a second opinion.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from headrace.formats import tensor_proto

Edge = tuple[str, int]
RESULTS_OF_CALL = "results of a call"  # the op that stands behind a function's body
SECOND_OUTPUTS = {"output_true", "value_index"}  # of Switch and Merge, in a function's body


@dataclass
class Node:
    name: str
    op: str
    inputs: list[Edge]
    control: list[str]
    number: int  # its place in the graph
    protos: Any = field(repr=False, default=None)

    def attr(self, name: str, default: Any = None) -> Any:
        """A plain value: of a type its NumPy type, of a tensor the array."""
        if name not in self.protos:
            return default
        proto = self.protos[name]
        kind = proto.WhichOneof("value")
        if kind == "tensor":
            return tensor_proto.from_proto(proto.tensor)
        if kind == "type":
            return TYPES[proto.type]
        if kind == "shape":
            return [d.size for d in proto.shape.dim]
        if kind == "s":
            return proto.s.decode()
        if kind == "list":
            return list(proto.list.i)
        return getattr(proto, kind)


TYPES = {
    1: np.float32,
    2: np.float64,
    3: np.int32,
    4: np.uint8,
    6: np.int8,
    9: np.int64,
    10: np.bool_,
    19: np.float16,
}
TYPES |= {kind + 100: dtype for kind, dtype in TYPES.items()}  # references


def nodes_of(graph_def: Any) -> dict[str, Node]:
    """The nodes by name, in the order of the graph."""
    library = {f.signature.name: f for f in graph_def.library.function}
    found = {}
    for proto in graph_def.node:
        for node in expanded(proto, library, len(found)):
            found[node.name] = node
    return found


def expanded(proto: Any, library: dict[str, Any], number: int) -> Iterator[Node]:
    """A node, or the body of the function that it calls and a node that passes the results on."""
    data = [edge(text) for text in proto.input if not text.startswith("^")]
    control = [text[1:] for text in proto.input if text.startswith("^")]
    function = library.get(proto.op)
    if function is None:
        yield Node(proto.name, proto.op, data, control, number, proto.attr)
        return
    signature = function.signature
    arguments = dict(zip((a.name for a in signature.input_arg), data))
    body = {n.name for n in function.node_def}

    def inner(text: str) -> Edge:
        name, _, rest = text.partition(":")
        if name not in body:
            return arguments[name]
        output, _, index = rest.partition(":")
        return f"{proto.name}/{name}", 1 if output in SECOND_OUTPUTS else int(index or 0)

    def renamed(texts: Iterable[str]) -> list[Edge]:
        return [inner(t) for t in texts if not t.startswith("^")]

    for n in function.node_def:
        waits = [f"{proto.name}/{t[1:]}" for t in n.input if t.startswith("^")]
        made = Node(f"{proto.name}/{n.name}", n.op, renamed(n.input), waits + control, number, n.attr)
        assert n.op not in library, "calls of functions inside of functions"
        yield made
        number += 1
    results = renamed(function.ret[a.name] for a in signature.output_arg)
    effects = [f"{proto.name}/{n}" for n in function.control_ret.values()]
    yield Node(proto.name, RESULTS_OF_CALL, results, control + effects, number, proto.attr)


def edge(text: str) -> Edge:
    name, _, index = text.partition(":")
    return name, int(index or 0)
