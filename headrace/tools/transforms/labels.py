"""Transforms of what is written on nodes: names, ops, attributes, devices."""

from __future__ import annotations

from typing import Any

from headrace.formats import proto
from headrace.ops.declaration import catalog
from headrace.ops.declaration.declare import REGISTRY
from headrace.ops.declaration.messages.op_def import to_op_def
from headrace.tools.transforms.call import Call, transform
from headrace.tools.transforms.nodes import graph_of, node_of, parts, refuse

_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


@transform("rename_op")
def rename_op(graph: Any, call: Call) -> Any:
    """(old_op_name, new_op_name): nodes of one op become nodes of another."""
    old, new = call.one("old_op_name"), call.one("new_op_name")
    out = graph_of(graph.node)
    for node in out.node:
        if node.op == old:
            node.op = new
    return out


@transform("rename_attribute")
def rename_attribute(graph: Any, call: Call) -> Any:
    """(old_attribute_name, new_attribute_name, op_name=*): an attribute gets another name."""
    old, new = call.one("old_attribute_name"), call.one("new_attribute_name")
    op = call.one("op_name", "*")
    out = graph_of(graph.node)
    for node in out.node:
        if op in ("*", node.op) and old in node.attr:
            value = proto.AttrValue()
            value.CopyFrom(node.attr[old])
            del node.attr[old]
            node.attr[new].CopyFrom(value)
    return out


@transform("remove_attribute")
def remove_attribute(graph: Any, call: Call) -> Any:
    """(attribute_name, op_name=*): nodes lose an attribute."""
    name, op = call.one("attribute_name"), call.one("op_name", "*")
    out = graph_of(graph.node)
    for node in out.node:
        if op in ("*", node.op):
            node.attr.pop(name, None)
    return out


@transform("add_default_attributes")
def add_default_attributes(graph: Any, call: Call) -> Any:
    """Attributes that an op has a default for, and a node does not have, are written down."""
    catalog.load_all()
    out = graph_of(graph.node)
    for node in out.node:
        if node.op not in REGISTRY:
            continue
        for attr in to_op_def(REGISTRY[node.op]).attr:
            if attr.HasField("default_value") and attr.name not in node.attr:
                node.attr[attr.name].CopyFrom(attr.default_value)
    return out


@transform("remove_device")
def remove_device(graph: Any, call: Call) -> Any:
    """Nodes forget their devices."""
    out = graph_of(graph.node)
    for node in out.node:
        node.device = ""
    return out


@transform("set_device")
def set_device(graph: Any, call: Call) -> Any:
    """(device, if_default=false): nodes get a device, or only those that have none."""
    device, only_default = call.one("device", ""), call.flag("if_default")
    out = graph_of(graph.node)
    for node in out.node:
        if not (only_default and node.device):
            node.device = device
    return out


@transform("obfuscate_names")
def obfuscate_names(graph: Any, call: Call) -> Any:
    """Nodes other than inputs and outputs get short names."""
    kept = {node_of(name) for name in (*call.inputs, *call.outputs)}
    names, number = {}, 0
    for node in graph.node:
        new = node.name
        while node.name not in kept:
            new, number = _short(number), number + 1
            if new not in kept:
                break
        names[node.name] = new
    out = graph_of(graph.node)
    for node in out.node:
        old, node.name = node.name, names[node.name]
        for i, text in enumerate(node.input):
            control, name, port = parts(text)
            if name not in names:
                raise refuse(f"No node named {name} for input to {old}")
            node.input[i] = control + names[name] + port
        if "_class" in node.attr:
            groups = node.attr["_class"].list.s
            for i, group in enumerate(groups):
                name = group.decode().removeprefix("loc:@")
                groups[i] = f"loc:@{names.get(name, name)}".encode()
    return out


def _short(number: int) -> str:
    text = ""
    while True:
        number, digit = divmod(number, len(_DIGITS))
        text = _DIGITS[digit] + text
        if not number:
            return text
