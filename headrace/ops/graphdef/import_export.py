"""Graph -> GraphDef, and the low-level constructor `Graph.create_op`; ops.graphdef.importer is the way back.

A graph can not know the declarations, which stand above it: `attach` gives it these methods.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from headrace.core import hooks
from headrace.core.dtypes import DType
from headrace.core.errors import BuildError, InvalidArgumentError
from headrace.formats import proto
from headrace.graph.graph import Graph
from headrace.graph.node import Node
from headrace.graph.tensor import Tensor
from headrace.ops.declaration import catalog
from headrace.ops.declaration.building.build import make_node
from headrace.ops.declaration.declare import Op
from headrace.ops.declaration.messages import node_def
from headrace.ops.declaration.messages.op_def import fill, kind_of, read
from headrace.version import GRAPH_DEF_VERSION

MAX_BYTES = 1 << 31  # what a message may hold


def find_op(graph: Graph, name: str) -> Op:
    """The op of this name: a function of the graph's library, or a declared one."""
    function = graph._functions.get(name)
    return function.op if function is not None else catalog.find(name)


# -- out ----------------------------------------------------------------------------------------
def as_graph_def(graph: Graph, from_version: int | None = None, add_shapes: bool = False) -> Any:
    """The graph as a GraphDef.

    Args:
      from_version: only nodes that were added since `graph.version` had this value.
      add_shapes: note the shapes of each node's outputs in its attribute `_output_shapes`.

    Raises:
      ValueError: the message would be larger than 2 GB.
    """
    return _as_graph_def(graph, from_version, add_shapes)[0]


def _as_graph_def(graph: Graph, from_version: int | None = None, add_shapes: bool = False) -> tuple[Any, int]:
    with graph._lock:
        nodes = graph.get_operations()[from_version or 0 :]
        _check_size(nodes)
        message = proto.GraphDef()
        for node in nodes:
            _fill_node(message.node.add(), node)
            if add_shapes:
                _add_shapes(message.node[-1], node)
        message.versions.CopyFrom(graph.graph_def_versions)
        fill_library(message, graph._functions.values())
        return message, graph.version


class GraphTooLarge(ValueError):
    """A graph that no message can hold; running it needs none."""


def _check_size(nodes: Sequence[Node]) -> None:
    sizes = {n.name: _literal_bytes(n) for n in nodes}
    if sum(sizes.values()) >= MAX_BYTES:
        largest = sorted(sizes, key=lambda name: -sizes[name])[:3]
        shown = ", ".join(f"{name} ({sizes[name] / 1e6:.0f} MB)" for name in largest)
        raise GraphTooLarge(
            "GraphDef cannot be larger than 2GB. It can run here, but not be written; its largest "
            f"constants are {shown}. Values in variables, fed through a placeholder, are not part of it."
        )


def _literal_bytes(node: Node) -> int:
    value = node.attrs.get("value")
    return getattr(getattr(value, "array", None), "nbytes", 0)


def fill_library(message: Any, functions: Iterable[Any]) -> None:
    for function in functions:
        message.library.function.add().CopyFrom(function.definition)
        if function.gradient_name:
            message.library.gradient.add(function_name=function.name, gradient_func=function.gradient_name)


def _add_shapes(message: Any, node: Node) -> None:
    if node.outputs:
        fill(message.attr["_output_shapes"], "list(shape)", [t.shape for t in node.outputs])


def node_to_proto(graph: Graph, node: Node) -> Any:
    """The NodeDef of a node."""
    message = proto.NodeDef()
    _fill_node(message, node)
    return message


def _fill_node(message: Any, node: Node) -> None:
    message.name, message.op, message.device = node.name, node.type, node.device
    message.input.extend(_edge(t.op.name, t.value_index) for t in node.inputs)
    message.input.extend(sorted("^" + c.name for c in node._control_inputs))
    _fill_attrs(message, node.declaration, node.attrs)


def _edge(name: str, index: int) -> str:
    return f"{name}:{index}" if index else name


def _fill_attrs(message: Any, op: Op, attrs: Any) -> None:
    declared = op.signature.attrs
    for key, value in attrs.items():
        spec = declared.get(key)
        fill(message.attr[key], kind_of(value) if spec is None else spec.kind, value)


def plan_node_to_proto(node: Any) -> Any:
    """The NodeDef of a node of a plan or piece."""
    message = proto.NodeDef(name=node.name, op=node.op.name, device=node.device)
    message.input.extend(_edge(*e) for e in node.inputs)
    message.input.extend(sorted("^" + c for c in node.control))
    _fill_attrs(message, node.op, node.attrs)
    return message


