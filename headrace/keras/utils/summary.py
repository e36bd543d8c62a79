"""A table of a model's layers."""

from __future__ import annotations

from typing import Any

import numpy as np


def count_params(weights: list[Any]) -> int:
    """How many numbers weights hold together, each once."""
    return int(sum(np.prod(w.shape.as_list(), dtype=int) for w in {id(w): w for w in weights}.values()))


def is_row(model: Any) -> bool:
    """Does each layer follow the one before, and nothing else?"""
    if type(model).__name__ == "Sequential" or not model._is_graph_network:
        return True
    calls = list(model._map.by_depth.values())
    if any(len(level) > 1 or len(level[0].sources) > 1 for level in calls):
        return False
    chosen = [level[0] for level in calls]
    return all(sum(call in chosen for call in layer._inbound_nodes) <= 1 for layer in model.layers)


def print_summary(
    model: Any, line_length: int | None = None, positions: Any = None, print_fn: Any = None
) -> None:
    """Print name, shape and number of weights of each layer."""
    show = print_fn or print
    row = is_row(model)
    width = line_length or (65 if row else 98)
    places = positions or ([0.45, 0.85, 1.0] if row else [0.33, 0.55, 0.67, 1.0])
    if places[-1] <= 1:
        places = [int(width * place) for place in places]

    def show_row(fields: list[Any]) -> None:
        line = ""
        for number, (field, place) in enumerate(zip(fields, places)):
            if number:
                line = line[:-1] + " "
            line = (line + str(field))[:place]
            line += " " * (place - len(line))
        show(line)

    show(f'Model: "{model.name}"')
    show("_" * width)
    show_row(["Layer (type)", "Output Shape", "Param #", *([] if row else ["Connected to"])])
    show("=" * width)
    for number, layer in enumerate(model.layers):
        fields = [f"{layer.name} ({type(layer).__name__})", _shape(layer), layer.count_params()]
        connected = [] if row else _connections(model, layer)
        show_row([*fields, *([] if row else connected[:1] or [""])])
        for one in connected[1:]:
            show_row(["", "", "", one])
        show(("=" if number == len(model.layers) - 1 else "_") * width)
    trained = count_params(
        model._training.trainable_weights if model._is_compiled else model.trainable_weights
    )
    others = count_params(model.non_trainable_weights)
    show(f"Total params: {trained + others:,}")
    show(f"Trainable params: {trained:,}")
    show(f"Non-trainable params: {others:,}")
    show("_" * width)


def _shape(layer: Any) -> Any:
    try:
        return layer.output_shape
    except AttributeError:
        return "multiple"


def _connections(model: Any, layer: Any) -> list[str]:
    calls = [call for call in layer._inbound_nodes if call in model._map]
    return [
        f"{source.layer.name}[{source.node_index}][{source.tensor_index}]"
        for call in calls
        for source in call.sources
    ]
