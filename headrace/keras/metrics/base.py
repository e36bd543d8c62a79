"""Metric: state that batches update, and a result of it."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.core.dtypes import as_dtype
from headrace.layers import ops
from headrace.layers.engine.config import floatx
from headrace.layers.engine.layer import Layer
from headrace.layers.engine.model_graph import home_of
from headrace.layers.engine.weight_values import load_weights
from headrace.ops.declaration.traits import WRITES
from headrace.variables.modes import VariableAggregation, VariableSynchronization


class Metric(Layer):
    """A metric.  Subclasses make their state with `add_weight`, update it in `update_state`, and compute the
    `result` from it.

    Args:
      name: its name.
      dtype: element type of its state and result.
      **kwargs: as of Layer.
    """

    _is_metric = True
    stateful = True

    def __init__(self, name: str | None = None, dtype: Any = None, **kwargs: Any) -> None:
        super().__init__(name=name, dtype=floatx() if dtype is None else as_dtype(dtype).name, **kwargs)
        self.built = True
        self._call_result: Any = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """The methods of a subclass do more than they say: updates are noted, and so is the result."""
        super().__init_subclass__(**kwargs)
        for name, wrap in (("update_state", _noting_updates), ("result", _noting_result)):
            if name in vars(cls):
                setattr(cls, name, wrap(vars(cls)[name]))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Update the state, and give the result."""
        with home_of(args, list(kwargs.values())):
            update = self.update_state(*args, **kwargs)
            waits = [] if update is None else [update]
            with ops.control_dependencies(waits):
                found = self.result()
        found._metric_obj = self
        return found

    def update_state(self, *args: Any, **kwargs: Any) -> Any:
        """Take in a batch."""
        raise NotImplementedError("Must be implemented in subclasses.")

    def result(self) -> Any:
        """The value so far."""
        raise NotImplementedError("Must be implemented in subclasses.")

    def reset_states(self) -> None:
        """Begin anew."""
        load_weights(self.weights, [np.zeros(v.shape.as_list()) for v in self.weights])

    def add_weight(  # type: ignore[override]
        self,
        name: str,
        shape: Any = (),
        aggregation: Any = VariableAggregation.SUM,
        synchronization: Any = VariableSynchronization.ON_READ,
        initializer: Any = None,
        dtype: Any = None,
    ) -> Any:
        """Make a variable of the metric."""
        return super().add_weight(
            name=name,
            shape=shape,
            dtype=self.dtype if dtype is None else dtype,
            trainable=False,
            initializer=initializer,
            collections=[],
            synchronization=synchronization,
            aggregation=aggregation,
        )

    def get_config(self) -> dict[str, Any]:
        return {"name": self.name, "dtype": self.dtype}

    def _add_states(self, shape: Any, *names: str) -> None:
        """Attributes that are variables of zeros."""
        for name in names:
            setattr(self, name, self.add_weight(name, shape=shape, initializer="zeros"))


def _noting_updates(update_state: Any) -> Any:
    """The outermost call of `update_state` says what is to be run: all writes that it has made."""

    def noted(self: Metric, *args: Any, **kwargs: Any) -> Any:
        if vars(self).get("_is_updating"):
            return update_state(self, *args, **kwargs)
        with home_of(args, list(kwargs.values())):
            graph = ops.get_default_graph()
            before = graph.version
            object.__setattr__(self, "_is_updating", True)
            try:
                update = update_state(self, *args, **kwargs)
            finally:
                object.__setattr__(self, "_is_updating", False)
            if graph.runs_at_once:
                return None
            if update is None:
                update = _writes_since(graph, before)
            if update is not None:
                self.add_update(update)
            return update

    noted.__doc__ = update_state.__doc__
    noted.__wrapped__ = update_state  # type: ignore[attr-defined]
    return noted


def _writes_since(graph: Any, version: int) -> Any:
    made = [n for n in graph.get_operations()[version:] if WRITES in n.declaration.traits]
    return ops.group(*made) if made else None


def _noting_result(result: Any) -> Any:
    def noted(self: Metric, *args: Any) -> Any:
        found = ops.identity(result(self, *args))
        object.__setattr__(self, "_call_result", found)
        return found

    noted.__doc__ = result.__doc__
    noted.__wrapped__ = result  # type: ignore[attr-defined]
    return noted


def clone_metric(metric: Any) -> Any:
    """An equal metric with state of its own; functions are themselves."""
    if not isinstance(metric, Metric):
        return metric
    with ops.init_scope():
        return type(metric).from_config(metric.get_config())
