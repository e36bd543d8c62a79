"""The part of Graph that `with` blocks change: names, devices, control inputs, colocation, attributes.

A new node reads them (`Graph.add_node`); graph.scopes has the stacks that they are kept on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from headrace.core import device_name
from headrace.graph.elements import Elements
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
    rule_of,
)
from headrace.graph.tensor import Tensor


class Contexts(Elements):
    """What surrounds the nodes that are made."""

    _names_in_use: dict[str, int]
    _own: Local
    _shared: Stacks
    _local: ThreadStacks | None
    _attr_scopes: dict[str, Any]
    _gradient_overrides: dict[str, str]
    _kernel_labels: dict[str, str]
    _container: str
    attr_from_proto: Callable[..., Any]

    # -- names ---------------------------------------------------------------------------------
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
                raise ValueError(f"'{name}' is not a valid scope name: {rule_of(pattern)}")
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

    # -- other scopes --------------------------------------------------------------------------
    @property
    def _stacks(self) -> Stacks:
        return self._shared if self._local is None else self._local.stacks

    def switch_to_thread_local(self) -> None:
        if self._local is None:
            self._local = ThreadStacks(self._shared)

    def device(self, device_name_or_function: Any) -> Any:
        """Nodes made inside go to this device, as far as inner scopes leave it open."""
        scope = device_name_or_function
        if scope is not None and not callable(scope):
            scope = device_name.canonical(scope)
        return pushed(self._stacks.devices, scope)

    def _apply_device_functions(self, op: Any) -> None:
        """Tell `op` the device that a node made here gets.  Libraries ask with an object of their own, which
        has `device` and `_set_device_from_string`."""
        device_of(op, self._stacks.devices)

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
        if not isinstance(control_inputs, (list, tuple, set)) and not hasattr(control_inputs, "__iter__"):
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
            raise ValueError(f"Trying to reset colocation (op is None) but ignore_existing is not True: {op}")
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
        with replaced(lambda: self._container, lambda v: setattr(self, "_container", v), container_name):
            yield container_name

    @contextmanager
    def _attr_scope(self, attrs: dict[str, Any]) -> Iterator[None]:
        old = self._attr_scopes
        plain = {k: self.attr_from_proto(v) if hasattr(v, "WhichOneof") else v for k, v in attrs.items()}
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
            raise TypeError("op_to_kernel_label_map must be a dictionary mapping strings to strings")
        old = self._kernel_labels
        self._kernel_labels = old | op_to_kernel_label_map
        try:
            yield
        finally:
            self._kernel_labels = old
