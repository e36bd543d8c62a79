"""tfe.EagerVariableStore: keeps the variables that `get_variable` makes in eager mode, and finds them
again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from headrace.graph.defaults import get_default_graph
from headrace.variables.resource import ResourceVariable
from headrace.variables.store import _KEY, VariableStore


class EagerVariableStore:
    """Variables by name; without one, those of eager mode end with their last user.

    Args:
      store: of another one, whose variables it shares.

    Example:
      >>> container = tfe.EagerVariableStore()
      >>> with container.as_default():
      ...     y = tf.layers.dense(x, 3, name="l1")
      >>> container.variables()
    """

    def __init__(self, store: VariableStore | None = None) -> None:
        if store is not None and not store.keeps_eager:
            raise ValueError(
                "Cannot construct EagerVariableStore from a VariableStore object that does not hold eager "
                "variables."
            )
        self._store = VariableStore() if store is None else store
        self._store.keeps_eager = True

    @contextmanager
    def as_default(self) -> Iterator[None]:
        """Inside, `get_variable` looks here."""
        stores = get_default_graph().get_collection_ref(_KEY)
        old = list(stores)
        stores[:] = [self._store]
        try:
            yield
        finally:
            stores[:] = old

    def variables(self) -> list[Any]:
        return sorted(self._store._vars.values(), key=lambda v: v.name)

    def trainable_variables(self) -> list[Any]:
        return [v for v in self.variables() if v.trainable]

    def non_trainable_variables(self) -> list[Any]:
        return [v for v in self.variables() if not v.trainable]

    def copy(self) -> EagerVariableStore:
        """Another one, with variables of the same values."""
        made = EagerVariableStore()
        for key, v in self._store._vars.items():
            copied = ResourceVariable(v.read_value(), name=v.name.partition(":")[0], trainable=v.trainable)
            made._store._vars[key] = copied
        return made
