"""GraphDefs taken apart for transforms: nodes by name, who uses whom, patterns of ops, constants."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from headrace.core.dtypes import as_dtype
from headrace.core.errors import InvalidArgumentError
from headrace.formats import proto
from headrace.formats.tensor_proto import from_proto, to_proto

Pattern = str | tuple[Any, ...]  # "Conv2D|MatMul", or such a word and the patterns of its inputs
Match = tuple[Any, ...]  # a node, and the matches of its inputs


def refuse(message: str) -> InvalidArgumentError:
    return InvalidArgumentError(None, None, message)


def parts(text: str) -> tuple[str, str, str]:
    """An input as ("^" or "", the node's name, ":1" or "")."""
    control = "^" if text.startswith("^") else ""
    name, colon, port = text[len(control) :].rpartition(":")
    if not colon or not port.isdigit():
        return control, text[len(control) :], ""
    return control, name, colon + port


def node_of(text: str) -> str:
    """The node that an input names."""
    return parts(text)[1]


def is_control(text: str) -> bool:
    return text.startswith("^")


def tensor(text: str) -> tuple[str, int]:
    """Node and output; -1 for a control input."""
    control, name, port = parts(text)
    return name, -1 if control else int(port[1:] or 0)


class Nodes:
    """The nodes of a graph, by name, in their order."""

    def __init__(self, messages: Iterable[Any]) -> None:
        self.by_name: dict[str, Any] = {}
        for node in messages:
            self.by_name[node.name] = node

    def __iter__(self) -> Any:
        return iter(self.by_name.values())

    def __contains__(self, name: str) -> bool:
        return name in self.by_name

    def __getitem__(self, name: str) -> Any:
        if name not in self.by_name:
            raise refuse(f"Bad graph structure, no node named '{name}' found for input lookup")
        return self.by_name[name]

    def uses(self) -> dict[str, list[Any]]:
        """Node -> the nodes that have it as an input, once for each input."""
        found: dict[str, list[Any]] = {name: [] for name in self.by_name}
        for node in self:
            for text in node.input:
                found.setdefault(node_of(text), []).append(node)
        return found

    def match(self, node: Any, pattern: Pattern) -> Match | None:
        """The nodes of a tree of inputs, if their ops are as the pattern says."""
        word, *inner = (pattern,) if isinstance(pattern, str) else pattern
        if word != "*" and node.op not in word.split("|"):
            return None
        found: list[Any] = [node]
        data = [text for text in node.input if not is_control(text)]
        if inner and len(inner) != len(data):
            return None
        for text, part in zip(data, inner):
            below = self.match(self[node_of(text)], part)
            if below is None:
                return None
            found.append(below)
        return tuple(found)

    def matches(self, pattern: Pattern) -> list[Match]:
        return [found for node in self if (found := self.match(node, pattern)) is not None]

    def needed(self, targets: Iterable[str], stop: Iterable[str] = ()) -> set[str]:
        """The nodes that targets need; those where to stop are included, what is before them is not."""
        ends, kept = set(stop), set()
        stack = [node_of(t) for t in targets]
        while stack:
            name = stack.pop()
            if name in kept:
                continue
            node = self[name]
            kept.add(name)
            if name not in ends:
                stack += [node_of(text) for text in node.input]
        return kept


def without_unused(old: Nodes, new: Iterable[Any], kept: Iterable[str]) -> Any:
    """A graph of new nodes, without those of the old graph that nobody uses any more."""
    before, wanted = old.uses(), {node_of(name) for name in kept}
    left = Nodes(new)
    gone = {""}
    while gone:
        uses = left.uses()
        gone = {
            node.name
            for node in left
            if not uses[node.name] and before.get(node.name) and node.name not in wanted
        }
        left = Nodes(node for node in left if node.name not in gone)
    return graph_of(left)


def graph_of(nodes: Iterable[Any]) -> Any:
    out = proto.GraphDef()
    out.node.extend(nodes)
    return out


def redirected(nodes: Iterable[Any], targets: Mapping[str, str], spared: Iterable[str] = ()) -> Any:
    """A graph whose inputs "name:i", "^name" (or all outputs, "name:*") are replaced; nodes in `spared`
    keep theirs."""
    untouched = set(spared)
    out = graph_of(nodes)
    for node in out.node:
        if node.name in untouched:
            continue
        for i, text in enumerate(node.input):
            node.input[i] = _redirected(text, targets)
    return out


def _redirected(text: str, targets: Mapping[str, str]) -> str:
    seen = set()
    while True:
        control, name, port = parts(text)
        exact = f"^{name}" if control else f"{name}{port or ':0'}"
        if exact in seen:
            raise refuse(f"Loop in input renaming: {text}")
        seen.add(exact)
        if exact in targets:
            text = targets[exact].removesuffix(":0")
        elif f"{name}:*" in targets:
            text = f"{control}{targets[f'{name}:*']}{port}"
        else:
            return text


def constant(name: str, value: Any, dtype: Any) -> Any:
    """A Const node."""
    kind = as_dtype(dtype)
    node = proto.NodeDef(name=name, op="Const")
    node.attr["dtype"].type = kind.as_datatype_enum
    node.attr["value"].tensor.CopyFrom(to_proto(np.asarray(value, kind.numpy), kind))
    return node


def value_of(node: Any) -> Any:
    """The value of a Const node."""
    for key in ("dtype", "value"):
        if key not in node.attr:
            raise refuse(f"No '{key}' attribute for Const node {node.name}")
    return from_proto(node.attr["value"].tensor)


def made(name: str, op: str, inputs: Iterable[str], **attrs: Any) -> Any:
    """A node; attributes are given as AttrValues, element types, numbers, bools or text."""
    node = proto.NodeDef(name=name, op=op)
    node.input.extend(inputs)
    for key, value in attrs.items():
        target = node.attr[key]
        match value:
            case proto.AttrValue():
                target.CopyFrom(value)
            case bool():
                target.b = value
            case int():
                target.i = value
            case str():
                target.s = value.encode()
            case list():
                target.list.type.extend(as_dtype(v).as_datatype_enum for v in value)
            case _:
                target.type = as_dtype(value).as_datatype_enum
    return node
