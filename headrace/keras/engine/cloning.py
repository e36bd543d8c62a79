"""Models again, with weights of their own; and where tensors come from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.keras.engine.input_layer import Input, InputLayer
from headrace.keras.engine.model import Model
from headrace.keras.engine.sequential import Sequential
from headrace.layers.engine.history import history_of
from headrace.layers.ops import nest


def _again(layer: Any) -> Any:
    return type(layer).from_config(layer.get_config())


def clone_model(
    model: Any, input_tensors: Any = None, clone_function: Callable[[Any], Any] | None = None
) -> Any:
    """A model of equal layers, whose weights begin anew.

    Args:
      model: the model.
      input_tensors: tensors to build it on; default new inputs.
      clone_function: makes a layer of a layer; default an equal one.
    """
    make = clone_function or _again
    if not callable(make):
        raise ValueError("Expected `clone_function` argument to be a callable.")
    if isinstance(model, Sequential):
        return _cloned_row(model, input_tensors, make)
    if not isinstance(model, Model):
        raise ValueError("Expected `model` argument to be a `Model` instance, got ", model)
    if not model._is_graph_network:
        raise ValueError(
            "Expected `model` argument to be a functional `Model` instance, but got a subclass model instead."
        )
    return _cloned_graph(model, input_tensors, make)


def _cloned_row(model: Any, input_tensors: Any, make: Any) -> Any:
    layers = [make(layer) for layer in model._row if not isinstance(layer, InputLayer)]
    first = model._row[0] if model._row and isinstance(model._row[0], InputLayer) else None
    if input_tensors is None:
        return Sequential([*([_again(first)] if first is not None else []), *layers], name=model.name)
    given = nest.flatten(input_tensors)
    if len(given) != 1:
        raise ValueError(
            "To clone a `Sequential` model, we expect  at most one tensor as part of `input_tensors`."
        )
    x = given[0]
    if history_of(x) is None or not isinstance(history_of(x).layer, InputLayer):
        x = Input(tensor=x, name="input_wrapper_for_" + str(x.name).replace(":", "_"))
    return Sequential([history_of(x).layer, *layers], name=model.name)


def _cloned_graph(model: Any, input_tensors: Any, make: Any) -> Any:
    if input_tensors is None:
        inputs = [
            Input(
                batch_shape=layer._batch_input_shape,
                dtype=layer.dtype,
                sparse=layer.sparse,
                ragged=layer.ragged,
                name=layer.name,
            )
            for layer in model._input_layers
        ]
    else:
        inputs = [
            x if history_of(x) is not None else Input(tensor=x, name="input_wrapper_for_" + layer.name)
            for x, layer in zip(nest.flatten(input_tensors), model._input_layers)
        ]
    known = {id(old): new for old, new in zip(model.inputs, inputs)}
    layers: dict[Any, Any] = {}

    def replaced(x: Any) -> Any:
        return known[id(x)] if history_of(x) is not None else x

    for calls in model._map.by_depth.values():
        for call in calls:
            old = call.outbound_layer
            if not call.sources:
                continue
            if old not in layers:
                layers[old] = clone_model(old, clone_function=make) if isinstance(old, Model) else make(old)
            given = nest.map_structure(replaced, call.input_tensors)
            made = layers[old](given, **nest.map_structure(replaced, dict(call.arguments)))
            for x, y in zip(nest.flatten(call.output_tensors), nest.flatten(made)):
                known[id(x)] = y
    outputs = nest.pack_sequence_as(model._nested_outputs, [known[id(x)] for x in model.outputs])
    structure = nest.pack_sequence_as(model._nested_inputs, inputs)
    return Model(structure, outputs, name=model.name)


def get_source_inputs(tensor: Any, layer: Any = None, node_index: int | None = None) -> list[Any]:
    """The inputs that a tensor descends from.

    Args:
      tensor: a tensor of a model.
      layer: the layer that made it.
      node_index: which call of it.
    """
    if history_of(tensor) is None:
        return tensor  # type: ignore[no-any-return]
    if layer is None or node_index:
        layer, node_index, _ = history_of(tensor)
    if not layer._inbound_nodes:
        return [tensor]
    call = layer._inbound_nodes[node_index or 0]
    if not call.sources:
        return list(nest.flatten(call.output_tensors))
    found: list[Any] = []
    for source, x in zip(call.sources, nest.flatten(call.input_tensors)):
        for y in get_source_inputs(x, source.layer, source.node_index):
            if not any(y is known for known in found):
                found.append(y)
    return found
