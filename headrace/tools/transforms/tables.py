"""Rows of a sparse column of weights, looked up in a table in place of a dense constant."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.core.errors import FailedPreconditionError
from headrace.formats.checkpoints.checkpoint import open_checkpoint
from headrace.tools.transforms.call import Call, transform
from headrace.tools.transforms.nodes import Nodes, constant, graph_of, made, value_of, without_unused

_WEIGHTS = "Const|Variable|VariableV2"
_PATTERNS = (("Gather", ("Identity", _WEIGHTS), "*"), ("GatherV2", ("Identity", _WEIGHTS), "*", "Const"))
_ZERO = 1e-5  # smaller weights are left out


@transform("sparsify_gather")
def sparsify_gather(graph: Any, call: Call) -> Any:
    """(input_checkpoint, group_init_node=group_deps): a Gather from weights of shape [N, 1] becomes the
    look-up in a table, which a node that is named here fills."""
    nodes = Nodes(graph.node)
    found = [m for pattern in _PATTERNS for m in nodes.matches(pattern)]
    tables: dict[str, list[Any]] = {}
    new: dict[str, list[Any]] = {}
    for gather, (_, (weights,)), *rest in found:
        if gather.op == "GatherV2" and int(value_of(rest[-1][0])) != 0:
            raise _unfit("GatherV2 over axis 0", f"axis {int(value_of(rest[-1][0]))}")
        if weights.name not in tables:
            tables[weights.name] = _table(weights.name, _value(weights, call))
        new[gather.name] = _look_up(gather, weights.name)
    if not new:
        return graph_of(nodes)
    group = call.one("group_init_node", "group_deps")
    out = [n for node in nodes for n in new.get(node.name, [node])]
    out += [node for table in tables.values() for node in table]
    if not any(node.name == group for node in out):
        out.append(made(group, "NoOp", []))
    for node in out:
        if node.name == group:
            node.input.extend(f"^{name}/InitializeTable" for name in tables)
    return without_unused(nodes, out, [group, *call.inputs, *call.outputs])


def _unfit(wanted: str, found: str) -> FailedPreconditionError:
    return FailedPreconditionError(
        None, None, f"Transform only applicable to subgraph with {wanted}. Found {found}."
    )


def _value(weights: Any, call: Call) -> Any:
    if weights.op == "Const":
        value = value_of(weights)
    else:
        with open_checkpoint(call.one("input_checkpoint")) as reader:
            value = reader.read(weights.name)
    if value.dtype != np.float32 or value.ndim != 2 or value.shape[1] != 1:
        raise _unfit("floats of shape [N, 1]", f"{value.dtype} {list(value.shape)}")
    return value


def _table(name: str, value: Any) -> list[Any]:
    """The rows that are not zero: keys, values, the table, and what fills it."""
    rows = np.flatnonzero(np.abs(value[:, 0]) >= _ZERO)
    if not rows.size:
        rows = np.zeros(1, np.int64)  # a table needs something to be filled with
    kinds = {"Tkey": dtypes.int64, "Tval": dtypes.float32}
    types = {"key_dtype": dtypes.int64, "value_dtype": dtypes.float32}
    inputs = [f"{name}/HashTable", f"{name}/indices", f"{name}/values"]
    return [
        made(inputs[0], "HashTable", [], **types),
        constant(inputs[1], rows, dtypes.int64),
        constant(inputs[2], value[rows, 0], dtypes.float32),
        made(f"{name}/InitializeTable", "InitializeTable", inputs, **kinds),
    ]


def _look_up(gather: Any, weights: str) -> list[Any]:
    name = gather.name
    inputs = [f"{weights}/HashTable", gather.input[1], f"{name}/Const"]
    kinds = {"Tin": dtypes.int64, "Tout": dtypes.float32}
    return [
        constant(inputs[2], 0.0, dtypes.float32),
        constant(f"{name}/ExpandDims/Const", -1, dtypes.int32),
        made(f"{name}/LookupTableFind", "LookupTableFind", inputs, **kinds),
        made(name, "ExpandDims", [f"{name}/LookupTableFind", f"{name}/ExpandDims/Const"], T=dtypes.float32),
    ]
