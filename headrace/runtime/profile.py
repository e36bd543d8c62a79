"""A trace of one step: when each kernel ran and for how long, as TF's StepStats."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from headrace.codegen.attribution import spans


class Trace:
    """Filled while a step runs; `fill` writes it into a RunMetadata."""

    def __init__(self) -> None:
        self.records: list[tuple[Any, float, float, int]] = []

    @contextmanager
    def kernel(self, node: Any) -> Iterator[None]:
        start = time.time()
        try:
            yield
        finally:
            self.records.append((node, start, time.time(), threading.get_ident()))

    def piece(self, program: Any) -> None:
        """A piece with compiled regions (devices.compiled.MixedProgram) begins to run."""

    def region(self, region: Any, program: Any, ticks: Any, start: float, end: float) -> None:
        """A compiled region ran; `ticks` are what each entry of its program took."""
        thread = threading.get_ident()
        for node, begin, stop in spans(region, program, ticks):
            took = end - start
            self.records.append((node, start + begin * took, start + stop * took, thread))

    def fill(self, run_metadata: Any) -> None:
        devices: dict[str, Any] = {}
        for node, start, end, thread in self.records:
            device = devices.get(node.device)
            if device is None:
                device = run_metadata.step_stats.dev_stats.add(device=node.device)
                devices[node.device] = device
            stats = device.node_stats.add(node_name=node.name, thread_id=thread % (1 << 32))
            stats.all_start_micros = int(start * 1e6)
            stats.op_end_rel_micros = stats.all_end_rel_micros = max(1, int((end - start) * 1e6))
            stats.all_start_nanos = int(start * 1e9)
            stats.op_end_rel_nanos = stats.all_end_rel_nanos = int((end - start) * 1e9)
            sources = ", ".join(str(e) for e in node.inputs)
            stats.timeline_label = f"{node.name} = {node.op.name}({sources})"


def fill_cost_graph(run_metadata: Any, plans: list[Any]) -> None:
    """The nodes of a step and what they take in, as TF's CostGraphDef."""
    graph = run_metadata.cost_graph
    numbers: dict[str, int] = {}
    for plan in plans:
        for node in plan.nodes.values():
            entry = graph.node.add(name=node.name, device=node.device, id=len(numbers))
            numbers[node.name] = entry.id
            for edge in node.inputs:
                if edge.node in numbers:
                    entry.input_info.add(preceding_node=numbers[edge.node], preceding_port=edge.index)
            for output in node.outputs:
                count = output.shape.num_elements()
                size = -1 if count is None else count * output.dtype.size
                entry.output_info.add(size=size, dtype=output.dtype.base.as_datatype_enum)
