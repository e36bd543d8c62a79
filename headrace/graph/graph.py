"""The graph that a user builds.  Nodes are only ever added; the few mutations that TF allows go
through `touch`, which counts them and so invalidates what sessions remember.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from headrace.core import device_name, origin
from headrace.core.dtypes import DType
from headrace.core.shapes import Shape
from headrace.graph import defaults
from headrace.graph.collections import Collections
from headrace.graph.node import Node
from headrace.graph.scopes import (
    VALID_NODE,
    VALID_SCOPE,
    Control,
    Local,
    Stacks,
    ThreadStacks,
    control_inputs_for,
    device_of,
    pushed,
    replaced,
)
from headrace.graph.tensor import Tensor
from headrace.version import (
    GRAPH_DEF_VERSION,
    GRAPH_DEF_VERSION_MIN_CONSUMER,
)


class Graph(Collections):
    """A dataflow graph."""

    # Given by ops.import_export, which knows the declarations.
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
                context.check_use(tensor.op, op.name, (name or op.name).rstrip("/"), own.context)
        attrs = self._scoped_attrs(op, attrs)
        with self._lock:  # another thread may be reading or building, too
            sources = [t.op for t in inputs]
            control = list(waits_for)
            if own.controls:
                scoped = control_inputs_for(own.controls, sources)
                control += [n for n in scoped if n not in control]
            node = Node(
                self, op, self._node_name(name or op.name), inputs, input_types, control, attrs,
                outputs, made or origin.here(), len(self._ordered) + 1,
            )  # fmt: skip
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
            node._control_flow_context = own.context
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
            raise ValueError(f"'{full}' is not a valid node name")
        return full

    def capture(self, tensor: Tensor) -> Tensor:
        """A tensor of another graph; only the graph of a function can take it in."""
        raise ValueError(f"{tensor} must be from the same graph as {self}.")

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
        from headrace.formats import proto

        return proto.VersionDef(
            producer=self._producer_version,
            min_consumer=self._min_consumer_version,
            bad_consumers=sorted(self._bad_consumers),
        )

    def finalize(self) -> None:
        self._finalized = True

    def _unsafe_unfinalize(self) -> None:
        self._finalized = False

    @property
    def finalized(self) -> bool:
        return self._finalized

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

    # -- look-up ---------------------------------------------------------------------------
    def get_operations(self) -> list[Node]:
        return list(self._ordered)

    def get_operation_by_name(self, name: str) -> Node:
        if not isinstance(name, str):
            raise TypeError(f"Operation names are strings (or similar), not {type(name).__name__}.")
        found: Node = self.as_graph_element(name, allow_tensor=False)
        return found

    def get_tensor_by_name(self, name: str) -> Tensor:
        if not isinstance(name, str):
            raise TypeError(f"Tensor names are strings (or similar), not {type(name).__name__}.")
        found: Tensor = self.as_graph_element(name, allow_operation=False)
        return found

    def as_graph_element(
        self, obj: Any, allow_tensor: bool = True, allow_operation: bool = True
    ) -> Any:
        """The Tensor or Node that an object or a name ("a/b", "a/b:0") stands for."""
        if isinstance(obj, bytes):
            obj = obj.decode()
        kinds = [k for k, ok in (("Tensor", allow_tensor), ("Operation", allow_operation)) if ok]
        wanted = " or ".join(kinds)
        if not kinds:
            raise ValueError("allow_tensor and allow_operation can't both be False.")
        convert = getattr(obj, "_as_graph_element", None)
        if convert is not None:
            element = convert()
            obj = obj if element is None else element
        if isinstance(obj, str):
            return self._element_by_name(obj, allow_tensor, allow_operation)
        if (isinstance(obj, Tensor) and allow_tensor) or (
            isinstance(obj, Node) and allow_operation
        ):
            if obj.graph is not self:
                raise ValueError(f"{type(obj).__name__} {obj} is not an element of this graph.")
            return obj
        raise TypeError(f"Can not convert a {type(obj).__name__} into a {wanted}.")

    def _element_by_name(self, name: str, allow_tensor: bool, allow_operation: bool) -> Any:
        if ":" in name:
            if not allow_tensor:
                raise ValueError(f"Name {name!r} appears to refer to a Tensor, not a Operation.")
            node_name, _, index = name.rpartition(":")
            if not index.isdigit() or ":" in node_name:
                raise ValueError(
                    f"The name {name!r} looks a like a Tensor name, but is not a valid one. Tensor "
                    'names must be of the form "<op_name>:<output_index>".'
                )
            node = self._nodes.get(node_name)
            if node is None:
                raise KeyError(
                    f"The name {name!r} refers to a Tensor which does not exist. The operation, "
                    f"{node_name!r}, does not exist in the graph."
                )
            if int(index) >= len(node.outputs):
                raise KeyError(
                    f"The name {name!r} refers to a Tensor which does not exist. The operation, "
                    f"{node_name!r}, exists but only has {len(node.outputs)} outputs."
                )
            return node.outputs[int(index)]
        if not allow_operation:
            if name in self._nodes:
                raise ValueError(
                    f"The name {name!r} refers to an Operation, not a Tensor. Tensor names must be "
                    'of the form "<op_name>:<output_index>".'
                )
            raise ValueError(
                f"The name {name!r} looks like an (invalid) Operation name, not a Tensor. Tensor "
                'names must be of the form "<op_name>:<output_index>".'
            )
        node = self._nodes.get(name)
        if node is None:
            raise KeyError(f"The name {name!r} refers to an Operation not in the graph.")
        return node

    def is_feedable(self, tensor: Tensor) -> bool:
        return tensor not in self._unfeedable

    def prevent_feeding(self, tensor: Tensor) -> None:
        self._unfeedable.add(tensor)

    def is_fetchable(self, tensor_or_op: Any) -> bool:
        node = tensor_or_op.op if isinstance(tensor_or_op, Tensor) else tensor_or_op
        return node not in self._unfetchable

    def prevent_fetching(self, op: Node) -> None:
        self._unfetchable.add(op)

    # -- names -----------------------------------------------------------------------------
    def unique_name(self, name: str, mark_as_used: bool = True) -> str:
        """`name` in the current scope, with _1, _2, ... where it is taken.  Case does not count."""
        if self._own.scope:
            name = f"{self._own.scope}/{name}"
        key = name.lower()
        used = self._names_in_use
        count = used.get(key, 0)
        if mark_as_used:
            used[key] = count + 1
        if count:
            base = key
            while key in used:
                key = f"{base}_{count}"
                count += 1
            if mark_as_used:
                used[key] = 1
            name = f"{name}_{count - 1}"
        return name

    @property
    def _name_stack(self) -> str:
        return self._own.scope

    @_name_stack.setter
    def _name_stack(self, scope: str) -> None:
        self._own.scope = scope

    @contextmanager
    def name_scope(self, name: str | None) -> Iterator[str]:
        """Names made inside begin with `name`.  A trailing "/" re-enters an existing scope."""
        if name:
            if not isinstance(name, str):
                raise TypeError(f"name for name_scope must be a string, not {name!r}.")
            pattern = VALID_SCOPE if self._own.scope else VALID_NODE
            if not pattern.match(name):
                raise ValueError(f"'{name}' is not a valid scope name")
        old = self._own.scope
        if not name:
            new = ""
        elif name.endswith("/"):
            new = name[:-1]
        else:
            new = self.unique_name(name)
        self._own.scope = new
        try:
            yield new + "/" if new else ""
        finally:
            self._own.scope = old

    def get_name_scope(self) -> str:
        return self._own.scope

    # -- other scopes ----------------------------------------------------------------------
    @property
    def _stacks(self) -> Stacks:
        return self._shared if self._local is None else self._local.stacks

    def switch_to_thread_local(self) -> None:
        if self._local is None:
            self._local = ThreadStacks(self._shared)

    def as_default(self) -> Any:
        return defaults.default_graph(self)

    def device(self, device_name_or_function: Any) -> Any:
        """Nodes made inside go to this device, as far as inner scopes leave it open."""
        scope = device_name_or_function
        if scope is not None and not callable(scope):
            scope = device_name.canonical(scope)
        return pushed(self._stacks.devices, scope)

    def no_devices(self) -> Any:
        """A context in which the device scopes around are not asked."""
        stacks = self._stacks
        return replaced(lambda: stacks.devices, lambda v: setattr(stacks, "devices", v), [])

    @contextmanager
    def control_dependencies(self, control_inputs: Any) -> Iterator[None]:
        """Nodes made inside wait for these; None forgets the blocks around."""
        own = self._own
        if control_inputs is None:
            with replaced(lambda: own.controls, lambda v: setattr(own, "controls", v), []):
                with self._in_context(None):
                    yield
            return
        if not isinstance(control_inputs, (list, tuple, set)) and not hasattr(
            control_inputs, "__iter__"
        ):
            raise TypeError("control_inputs must be a list")
        nodes: list[Node] = []
        for item in control_inputs:
            if hasattr(item, "_handle") and hasattr(item, "op"):
                item = item.op  # a variable by handle: nothing is read
            element = self.as_graph_element(getattr(item, "control_element", item))
            node = element.op if isinstance(element, Tensor) else element
            if node not in nodes:
                nodes.append(node)
        with pushed(own.controls, Control(nodes)):
            yield

    def _current_control_dependencies(self) -> set[Node]:
        return {n for c in self._own.controls for n in c.inputs}

    def _control_dependencies_for_inputs(self, inputs: Sequence[Node]) -> list[Node]:
        return control_inputs_for(self._own.controls, inputs)

    def _record_op_seen_by_control_dependencies(self, node: Node) -> None:
        for control in self._own.controls:
            control.made.add(node)

    def _get_control_flow_context(self) -> Any:
        return self._own.context

    def _set_control_flow_context(self, context: Any) -> None:
        self._own.context = context

    def _in_context(self, context: Any) -> Any:
        own = self._own
        return replaced(lambda: own.context, lambda v: setattr(own, "context", v), context)

    @contextmanager
    def colocate_with(self, op: Any, ignore_existing: bool = False) -> Iterator[None]:
        """Nodes made inside live where `op` lives; device scopes around do not count."""
        stacks = self._stacks
        if op is None and not ignore_existing:
            raise ValueError(
                f"Trying to reset colocation (op is None) but ignore_existing is not True: {op}"
            )
        node = None
        if op is not None:
            element = op if isinstance(op, (Node, Tensor)) else self.as_graph_element(op)
            node = element.op if isinstance(element, Tensor) else element
        kept = [] if ignore_existing else list(stacks.colocation)
        new = kept + ([node] if node is not None else [])
        with replaced(lambda: stacks.colocation, lambda v: setattr(stacks, "colocation", v), new):
            with self.no_devices():
                yield

    def _colocate_with_for_gradient(self, op: Any, uid: Any, ignore_existing: bool = False) -> Any:
        return self.colocate_with(op, ignore_existing)

    @contextmanager
    def container(self, container_name: str) -> Iterator[str]:
        """Resources made inside live in this container."""
        with replaced(
            lambda: self._container,
            lambda v: setattr(self, "_container", v),
            container_name,
        ):
            yield container_name

    @contextmanager
    def _attr_scope(self, attrs: dict[str, Any]) -> Iterator[None]:
        old = self._attr_scopes
        plain = {
            k: self.attr_from_proto(v) if hasattr(v, "WhichOneof") else v for k, v in attrs.items()
        }
        self._attr_scopes = {k: v for k, v in (old | plain).items() if v is not None}
        try:
            yield
        finally:
            self._attr_scopes = old

    @contextmanager
    def gradient_override_map(self, op_type_map: dict[str, str]) -> Iterator[None]:
        """Nodes of these ops made inside take the named gradient instead of their own."""
        if not isinstance(op_type_map, dict):
            raise TypeError("op_type_map must be a dictionary mapping strings to strings")
        old = self._gradient_overrides
        self._gradient_overrides = old | op_type_map
        try:
            yield
        finally:
            self._gradient_overrides = old

    @contextmanager
    def _kernel_label_map(self, op_to_kernel_label_map: dict[str, str]) -> Iterator[None]:
        """Nodes of these ops made inside ask for a kernel by its label (an attribute for others:
        here every op has one kernel)."""
        if not isinstance(op_to_kernel_label_map, dict):
            raise TypeError(
                "op_to_kernel_label_map must be a dictionary mapping strings to strings"
            )
        old = self._kernel_labels
        self._kernel_labels = old | op_to_kernel_label_map
        try:
            yield
        finally:
            self._kernel_labels = old

    def __enter__(self) -> Any:
        raise TypeError("use `with graph.as_default():`")

    def __exit__(self, *exc: Any) -> None:
        return None
