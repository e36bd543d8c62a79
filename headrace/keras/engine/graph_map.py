"""A model's inputs and outputs -> the calls of layers between them, ordered by depth."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from headrace.layers.engine.history import Call, history_of
from headrace.layers.ops import nest


class GraphMap:
    """The calls that lead from inputs to outputs.

    Depth 0 is what the outputs are; inputs are deepest.  `layers` stand in the order of computation.
    """

    def __init__(self, inputs: list[Any], outputs: list[Any]) -> None:
        self.order: dict[Any, int] = {}  # of layers, as they are met from the outputs
        calls = self._collected(outputs)
        self.depths: dict[Call, int] = {}
        self.layer_depths: dict[Any, int] = {}
        for call in reversed(calls):
            layer = call.outbound_layer
            depth = max(self.depths.get(call, 0), self.layer_depths.get(layer, 0))
            self.layer_depths[layer] = self.depths[call] = depth
            for source in _sources(call):
                before = source.layer._inbound_nodes[source.node_index]
                self.depths[before] = max(depth + 1, self.depths.get(before, 0))
        for x in inputs:  # they may serve losses alone
            layer = history_of(x).layer
            if layer not in self.layer_depths:
                self.layer_depths[layer] = 0
                self.order[layer] = -1
                self.depths[layer._inbound_nodes[0]] = 0
        by_depth: dict[int, list[Call]] = defaultdict(list)
        for call, depth in self.depths.items():
            by_depth[depth].append(call)
        self.by_depth = {depth: by_depth[depth] for depth in sorted(by_depth, reverse=True)}
        self.layers = sorted(self.layer_depths, key=lambda x: (-self.layer_depths[x], self.order[x]))
        self._check(inputs)

    def _collected(self, outputs: list[Any]) -> list[Call]:
        """All calls, those they need first."""
        found: list[Call] = []
        done: set[Call] = set()
        active: set[Call] = set()

        def visit(x: Any, source: Any) -> None:
            call = source.layer._inbound_nodes[source.node_index]
            if call in active:
                raise ValueError(f'The tensor {x} at layer "{source.layer.name}" is part of a cycle.')
            if call in done:
                return
            self.order.setdefault(source.layer, len(self.order))
            active.add(call)
            for before in _sources(call):
                visit(x, before)
            done.add(call)
            active.remove(call)
            found.append(call)

        for x in outputs:
            visit(x, history_of(x))
        return found

    def _check(self, inputs: list[Any]) -> None:
        known = {id(x) for x in inputs}
        reached: list[str] = []
        for calls in self.by_depth.values():
            for call in calls:
                name = call.outbound_layer.name
                for x in nest.flatten(call.input_tensors):
                    if id(x) not in known:
                        raise ValueError(
                            f'Graph disconnected: cannot obtain value for tensor {x} at layer "{name}". '
                            f"The following previous layers were accessed without issue: {reached}"
                        )
                known.update(id(x) for x in nest.flatten(call.output_tensors))
                reached.append(name)
        names = [layer.name for layer in self.layers]
        for name in names:
            if names.count(name) != 1:
                raise ValueError(
                    f'The name "{name}" is used {names.count(name)} times in the model. All layer names '
                    "should be unique."
                )

    def __contains__(self, call: Any) -> bool:
        return call in self.depths


def _sources(call: Call) -> list[Any]:
    """Where the inputs of a call come from, those among its other arguments too."""
    others = [history_of(x) for x in nest.flatten(call.arguments)]
    return [*call.sources, *(x for x in others if x is not None)]
