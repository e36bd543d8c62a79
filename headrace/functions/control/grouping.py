"""Nodes that wait for others: `group`, `tuple`, `with_dependencies`."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import nullcontext
from typing import Any

from headrace.functions.values import nest
from headrace.functions.values.structure import name_scope
from headrace.graph.defaults import get_default_graph
from headrace.graph.node import Node
from headrace.graph.tensor import Tensor
from headrace.ops.array.source import identity, no_op
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.declaration.indexed_slices import IndexedSlices


def group(*inputs: Any, **kwargs: Any) -> Node:
    """A node that finishes when all inputs have finished.

    Args:
      *inputs: tensors, nodes, or structures of them.
      name: name of the node.

    Returns:
      A node without outputs; None in eager mode.

    Raises:
      ValueError: an unknown keyword is given.
      TypeError: an input is not a tensor or a node.
    """
    if get_default_graph().runs_at_once:
        return None  # type: ignore[return-value] # all of them have finished
    name = kwargs.pop("name", None)
    if kwargs:
        raise ValueError("Unknown keyword arguments: " + ", ".join(kwargs))
    with name_scope(name, "group_deps", inputs) as scope:
        by_device: dict[str, list[Any]] = {}
        for item in nest.flatten(inputs, expand_composites=True):
            if not hasattr(item, "device"):
                raise TypeError(
                    "Expected tf.Tensor or tf.Operation arguments in group(), got "
                    f"{item!r} with type {type(item)}"
                )
            by_device.setdefault(item.device, []).append(item)
        if not by_device:
            node: Node = no_op(name=scope)
            return node
        if len(by_device) == 1:
            ((device, waited),) = by_device.items()
            return _waiting(device, waited, scope)
        # One node per device, so that only one signal crosses from each.
        parts = [_waiting(d, by_device[d], None) for d in sorted(by_device)]
        return _waiting("", parts, scope)


def _waiting(device: str, inputs: Iterable[Any], name: str | None) -> Node:
    graph = get_default_graph()
    with graph.control_dependencies(inputs), graph.device(device) if device else nullcontext():
        node: Node = no_op(name=name)
        return node


def with_dependencies(dependencies: Any, output: Any, name: str | None = None) -> Any:
    """`output`, once the dependencies have finished."""
    graph = get_default_graph()
    with name_scope(name, "control_dependency", [*dependencies, output]) as scope:
        first = output.values if isinstance(output, IndexedSlices) else output
        if not isinstance(first, Tensor):
            output = first = convert_to_tensor(first)
        with graph.colocate_with(first.op), graph.control_dependencies(dependencies):
            if isinstance(output, IndexedSlices):
                return IndexedSlices(identity(first, name=scope), output.indices, output.dense_shape)
            return identity(first, name=scope)


def tuple_(tensors: Any, name: str | None = None, control_inputs: Any = None) -> list[Any]:
    """The tensors, each once all of them (and `control_inputs`) have been computed.

    Args:
      tensors: tensors, IndexedSlices, nodes, None, or what can be converted to a tensor.
      name: name of the scope.
      control_inputs: more nodes or tensors to wait for.

    Returns:
      As many tensors, nodes or None.

    Raises:
      ValueError: there is no tensor among `tensors`.
      TypeError: a control input is not a tensor or a node.
    """
    with name_scope(name, "tuple", tensors):
        tensors = [_converted(t) for t in tensors]
        nodes = [_source(t) for t in tensors if t is not None]
        for item in control_inputs or ():
            if isinstance(item, Tensor):
                item = item.op
            elif not isinstance(item, Node):
                raise TypeError(f"Control input must be Operation or Tensor: {item}")
            nodes.append(item)
        if not nodes:
            raise ValueError(f"Must have at least one Tensor: {tensors}")
        gate = group(*dict.fromkeys(nodes))
        return [_gated(t, gate) for t in tensors]


def _converted(value: Any) -> Any:
    is_whole = value is None or isinstance(value, (Node, IndexedSlices))
    return value if is_whole else convert_to_tensor(value)


def _source(value: Any) -> Node:
    if isinstance(value, Node):
        return value
    found: Node = (value.values if isinstance(value, IndexedSlices) else value).op
    return found


def _gated(value: Any, gate: Node) -> Any:
    if isinstance(value, Node):
        with get_default_graph().control_dependencies([gate]):
            return group(value)
    return None if value is None else with_dependencies([gate], value)
