"""tf.GradientTape: gradients of what was made while the tape was open.

In a graph the graph itself is the record.  In eager mode the tape keeps the nodes that depend on what it
watches, as they run (graph.recorders), and lets them go when it ends; `gradients` walks over them as over any
others.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any

from headrace.autodiff import jacobians
from headrace.autodiff.gradients import UnconnectedGradients, gradients
from headrace.autodiff.reach import has_gradient_type
from headrace.core import log
from headrace.functions.values import nest
from headrace.graph import recorders
from headrace.graph.defaults import get_default_graph
from headrace.graph.eager_tensor import EagerNode, EagerTensor
from headrace.graph.tensor import Tensor
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.declaration.traits import WRITES


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
        self._accessed: dict[Any, None] = {}  # variables
        self._tensors: set[EagerTensor] = set()  # of eager mode: what depends on what is watched
        self._nodes: list[EagerNode] = []
        self._recording = self._used = False
        self._first_node = 0

    def __enter__(self) -> GradientTape:
        self._start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._recording:
            self._stop()

    def _start(self) -> None:
        if self._recording:
            raise ValueError("Tape is already recording.")
        self._recording = True
        self._first_node = get_default_graph().version
        recorders.push(self)

    def _stop(self) -> None:
        if not self._recording:
            raise ValueError("Tape is not recording.")
        self._recording = False
        recorders.pop(self)

    def __del__(self) -> None:
        self._forget()

    def _forget(self) -> None:
        nodes, self._nodes = self._nodes, []
        tensors, self._tensors = self._tensors, set()
        for tensor in tensors:
            tensor.unpin()
        for node in nodes:
            node.forget()

    # -- what is watched -------------------------------------------------------------------------
    def watch(self, tensor: Any) -> None:
        """Gradients with respect to `tensor` (or a structure of them) may be asked for."""
        for item in nest.flatten(tensor):
            if not (
                isinstance(item, Tensor) or hasattr(item, "handle") or hasattr(item, "_as_graph_element")
            ):
                raise ValueError(f"Passed in object of type {type(item)}, not tf.Tensor")
            if not has_gradient_kind(item):
                log.warning(
                    "The dtype of the watched tensor must be floating (e.g. tf.float32), got %r", item.dtype
                )
            self._watched.append(item)
            handle = getattr(item, "handle", None)
            self._watch_value(item if handle is None else handle)

    def _watch_value(self, tensor: Any) -> None:
        if isinstance(tensor, EagerTensor) and tensor not in self._tensors:
            tensor.pin()
            self._tensors.add(tensor)

    def saw(self, node: EagerNode) -> None:
        """An op has run in eager mode: recorded if it depends on something that is watched."""
        if not self.watches(node):
            return
        watched = self._tensors
        node.remember()
        self._nodes.append(node)
        for output in node.results:
            if has_gradient_type(output):
                output.pin()
                watched.add(output)

    def watches(self, node: EagerNode) -> bool:
        if self._variables:
            self._watch_accessed(node)
        return not self._tensors.isdisjoint(node.inputs)

    def _watch_accessed(self, node: EagerNode) -> None:
        """Trainable variables that the node reads."""
        if WRITES in node.declaration.traits:
            return
        for tensor in node.inputs:
            if not isinstance(tensor, EagerTensor) or tensor.variable is None:
                continue
            variable = tensor.variable()
            if variable is not None and variable.trainable:
                self._accessed[variable] = None
                self._watch_value(tensor)

    def watched_variables(self) -> tuple[Any, ...]:
        found = [v for v in self._watched if hasattr(v, "initializer")]
        if self._variables and not get_default_graph().runs_at_once:
            found += get_default_graph().get_collection("trainable_variables")
        return tuple(dict.fromkeys([*found, *self._accessed]))

    @contextmanager
    def stop_recording(self) -> Iterator[None]:
        """What runs inside is not recorded."""
        if not self._recording:
            raise RuntimeError("Trying to stop recording a tape which is not recording.")
        self._stop()
        try:
            yield
        finally:
            self._recording = True
            recorders.push(self)

    def reset(self) -> None:
        """Forget what was watched and recorded."""
        self._forget()
        self._watched.clear()
        self._accessed.clear()
        self._first_node = get_default_graph().version

    # -- gradients -------------------------------------------------------------------------------
    def gradient(
        self,
        target: Any,
        sources: Any,
        output_gradients: Any = None,
        unconnected_gradients: Any = UnconnectedGradients.NONE,
    ) -> Any:
        """Derivatives of `target` with respect to a structure of sources, in that structure."""
        with self._differentiating():
            given = None if output_gradients is None else nest.flatten(output_gradients)
            found = self._gradients(
                [self._read(y) for y in nest.flatten(target)],
                nest.flatten(sources),
                given,
                unconnected_gradients,
            )
        return nest.pack_sequence_as(sources, found)

    def jacobian(
        self,
        target: Any,
        sources: Any,
        unconnected_gradients: Any = UnconnectedGradients.NONE,
        parallel_iterations: int | None = None,
        experimental_use_pfor: bool = True,
    ) -> Any:
        """Derivatives of each element of `target`: in front, the shape of the target.

        Args:
          target: a tensor of a known shape.
          sources: a structure of tensors or variables.
          unconnected_gradients: what stands for a source that the target does not depend on.
          parallel_iterations, experimental_use_pfor: accepted; one element is taken after another.
        """
        _check_recorded(self._persistent or experimental_use_pfor or not isinstance(target, EagerTensor))
        with self._differentiating():

            def along(weights: Any) -> list[Any]:
                return self._gradients([target], nest.flatten(sources), [weights], unconnected_gradients)

            return nest.pack_sequence_as(sources, jacobians.rows(target, along))

    def batch_jacobian(
        self,
        target: Any,
        source: Any,
        unconnected_gradients: Any = UnconnectedGradients.NONE,
        parallel_iterations: int | None = None,
        experimental_use_pfor: bool = True,
    ) -> Any:
        """The Jacobian of each example, where each row of `target` depends on the same row of `source`
        alone."""
        jacobians.check_batches(target, source)
        _check_recorded(self._persistent or experimental_use_pfor or not isinstance(target, EagerTensor))
        with self._differentiating():

            def along(weights: Any) -> Any:
                return self._gradients([target], [source], [weights], unconnected_gradients)[0]

            return jacobians.of_batch(target, source, along)

    @contextmanager
    def _differentiating(self) -> Iterator[None]:
        """A tape that is not persistent does this once, and stops recording for it."""
        if self._used and not self._persistent:
            raise RuntimeError("GradientTape.gradient can only be called once on non-persistent tapes.")
        if self._recording and not self._persistent:
            self._stop()
        self._used = True
        yield
        if not self._persistent:
            self._forget()

    def _read(self, target: Any) -> Any:
        """A variable is differentiated as the value that is read of it now."""
        if isinstance(target, Tensor) or not get_default_graph().runs_at_once:
            return target
        recorders.push(self)
        try:
            return convert_to_tensor(target)
        finally:
            recorders.pop(self)

    def _gradients(self, ys: Any, sources: list[Any], given: Any, unconnected: Any) -> list[Any]:
        kinds = [has_gradient_kind(y) for y in ys]
        if given is not None:
            given = [g for g, has_kind in zip(given, kinds) if has_kind]
        ys = [y for y, has_kind in zip(ys, kinds) if has_kind]
        if not ys:
            return [None] * len(sources)
        found = gradients(ys, sources, given, unconnected_gradients=unconnected)
        zeros = UnconnectedGradients(unconnected) is UnconnectedGradients.ZERO
        return [g if zeros or self._is_watched(s) else None for s, g in zip(sources, found)]

    def _is_watched(self, source: Any) -> bool:
        handle = getattr(source, "handle", source)
        if isinstance(handle, EagerTensor) and get_default_graph().runs_at_once:
            return handle in self._tensors
        if any(source is w for w in self._watched):
            return True
        if isinstance(source, Tensor) and not isinstance(source, EagerTensor):
            return source.op.number > self._first_node
        return self._variables and bool(getattr(source, "trainable", True))


def _check_recorded(is_possible: bool) -> None:
    if not is_possible:
        raise RuntimeError(
            "GradientTape must be created with persistent=True to compute the jacobian with eager execution "
            "enabled and with experimental_use_pfor set to False."
        )


def has_gradient_kind(item: Any) -> bool:
    base = item.dtype.base
    return bool(base.is_floating or base.is_complex or base.kind in "rv")
