"""Functions of the graph, run on values: for kernels that call back (map functions, py_func's kin).

There are two ways.  In a thread of the program's, what may wait goes to a thread of its own, so that the step
can be ended meanwhile (`run`).  In a thread that is there to wait, it need not (`run_waiting`).
"""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

from headrace.core.device_name import parse
from headrace.core.errors import InvalidArgumentError
from headrace.graph.attrs import FunctionName
from headrace.graph.graph import Graph
from headrace.ops.data.pipeline.rowwise import batched, is_rowwise
from headrace.ops.declaration.traits import BLOCKING, DEFERRED
from headrace.ops.graphdef.function_body import copied
from headrace.runtime.step import Step
from headrace.runtime.straight import StraightProgram, has_control_flow
from headrace.session.run_cache import Settings, make_plan, prepare


class Library:
    """Prepares a function's body once per session or registered graph, and runs it as part of a step."""

    def __init__(self, graph: Graph, settings: Settings) -> None:
        self._graph, self._settings = graph, settings
        self._prepared: dict[Any, Any] = {}
        self._straight: dict[Any, Any] = {}  # programs for threads that may wait; False: the usual one
        self._rows: dict[Any, Any] = {}  # programs for many elements at once
        self._waits: dict[str, bool] = {}
        self._lock = threading.Lock()

    def run(self, function: Any, inputs: list[Any], step: Step, device: str = "") -> list[Any]:
        key = (function, device) if device else function
        prepared = self._prepared.get(key)
        if prepared is None:
            with self._lock:
                prepared = self._prepared.get(key)
                if prepared is None:
                    prepared = self._prepare(function, device)
                    self._prepared[key] = prepared
        result: list[Any] = prepared.run(step if prepared.only else step.nested(), inputs)
        return result

    def run_waiting(self, function: Any, inputs: list[Any], step: Step) -> list[Any]:
        """The same in a thread that may wait."""
        program = self._straight.get(function)
        if program is None:
            self._straight[function] = program = self._straightened(function)
        if not program:
            return self.run(function, inputs, step)
        result: list[Any] = program.run(step, inputs)
        return result

    def run_rows(self, function: Any, columns: list[Any], captured: list[Any], step: Step) -> Any:
        """A call for many elements at once, stacked; None where the function is not one for that."""
        key = (function, len(columns))
        program = self._rows.get(key)
        if program is None:
            program = self._rows[key] = self._for_rows(function, len(columns))
        return program.run(step, [*columns, *captured]) if program else None

    def _for_rows(self, function: Any, count: int) -> Any:
        """A program for stacks of elements, which are the first arguments; False where there is none."""
        body = self._graph._functions[getattr(function, "name", function)].body_graph(
            getattr(function, "attrs", ())
        )
        if not is_rowwise(body, count):
            return False
        shapes = [batched(t.shape) if i < count else t.shape for i, t in enumerate(body.inputs)]
        places = {t.op for t in body.inputs}
        nodes = [n for n in body.graph.get_operations() if n not in places]
        try:
            copy, tensor_of, _ = copied(body.graph, body.inputs, shapes, nodes, has_shapes=False)
            outputs = [tensor_of(t) for t in body.outputs]
        except (InvalidArgumentError, ValueError):
            return False
        made = prepare(copy, copy.inputs, outputs, [], self._settings)
        return made if made.only is not None else False

    def _straightened(self, function: Any) -> Any:
        """A program for a body of which one node may wait, node by node; False for others."""
        body = self._graph._functions[getattr(function, "name", function)].body_graph(
            getattr(function, "attrs", ())
        )
        kinds = [n.declaration.traits & {BLOCKING, DEFERRED} for n in body.graph.get_operations()]
        if sum(map(bool, kinds)) != 1:
            return False
        plan = make_plan(body.graph, body.inputs, body.outputs, body.targets, self._settings)
        alone = len({n.device for n in plan.nodes.values()}) <= 1
        return StraightProgram(plan) if alone and not has_control_flow(plan) else False

    def waits(self, function: Any) -> bool:
        """Whether a call may wait: for Python code, for another op of some step."""
        name = getattr(function, "name", function)
        found = self._waits.get(name)
        if found is None:
            self._waits[name] = False  # while a function that calls itself is looked at
            nodes = self._graph._functions[name].body_graph(getattr(function, "attrs", ())).graph
            found = any(self._node_waits(n) for n in nodes.get_operations())
            self._waits[name] = found
        return found

    def _node_waits(self, node: Any) -> bool:
        if node.declaration.traits & {BLOCKING, DEFERRED}:
            return True
        called = [v for v in node.attrs.values() if isinstance(v, FunctionName)]
        called += [
            f for v in node.attrs.values() if isinstance(v, tuple) for f in v if isinstance(f, FunctionName)
        ]
        if node.type in self._graph._functions:
            called.append(FunctionName(node.type))
        return any(self.waits(f) for f in called if f.name in self._graph._functions)

    def _prepare(self, function: Any, device: str) -> Any:
        body = self._graph._functions[getattr(function, "name", function)].body_graph()
        settings = self._settings
        if device:
            wanted = parse(device)
            found = tuple(d for d in settings.devices if wanted.matches(parse(d.name)))
            settings = replace(settings, devices=found or settings.devices, soft_placement=True)
        return prepare(body.graph, body.inputs, body.outputs, body.targets, settings)
