"""A graph that a master registered with a task: GraphDef in, a prepared signature out.

What the client feeds and fetches are Recv and Send nodes that the client terminates; here they become
feeds and fetches of a signature, so that values are bound to the compiled program without a detour.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from headrace.core.dtypes import DType
from headrace.core.errors import InvalidArgumentError, OpError
from headrace.core.modules import late
from headrace.distributed.worker.pace import Pace
from headrace.distributed.worker.recording import Recording
from headrace.graph.graph import Graph
from headrace.graph.node import Node
from headrace.ops.control.transfer import RECEIVES, SENDS, labelled, rendezvous_key, unlabelled
from headrace.ops.declaration.traits import COLLECTIVE
from headrace.ops.graphdef.import_export import plan_to_graph_def
from headrace.ops.graphdef.importer import import_pieces
from headrace.runtime.executor import pool
from headrace.runtime.resumable import Then
from headrace.runtime.step import Step
from headrace.session.library import Library
from headrace.session.run_cache import Prepared, Settings, prepare

profile = late("headrace.runtime.profile")


class RegisteredGraph:
    """Keys of what comes in and goes out, and the program in between.  `folders`: the only ones that it may
    touch files of, if any is named."""

    def __init__(self, graph_def: Any, settings: Settings, folders: tuple[str, ...] = ()) -> None:
        self.folders = folders
        graph = Graph()
        import_pieces(graph, graph_def)
        nodes = graph._ordered
        entries = [n for n in nodes if n.declaration in RECEIVES and n.attrs["client_terminated"]]
        exits = [n for n in nodes if n.declaration in SENDS and n.attrs["client_terminated"]]
        self.graph, self.settings, self.exits = graph, settings, exits
        self.feeds = [rendezvous_key(n.attrs) for n in entries]
        self.fetches = [rendezvous_key(n.attrs) for n in exits]
        self._labels = _labels(entries, "tensor_type") | _labels(exits, "T")
        used = {t.op for n in nodes for t in n.inputs} | {c for n in nodes for c in n._control_inputs}
        self._waits = [(n, n._control_inputs) for n in nodes if set(n._control_inputs) & set(entries)]
        apart = used.union(entries, exits)
        self.has_collectives = any(COLLECTIVE in n.declaration.traits for n in nodes)
        self.targets = [n for n in nodes if n not in apart]  # the master has left nothing out: all must run
        self.pace = Pace()
        self.library = Library(graph, settings)
        self._lock = threading.Lock()
        self._open: Prepared | None = None
        for node, before in self._waits:  # what is fed has come: nobody waits for it
            node._control_inputs = [c for c in before if c not in entries]
        self.prepared = prepare(
            graph,
            [n.outputs[0] for n in entries],
            [n.inputs[0] for n in exits],
            self.targets,
            settings,
            is_part=True,
        )

    def open(self) -> Prepared:
        """For partial runs: what is fed and fetched passes the step's meeting place, as between tasks."""
        with self._lock:
            if self._open is None:
                for node, before in self._waits:
                    node._control_inputs = before
                targets = self.targets + self.exits
                self._open = prepare(self.graph, [], [], targets, self.settings, is_part=True)
            return self._open

    def run(
        self, step: Step, given: dict[str, Any], wanted: list[str], recording: Recording | None = None
    ) -> list[Any]:
        """One run; values by their keys."""
        if recording is not None and recording.timeline:
            step.trace = profile.Trace()
        values = self.prepared.run(step, self._arguments(given))
        if recording is not None:
            self._record(step, recording)
        return self._chosen(values, wanted)

    def start(self, step: Step, given: dict[str, Any], wanted: list[str], then: Then) -> None:
        """The same without waiting: by the thread that calls, and those that bring what it waits for, as long
        as each is busy for a moment only."""

        def ended(values: Any, error: BaseException | None) -> None:
            try:
                found = self._chosen(values, wanted) if error is None else None
            except OpError as unknown:
                found, error = None, unknown
            then(found, error)

        self.prepared.start(step, self._arguments(given), ended, self._submit)

    def _submit(self, work: Callable[[], None]) -> None:
        if self.pace.is_quick:
            self._timed(work)
        else:
            pool().submit(self._timed, work)

    def _timed(self, work: Callable[[], None]) -> None:
        began = time.thread_time()
        work()
        self.pace.on_run(time.thread_time() - began)

    def _arguments(self, given: dict[str, Any]) -> list[Any]:
        missing = [key for key in self.feeds if key not in given]
        if missing:
            raise InvalidArgumentError(None, None, f"no value was given for {missing[0]}")
        for key in given.keys() & self._labels.keys():
            given[key] = unlabelled(given[key], self._labels[key])
        return [given[key] for key in self.feeds]

    def _chosen(self, fetched: list[Any], wanted: list[str]) -> list[Any]:
        values = dict(zip(self.fetches, fetched))
        unknown = [key for key in wanted if key not in values]
        if unknown:
            raise InvalidArgumentError(None, None, f"the graph gives no value for {unknown[0]}")
        for key in values.keys() & self._labels.keys():
            values[key] = labelled(values[key], self._labels[key])
        return [values[key] for key in wanted]

    def _record(self, step: Step, recording: Recording) -> None:
        plans = [piece.plan for piece in self.prepared.pieces]
        if recording.timeline:
            step.trace.fill(recording.metadata)
        if recording.costs:
            profile.fill_cost_graph(recording.metadata, plans)
        if recording.graphs:
            recording.metadata.partition_graphs.extend(map(plan_to_graph_def, plans))


def _labels(ends: list[Node], name: str) -> dict[str, DType]:
    """The keys of quantized values with their types."""
    return {rendezvous_key(n.attrs): n.attrs[name] for n in ends if n.attrs[name].is_quantized}
