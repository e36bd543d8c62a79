"""tf.py_function: a node whose Python function gets eager tensors, and which has a gradient.

    forward    runs the function in eager mode; where its gradient is wanted, under a tape that the step keeps
    backward   another such node, behind the first: takes the newest of its tapes, and asks it

The gradient of a loop goes through the iterations backwards, so the newest tape is the one it needs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from headrace.autodiff.gradients import UnconnectedGradients
from headrace.autodiff.reach import has_gradient_type
from headrace.autodiff.tape import GradientTape
from headrace.core.dtypes import DType, as_dtype
from headrace.eager.context import eager_mode
from headrace.functions.control import script
from headrace.graph.defaults import get_default_graph
from headrace.graph.node import Node
from headrace.graph.tensor import Tensor
from headrace.ops.control import py_func as ops
from headrace.ops.declaration.convert import convert_to_tensor


def py_function(func: Callable[..., Any], inp: Any, Tout: Any, name: str | None = None) -> Any:
    """A node that calls a Python function on eager tensors; its gradient is that of what the function does.

    Args:
      func: gets one eager tensor per input; returns a tensor or an array, a list of them, or None.
      inp: the inputs, a list of tensors.
      Tout: the type of the result, or a list of types.
      name: name of the node.

    Returns: a tensor, or a list of tensors where Tout is a list; the node where that list is empty.
    """
    if not callable(func):
        raise ValueError(f"Expected func to be callable, got func of type {type(func)}")
    several = isinstance(Tout, (list, tuple))
    forward = _Forward(func, [as_dtype(t) for t in (Tout if several else [Tout])])
    if get_default_graph().runs_at_once:
        found = forward.results([convert_to_tensor(x) for x in script.listed(inp)])
        return found if several else found[0]
    return script.calling(forward, inp, Tout, ops.eager_py_func, name)


class _Forward:
    """What the node calls."""

    def __init__(self, function: Callable[..., Any], types: Sequence[DType]) -> None:
        self.function, self.types = function, types
        self.backward: list[_Backward] = []  # one for each time that somebody asked for the gradient

    def __call__(self, local: dict[Any, Any], *arrays: Any) -> list[Any]:
        with eager_mode():
            inputs = [convert_to_tensor(a) for a in arrays]
            with GradientTape(persistent=True, watch_accessed_variables=False) as tape:
                if self.backward:
                    tape.watch([x for x in inputs if has_gradient_type(x)])
                outputs = self.results(inputs)
        for backward in self.backward:
            local.setdefault(backward, []).append((tape, inputs, outputs))
        return [_value(x) for x in outputs]

    def results(self, inputs: Sequence[Tensor]) -> list[Tensor]:
        found = self.function(*inputs)
        if found is None:
            found = []
        elif not isinstance(found, (list, tuple)) or (len(self.types) == 1 and len(found) != 1):
            found = [found]
        if len(found) != len(self.types):
            raise ValueError(
                f"the function returns {len(found)} values, but expects to see {len(self.types)} values."
            )
        return [convert_to_tensor(x, t) for x, t in zip(found, self.types)]

    def gradient(self, node: Node, dys: Sequence[Any]) -> list[Any]:
        """The node that computes the gradients of another one's inputs."""
        backward = _Backward()
        self.backward.append(backward)
        pairs = [(i, x) for i, x in enumerate(node.inputs) if has_gradient_type(x)]
        kinds = [x.dtype.base for _, x in pairs]
        given = [dy for dy in dys if dy is not None]
        # One of the results goes with them: this node runs behind the other, and a gradient of the gradient
        # finds it, and is told that it has none, where without that path it would be None.
        behind = next(y for y in node.outputs if has_gradient_type(y))
        made = script.calling(backward, [behind, *given], kinds, ops.eager_py_func, "py_function")
        grads: list[Any] = [None] * len(node.inputs)
        for dx, (i, x) in zip(made, pairs):
            dx.set_shape(x.shape)
            grads[i] = dx
        return grads


class _Backward:
    """What the node of the gradient calls."""

    def __call__(self, local: dict[Any, Any], behind: Any, *dys: Any) -> list[Any]:
        tape, inputs, outputs = local[self].pop()
        with eager_mode():
            found = tape.gradient(
                [y for y in outputs if has_gradient_type(y)],
                [x for x in inputs if has_gradient_type(x)],
                [convert_to_tensor(dy) for dy in dys],
                unconnected_gradients=UnconnectedGradients.ZERO,
            )
            return [_value(convert_to_tensor(dx)) for dx in found]

    def gradient(self, node: Node, dys: Sequence[Any]) -> list[Any]:
        raise LookupError(f"'{node.name}': the gradient of tf.py_function has no gradient of its own")


def _value(tensor: Any) -> Any:
    found = tensor.numpy()
    return np.asarray(found, object) if isinstance(found, (bytes, str)) else np.asarray(found)
