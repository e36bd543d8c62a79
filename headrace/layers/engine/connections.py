"""The calls of a layer on tensors of a Keras model: inputs, outputs, shapes and masks, by call."""

from __future__ import annotations

from typing import Any

from headrace.core.fields import reads


class Connections:
    """The part of Layer that answers what it was called on.  Records are kept for calls on tensors
    that descend from a Keras input; elsewhere there are none, and asking is an error."""

    _inbound_nodes: list[Any]
    _outbound_nodes: list[Any]
    name: Any

    inbound_nodes: list[Any] = reads("_inbound_nodes")
    outbound_nodes: list[Any] = reads("_outbound_nodes")

    @property
    def input(self) -> Any:
        """The input of the layer's only call."""
        if not self._inbound_nodes:
            raise AttributeError(f"Layer {self.name} is not connected, no input to return.")
        return self._at(0, "input_tensors", "input")

    @property
    def output(self) -> Any:
        """The output of the layer's only call."""
        if not self._inbound_nodes:
            raise AttributeError(f"Layer {self.name} has no inbound nodes.")
        return self._at(0, "output_tensors", "output")

    @property
    def input_shape(self) -> Any:
        """The shape of the input, if it is the same in all calls."""
        return self._only_shape("input")

    @property
    def output_shape(self) -> Any:
        """The shape of the output, if it is the same in all calls."""
        return self._only_shape("output")

    @property
    def input_mask(self) -> Any:
        """The mask of the input of the layer's only call."""
        return self._only_mask("input")

    @property
    def output_mask(self) -> Any:
        """The mask of the output of the layer's only call."""
        return self._only_mask("output")

    def get_input_at(self, node_index: int) -> Any:
        """The input of the call with this number."""
        return self._at(node_index, "input_tensors", "input")

    def get_output_at(self, node_index: int) -> Any:
        """The output of the call with this number."""
        return self._at(node_index, "output_tensors", "output")

    def get_input_shape_at(self, node_index: int) -> Any:
        """The shape of the input of the call with this number."""
        return self._at(node_index, "input_shapes", "input shape")

    def get_output_shape_at(self, node_index: int) -> Any:
        """The shape of the output of the call with this number."""
        return self._at(node_index, "output_shapes", "output shape")

    def get_input_mask_at(self, node_index: int) -> Any:
        """The mask of the input of the call with this number."""
        return _masks(self.get_input_at(node_index))

    def get_output_mask_at(self, node_index: int) -> Any:
        """The mask of the output of the call with this number."""
        return _masks(self.get_output_at(node_index))

    def _at(self, index: int, attribute: str, shown: str) -> Any:
        if not self._inbound_nodes:
            raise RuntimeError(f"The layer has never been called and thus has no defined {shown}.")
        if index >= len(self._inbound_nodes):
            raise ValueError(
                f"Asked to get {shown} at node {index}, but the layer has only "
                f"{len(self._inbound_nodes)} inbound nodes."
            )
        values = getattr(self._inbound_nodes[index], attribute)
        return values[0] if isinstance(values, list) and len(values) == 1 else values

    def _only_shape(self, side: str) -> Any:
        if not self._inbound_nodes:
            raise AttributeError(f"The layer has never been called and thus has no defined {side} shape.")
        shapes = [getattr(record, f"{side}_shapes") for record in self._inbound_nodes]
        if len({str(shape) for shape in shapes}) == 1:
            return shapes[0]
        raise AttributeError(
            f'The layer "{self.name} has multiple inbound nodes, with different {side} shapes. '
            f'Hence the notion of "{side} shape" is ill-defined for the layer. Use '
            f"`get_{side}_shape_at(node_index)` instead."
        )

    def _only_mask(self, side: str) -> Any:
        if len(self._inbound_nodes) != 1:
            raise AttributeError(
                f"Layer {self.name} has multiple inbound nodes, "
                + f'hence the notion of "layer {side} mask" is ill-defined. '
                f"Use `get_{side}_mask_at(node_index)` instead."
            )
        return _masks(getattr(self, side))


def _masks(tensors: Any) -> Any:
    if isinstance(tensors, list):
        return [getattr(x, "_keras_mask", None) for x in tensors]
    return getattr(tensors, "_keras_mask", None)
