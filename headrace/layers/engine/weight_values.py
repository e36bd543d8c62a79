"""Values of weights, read and written through the session at hand."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.core.modules import late
from headrace.functions.control.init_scope import init_scope
from headrace.graph.defaults import get_default_graph, get_default_session
from headrace.variables.listing import is_variable_initialized

sessions = late("headrace.session.session")


_KEY = "weights_session"


def session_of_weights() -> Any:
    """The default session; without one, a session that lives as long as the graph."""
    session = get_default_session()
    if session is None:
        graph = get_default_graph()
        session = graph._scoped.get(_KEY)
        if session is None:
            session = graph._scoped[_KEY] = sessions.Session(graph=graph)
    return session


def choose_session(session: Any) -> None:
    """From now on weights live in this session, where no other is the default one."""
    session.graph._scoped[_KEY] = session


def read_weights(weights: list[Any]) -> list[Any]:
    """The values of variables; those that have none yet are initialised first."""
    if not weights:
        return []
    if get_default_graph().runs_at_once:
        return [weight.numpy() for weight in weights]
    session = session_of_weights()
    initialise(session, weights)
    values: list[Any] = session.run(weights)
    return values


def write_weights(layer: str, weights: list[Any], values: Any) -> None:
    """Give each of the weights the value at its place."""
    if len(weights) != len(values):
        raise ValueError(
            f'You called `set_weights(weights)` on layer "{layer}" with a  weight list of length '
            f"{len(values)}, but the layer was expecting {len(weights)} weights. Provided "
            f"weights: {str(values)[:50]}..."
        )
    arrays = [np.asarray(value) for value in values]
    for weight, array in zip(weights, arrays, strict=True):
        if not weight.shape.is_compatible_with(array.shape):
            raise ValueError(
                f"Layer weight shape {weight.shape} not compatible with provided weight shape {array.shape}"
            )
    load_weights(weights, arrays)


def load_weights(weights: list[Any], arrays: list[Any]) -> None:
    """Give variables values of their shapes."""
    fitted = [a.astype(w.dtype.base_dtype.as_numpy_dtype) for w, a in zip(weights, arrays, strict=True)]
    with init_scope():  # also while a model is described
        if get_default_graph().runs_at_once:
            for weight, array in zip(weights, fitted, strict=True):
                weight.assign(array)
            return
    session = session_of_weights()
    for weight, array in zip(weights, fitted, strict=True):
        weight.load(array, session)
        weight._keras_initialized = session


def initialise(session: Any, weights: list[Any]) -> None:
    """Give those variables their initial values that have none in this session."""
    unknown = [w for w in weights if getattr(w, "_keras_initialized", None) is not session]
    if not unknown:
        return
    known = session.run([is_variable_initialized(weight) for weight in unknown])
    missing = [w.initializer for w, ready in zip(unknown, known, strict=True) if not ready]
    if missing:
        session.run(missing)
    for weight in unknown:
        weight._keras_initialized = session


def read_tensors(tensors: list[Any]) -> list[Any]:
    """The values of tensors that depend on weights at most."""
    values: list[Any] = session_of_weights().run(tensors)
    return values


_TRACKED = "keras_variables"


def track(variable: Any) -> None:
    """Remember a variable that Keras made: Keras initialises it before it is needed."""
    graph = variable.graph
    if not graph.runs_at_once:
        graph._scoped.setdefault(_TRACKED, []).append(variable)


_manual: list[bool] = []


def manual_initialisation(value: bool) -> None:
    """True: Keras leaves it to the user to initialise variables."""
    _manual[:] = [True] if value else []


def session_with_weights() -> Any:
    """The session of weights, in which all of Keras' variables of the graph have values."""
    session = session_of_weights()
    graph = get_default_graph()
    known = graph._scoped.get(_TRACKED, ())
    done = graph._scoped.get("keras_initialised")
    if done != (session, len(known)):
        if not _manual:
            initialise(session, list(known))
        graph._scoped["keras_initialised"] = (session, len(known))
    return session
