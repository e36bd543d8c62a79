"""slim.model_analyzer: how large a graph's tensors and variables are."""

from __future__ import annotations

from typing import Any


def tensor_description(var: Any) -> str:
    """Type and shape of a tensor or variable: (float32 3x4)."""
    return f"({var.dtype.name} {'x'.join(str(size) for size in var.get_shape())})"


def analyze_ops(graph: Any, print_info: bool = False) -> int:
    """How many elements all outputs of a graph have, as far as sizes are known; printed by node."""
    if print_info:
        print("---------\nOperations: name -> (type shapes) [size]\n---------")
    total = 0
    for node in graph.get_operations():
        size = sum(output.shape.num_elements() or 0 for output in node.outputs)
        if print_info:
            shapes = ", ".join(tensor_description(x) for x in node.outputs if x.shape)
            print(node.name, "\t->", shapes, f"[{size}]")
        total += size
    return total


def analyze_vars(variables: Any, print_info: bool = False) -> tuple[int, int]:
    """(elements, bytes) of variables; printed one by one."""
    if print_info:
        print("---------\nVariables: name (type shape) [size]\n---------")
    elements = size = 0
    for var in variables:
        count = var.get_shape().num_elements() or 0
        taken = count * var.dtype.size
        elements, size = elements + count, size + taken
        if print_info:
            print(var.name, tensor_description(var), f"[{count}, bytes: {taken}]")
    if print_info:
        print(f"Total size of variables: {elements}\nTotal bytes of variables: {size}")
    return elements, size
