"""A trace of a step (StepStats) as the JSON that chrome://tracing and Perfetto show.

Each device is a process of the picture, each thread a row.  A node that has run is a bar; an arrow leads from
the end of a node to the start of one that reads it; memory in use is a curve of each allocator.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

_LABEL = re.compile(r"(?P<name>.*) = (?P<op>[^(]*)\((?P<inputs>.*)\)$", re.DOTALL)


class Timeline:
    """The picture of a traced step.

    Example:
      >>> trace = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
      >>> sess.run(train, options=trace, run_metadata=metadata)
      >>> text = timeline.Timeline(metadata.step_stats).generate_chrome_trace_format()
    """

    def __init__(self, step_stats: Any, graph: Any = None) -> None:
        """Args:
        step_stats: the StepStats of a RunMetadata.
        graph: not needed; kept for compatibility.
        """
        self._step_stats = step_stats

    def generate_chrome_trace_format(self, show_dataflow: bool = True, show_memory: bool = False) -> str:
        """The picture as JSON.

        Args:
          show_dataflow: with arrows between nodes.
          show_memory: with memory in use.
        """
        events: list[dict[str, Any]] = []
        bars: list[tuple[dict[str, Any], list[str]]] = []
        for process, device in enumerate(self._step_stats.dev_stats):
            name = f"{device.device} Compute"
            events.append({"ph": "M", "name": "process_name", "pid": process, "args": {"name": name}})
            rows: dict[int, int] = {}
            for stats in device.node_stats:
                bars.append(_bar(stats, process, rows.setdefault(stats.thread_id, len(rows))))
        events += [bar for bar, _ in bars]
        if show_dataflow:
            events += _arrows(bars)
        if show_memory:
            events += _memory(self._step_stats)
        return json.dumps({"traceEvents": events}, indent=4)


def _bar(stats: Any, process: int, row: int) -> tuple[dict[str, Any], list[str]]:
    """The bar of one node, and the names of what it reads."""
    found = _LABEL.match(stats.timeline_label)
    op = found["op"] if found else stats.node_name
    inputs = [i for i in found["inputs"].split(", ") if i] if found else []
    arguments = {"name": stats.node_name, "op": op}
    arguments.update({f"input{i}": name for i, name in enumerate(inputs)})
    bar = {
        "ph": "X",
        "cat": "Op",
        "name": op,
        "pid": process,
        "tid": row,
        "ts": stats.all_start_micros,
        "dur": stats.all_end_rel_micros,
        "args": arguments,
    }
    return bar, [i.lstrip("^").partition(":")[0] for i in inputs]


def _arrows(bars: list[tuple[dict[str, Any], list[str]]]) -> Iterator[dict[str, Any]]:
    """From the end of every bar to the beginning of those that read its values: two events each."""
    by_name = {bar["args"]["name"]: bar for bar, _ in bars}
    number = 0
    for bar, inputs in bars:
        for source in (by_name[i] for i in inputs if i in by_name):
            number += 1
            for phase, end, moment in (("s", source, source["ts"] + source["dur"]), ("t", bar, bar["ts"])):
                yield {
                    "ph": phase,
                    "cat": "DataFlow",
                    "name": source["args"]["name"],
                    "id": number,
                    "pid": end["pid"],
                    "tid": end["tid"],
                    "ts": moment,
                }


def _memory(step_stats: Any) -> Iterator[dict[str, Any]]:
    """Octets in use of every allocator, after every node that says so."""
    for process, device in enumerate(step_stats.dev_stats):
        for stats in sorted(device.node_stats, key=lambda s: int(s.all_start_micros)):
            for memory in stats.memory:
                yield {
                    "ph": "C",
                    "cat": "Memory",
                    "name": memory.allocator_name,
                    "pid": process,
                    "ts": stats.all_start_micros,
                    "args": {"bytes": memory.allocator_bytes_in_use or memory.total_bytes},
                }
