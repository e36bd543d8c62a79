"""What a user should do about a failed step, where that is certain."""

from __future__ import annotations

from typing import Any

from headrace.core.errors import FailedPreconditionError, InternalError, NotFoundError, OpError
from headrace.graph.graph import Graph
from headrace.graph.keys import GraphKeys

# What the messages of TF's classes for a variable without a value have in common with nothing else.
_UNINITIALISED: dict[type[OpError], tuple[str, ...]] = {
    FailedPreconditionError: ("Attempting to use uninitialized", "Error while reading resource variable"),
    NotFoundError: ("The variable is uninitialized.",),  # an update of a resource variable
    InternalError: ("Invalid variable reference.",),  # an optimizer's
}


def add_hint(error: OpError, graph: Graph) -> None:
    """Give the error a hint, if there is one."""
    texts = _UNINITIALISED.get(type(error), ())
    if error.hint is None and any(text in error.message for text in texts):
        error.hint = _initialise(error.op, graph)


def _initialise(node: Any, graph: Graph) -> str | None:
    """Which initializer the variable of a failed read belongs to."""
    if node is None:
        return None
    for key, function in ((GraphKeys.GLOBAL_VARIABLES, "global"), (GraphKeys.LOCAL_VARIABLES, "local")):
        for variable in graph.get_collection(key):
            if _is_read_by(node, variable):
                return f"first session.run(tf.{function}_variables_initializer()), or restore it"
    return None


def _is_read_by(node: Any, variable: Any) -> bool:
    element = getattr(variable, "op", None)
    return element is node or any(getattr(tensor, "op", None) is element for tensor in node.inputs)
