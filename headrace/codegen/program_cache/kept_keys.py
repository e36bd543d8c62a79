"""The names of programs on disk: one hash of everything that decides what a program is.

In: a region, and the shapes and values that it meets.  Out: a key, or None where something has no
written form.  What a node is follows from its op, its attributes and edges, and from this package's
sources; how it is done from the processor, its threads and the libraries.
"""

from __future__ import annotations

import hashlib
import os
import sys
from functools import partial
from typing import Any

import numpy as np

from headrace.codegen.machine import threads
from headrace.codegen.machine.target import host
from headrace.codegen.onednn import onednn_api
from headrace.codegen.regions.regions import Key, Region
from headrace.core import options, sources
from headrace.core.dtypes import DType, NDArray
from headrace.core.shapes import Shape
from headrace.graph.attrs import Literal
from headrace.ops.declaration.declare import Op
from headrace.plan.plan import Edge, Plan, PlanNode
from headrace.plan.units import Branch, Loop
from headrace.version import __version__

MOST_CONSTANTS = 32 << 20  # bytes: more would take longer to hash and to write than it saves
Json = Any  # what is written to a file, and read: nothing is known of it until it is checked
_PLAIN = frozenset({int, float, bool, str, bytes, type(None)})
Sizes = tuple[tuple[int, ...], ...]


class _NoKey(Exception):
    """Something that decides has no written form."""


def key_of(
    plan: Plan,
    region: Region,
    keys: dict[Edge, Key],
    shapes: Sizes,
    held: dict[Key, tuple[tuple[int, ...], DType]],
    values: dict[int, NDArray],
) -> str | None:
    """The key of the program for these shapes and variables, with these values of inputs."""
    around = surroundings()
    if around is None:
        return None
    inside = {n.name for n in region.nodes}
    edges = dict.fromkeys(e for n in region.nodes for e in n.inputs)
    writer = _Writer()
    try:
        found = (
            around,
            [writer.node(n) for n in region.nodes],
            [(*e, plan.dtype(e).name) for e in edges if e.node not in inside],
            [(*e, writer.plain(keys.get(e))) for e in (*edges, *region.outputs) if e in keys],
            [[tuple(e) for e in group] for group in (region.inputs, region.outputs, region.kept)],
            writer.plain(tuple(region.variables)),
            shapes[: len(region.inputs)],
            [(writer.plain(key), shape, dtype.name) for key, (shape, dtype) in held.items()],
            [(place, writer.array(np.asarray(value))) for place, value in values.items()],
        )
    except _NoKey:
        return None
    return hashlib.sha256(repr(found).encode()).hexdigest()[:40]


def surroundings() -> tuple[object, ...] | None:
    """What decides besides the region; None where that is not known."""
    sources_hash = sources.digest()
    if sources_hash is None:
        return None
    settings = sorted((k, v) for k, v in os.environ.items() if k.startswith(("ONEDNN_", "DNNL_")))
    return (
        __version__,
        sources_hash,
        host().key,
        sys.version,
        np.__version__,
        threads.count(),
        threads.libgomp() is not None,
        sorted(options.without()),
        onednn_api.identity(),
        settings,
    )


class _Writer:
    """Nodes and attributes as plain values, whose text says everything."""

    def __init__(self) -> None:
        self.room = MOST_CONSTANTS

    def node(self, node: PlanNode) -> tuple[object, ...]:
        """Control edges are left out: they decide the order, which is that of the nodes."""
        if not _is_ours(node.op):
            raise _NoKey
        return (
            node.name,
            node.op.name,
            [tuple(e) for e in node.inputs],
            [(name, self.plain(value)) for name, value in node.attrs.items()],
            [(o.dtype.name, o.shape._sizes) for o in node.outputs],
            [t.name for t in node.input_types],
        )

    def plan(self, plan: Plan) -> tuple[object, ...]:
        nodes = [self.node(n) for n in plan.nodes.values()]
        return nodes, plan.feeds, [tuple(e) for e in plan.fetches], plan.targets

    def plain(self, value: Any) -> object:  # an attribute, of whatever type
        """A value as numbers, strings and tuples that say all of it; `_NoKey` for anything that is
        not known to."""
        kind = type(value)
        if kind in _PLAIN:
            return value
        if kind is tuple or kind is Edge:
            return tuple(map(self.plain, value))
        if kind is DType:
            return "type", value.name
        if kind is Shape:
            return "shape", value._sizes
        if kind is Literal:
            return value.dtype.name, self.array(np.asarray(value.array))
        if kind is Loop:
            return self.plan(value.condition), self.plan(value.body), value.carried
        if kind is Branch:
            return [self.plan(side) for side in value.sides], value.gives
        raise _NoKey

    def array(self, value: NDArray) -> tuple[object, ...]:
        self.room -= value.nbytes
        if value.dtype.hasobject or self.room < 0:
            raise _NoKey
        data = np.ascontiguousarray(value).reshape(-1).view(np.uint8)
        return value.shape, value.dtype.str, hashlib.sha256(data.data).hexdigest()


def _is_ours(op: Op) -> bool:
    """Whether all rules of the op are in this package, of whose sources the key knows."""
    rules = (op.reference, op.shape_rule, op.lower_rule, *op.library_rules.values())
    return all(rule is None or _module(rule).startswith("headrace.") for rule in rules)


def _module(rule: object) -> str:
    while isinstance(rule, partial):
        rule = rule.func
    return getattr(rule, "__module__", None) or ""
