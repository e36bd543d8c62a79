"""A node: one use of an op in a graph.  Public as `tf.Operation`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from headrace.core import device_name
from headrace.core.dtypes import DType
from headrace.core.fields import reads
from headrace.core.origin import Origin
from headrace.core.shapes import Shape
from headrace.graph import attrs as attr_values
from headrace.graph.mixing import different_graphs
from headrace.graph.tensor import Tensor, run_session

if TYPE_CHECKING:
    from headrace.graph.graph import Graph


class InputList(list[Tensor]):
    """The inputs of a node, with their declared types."""

    def __init__(self, tensors: Sequence[Tensor], types: Sequence[DType]) -> None:
        super().__init__(tensors)
        self._types = list(types)

    @property
    def types(self) -> list[DType]:
        return list(self._types)


class Node:
    """Made by `Graph.add_node` alone; afterwards only the graph changes it."""

    graph: Any = None
    own_gradient: Any = None  # of a node of eager mode whose gradient its caller gave

    def __init__(
        self,
        graph: Graph,
        op: Any,
        name: str,
        inputs: Sequence[Tensor],
        input_types: Sequence[DType],
        control_inputs: Sequence[Node],
        attrs: dict[str, Any],
        outputs: Sequence[tuple[DType, Shape]],
        origin: Origin,
        number: int,
    ) -> None:
        self.graph, self.declaration, self._name = graph, op, name
        self.attrs, self.origin, self.number = attrs, origin, number
        self._inputs = InputList(inputs, input_types)
        self._control_inputs = list(control_inputs)
        self._waiters: dict[Node, None] = {}  # nodes that have this one as a control input
        for source in self._control_inputs:
            source._waiters[self] = None
        self.users: dict[Node, None] = {}  # nodes that take an output of this one, in order
        self._device = ""
        self._control_flow_context: Any = None
        self.saving: Any = None  # what autodiff gave it to hand on to its gradient
        self._outputs = [Tensor(self, i, d, s) for i, (d, s) in enumerate(outputs)]

    @property
    def name(self) -> str:
        return self._name

    @property
    def type(self) -> str:
        return str(self.declaration.name)

    _id: int = reads("number")

    @property
    def device(self) -> str:
        return self._device

    def _set_device(self, device: Any) -> None:
        self._device = device_name.canonical(device)
        self.graph.touch()

    def _set_device_from_string(self, device: str) -> None:
        """The same for canonical text, while the node is made: no session knows it yet."""
        self._device = device

    inputs: InputList = reads("_inputs")
    outputs: list[Tensor] = reads("_outputs")

    def values(self) -> tuple[Tensor, ...]:
        return tuple(self._outputs)

    @property
    def control_inputs(self) -> list[Node]:
        return list(self._control_inputs)

    @property
    def _control_outputs(self) -> list[Node]:
        return sorted((n for n in self._waiters if self in n._control_inputs), key=lambda n: n.number)

    @property
    def traceback(self) -> list[tuple[str, int, str, str]]:
        return [(self.origin.filename, self.origin.line, self.origin.function, self.origin.text)]

    @property
    def traceback_with_start_lines(self) -> list[tuple[str, int, str, str, int]]:
        return [(*line, line[1]) for line in self.traceback]

    @property
    def _output_types(self) -> list[int]:
        return [t.dtype.as_datatype_enum for t in self._outputs]

    @property
    def _input_types(self) -> list[DType]:
        return self._inputs.types

    def get_attr(self, name: str) -> Any:
        """The value of an attribute in TF's public form."""
        if name not in self.attrs:
            raise ValueError(f"Operation '{self._name}' has no attr named '{name}'.")
        return attr_values.public(self.attrs[name])

    def _set_attr(self, name: str, value: Any) -> None:
        """Takes an AttrValue message or a plain value."""
        if hasattr(value, "WhichOneof"):
            value = self.graph.attr_from_proto(value)
        self.attrs[name] = value
        self.graph.touch()

    @property
    def _class(self) -> list[bytes]:
        return [c.encode() for c in self.attrs.get("_class", ())]

    def colocation_groups(self) -> list[bytes]:
        return self._class or [b"loc:@" + self._name.encode()]

    def _get_control_flow_context(self) -> Any:
        return self._control_flow_context

    def _set_control_flow_context(self, context: Any) -> None:
        self._control_flow_context = context
        if context is not None:
            context.has_nodes()

    def _update_input(self, index: int, tensor: Tensor) -> None:
        """Redirect one input: the back edge of a loop is made this way."""
        if tensor.graph is not self.graph:
            raise different_graphs(tensor, self)
        before = self._inputs[index].op
        self._inputs[index] = tensor
        tensor.op.users[self] = None
        if not any(t.op is before for t in self._inputs):
            before.users.pop(self, None)
        self.graph.touch()

    def _extend(
        self, inputs: Sequence[Tensor], outputs: Sequence[tuple[DType, Shape]], attrs: dict[str, Any]
    ) -> list[Tensor]:
        """Take and give more, at the end: a call that hands on what its gradient needs."""
        types = [*self._inputs.types, *(t.dtype.base for t in inputs)]
        self._inputs = InputList([*self._inputs, *inputs], types)
        for tensor in inputs:
            tensor.op.users[self] = None
        start = len(self._outputs)
        added = [Tensor(self, start + i, d, s) for i, (d, s) in enumerate(outputs)]
        self._outputs = [*self._outputs, *added]
        self.attrs = self.attrs | attrs
        self.graph.touch()
        return added

    def _add_control_input(self, node: Node) -> None:
        self._add_control_inputs([node])

    def _add_control_inputs(self, nodes: Sequence[Node]) -> None:
        known = set(self._control_inputs)
        for node in nodes:
            if node not in known:
                known.add(node)
                self._control_inputs.append(node)
                node._waiters[self] = None
        self.graph.touch()

    def _remove_all_control_inputs(self) -> None:
        for node in self._control_inputs:
            node._waiters.pop(self, None)
        self._control_inputs.clear()
        self.graph.touch()

    def run(self, feed_dict: Any = None, session: Any = None) -> None:
        """Run this node in `session`, or in the default one."""
        run_session(self.graph, session, "run").run(self, feed_dict)

    @property
    def node_def(self) -> Any:
        return self.graph.node_to_proto(self)

    @property
    def op_def(self) -> Any:
        return self.declaration.op_def

    def __str__(self) -> str:
        return str(self.node_def)

    def __repr__(self) -> str:
        return f"<tf.Operation '{self._name}' type={self.type}>"
