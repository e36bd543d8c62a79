"""A graph that a master registered with a task: GraphDef in, a prepared signature out.

What the client feeds and fetches are Recv and Send nodes that the client terminates; here they become
feeds and fetches of a signature, so that values are bound to the compiled program without a detour.
"""

from __future__ import annotations

from typing import Any

from headrace.core.errors import InvalidArgumentError
from headrace.graph.graph import Graph
from headrace.ops.control.transfer import RECEIVES, SENDS, rendezvous_key
from headrace.ops.graphdef.importer import import_pieces
from headrace.runtime.step import Step
from headrace.session.library import Library
from headrace.session.run_cache import Settings, prepare


class RegisteredGraph:
    """Keys of what comes in and goes out, and the program in between."""

    def __init__(self, graph_def: Any, settings: Settings) -> None:
        graph = Graph()
        import_pieces(graph, graph_def)
        nodes = graph._ordered
        entries = [n for n in nodes if n.declaration in RECEIVES and n.attrs["client_terminated"]]
        exits = [n for n in nodes if n.declaration in SENDS and n.attrs["client_terminated"]]
        self.feeds = [rendezvous_key(n.attrs) for n in entries]
        self.fetches = [rendezvous_key(n.attrs) for n in exits]
        used = {t.op for n in nodes for t in n.inputs} | {c for n in nodes for c in n._control_inputs}
        for node in nodes:  # what is fed has come: nobody waits for it
            node._control_inputs = [c for c in node._control_inputs if c not in entries]
        apart = used.union(entries, exits)
        targets = [n for n in nodes if n not in apart]  # the master has left nothing out: all must run
        self.library = Library(graph, settings)
        self.prepared = prepare(
            graph, [n.outputs[0] for n in entries], [n.inputs[0] for n in exits], targets, settings
        )

    def run(self, step: Step, given: dict[str, Any], wanted: list[str]) -> list[Any]:
        """One run; values by their keys."""
        missing = [key for key in self.feeds if key not in given]
        if missing:
            raise InvalidArgumentError(None, None, f"no value was given for {missing[0]}")
        values = dict(zip(self.fetches, self.prepared.run(step, [given[key] for key in self.feeds])))
        unknown = [key for key in wanted if key not in values]
        if unknown:
            raise InvalidArgumentError(None, None, f"the graph gives no value for {unknown[0]}")
        return [values[key] for key in wanted]
