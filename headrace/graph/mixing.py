"""Elements of two graphs in one place: errors that say which line made which."""

from __future__ import annotations

from typing import Any


def different_graphs(one: Any, other: Any) -> ValueError:
    """The error for two tensors or nodes of two graphs: they may print alike."""
    return ValueError(
        f"{one} must be from the same graph as {other}.\n"
        f"  made  {_node(one).origin}\n"
        f"  made  {_node(other).origin}\n"
        "  hint  each line built in a graph of its own: tf.Graph().as_default() and "
        "tf.reset_default_graph() start one"
    )


def stranger(element: Any, graph: Any) -> str:
    """Lines for the error of a session that is given an element of another graph than its own."""
    convert = getattr(element, "_as_graph_element", None)
    node = _node(convert() if convert is not None else element)
    if node is None or node.graph is graph:
        return ""
    return (
        f"\n  made  {node.origin}\n"
        "  hint  the session has another graph: open it after this one was built, "
        "or with tf.Session(graph=...)"
    )


def _node(element: Any) -> Any:
    """A node, or the node of a tensor; None for anything else."""
    node = getattr(element, "op", element)
    return node if hasattr(node, "origin") else None
