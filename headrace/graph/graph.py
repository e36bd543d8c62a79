"""The graph that a user builds.  Nodes are only ever added; the few mutations that TF allows go
through `touch`, which counts them and so invalidates what sessions remember.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from headrace.core import origin
from headrace.core.dtypes import DType
from headrace.core.fields import reads
from headrace.core.modules import late
from headrace.core.shapes import Shape
from headrace.graph import defaults
from headrace.graph.collections import Collections
from headrace.graph.contexts import Contexts
from headrace.graph.node import Node
from headrace.graph.scopes import (
    VALID_NODE,
    Local,
    Stacks,
    ThreadStacks,
    control_inputs_for,
    device_of,
    rule_of,
)
from headrace.graph.tensor import Tensor
from headrace.version import GRAPH_DEF_VERSION, GRAPH_DEF_VERSION_MIN_CONSUMER

proto = late("headrace.formats.proto")


class Graph(Collections, Contexts):
    """A dataflow graph."""

    runs_at_once = False  # graph.eager_graph: its nodes have their values when they are made

    # Given by ops.graphdef.import_export, which knows the declarations.
    as_graph_def: Callable[..., Any]
    _as_graph_def: Callable[..., Any]
    node_to_proto: Callable[..., Any]
    attr_from_proto: Callable[..., Any]
    create_op: Callable[..., Any]

    def __init__(self) -> None:
        self._nodes: dict[str, Node] = {}
        self._ordered: list[Node] = []
        self._names_in_use: dict[str, int] = {}
        self._collections = {}
        self._own = Local()
        self._shared = Stacks()
        self._local: ThreadStacks | None = None
        self._attr_scopes: dict[str, Any] = {}
        self._gradient_overrides: dict[str, str] = {}
        self._kernel_labels: dict[str, str] = {}
        self._unfeedable: set[Tensor] = set()
        self._unfetchable: set[Node] = set()
        self._functions: dict[str, Any] = {}
        self._container = ""
        self._seed: int | None = None
        self._seed_used = False  # stood in for that of an op
        self._finalized = False
        self._mutations = 0
        self._scoped: dict[Any, Any] = {}  # objects that live as long as the graph
        self._producer_version = GRAPH_DEF_VERSION
        self._min_consumer_version = GRAPH_DEF_VERSION_MIN_CONSUMER
        self._bad_consumers: set[int] = set()
        self._lock = threading.RLock()

    # -- nodes -----------------------------------------------------------------------------
    def add_node(
        self,
        op: Any,
        name: str | None,
        inputs: Sequence[Tensor],
        input_types: Sequence[DType],
        attrs: dict[str, Any],
        outputs: Sequence[tuple[DType, Shape]],
        made: origin.Origin | None = None,
        waits_for: Sequence[Node] = (),
    ) -> Node:
        """Add a node under a unique form of `name`.  Types and shapes are the caller's work."""
        self._check_not_finalized()
        inputs = [t if t.graph is self else self.capture(t) for t in inputs]
        stacks, own = self._stacks, self._own
        for tensor in inputs:
            context = tensor.op._control_flow_context
            if context is not None and context is not own.context:
                context.check_use(tensor.op, op, (name or op.name).rstrip("/"), own.context)
        attrs = self._scoped_attrs(op, attrs)
        with self._lock:  # another thread may be reading or building, too
            sources = [t.op for t in inputs]
            control = list(waits_for)
            if own.controls:
                scoped = control_inputs_for(own.controls, sources)
                control += [n for n in scoped if n not in control]
            node = Node(
                self,
                op,
                self._node_name(name or op.name),
                inputs,
                input_types,
                control,
                attrs,
                outputs,
                made or origin.here(),
                len(self._ordered) + 1,
            )
            self._nodes[node.name] = node
            self._ordered.append(node)
            for source in sources:
                source.users[node] = None
            self._settle(node, stacks, own)
        return node

    def _scoped_attrs(self, op: Any, attrs: dict[str, Any]) -> dict[str, Any]:
        """The node's attributes, with those that scopes around it add."""
        override = self._gradient_overrides.get(op.name)
        if override is not None:
            attrs = attrs | {"_gradient_op_type": override}
        if op.name in self._kernel_labels:
            attrs = attrs | {"_kernel": self._kernel_labels[op.name]}
        if self._container and attrs.get("container") == "":
            attrs = attrs | {"container": self._container}
        return dict(self._attr_scopes) | attrs if self._attr_scopes else attrs

    def _settle(self, node: Node, stacks: Stacks, own: Local) -> None:
        """What scopes around a new node ask of it."""
        if own.context is not None:
            node._set_control_flow_context(own.context)
            own.context.AddOp(node)
        if stacks.colocation:
            self._colocate(node, stacks.colocation)
        if stacks.devices:
            device_of(node, stacks.devices)
        for control_block in own.controls:
            control_block.made.add(node)

    def _node_name(self, name: str) -> str:
        if isinstance(name, bytes):
            name = name.decode()
        if name.endswith("/"):
            name = name[:-1]  # a scope that is unique already
            if name in self._nodes:
                raise ValueError(f"Duplicate node name in graph: '{name}'")
            return name
        full = self.unique_name(name)
        if not VALID_NODE.match(full):
            raise ValueError(f"'{full}' is not a valid node name: {rule_of(VALID_NODE)}")
        return full

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a graph, its tensors and its sessions belong to one process and can not be pickled or "
            "copied: graph.as_graph_def() can, tf.train.Saver keeps the values of variables"
        )

    def capture(self, tensor: Tensor) -> Tensor:
        """A tensor of another graph; only the graph of a function can take it in."""
        raise ValueError(f"{tensor} must be from the same graph as {self}.\n  made  {tensor.op.origin}")

    def _colocate(self, node: Node, stack: Sequence[Node]) -> None:
        groups: set[str] = set()
        for other in stack:
            groups |= {g.decode() for g in other.colocation_groups()}
            if other.device:
                node._device = other.device
        node.attrs["_class"] = tuple(sorted(groups))

    def touch(self) -> None:
        """Something else than adding a node has changed: what sessions remember is no longer true."""
        self._mutations += 1

    def forget_since(self, version: int) -> None:
        """Take back the nodes added since `self.version` had this value: an import has failed."""
        for node in self._ordered[version:]:
            del self._nodes[node.name]
            self._names_in_use.pop(node.name.lower(), None)
            for source in node.inputs:
                source.op.users.pop(node, None)
        del self._ordered[version:]
        self.touch()

    @property
    def version(self) -> int:
        """The number of nodes so far, as in TF."""
        return len(self._ordered)

    _last_id = version

    @property
    def graph_def_versions(self) -> Any:
        return proto.VersionDef(
            producer=self._producer_version,
            min_consumer=self._min_consumer_version,
            bad_consumers=sorted(self._bad_consumers),
        )

    def finalize(self) -> None:
        self._finalized = True

    def _unsafe_unfinalize(self) -> None:
        self._finalized = False

    finalized: bool = reads("_finalized")

    def _check_not_finalized(self) -> None:
        if self._finalized:
            raise RuntimeError("Graph is finalized and cannot be modified.")

    @property
    def seed(self) -> int | None:
        return self._seed

    @seed.setter
    def seed(self, seed: int | None) -> None:
        self._seed = seed

    @property
    def building_function(self) -> bool:
        return False

    @property
    def _building_function(self) -> bool:
        return self.building_function

    def as_default(self) -> Any:
        return defaults.default_graph(self)

    def __enter__(self) -> Any:
        raise TypeError("use `with graph.as_default():`")

    def __exit__(self, *exc: Any) -> None:
        return None
