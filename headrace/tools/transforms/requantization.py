"""Ranges that were seen in a log take the place of ranges that are found anew in each step."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import Any

from headrace.core import dtypes
from headrace.formats import files
from headrace.tools.transforms.call import Call, transform
from headrace.tools.transforms.nodes import constant, redirected, refuse

_LINE = re.compile(r";([^;]+)__print__;__requant_min_max:\[([^\[\]]+)\]\[([^\[\]]+)\]")


@transform("freeze_requantization_ranges")
def freeze_requantization_ranges(graph: Any, call: Call) -> Any:
    """(min_max_log_file, min_percentile=5, max_percentile=5): RequantizationRange nodes become constants.

    The log comes from runs of the graph after
    `insert_logging(op=RequantizationRange, show_name=true, message="__requant_min_max:")`.
    """
    path = call.one("min_max_log_file")
    lows, highs = _seen(files.read_bytes(path).decode("utf-8", "replace"))
    if not lows:
        raise refuse(f"No min/max values were found in {path}")
    low_share = call.integer("min_percentile", 5) / 100
    high_share = call.integer("max_percentile", 5) / 100
    out: list[Any] = []
    targets = {}
    for node in graph.node:
        if node.op != "RequantizationRange" or node.name not in lows:
            out.append(node)
            continue
        low = _at(sorted(lows[node.name]), low_share)
        high = _at(sorted(highs[node.name], reverse=True), high_share)
        for i, (end, value) in enumerate((("min", low), ("max", high))):
            name = f"{node.name}/frozen_{end}"
            out.append(constant(name, value, dtypes.float32))
            targets[f"{node.name}:{i}"] = name
    return redirected(out, targets)


def _seen(text: str) -> tuple[dict[str, list[float]], dict[str, list[float]]]:
    """Node -> the lower and the upper ends that lines of a log tell."""
    lows: dict[str, list[float]] = defaultdict(list)
    highs: dict[str, list[float]] = defaultdict(list)
    for name, low, high in _LINE.findall(text):
        try:
            ends = float(low), float(high)
        except ValueError:
            continue
        lows[name].append(ends[0])
        highs[name].append(ends[1])
    return lows, highs


def _at(values: list[float], share: float) -> float:
    """The value below which there is this share."""
    return values[min(int(round(share * len(values))), len(values) - 1)]
