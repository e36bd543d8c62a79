"""The work of `import_graph_def`: the nodes of a GraphDef become nodes of a graph.

A GraphDef is data from outside: names, edges, attributes and versions are checked here, and a
graph that is refused leaves no nodes behind.  Nodes are made when their inputs exist; only the back
edges of loops (NextIteration -> Merge) are put in afterwards.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterable, Sequence
from typing import Any

from headrace.core import origin
from headrace.core.dtypes import DType
from headrace.core.errors import InvalidArgumentError
from headrace.core.modules import late
from headrace.core.records import record
from headrace.core.shapes import SCALAR, UNKNOWN, Shape
from headrace.formats import proto
from headrace.graph.graph import Graph
from headrace.graph.node import Node
from headrace.graph.scopes import device_of
from headrace.graph.tensor import Tensor
from headrace.ops.declaration.building.build import make_node
from headrace.ops.declaration.declare import Op
from headrace.ops.declaration.messages import node_def
from headrace.ops.graphdef.import_export import check_edge, find_op
from headrace.version import GRAPH_DEF_VERSION, GRAPH_DEF_VERSION_MIN_PRODUCER, TF_VERSION

function_library = late("headrace.ops.graphdef.function_library")

CONTROL = -1  # the index of a control edge
_VALID = re.compile(r"^[A-Za-z0-9.][A-Za-z0-9_.\-/]*(>[A-Za-z0-9.][A-Za-z0-9_.\-/]*)*$")
_INTERNAL = re.compile(r"^[A-Za-z0-9_.][A-Za-z0-9_.\-/>]*$")
_INDEX = re.compile(r"^(.*):(0|[1-9][0-9]*)$", re.DOTALL)
_NEXT, _MERGE = ("NextIteration", "RefNextIteration"), ("Merge", "RefMerge")
# Ops whose shape rule once was wrong: an old graph's note of their shape is ignored if it differs.
_FORGIVEN = frozenset(
    "RandomShuffleQueue PaddingFIFOQueue FIFOQueue PriorityQueue QueueSize Stack Barrier "
    "BarrierReadySize BarrierIncompleteSize HashTable MutableHashTable MutableHashTableOfTensors "
    "Mutex CuckooTable IndexTable WholeFileReader TextLineReader FixedLengthRecordReader "
    "TFRecordReader IdentityReader RefSwitch RefEnter RefNextIteration RefMerge RefIdentity "
    "LMDBReader ConditionalAccumulator SparseConditionalAccumulator Table".split()
)


@record
class Source:
    """Where an input comes from: a node of the GraphDef, or (`mapped`) a tensor or node of ours."""

    name: str
    index: int
    mapped: Any = None


# -- checks -------------------------------------------------------------------------------------
def check_versions(versions: Any) -> None:
    """Refuse a graph that is too old, too new, or says that it does not work here."""
    if versions.producer < GRAPH_DEF_VERSION_MIN_PRODUCER:
        raise _refused(
            f"GraphDef producer version {versions.producer} below min producer "
            f"{GRAPH_DEF_VERSION_MIN_PRODUCER} supported by TensorFlow {TF_VERSION}.  Please "
            "regenerate your graph."
        )
    if versions.min_consumer > GRAPH_DEF_VERSION:
        raise _refused(
            f"GraphDef min consumer version {versions.min_consumer} above current version "
            f"{GRAPH_DEF_VERSION} for TensorFlow {TF_VERSION}.  Please upgrade TensorFlow."
        )
    if GRAPH_DEF_VERSION in versions.bad_consumers:
        raise _refused(
            f"GraphDef disallows consumer version {GRAPH_DEF_VERSION}.  Please upgrade TensorFlow: "
            "this version is likely buggy."
        )


def _refused(message: str) -> InvalidArgumentError:
    return InvalidArgumentError(None, None, message)


def _prefixes(names: Iterable[str]) -> set[str]:
    """Every scope that a name stands in: "a" and "a/b" of "a/b/c"."""
    found: set[str] = set()
    for name in names:
        while (end := name.rfind("/")) >= 0:
            name = name[:end]
            if name in found:
                break
            found.add(name)
    return found


def source(text: str) -> tuple[str, int]:
    """("a", 1) of "a:1", ("a", 0) of "a", ("a", CONTROL) of "^a"."""
    if text.startswith("^"):
        return text[1:], CONTROL
    if ":" not in text:
        return text, 0
    match = _INDEX.match(text)
    return (match.group(1), int(match.group(2))) if match else (text, 0)


def tensor_name(name: str) -> tuple[str, int]:
    """("a", 1) of "a:1"; for what a caller asks, not for what the graph says."""
    node, colon, index = name.partition(":")
    if not colon:
        return node, 0
    if not index.lstrip("-").isdigit():
        raise ValueError(f"Cannot convert {name!r} to a tensor name.")
    return node, int(index)


# -- the work -----------------------------------------------------------------------------------
class Import:
    """One import.  `run` does it; whatever fails before its end is undone.  `is_internal`: names of the
    system's own nodes, which begin with an underscore, are welcome."""

    def __init__(
        self, graph: Graph, graph_def: Any, mapping: dict[Any, Any], scope: str, is_internal: bool = False
    ) -> None:
        self.is_internal, self.valid = is_internal, _INTERNAL if is_internal else _VALID
        self.graph, self.message, self.mapping, self.scope = graph, graph_def, mapping, scope
        self.defs: list[Any] = list(graph_def.node)
        self.places: dict[str, int] = {}
        self.sources: list[list[Source]] = []
        self.made: list[Node | None] = [None] * len(self.defs)
        self.renamed: dict[str, str] = {}
        self.back_edges: list[tuple[Node, int, DType, Source]] = []
        self.used_keys: set[tuple[str, int]] = set()
        self.unknown_keys: list[str] = []
        self.origin = origin.here()
        self.scopes = _prefixes(list(graph._nodes))  # other threads may be building
        self.ops: dict[str, Op] = {}

    def run(self, wanted: list[str] | None) -> list[Any] | None:
        check_versions(self.message.versions)
        self._index_nodes()
        self._read_edges()
        graph = self.graph
        with graph._lock:
            before = graph.version
            self.ours = set(self.places) | _prefixes(self.places)
            added = self._add_library()
            versions = graph.graph_def_versions
            self._merge_versions(self.message.versions)  # shape rules may ask for it
            try:
                with graph.no_devices():
                    for place in self._order():
                        self._make(place)
                    self._close_loops()
                found = None if wanted is None else [self._find(name) for name in wanted]
                self._update_groups()
                self._set_devices()
            except BaseException:  # whatever it was, nothing of the message stays
                graph.forget_since(before)
                graph._producer_version = versions.producer
                graph._min_consumer_version = versions.min_consumer
                graph._bad_consumers = set(versions.bad_consumers)
                for name in added:
                    del graph._functions[name]
                raise
        self._note_unknown_keys()
        return found

    def _index_nodes(self) -> None:
        if self.scope and not _VALID.match(self.scope[:-1]):
            raise _refused(f"Imported node name prefix '{self.scope}' would lead to invalid node names")
        for place, node in enumerate(self.defs):
            name = node.name
            if not self.valid.match(name):
                raise _refused(f"Node '{name}': Node name contains invalid characters")
            if self.places.setdefault(name, place) != place:
                raise _refused(f"Node '{name}' is not unique")
            if not node.op:
                raise _refused(f"Node '{name}' does not specify an operation")

    def _read_edges(self) -> None:
        for node in self.defs:
            control_seen = False
            found: list[Source] = []
            for text in node.input:
                if text.startswith("^"):
                    control_seen = True
                elif control_seen:
                    raise _refused(
                        f"Node '{node.name}': Control dependencies must come after regular dependencies"
                    )
                key = source(text)
                mapped = self.mapping.get(key)
                if mapped is not None:
                    self.used_keys.add(key)
                elif key[0] not in self.places:
                    raise _refused(f"Node '{node.name}': Unknown input node '{text}'")
                found.append(Source(*key, mapped))
            self.sources.append(found)

    def _order(self) -> Iterable[int]:
        """Places of nodes, inputs first; where that leaves a choice, in the message's order."""
        users: list[list[int]] = [[] for _ in self.defs]
        waiting: list[int] = []
        for place, sources in enumerate(self.sources):
            may_loop = self.defs[place].op in _MERGE
            inputs = {
                self.places[s.name]
                for s in sources
                if s.mapped is None and not (may_loop and self._is_back_edge(s))
            }
            waiting.append(len(inputs))
            for i in inputs:
                users[i].append(place)
        ready = [place for place, count in enumerate(waiting) if not count]
        processed = 0
        while ready:
            place = heapq.heappop(ready)
            processed += 1
            yield place
            for user in users[place]:
                waiting[user] -= 1
                if not waiting[user]:
                    heapq.heappush(ready, user)
        if processed < len(self.defs):
            raise _refused(f"{len(self.defs) - processed} nodes in a cycle")

    def _is_back_edge(self, source: Source) -> bool:
        return source.index != CONTROL and self.defs[self.places[source.name]].op in _NEXT

    def _op(self, name: str) -> Op:
        if name not in self.ops:
            op = find_op(self.graph, name)
            node_def.check_deprecation(op, self.message.versions.producer)
            self.ops[name] = op
        return self.ops[name]

    def _make(self, place: int) -> None:
        message = self.defs[place]
        self._check_groups(message)
        data, control = self._inputs(place)
        op = self._op(message.op)
        name = self._unique(message.name)
        attrs = node_def.attributes(op, message.attr, name)
        types = node_def.input_types(op, attrs)
        node_def.check_inputs(op, types, len(data), name)
        pending = [i for i, t in enumerate(data) if t is None]
        for i, (tensor, wanted) in enumerate(zip(data, types)):
            if tensor is not None:
                check_edge(name, i, wanted, tensor)
        shapes = attrs.pop("_output_shapes", None)
        if "_class" in attrs:
            attrs["_class"] = tuple(self._group(g) for g in attrs["_class"])
        if pending:
            node = self._open_merge(op, name, data, types, attrs, control)
            self.back_edges += [(node, i, types[i], self.sources[place][i]) for i in pending]
        else:
            node = make_node(self.graph, op, data, types, attrs, name + "/", self.origin, control)
        if shapes is not None:
            _override_shapes(node, shapes)
        self.graph._names_in_use.setdefault(name.lower(), 1)
        self.made[place] = node

    def _inputs(self, place: int) -> tuple[list[Any], list[Node]]:
        """Tensors (None where a loop closes later) and nodes to wait for."""
        data: list[Any] = []
        control: list[Node] = []
        for source in self.sources[place]:
            name, index, mapped = source.name, source.index, source.mapped
            if index == CONTROL:
                node = mapped if mapped is not None else self.made[self.places[name]]
                if node is not None and node not in control:
                    control.append(node)
            elif mapped is not None:
                data.append(mapped)
            else:
                made = self.made[self.places[name]]
                data.append(None if made is None else self._output(place, made, name, index))
        return data, control

    def _output(self, place: int, source: Node, name: str, index: int) -> Tensor:
        if index >= len(source.outputs):
            raise _refused(
                f"Node '{self.defs[place].name}': Connecting to invalid output {index} of source "
                f"node {name} which has {len(source.outputs)} outputs."
            )
        return source.outputs[index]

    def _open_merge(
        self,
        op: Op,
        name: str,
        data: list[Any],
        types: Sequence[DType],
        attrs: dict[str, Any],
        control: list[Node],
    ) -> Node:
        """A Merge whose back edges do not exist yet: another input stands in for them."""
        given = next((t for t in data if t is not None), None)
        if given is None:
            raise _refused(f"Node '{name}' has only back edges as inputs")
        outputs = list(zip(node_def.output_types(op, attrs), (UNKNOWN, SCALAR)))
        inputs = [given if t is None else t for t in data]
        return self.graph.add_node(op, name + "/", inputs, types, attrs, outputs, self.origin, control)

    def _close_loops(self) -> None:
        for node, index, wanted, source in self.back_edges:
            origin_node = self.made[self.places[source.name]]
            assert origin_node is not None
            if source.index >= len(origin_node.outputs):
                raise _refused(
                    f"Output {source.index} of node {origin_node.name} does not exist. Node only "
                    f"has {len(origin_node.outputs)} outputs."
                )
            tensor = origin_node.outputs[source.index]
            check_edge(node.name, index, wanted, tensor)
            node._update_input(index, tensor)

    # -- names, groups, devices --------------------------------------------------------------
    def _unique(self, name: str) -> str:
        full = self.scope + name
        if not self._taken(full):
            return full
        count = 1
        while self._taken(f"{full}_{count}") or f"{name}_{count}" in self.ours:
            count += 1
        self.renamed[full] = f"{full}_{count}"
        return f"{full}_{count}"

    def _taken(self, name: str) -> bool:
        return name in self.graph._nodes or name in self.scopes

    def _group(self, group: Any) -> Any:
        return f"loc:@{self.scope}{group[5:]}" if str(group).startswith("loc:@") else group

    def _groups(self, message: Any) -> list[str]:
        """What is in the attribute `_class`: a list of texts."""
        value = message.attr["_class"]
        texts = list(value.list.s)
        try:
            if value.list == proto.AttrValue.ListValue(s=texts) and value.WhichOneof("value") == "list":
                return [text.decode() for text in texts]
        except UnicodeDecodeError:
            pass
        raise _refused(f"Node '{message.name}': attr '_class' should be a list of strings")

    def _check_groups(self, message: Any) -> None:
        if "_class" not in message.attr:
            return
        for group in self._groups(message):
            if group.startswith("loc:@") and group[5:] not in self.places and not self._is_known(group[5:]):
                raise _refused(
                    f"Node '{message.name}' expects to be colocated with unknown node '{group[5:]}'"
                )

    def _is_known(self, name: str) -> bool:
        """A node of the graph that is extended; a plain import names its own nodes alone."""
        return self.is_internal and name in self.graph._nodes

    def _update_groups(self) -> None:
        """Groups name nodes, and nodes may have got other names."""
        if not self.renamed:
            return
        for node in self.made:
            if node is not None and "_class" in node.attrs:
                node.attrs["_class"] = tuple(
                    "loc:@" + self.renamed.get(g[5:], g[5:]) if g.startswith("loc:@") else g
                    for g in node.attrs["_class"]
                )

    def _set_devices(self) -> None:
        """Ask the device scopes; a node that is colocated with another lives where that does."""
        colocated: list[tuple[Node, list[str]]] = []
        scopes = self.graph._stacks.devices
        for node, message in zip(self.made, self.defs):
            assert node is not None
            others = [
                g[5:] for g in node.attrs.get("_class", ()) if g.startswith("loc:@") and g[5:] != node.name
            ]
            if others:
                colocated.append((node, others))
            elif message.device or scopes:
                device_of(node, [*scopes, message.device] if message.device else scopes)
        for node, others in colocated:
            node._device = next((d for d in (self.graph._nodes[o].device for o in others) if d), node._device)

    # -- the rest ----------------------------------------------------------------------------
    def _add_library(self) -> list[str]:
        if not self.message.library.function:
            return []

        return function_library.add_library(self.graph, self.message.library)

    def _merge_versions(self, versions: Any) -> None:
        graph = self.graph
        graph._producer_version = min(graph._producer_version, versions.producer)
        graph._min_consumer_version = max(graph._min_consumer_version, versions.min_consumer)
        graph._bad_consumers |= set(versions.bad_consumers)

    def _find(self, name: str) -> Any:
        if ":" not in name:
            if name not in self.places:
                raise _refused(f"Requested return node '{name}' not found in graph def")
            return self.made[self.places[name]]
        node_name, index = tensor_name(name)
        mapped = self.mapping.get((node_name, index))
        if mapped is not None:
            return mapped
        if node_name not in self.places:
            raise _refused(f"Requested return tensor '{name}' not found in graph def")
        node = self.made[self.places[node_name]]
        assert node is not None
        if not 0 <= index < len(node.outputs):
            raise _refused(
                f"Invalid return output {index} of node '{node_name}', which has "
                f"{len(node.outputs)} output(s)"
            )
        return node.outputs[index]

    def _note_unknown_keys(self) -> None:
        for name, index in self.mapping:
            if (name, index) in self.used_keys:
                continue
            node = self.made[self.places[name]] if name in self.places else None
            if node is None or index >= len(node.outputs):
                self.unknown_keys.append(f"^{name}" if index == CONTROL else f"{name}:{index}")


def _override_shapes(node: Node, shapes: Sequence[Shape]) -> None:
    """What the producer knew of the shapes adds to what we infer."""
    if len(shapes) < len(node.outputs):
        raise _refused(
            f"Node '{node.name}' has {len(node.outputs)} outputs but the _output_shapes attribute "
            f"specifies shapes for {len(shapes)} outputs"
        )
    for i, (tensor, shape) in enumerate(zip(node.outputs, shapes)):
        try:
            tensor._shape = tensor._shape.merge_with(shape)
        except ValueError as error:
            if node.type not in _FORGIVEN:
                raise _refused(
                    f"Node '{node.name}' has an _output_shapes attribute inconsistent with the "
                    f"GraphDef for output #{i}: {error}"
                ) from None
