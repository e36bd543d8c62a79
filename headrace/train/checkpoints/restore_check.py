"""Before a checkpoint is restored: do the shapes fit?  What does not fit is refused before any variable
has changed, and the refusal names tensor, variable and checkpoint."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from headrace.core.errors import InvalidArgumentError
from headrace.core.shapes import Shape, make_shape, show
from headrace.formats.checkpoints.checkpoint import open_checkpoint
from headrace.graph.node import Node
from headrace.graph.tensor import Tensor
from headrace.ops.array.source import identity, no_op
from headrace.ops.declaration.constants import constant
from headrace.ops.io.checkpoint import restore_v2
from headrace.ops.state.state import assign, assign_variable

_ASSIGNMENTS = (assign, assign_variable)


def check_shapes(restore_op: Node, save_path: Any) -> None:
    """Compare the variables that a node restores with what the checkpoint has for them.

    Raises:
      InvalidArgumentError: a shape differs.
      NotFoundError, DataLossError: there is no such checkpoint, or it is damaged.
    """
    wanted = [(node, found) for node in _assignments(restore_op) if (found := _stored_as(node))]
    if not wanted:
        return
    with open_checkpoint(save_path) as reader:
        for node, (name, is_slice) in wanted:
            if is_slice or name not in reader:
                continue  # RestoreV2 has its own words for these
            shape = _variable_shape(node)
            _, stored = reader.dtype_and_shape(name)
            if not shape.is_compatible_with(make_shape(stored)):
                raise InvalidArgumentError(
                    None,
                    node,
                    "Assign requires shapes of both tensors to match. lhs shape= "
                    f"{show(shape)} rhs shape= {show(make_shape(stored))} "
                    f"(tensor {name} in {save_path})",
                )


def _assignments(node: Node) -> Iterator[Node]:
    """The assignments that a node waits for, through groups."""
    pending, seen = [node], set()
    while pending:
        one = pending.pop()
        if one in seen:
            continue
        seen.add(one)
        if one.declaration in _ASSIGNMENTS:
            yield one
        elif one.declaration is no_op:
            pending += one.control_inputs


def _stored_as(node: Node) -> tuple[str, bool] | None:
    """Under which name the value of an assignment is read, and whether only a slice of it."""
    value: Tensor = node.inputs[1]
    while value.op.declaration is identity:
        value = value.op.inputs[0]
    if value.op.declaration is not restore_v2:
        return None  # a reshape, or something of the user's
    _, names, slices = (constant(tensor) for tensor in value.op.inputs)
    if names is None or slices is None:
        return None
    return names[value.value_index].decode(), bool(slices[value.value_index])


def _variable_shape(node: Node) -> Shape:
    target = node.inputs[0]
    if node.declaration is assign:
        return target.shape if node.get_attr("validate_shape") else Shape(None)
    held = target.handle_data
    return held[1] if held is not None else Shape(None)
