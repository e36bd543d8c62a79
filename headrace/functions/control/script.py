"""Python functions in the graph, called with arrays: tf.py_func, tf.numpy_function."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from headrace.functions.values.structure import name_scope
from headrace.graph.defaults import get_default_graph
from headrace.ops.control import py_func as ops
from headrace.ops.declaration.convert import convert_to_tensor


def py_func(
    func: Callable[..., Any], inp: Any, Tout: Any, stateful: bool = True, name: str | None = None
) -> Any:
    """A node that calls a Python function on NumPy values.

    Args:
      func: gets one array per input; returns an array, or a list of them.
      inp: the inputs, a list of tensors.
      Tout: the type of the result, or a list of types.
      stateful: the function may return something else for the same arguments, or have effects.
      name: name of the node.

    Returns: a tensor, or a list of tensors where Tout is a list; the node where that list is empty.
    """
    return calling(func, inp, Tout, ops.py_func if stateful else ops.py_func_stateless, name)


def numpy_function(func: Callable[..., Any], inp: Any, Tout: Any, name: str | None = None) -> Any:
    """A node that calls a Python function on NumPy values (see py_func)."""
    return calling(func, inp, Tout, ops.py_func, name)


def listed(inp: Any) -> list[Any]:
    return list(inp) if isinstance(inp, (list, tuple)) else [inp]


def calling(func: Callable[..., Any], inp: Any, tout: Any, op: Any, name: str | None) -> Any:
    """A node that calls the function; it is kept as long as the graph."""
    if not callable(func):
        raise ValueError(f"Expected func to be callable, got func of type {type(func)}")
    token = ops.FUNCTIONS.add(func)
    graph = get_default_graph()
    weakref.finalize(graph, ops.FUNCTIONS.remove, token)
    several = isinstance(tout, (list, tuple))
    inputs = listed(inp)
    with name_scope(name, op.name, inputs) as scope:
        tensors = [convert_to_tensor(x) for x in inputs]
    result = op(tensors, token=token, Tout=list(tout) if several else [tout], name=scope)
    return result if several else result[0]
