"""Ops of later TensorFlows in the words of 1.15's: the same computation, other nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.ops.graphdef.later_datasets import DATASETS


def _case(node: Any, nodes: Any, in_function: bool) -> None:
    """A conditional of branches without state."""
    node.op = "Case"


def _batch_matmul(node: Any, nodes: Any, in_function: bool) -> None:
    """A product whose operands and result may have different types; here they have one."""
    types = {node.attr[key].type for key in ("Ta", "Tb", "Tout")}
    if len(types) > 1:
        return
    node.op = "BatchMatMulV2"
    node.attr["T"].type = types.pop()
    for key in ("Ta", "Tb", "Tout"):
        del node.attr[key]


def _parse_example(node: Any, nodes: Any, in_function: bool) -> None:
    """The keys come as two vectors; ParseExample takes them one by one.

    Ragged features, and a single Example in place of a batch, have no counterpart."""
    if node.attr["ragged_value_types"].list.type:
        return
    counts = node.attr["num_sparse"].i, len(node.attr["Tdense"].list.type)
    serialized, names, *keys, _ = node.input[:5]
    rest = list(node.input[5:])
    inputs = [serialized, names]
    for key, count, title in zip(keys, counts, ("sparse_keys", "dense_keys")):
        inputs += _unpacked(node, nodes, key, count, title, in_function)
    node.op = "ParseExample"
    node.input[:] = [*inputs, *rest]
    node.attr["Nsparse"].i, node.attr["Ndense"].i = counts
    for key in ("num_sparse", "ragged_value_types", "ragged_split_types"):
        node.attr.pop(key, None)


def _unpacked(node: Any, nodes: Any, key: str, count: int, title: str, in_function: bool) -> list[str]:
    """The elements of a vector of strings."""
    if not count:
        return []
    new = nodes.add(name=f"{node.name}/{title}_one_by_one", op="Unpack", device=node.device)
    new.input.append(key)
    new.attr["T"].type = _STRING
    new.attr["num"].i = count
    middle = ":output" if in_function else ""
    return [f"{new.name}{middle}:{i}" for i in range(count)]


_STRING = 7  # DT_STRING
_REWRITES: dict[str, Callable[[Any, Any, bool], None]] = {
    "StatelessCase": _case,
    "BatchMatMulV3": _batch_matmul,
    "ParseExampleV2": _parse_example,
    **DATASETS,
}


def rewrite(node: Any, nodes: Any, in_function: bool) -> None:
    """Change a node in place, if its op is one of these; it may add others to `nodes`."""
    change = _REWRITES.get(node.op)
    if change is not None:
        change(node, nodes, in_function)
