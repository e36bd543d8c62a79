"""The scopes and collections of the default graph as functions: tf.name_scope, tf.device, ..."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager, ExitStack
from typing import Any

from headrace.core.fields import reads
from headrace.graph.defaults import get_default_graph
from headrace.graph.graph import Graph
from headrace.graph.mixing import different_graphs
from headrace.graph.node import Node
from headrace.graph.tensor import Tensor
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.declaration.indexed_slices import IndexedSlices
from headrace.ops.graphdef import import_export  # noqa: F401  (gives Graph its GraphDef methods)


class name_scope:
    """A context in which names begin with `name`, in the graph of `values`.

    Args:
      name: the name that a caller gave, or None.
      default_name: the name to use where that is None.
      values: the tensors that the caller gave: their graph becomes the default one.

    Raises:
      ValueError: no name but values are given, or the values are of different graphs.

    Example:
      >>> def my_op(a, name=None):
      ...     with tf.name_scope(name, "MyOp", [a]) as scope:
      ...         return tf.identity(a, name=scope)
    """

    def __init__(self, name: str | None, default_name: str | None = None, values: Any = None) -> None:
        if default_name is not None and not isinstance(default_name, str):
            raise TypeError(
                f"`default_name` type ({type(default_name)}) is not a string type. You likely meant "
                "to pass this into the `values` kwarg."
            )
        self._name = default_name if name is None else name
        self._given, self._default_name, self._values = name, default_name, values
        self._entered: list[ExitStack] = []

    name: str | None = reads("_name")

    def __enter__(self) -> str:
        if self._name is None and self._values is not None:
            raise ValueError(
                f"At least one of name ({self._given}) and default_name ({self._default_name}) must "
                "be provided."
            )
        graph = graph_of_inputs(self._values or ())
        with ExitStack() as stack:
            if graph is not get_default_graph():
                stack.enter_context(graph.as_default())
            scope: str = stack.enter_context(graph.name_scope(self._name))
            self._entered.append(stack.pop_all())
        return scope

    def __exit__(self, *error: Any) -> None:
        self._entered.pop().__exit__(*error)


def graph_of_inputs(values: Iterable[Any]) -> Graph:
    """The one graph that all nodes and tensors among `values` live in, or the default one."""
    default = get_default_graph()
    if default.building_function:
        return default
    first: Any = None
    for value in values:
        if not isinstance(value, (Tensor, Node)):
            convert = getattr(value, "_as_graph_element", None)
            value = convert() if convert is not None else getattr(value, "values", None)
            if not isinstance(value, (Tensor, Node)):
                continue
        if first is None:
            first = value
        elif value.graph is not first.graph:
            raise different_graphs(value, first)
    return default if first is None else first.graph


def op_scope(values: Any, name: str | None, default_name: str | None = None) -> name_scope:
    """The old form of `name_scope`, with the values first."""
    return name_scope(name, default_name, values)


def device(device_name_or_function: Any) -> AbstractContextManager[Any]:
    """A context whose nodes go to this device, as far as inner ones leave it open.

    Args:
      device_name_or_function: a name such as "/gpu:0", a function from a node to a name, or None,
        which forgets the contexts around.
    """
    result: AbstractContextManager[Any] = get_default_graph().device(device_name_or_function)
    return result


def control_dependencies(control_inputs: Any) -> AbstractContextManager[Any]:
    """A context whose nodes wait for `control_inputs` (nodes, tensors, functions that make them).

    Args:
      control_inputs: a list, or None, which forgets the contexts around.
    """
    return get_default_graph().control_dependencies(control_inputs)


def colocate_with(op: Any, ignore_existing: bool = False) -> AbstractContextManager[Any]:
    """A context whose nodes live where `op` lives: a node, a tensor, or what converts to one."""
    if isinstance(op, IndexedSlices):
        op = op.op
    elif not (op is None or isinstance(op, (Node, Tensor)) or hasattr(op, "_as_graph_element")):
        op = convert_to_tensor(op)
    return get_default_graph().colocate_with(op, ignore_existing)


def container(container_name: str) -> AbstractContextManager[Any]:
    """A context whose variables, queues and tables live in the container of this name."""
    return get_default_graph().container(container_name)


def add_to_collection(name: Any, value: Any) -> None:
    """Append to a collection of the default graph."""
    get_default_graph().add_to_collection(name, value)


def add_to_collections(names: Any, value: Any) -> None:
    """Append to several collections of the default graph."""
    get_default_graph().add_to_collections(names, value)


def get_collection(key: Any, scope: str | None = None) -> list[Any]:
    """A copy of a collection of the default graph.

    Args:
      key: the collection's name (see tf.GraphKeys).
      scope: only items whose names match this regular expression.
    """
    return get_default_graph().get_collection(key, scope)


def get_collection_ref(key: Any) -> list[Any]:
    """A collection of the default graph itself: changes to the list are changes of it."""
    return get_default_graph().get_collection_ref(key)


def is_tensor(x: Any) -> bool:
    """Is `x` a tensor, a sparse tensor, a variable, or the like?"""
    if isinstance(x, Tensor) or hasattr(x, "_as_graph_element"):
        return True

    return isinstance(x, IndexedSlices) or hasattr(x, "_type_spec")
