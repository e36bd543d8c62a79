"""Running what was built: values of variables and tensors, functions from tensors to tensors, the session."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from headrace.layers import ops
from headrace.layers.engine.layer_names import forget_names
from headrace.layers.engine.learning_phase import forget_learning_phase
from headrace.layers.engine.model_graph import forget_graph, get_graph
from headrace.layers.engine.weight_values import (
    choose_session,
    load_weights,
    manual_initialisation,
    read_weights,
    session_with_weights,
)
from headrace.layers.ops import nest

graphs = ops.late("headrace.graph.defaults")


def get_session(op_input_list: Any = ()) -> Any:
    """The session in which Keras runs; its variables have values."""
    return session_with_weights()


def set_session(session: Any) -> None:
    """Let Keras run in this session."""
    choose_session(session)


def clear_session() -> None:
    """Begin anew: a new default graph, no names in use, no session."""
    if not graphs.is_eager() and not graphs.has_default_graph():
        graphs.reset_default_graph()
    forget_graph()
    forget_names()
    forget_learning_phase()


def manual_variable_initialization(value: bool) -> None:
    """True: variables are initialised by the user, not by Keras."""
    manual_initialisation(value)


def _has_value(x: Any) -> bool:
    return isinstance(x, ops.Tensor) and x.graph.runs_at_once


def get_value(x: Any) -> Any:
    """The value of a variable (or of a tensor)."""
    return x if not hasattr(x, "graph") else batch_get_value([x])[0]


def batch_get_value(tensors: list[Any]) -> list[Any]:
    """The values of variables."""
    if ops.executing_eagerly():
        return [x.numpy() for x in tensors]
    return read_weights(tensors) if all(isinstance(x, ops.Variable) for x in tensors) else _run(tensors)


def _run(tensors: list[Any]) -> list[Any]:
    values: list[Any] = session_with_weights().run(tensors)
    return values


def set_value(x: Any, value: Any) -> None:
    """Give a variable a value."""
    batch_set_value([(x, value)])


def batch_set_value(tuples: list[tuple[Any, Any]]) -> None:
    """Give variables values: pairs of the one and the other."""
    if tuples:
        variables, values = zip(*tuples)
        load_weights(list(variables), [np.asarray(v) for v in values])


def eval(x: Any) -> Any:
    """The value of a tensor or variable."""
    return get_value(to_dense(x))


def to_dense(tensor: Any) -> Any:
    """A sparse tensor as a dense one; others are themselves."""
    return ops.sparse_tensor_to_dense(tensor) if isinstance(tensor, ops.SparseTensor) else tensor


class Function:
    """A function from values of `inputs` to those of `outputs`, which makes `updates` too.

    Args:
      inputs: placeholders or other tensors.
      outputs: tensors.
      updates: nodes, or pairs of a variable and its new value.
      name: accepted.
      feed_dict: values of other tensors.
      fetches: nodes to run beside.
    """

    def __init__(
        self,
        inputs: list[Any],
        outputs: Any,
        updates: Any = None,
        name: str | None = None,
        feed_dict: dict[Any, Any] | None = None,
        fetches: Any = None,
        **options: Any,
    ) -> None:
        if options:
            raise ValueError("Some keys in session_kwargs are not supported at this time: %s", tuple(options))
        self.inputs = nest.flatten(inputs)
        self._structure, self.outputs = outputs, nest.flatten(outputs)
        self.feed_dict, self.fetches = feed_dict or {}, list(fetches or ())
        self.fetch_callbacks: dict[Any, Callable[[Any], Any]] = {}
        graph = ops.get_default_graph()
        first = [x for x in self.outputs[:1] if x is not None]
        with graph.control_dependencies(first):
            made = [ops.assign(*u) if isinstance(u, tuple) else u for u in updates or ()]
            self.updates_op = ops.group(*(u for u in made if u is not None)) if made else None
        self._calls: dict[Any, Any] = {}

    def __call__(self, inputs: Any) -> Any:
        values = nest.flatten(inputs) if not isinstance(inputs, list) else inputs
        session = session_with_weights()
        call = self._calls.get(session)
        if call is None:
            call = self._calls[session] = self._made(session)
        found = call(values)
        for fetch, callback in self.fetch_callbacks.items():
            callback(found[len(self.outputs) + self.fetches.index(fetch)])
        results = found[: len(self.outputs)]
        return (
            nest.pack_sequence_as(self._structure, results)
            if not isinstance(self._structure, list)
            else results
        )

    def _made(self, session: Any) -> Callable[[Any], list[Any]]:
        fetches = [*self.outputs, *self.fetches]
        if self.updates_op is not None:
            fetches.append(self.updates_op)
        fed = [*self.inputs, *self.feed_dict]
        others = list(self.feed_dict.values())
        if all(isinstance(x, ops.Tensor) for x in fed):
            run = session.make_callable(fetches, feed_list=fed)
            types = [x.dtype.as_numpy_dtype for x in fed]

            def call(values: Any) -> list[Any]:
                given = [np.asarray(v, t) for v, t in zip([*values, *others], types)]
                return run(*given)  # type: ignore[no-any-return]

            return call
        return lambda values: session.run(fetches, dict(zip(fed, [*values, *others])))


def function(inputs: Any, outputs: Any, updates: Any = None, name: str | None = None, **kwargs: Any) -> Any:
    """A function from values of tensors to values of others.

    Args:
      inputs: placeholders or other tensors.
      outputs: tensors.
      updates: nodes to run, or pairs of a variable and its new value.
      name: accepted.
      **kwargs: `feed_dict` (values of other tensors), `fetches` (nodes to run beside).
    """
    if ops.executing_eagerly():
        if kwargs:
            raise ValueError("Session keyword arguments are not support during eager execution.")
        return EagerFunction(inputs, outputs, updates)
    return Function(inputs, outputs, updates, name, **kwargs)


models = ops.late("headrace.keras.engine.model")


class EagerFunction:
    """The same in eager mode: what leads from inputs to outputs runs again on values."""

    def __init__(self, inputs: Any, outputs: Any, updates: Any = None) -> None:
        self._outputs = outputs
        with get_graph().as_default():
            self._model = models.Model(nest.flatten(inputs), nest.flatten(outputs))

    def __call__(self, inputs: Any) -> Any:
        values = [
            ops.convert_to_tensor(v, dtype=x.dtype) for v, x in zip(nest.flatten(inputs), self._model.inputs)
        ]
        found = nest.flatten(self._model(values[0] if len(values) == 1 else values))
        return nest.pack_sequence_as(self._outputs, [x.numpy() for x in found])
