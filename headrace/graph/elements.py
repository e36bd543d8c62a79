"""The part of Graph that finds nodes and tensors, by themselves or by name ("a/b", "a/b:0")."""

from __future__ import annotations

from typing import Any

from headrace.graph.node import Node
from headrace.graph.tensor import Tensor


class Elements:
    """Look-up.  Also which elements may not be fed or fetched."""

    _nodes: dict[str, Node]
    _ordered: list[Node]
    _unfeedable: set[Tensor]
    _unfetchable: set[Node]

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

    def as_graph_element(self, obj: Any, allow_tensor: bool = True, allow_operation: bool = True) -> Any:
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
        if (isinstance(obj, Tensor) and allow_tensor) or (isinstance(obj, Node) and allow_operation):
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
                    f"The name {name!r} is not a tensor's: that is the name of a node, a colon and the "
                    'number of the output, like "MatMul:0".'
                )
            node = self._nodes.get(node_name)
            if node is None:
                raise KeyError(
                    f"The name {name!r} refers to a Tensor which does not exist. There is no "
                    f"node {node_name!r} in the graph."
                )
            if int(index) >= len(node.outputs):
                raise KeyError(
                    f"The name {name!r} refers to a Tensor which does not exist. The node "
                    f"{node_name!r} has {len(node.outputs)} outputs."
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
