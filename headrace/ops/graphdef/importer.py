"""GraphDef -> nodes of a graph: `import_graph_def`, its arguments (graph_import does the work)."""

from __future__ import annotations

from itertools import chain
from typing import Any

from headrace.core.errors import AlreadyExistsError, BuildError, InvalidArgumentError, NotFoundError
from headrace.formats import proto
from headrace.graph.defaults import get_default_graph
from headrace.graph.graph import Graph
from headrace.graph.node import Node
from headrace.graph.tensor import Tensor
from headrace.ops.declaration import catalog
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.declaration.declare import Op
from headrace.ops.graphdef.graph_import import CONTROL, Import, source, tensor_name
from headrace.ops.graphdef.later_versions import adapt


def import_graph_def(
    graph_def: Any,
    input_map: Any = None,
    return_elements: Any = None,
    name: str | None = None,
    op_dict: Any = None,
    producer_op_list: Any = None,
) -> list[Any] | None:
    """Add the nodes of a GraphDef to the default graph.

    Args:
      graph_def: the message.  Attributes that it leaves out are written into it.
      input_map: names of its tensors ("a:0", "^a" for control) -> tensors to use in their place.
      return_elements: names of nodes ("a") and tensors ("a:0") to return.
      name: the scope in which the nodes go; "import" where it is None.
      op_dict: accepted for old callers.
      producer_op_list: the producer's OpList: attributes that only it knows are dropped where they
        have its default value.

    Returns:
      The nodes and tensors asked for, or None.

    Raises:
      TypeError: an argument has a wrong type.
      ValueError: the graph is not well-formed, or lacks a name that was asked for.
    """
    graph_def = _own_message(graph_def)
    adapt(graph_def)
    wanted = _return_names(return_elements)
    if input_map is None:
        input_map = {}
    if not isinstance(input_map, dict) or not all(isinstance(k, (str, bytes)) for k in input_map):
        raise TypeError("input_map must be a dictionary mapping strings to Tensor objects.")
    if producer_op_list is not None:
        drop_producer_defaults(graph_def, producer_op_list)
    graph = get_default_graph()
    with graph.name_scope("import" if name is None else name) as scope:
        mapping = _convert_map(name, input_map)
    try:
        job = Import(graph, graph_def, mapping, scope)
        found = job.run(wanted)
    except InvalidArgumentError as error:
        raise BuildError(None, None, error.message) from None
    if job.unknown_keys:
        listed = ", ".join(job.unknown_keys)
        raise ValueError(f"Attempted to map inputs that were not found in graph_def: [{listed}]")
    return found


def import_pieces(graph: Graph, graph_def: Any) -> None:
    """Add the nodes of a part of a placed graph, under their own names: what a master gives to a task.

    It has nodes of the master's own (Send, Recv), and groups of which some members are elsewhere: devices
    say all of what groups were for.
    """
    for node in graph_def.node:
        node.attr.pop("_class", None)
    adapt(graph_def)
    Import(graph, graph_def, {}, "", is_internal=True).run(None)


def extend_graph(graph: Graph, graph_def: Any) -> None:
    """Add nodes under their own names; their inputs and groups may be nodes that the graph has already."""
    adapt(graph_def)
    fresh = {node.name for node in graph_def.node}
    if known := sorted(fresh & graph._nodes.keys()):
        raise AlreadyExistsError(None, None, f"the graph has a node {known[0]} already")
    mapping: dict[tuple[str, int], Any] = {}
    for key in {source(text) for node in graph_def.node for text in node.input}:
        found = graph._nodes.get(key[0])
        if found is not None and key[1] < len(found.outputs):
            mapping[key] = found if key[1] == CONTROL else found.outputs[key[1]]
    Import(graph, graph_def, mapping, "", is_internal=True).run(None)


# -- arguments ----------------------------------------------------------------------------------
def _own_message(graph_def: Any) -> Any:
    if isinstance(graph_def, proto.GraphDef):
        _write_defaults(graph_def)
        return graph_def
    if getattr(getattr(graph_def, "DESCRIPTOR", None), "full_name", "") != "tensorflow.GraphDef":
        raise TypeError("graph_def must be a GraphDef proto.")
    return proto.GraphDef.FromString(graph_def.SerializeToString())


def _write_defaults(graph_def: Any) -> None:
    """TF writes missing attributes into the caller's message, and programs rely on it."""
    defaults: dict[str, list[tuple[str, Any]]] = {}
    for node in graph_def.node:
        if node.op not in defaults:
            op = _declared(node.op)
            fields = () if op is None else op.op_def.attr
            defaults[node.op] = [(f.name, f.default_value) for f in fields if f.HasField("default_value")]
        for key, value in defaults[node.op]:
            if key not in node.attr or node.attr[key].WhichOneof("value") is None:
                node.attr[key].CopyFrom(value)


def _return_names(return_elements: Any) -> list[str] | None:
    if return_elements is None:
        return None
    names = list(return_elements)
    if not all(isinstance(n, (str, bytes)) for n in names):
        raise TypeError("return_elements must be a list of strings.")
    return [n.decode() if isinstance(n, bytes) else n for n in names]


def _convert_map(name: str | None, input_map: dict[Any, Any]) -> dict[tuple[str, int], Any]:
    """Keys (name, index) -> our tensor, or node for a control edge."""
    found: dict[tuple[str, int], Any] = {}
    values = dict(input_map)
    if not all(isinstance(v, Tensor) for v in values.values()):
        if name == "":
            raise ValueError(
                "tf.import_graph_def() requires a non-empty `name` if `input_map` contains "
                "non-Tensor values. Try calling tf.convert_to_tensor() on `input_map` values "
                "before calling tf.import_graph_def()."
            )
        with get_default_graph().name_scope("_inputs"):
            values = {k: v if isinstance(v, Node) else convert_to_tensor(v) for k, v in values.items()}
    for key, value in values.items():
        key = key.decode() if isinstance(key, bytes) else key
        if key.startswith("^"):
            found[key[1:], CONTROL] = value.op if isinstance(value, Tensor) else value
        else:
            found[tensor_name(key)] = value
    return found


def drop_producer_defaults(graph_def: Any, producer_op_list: Any) -> None:
    """Take out of a GraphDef what only its producer knows, where it has the producer's default."""
    producer = {op.name: {a.name: a for a in op.attr} for op in producer_op_list.op}
    bodies = (node for function in graph_def.library.function for node in function.node_def)
    for node in chain(graph_def.node, bodies):
        theirs, ours = producer.get(node.op), _declared(node.op)
        if theirs is None or ours is None:
            continue
        for key in [k for k in node.attr if k not in ours.signature.attrs and k in theirs]:
            attr = theirs[key]
            if attr.HasField("default_value") and _equal(node.attr[key], attr.default_value):
                del node.attr[key]


def _declared(name: str) -> Op | None:
    """The op of this name, if we have one."""
    try:
        return catalog.find(name)
    except NotFoundError:
        return None


def _equal(a: Any, b: Any) -> bool:
    return bool(a.SerializeToString(deterministic=True) == b.SerializeToString(deterministic=True))
