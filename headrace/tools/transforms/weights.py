"""Large constants made to take less room: eight bits, or few different values."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.tools.transforms.call import Call, transform
from headrace.tools.transforms.nodes import constant, graph_of, made, value_of

_ROUNDED = 16  # elements; smaller constants keep their values


@transform("quantize_weights")
def quantize_weights(graph: Any, call: Call) -> Any:
    """(minimum_size=1024): constants of that many floats become bytes, from which a node makes floats."""
    least = call.integer("minimum_size", 1024)
    out: list[Any] = []
    for node in graph.node:
        value = _floats(node, least)
        if value is None:
            out.append(node)
            continue
        low, high = apart(min(value.min(), 0), max(value.max(), 0), half=True)
        names = [f"{node.name}_quantized_{what}" for what in ("const", "min", "max")]
        out += [
            constant(names[0], eight_bits(value, low, high), dtypes.quint8),
            constant(names[1], low, dtypes.float32),
            constant(names[2], high, dtypes.float32),
            made(node.name, "Dequantize", names, T=dtypes.quint8, mode="MIN_FIRST"),
        ]
    return graph_of(out)


def eight_bits(value: Any, low: float, high: float) -> Any:
    """The steps of 0 to 255 that are nearest to values in a range."""
    scale = 256 / ((high - low) * (256 / 255))
    steps = np.round(value.astype(np.float64) * scale) - np.round(low * scale)
    return np.clip(steps, 0, 255).astype(np.uint8)


def apart(low: Any, high: Any, half: bool = False) -> tuple[float, float]:
    """A range that is not empty."""
    low, high = float(low), float(high)
    if low != high:
        return low, high
    if abs(low) < 1e-6:
        return low, low + 1
    if low > 0:
        return low, 2 * low
    return (low, low / 2) if half else (2 * low, high)


@transform("round_weights")
def round_weights(graph: Any, call: Call) -> Any:
    """(num_steps=256): large constants have only so many different values, so that they compress well."""
    steps = call.integer("num_steps", 256)
    out = []
    for node in graph.node:
        value = _floats(node, _ROUNDED)
        if value is not None:
            low, high = map(np.float32, apart(value.min(), value.max()))
            width = np.float32((high - low) / np.float32(steps))
            # the largest value belongs to the last step, not to one of its own
            buckets = np.minimum(np.floor((value - low) / width), steps - 1)
            node = constant(node.name, low + width * (buckets + np.float32(0.5)), dtypes.float32)
        out.append(node)
    return graph_of(out)


def _floats(node: Any, least: int) -> Any:
    """The value of a constant of so many floats."""
    if node.op != "Const":
        return None
    value = value_of(node)
    is_large = value.dtype == np.float32 and value.size >= max(least, 1)
    return value if is_large else None
