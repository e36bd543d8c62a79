"""Ops on the tensors of a Keras model become layers, so that a model can run them on other tensors."""

from __future__ import annotations

from typing import Any

from google.protobuf import json_format

from headrace.formats import proto
from headrace.functions.array.array import get_static_value
from headrace.functions.values.nest import flatten
from headrace.graph.defaults import get_default_graph
from headrace.graph.node import Node
from headrace.layers.engine.history import Call, history_of
from headrace.layers.engine.layer import Layer
from headrace.layers.engine.weight_values import read_tensors
from headrace.ops.declaration.building.build import make_node
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.declaration.messages import node_def as messages
from headrace.ops.graphdef.import_export import find_op

PREFIX = "tf_op_layer_"


class TensorFlowOpLayer(Layer):
    """One node as a layer.

    Args:
      node_def: the node, as a NodeDef, its bytes, or its JSON as a dictionary.
      name: its name; the layer's has a prefix.
      constants: values of inputs that do not come from the model, by their places.
      trainable: accepted: there is nothing to train.
      dtype: element type.
    """

    def __init__(
        self, node_def: Any, name: str, constants: Any = None, trainable: bool = True, dtype: Any = None
    ) -> None:
        super().__init__(name=PREFIX + name, trainable=trainable, dtype=dtype, autocast=False)
        self.node_def = _message(node_def)
        self.constants = {int(place): value for place, value in (constants or {}).items()}
        self.built = True

    def call(self, inputs: Any) -> Any:  # type: ignore[override]
        given = flatten(inputs)
        rest = iter(given)
        graph = get_default_graph()
        op = find_op(graph, self.node_def.op)
        attrs = messages.attributes(op, self.node_def.attr, self.name)
        types = messages.input_types(op, attrs)
        places = [
            convert_to_tensor(self.constants[i], kind.base) if i in self.constants else next(rest)
            for i, kind in enumerate(types)
        ]
        outputs = make_node(graph, op, places, types, attrs, self.node_def.name).outputs
        return outputs[0] if len(outputs) == 1 else list(outputs)

    def get_config(self) -> dict[str, Any]:
        config = super().get_config()
        config["name"] = config["name"].removeprefix(PREFIX)
        values = {place: _listed(value) for place, value in self.constants.items()}
        return config | {"node_def": json_format.MessageToDict(self.node_def), "constants": values}


def _message(node_def: Any) -> Any:
    if isinstance(node_def, dict):
        return json_format.ParseDict(node_def, proto.NodeDef())
    return proto.NodeDef.FromString(node_def) if isinstance(node_def, bytes) else node_def


def _listed(value: Any) -> Any:
    known = get_static_value(value) if hasattr(value, "graph") else value
    return (read_tensors([value])[0] if known is None else known).tolist()


def give_history(tensors: Any) -> None:
    """Tensors that were made of a model's tensors by ops get a history, through layers of these ops."""
    for tensor in flatten(tensors):
        node = getattr(tensor, "op", None)
        if isinstance(node, Node) and history_of(tensor) is None and _descends(tensor, {}):
            _wrap(node)


def _descends(tensor: Any, known: dict[Node, bool]) -> bool:
    """Does it depend on a tensor that has a history?"""
    if history_of(tensor) is not None:
        return True
    pending = [tensor.op]
    while pending:
        node = pending.pop()
        if node not in known:
            known[node] = False
            if any(history_of(x) is not None for x in node.inputs):
                return True
            pending += [x.op for x in node.inputs]
    return False


def _wrap(node: Node) -> None:
    inputs, constants = [], {}
    for place, tensor in enumerate(node.inputs):
        if _descends(tensor, {}):
            if history_of(tensor) is None:
                _wrap(tensor.op)
            inputs.append(tensor)
        else:
            constants[place] = _value(tensor)
    layer = TensorFlowOpLayer(node.node_def, node.name, constants)
    Call.of_layer(layer, inputs[0] if len(inputs) == 1 else inputs, list(node.outputs))


def _value(tensor: Any) -> Any:
    """What does not come from a model's inputs counts as constant."""
    graph: Any = tensor.graph
    for outer, inner in getattr(graph, "_captured", {}).items():
        if inner is tensor:
            return outer
    known = get_static_value(tensor)
    return read_tensors([tensor])[0] if known is None else known
