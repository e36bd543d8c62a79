"""The configuration of a model that is a graph of calls, and the model from it."""

from __future__ import annotations

import copy
import json
from typing import Any

import numpy as np

from headrace.core import log
from headrace.keras.engine.input_layer import InputLayer
from headrace.keras.layers.serialization import deserialize
from headrace.layers import ops
from headrace.layers.engine.history import history_of
from headrace.layers.engine.weight_values import read_tensors
from headrace.layers.ops import nest

_FIRST = 1  # the number of a model's first call by others: its own call stands before


def config_of(model: Any) -> dict[str, Any]:
    """Name, layers with their calls, inputs and outputs."""
    numbers = _numbers(model)
    layers = []
    for layer in model._map.layers:
        calls = [_call(call, numbers) for call in layer._inbound_nodes if call in model._map and call.sources]
        config = {"name": layer.name, "class_name": type(layer).__name__, "config": layer.get_config()}
        layers.append(config | {"inbound_nodes": calls})
    return copy.deepcopy(
        {
            "name": model.name,
            "layers": layers,
            "input_layers": _ends(model._nested_inputs, numbers),
            "output_layers": _ends(model._nested_outputs, numbers),
        }
    )


def _numbers(model: Any) -> dict[Any, int]:
    """The calls that belong to the model, counted for each layer."""
    numbers = {}
    for layer in model._map.layers:
        kept = _FIRST if getattr(layer, "_is_graph_network", False) else 0
        for call in layer._inbound_nodes:
            if call in model._map:
                numbers[call] = kept
                kept += 1
    return numbers


def _place(x: Any, numbers: dict[Any, int]) -> list[Any]:
    layer, index, number = history_of(x)
    return [layer.name, numbers.get(layer._inbound_nodes[index], 0), number]


def _ends(tensors: Any, numbers: dict[Any, int]) -> Any:
    if not isinstance(tensors, list | tuple | dict):
        return [_place(tensors, numbers)]
    if isinstance(tensors, dict):
        return {key: _place(x, numbers) for key, x in tensors.items()}
    return [_place(x, numbers) for x in nest.flatten(tensors)]


def _call(call: Any, numbers: dict[Any, int]) -> Any:
    arguments = nest.map_structure(lambda x: _plain(x, numbers), dict(call.arguments))
    try:
        json.dumps(arguments)
    except TypeError:
        log.warning(
            f"Layer {call.outbound_layer.name} was passed non-serializable keyword arguments: "
            f"{call.arguments}. They will not be included in the serialized model (and thus will be missing "
            "at deserialization time)."
        )
        arguments = {}
    if isinstance(call.input_tensors, dict):
        return {key: [*_place(x, numbers), arguments] for key, x in call.input_tensors.items()}
    return [[*_place(x, numbers), arguments] for x in nest.flatten(call.input_tensors)]


def _plain(x: Any, numbers: dict[Any, int]) -> Any:
    if history_of(x) is not None:
        return _place(x, numbers)
    if isinstance(x, np.ndarray):
        return x.tolist()
    return read_tensors([x])[0].tolist() if isinstance(x, ops.Tensor) else x


def from_config(cls: Any, config: dict[str, Any], custom_objects: Any = None) -> Any:
    """The model that `config_of` described."""
    layers: dict[str, Any] = {}
    waiting: list[tuple[Any, Any]] = []
    for entry in config["layers"]:
        layer = layers[entry["name"]] = deserialize(entry, custom_objects=custom_objects)
        waiting += [(layer, call) for call in entry["inbound_nodes"]]
    while waiting:
        later = [(layer, call) for layer, call in waiting if not _made(layer, call, layers, custom_objects)]
        if len(later) == len(waiting):
            raise ValueError("Improperly formatted model config.")
        waiting = later
    inputs, outputs = (_found(config[key], layers) for key in ("input_layers", "output_layers"))
    return cls(inputs=inputs, outputs=outputs, name=config.get("name"))


def _made(layer: Any, call: Any, layers: dict[str, Any], custom_objects: Any) -> bool:
    """Make the call, if the calls that it needs have been made."""
    entries = list(call.values()) if isinstance(call, dict) else call
    if entries and isinstance(entries[0], str):
        entries = call = [call]
    found = [_tensor(entry, layers) for entry in entries]
    if any(x is None for x in found):
        return False
    arguments: dict[str, Any] = next((entry[3] for entry in entries if len(entry) > 3), {})
    kwargs = {}
    for key, value in arguments.items():
        kwargs[key] = _tensor(value, layers) if _is_place(value, layers) else value
        if kwargs[key] is None and value is not None:
            return False
    if isinstance(call, dict):
        layer(dict(zip(call, found)), **kwargs)
    else:
        layer(found[0] if len(found) == 1 else found, **kwargs)
    return True


def _is_place(value: Any, layers: dict[str, Any]) -> bool:
    return isinstance(value, list) and len(value) == 3 and isinstance(value[0], str) and value[0] in layers


def _tensor(entry: Any, layers: dict[str, Any]) -> Any:
    layer = layers[entry[0]]
    if len(layer._inbound_nodes) <= entry[1]:
        return None
    return nest.flatten(layer._inbound_nodes[entry[1]].output_tensors)[entry[2]]


def _found(places: Any, layers: dict[str, Any]) -> Any:
    if isinstance(places, dict):
        return {key: _tensor(place, layers) for key, place in places.items()}
    if places and isinstance(places[0], str):
        return _tensor(places, layers)
    return [_tensor(place, layers) for place in places]


def is_input(layer: Any) -> bool:
    return isinstance(layer, InputLayer)
