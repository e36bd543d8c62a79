"""tf.GradientTape in a graph: gradients of what was made while the tape was open."""

from __future__ import annotations

from types import TracebackType
from typing import Any

from headrace.autodiff.gradients import UnconnectedGradients, gradients
from headrace.functions.values import nest
from headrace.graph.defaults import get_default_graph
from headrace.graph.tensor import Tensor


class GradientTape:
    """Remembers which tensors are watched; `gradient` differentiates with respect to them.

    Args:
      persistent: `gradient` may be called more than once.
      watch_accessed_variables: trainable variables are watched by themselves.

    Example:
      >>> x = tf.constant(3.0)
      >>> with tf.GradientTape() as tape:
      ...     tape.watch(x)
      ...     y = x * x
      >>> tape.gradient(y, x)        # 6.0
    """

    def __init__(self, persistent: bool = False, watch_accessed_variables: bool = True) -> None:
        self._persistent, self._variables = persistent, watch_accessed_variables
        self._watched: list[Any] = []
        self._recording = self._used = False
        self._first_node = 0

    def __enter__(self) -> GradientTape:
        if self._recording:
            raise ValueError("Tape is already recording.")
        self._recording = True
        self._first_node = get_default_graph().version
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._recording = False

    def watch(self, tensor: Any) -> None:
        """Gradients with respect to `tensor` (or a structure of them) may be asked for."""
        self._watched += nest.flatten(tensor)

    def watched_variables(self) -> tuple[Any, ...]:
        found = [v for v in self._watched if hasattr(v, "initializer")]
        if self._variables:
            found += get_default_graph().get_collection("trainable_variables")
        return tuple(dict.fromkeys(found))

    def reset(self) -> None:
        """Forget what was watched."""
        self._watched.clear()
        self._first_node = get_default_graph().version

    def gradient(
        self,
        target: Any,
        sources: Any,
        output_gradients: Any = None,
        unconnected_gradients: Any = UnconnectedGradients.NONE,
    ) -> Any:
        """Derivatives of `target` with respect to a structure of sources, in that structure."""
        if self._used and not self._persistent:
            raise RuntimeError("GradientTape.gradient can only be called once on non-persistent tapes.")
        self._used = True
        flat = nest.flatten(sources)
        ys = nest.flatten(target)
        given = None if output_gradients is None else nest.flatten(output_gradients)
        found = gradients(ys, flat, given, unconnected_gradients=unconnected_gradients)
        kept = [g if self._is_watched(s) else None for s, g in zip(flat, found)]
        return nest.pack_sequence_as(sources, kept)

    def _is_watched(self, source: Any) -> bool:
        if any(source is w for w in self._watched):
            return True
        if isinstance(source, Tensor):
            return source.op.number > self._first_node
        return self._variables and bool(getattr(source, "trainable", True))
