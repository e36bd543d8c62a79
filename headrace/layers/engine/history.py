"""How the tensors of a Keras model came about: a record for each call of a layer on such tensors.

A tensor that descends from a Keras input has `_keras_history`: (layer, number of the call, number of the
output).  Models are cut out of these records.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from headrace.functions.values.nest import flatten, map_structure


class KerasHistory(NamedTuple):
    """Where a tensor comes from."""

    layer: Any
    node_index: int
    tensor_index: int


def history_of(x: Any) -> Any:
    return getattr(x, "_keras_history", None)


def descends_from_inputs(tensors: Any) -> bool:
    """Do all of them know their history?"""
    found = flatten(tensors)
    return bool(found) and all(history_of(x) is not None for x in found)


class Call:
    """One call of a layer; adds itself to the layer and to those that made its inputs.

    Args:
      layer: the layer that was called.
      input_tensors: what it was called on.
      output_tensors: what it returned.
      arguments: the other arguments of the call.
    """

    def __init__(self, layer: Any, input_tensors: Any, output_tensors: Any, arguments: Any = None) -> None:
        self.outbound_layer = layer
        self.input_tensors, self.output_tensors = input_tensors, output_tensors
        self.arguments: dict[str, Any] = arguments or {}
        self.input_shapes = map_structure(shape_of, input_tensors)
        self.output_shapes = map_structure(shape_of, output_tensors)
        self.sources: list[KerasHistory] = []  # where the inputs come from
        layer._inbound_nodes.append(self)

    @classmethod
    def of_layer(cls, layer: Any, inputs: Any, outputs: Any, arguments: Any = None) -> Call:
        """The record of a call that just happened: it becomes the history of the outputs."""
        call = cls(layer, inputs, outputs, arguments)
        call.sources = [history_of(x) for x in flatten(inputs)]
        for source in call.sources:
            source.layer._outbound_nodes.append(call)
        index = len(layer._inbound_nodes) - 1
        for number, output in enumerate(flatten(outputs)):
            output._keras_history = KerasHistory(layer, index, number)
        return call

    @property
    def inbound_layers(self) -> Any:
        """The layers that made the inputs, in their structure."""
        if not self.sources:
            return []
        return map_structure(lambda x: history_of(x).layer, self.input_tensors)

    def iterate_inbound(self) -> Iterator[tuple[Any, int, int, Any]]:
        """(layer, number of its call, number of its output, tensor) of each input."""
        for source, tensor in zip(self.sources, flatten(self.input_tensors), strict=False):
            yield (*source, tensor)


def shape_of(x: Any) -> Any:
    """A tensor's shape as a tuple, as Keras shows it."""
    shape = x.shape
    return None if shape.ndims is None else tuple(shape.as_list())
