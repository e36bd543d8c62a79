"""Values of weights, read and written through the session at hand."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.core.modules import late
from headrace.graph.defaults import get_default_graph, get_default_session
from headrace.variables.listing import is_variable_initialized

sessions = late("headrace.session.session")


def _session() -> Any:
    """The default session; without one, a session that lives as long as the graph."""
    session = get_default_session()
    if session is None:
        graph = get_default_graph()
        session = graph._scoped.get("weights_session")
        if session is None:
            session = graph._scoped["weights_session"] = sessions.Session(graph=graph)
    return session


def read_weights(weights: list[Any]) -> list[Any]:
    """The values of variables; those that have none yet are initialised first."""
    if not weights:
        return []
    session = _session()
    _initialise(session, weights)
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
    session = _session()
    for weight, array in zip(weights, arrays, strict=True):
        weight.load(array.astype(weight.dtype.base_dtype.as_numpy_dtype), session)


def _initialise(session: Any, weights: list[Any]) -> None:
    known = session.run([is_variable_initialized(weight) for weight in weights])
    missing = [w.initializer for w, ready in zip(weights, known, strict=True) if not ready]
    if missing:
        session.run(missing)
