"""Initial values that depend on other variables read what those are initialised with, so that one
`global_variables_initializer()` works in any order."""

from __future__ import annotations

from typing import Any

from headrace.graph.keys import GraphKeys
from headrace.graph.node import Node
from headrace.graph.tensor import Tensor
from headrace.ops.control.control_flow import ref_switch, switch
from headrace.ops.control.function_call import if_
from headrace.ops.declaration.building.build import make_node
from headrace.ops.declaration.traits import VARIABLE
from headrace.ops.state.state import is_variable_initialized, read_variable, var_is_initialized

_KEPT = (is_variable_initialized, var_is_initialized, read_variable, if_)


def guarded(name: str, value: Any) -> Tensor:
    """`value` with every variable in its past replaced by that variable's initialised value."""
    if not isinstance(value, Tensor):
        raise TypeError(f"initial_value needs to be a Tensor: {value}")
    if _has_cycle(value.op):
        return value
    return _safe_tensor(name, value, {})


def _has_cycle(start: Node) -> bool:
    """A loop in the past of a node: such values are taken as they are."""
    started: set[Node] = set()
    finished: set[Node] = set()
    stack: list[tuple[Node, bool]] = [(start, False)]
    while stack:
        node, leaving = stack.pop()
        if leaving:
            started.discard(node)
            finished.add(node)
        elif node in started:
            return True
        elif node not in finished:
            started.add(node)
            stack.append((node, True))
            sources = [t.op for t in node.inputs] + node.control_inputs
            if any(s in started for s in sources):
                return True
            stack += [(s, False) for s in sources if s not in finished]
    return False


def _safe_tensor(name: str, tensor: Tensor, done: dict[Node, Node]) -> Tensor:
    if tensor.op not in done:
        done[tensor.op] = _safe_node(name, tensor.op, done)
    return done[tensor.op].outputs[tensor.value_index]


def _safe_node(name: str, node: Node, done: dict[Node, Node]) -> Node:
    if node.declaration in _KEPT:
        return node
    if VARIABLE in node.declaration.traits:
        initialized = _initialized_value(node)
        return node if initialized is None else initialized.op
    inputs = [_safe_tensor(name, t, done) for t in node.inputs]
    if all(new is old for new, old in zip(inputs, node.inputs)):
        return node
    op = switch if node.declaration is ref_switch else node.declaration
    new_name = f"{node.name}_{name}".replace(":", "_")
    return make_node(node.graph, op, inputs, [t.base for t in node.inputs.types], dict(node.attrs), new_name)


def _initialized_value(variable_node: Node) -> Tensor | None:
    names = (variable_node.name, variable_node.name + ":0")
    for key in (GraphKeys.GLOBAL_VARIABLES, GraphKeys.LOCAL_VARIABLES):
        for variable in variable_node.graph.get_collection(key):
            if getattr(variable, "name", None) in names:
                value: Tensor = variable.initialized_value()
                return value
    return None
