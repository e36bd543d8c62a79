"""Which function differentiates a node: the op's own, an override, or one the user registered."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.graph.node import Node
from headrace.ops.declaration.declare import GRADIENTS

Rule = Callable[..., Any]
# By op: makes a node give what its gradient will need.  In a graph the gradient rule does that itself, since
# the node has not run yet; in eager mode it has to be done before.
SAVERS: dict[str, Callable[[Any], None]] = {}


class RegisterGradient:
    """Decorator: the function is the gradient of the op (or of the name) given.

    The function gets the node and one gradient per output, and returns one per input.
    """

    def __init__(self, op_type: str) -> None:
        if not isinstance(op_type, str):
            raise TypeError("op_type must be a string")
        self._op_type = op_type

    def __call__(self, f: Rule) -> Rule:
        if self._op_type in GRADIENTS:
            raise KeyError(f"Registering two gradient with name '{self._op_type}'!")
        GRADIENTS[self._op_type] = f
        return f


def no_gradient(op_type: str) -> None:
    """Say that an op has no gradient: it is the same as zero."""
    if not isinstance(op_type, str):
        raise TypeError("op_type must be a string")
    if op_type in GRADIENTS:
        raise KeyError(f"Registering two gradient with name '{op_type}'!")
    GRADIENTS[op_type] = None


def rule_for(node: Node) -> Rule | None:
    """The gradient rule of a node; None where gradients end; LookupError where none is known."""
    if not node.inputs:
        return None
    if node.own_gradient is not None:
        return node.own_gradient  # type: ignore[no-any-return]
    override = node.attrs.get("_gradient_op_type")
    name = override or node.type
    if name in GRADIENTS:
        return GRADIENTS[name]
    own = getattr(node.declaration, "function_gradient", None)
    if own is not None and override is None:
        return own  # type: ignore[no-any-return]
    raise LookupError(
        f"No gradient defined for operation '{node.name}' (op type: {node.type})"
        if override is None
        else f"No gradient registered under the name '{override}' for operation '{node.name}'"
    )