def plan_to_graph_def(plan: Any) -> Any:
    """A plan or piece as a GraphDef, with the functions that it calls."""
    message = proto.GraphDef()
    message.node.extend(plan_node_to_proto(n) for n in plan.nodes.values())
    message.versions.producer = GRAPH_DEF_VERSION
    fill_library(message, plan.functions.values())
    return message


# -- the low-level constructor ------------------------------------------------------------------
def create_op(
    graph: Graph,
    op_type: str,
    inputs: Sequence[Tensor],
    dtypes: Sequence[Any] | None = None,
    input_types: Sequence[Any] | None = None,
    name: str | None = None,
    attrs: dict[str, Any] | None = None,
    op_def: Any = None,
    compute_shapes: bool = True,
    compute_device: bool = True,
) -> Node:
    """A node of any op, from tensors and AttrValue messages (or plain values).

    Args:
      op_type: name of the op or of a function of the graph's library.
      inputs: tensors, in the order of the declaration.
      dtypes: types of the outputs; they follow from the attributes, so this is only checked.
      input_types: types that the node consumes: reference types where it writes.
      name: name of the node; a trailing "/" means that it is unique already.
      attrs: attributes by name.  Those that follow from the inputs may be left out.
      op_def, compute_shapes: accepted for old callers.
      compute_device: ask the device scopes around.

    Raises:
      TypeError: an input is not a tensor, or has another type than `input_types` says.
      ValueError: the node does not fit its declaration.
    """
    for i, tensor in enumerate(inputs):
        if not isinstance(tensor, Tensor):
            raise TypeError(f"Input #{i} is not a tensor: {tensor}")
    if input_types is not None and not all(
        wanted.is_compatible_with(t.dtype) for t, wanted in zip(inputs, input_types)
    ):
        raise TypeError(
            f"In op '{name or op_type}', input types ({[t.dtype for t in inputs]}) are not "
            f"compatible with expected types ({list(input_types)})"
        )
    graph._check_not_finalized()
    op = find_op(graph, op_type)
    shown = (name or op_type).rstrip("/")
    try:
        values = node_def.attributes(op, _with_inferred(op, inputs, attrs or {}), shown)
        types = node_def.input_types(op, values)
        node_def.check_inputs(op, types, len(inputs), shown)
        for i, (tensor, wanted) in enumerate(zip(inputs, types)):
            check_edge(shown, i, wanted, tensor)
    except InvalidArgumentError as error:
        raise BuildError(None, None, error.message) from None
    stacks = graph._stacks
    if compute_device or not stacks.devices:
        return make_node(graph, op, inputs, types, values, name or op_type)
    with graph.no_devices():
        return make_node(graph, op, inputs, types, values, name or op_type)


def _with_inferred(op: Op, inputs: Sequence[Tensor], attrs: dict[str, Any]) -> dict[str, Any]:
    """Add the attributes that say the types of inputs, where they are not given."""
    found = {key: _message(op, key, value) for key, value in attrs.items() if value is not None}
    at = 0
    for arg in op.signature.inputs:
        if arg.number_attr is not None:
            count = found[arg.number_attr].i if arg.number_attr in found else None
        elif arg.list_attr is not None:
            count = len(found[arg.list_attr].list.type) if arg.list_attr in found else None
        else:
            count = 1
        if count is None or at + count > len(inputs):
            return found
        if arg.type_attr is not None and arg.type_attr not in found and count:
            found[arg.type_attr] = proto.AttrValue(type=inputs[at].dtype.base.as_datatype_enum)
        at += count
    return found


def _message(op: Op, key: str, value: Any) -> Any:
    if hasattr(value, "WhichOneof"):
        return value
    message = proto.AttrValue()
    spec = op.signature.attrs.get(key)
    fill(message, kind_of(value) if spec is None else spec.kind, value)
    return message


def check_edge(name: str, index: int, wanted: DType, tensor: Tensor) -> None:
    """Refuse a tensor of another type.  A reference may be read, but not made from a value."""
    given = tensor.dtype
    if given is wanted or (given.base is wanted.base and not wanted.is_ref):
        return
    raise InvalidArgumentError(
        None,
        None,
        f"Input {index} of node {name} was passed {node_def.type_name(given)} from {tensor.name} "
        f"incompatible with expected {node_def.type_name(wanted)}.",
    )


def attach() -> None:
    """Give Graph the methods that need the declarations."""
    hooks.graph_messages.give(
        Graph,
        {
            "as_graph_def": as_graph_def,
            "_as_graph_def": _as_graph_def,
            "node_to_proto": node_to_proto,
            "attr_from_proto": staticmethod(read),
            "create_op": create_op,
        },
    )


attach()
