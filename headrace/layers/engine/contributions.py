"""What a layer adds to training beside its output: losses and updates, its own and its parts'.

Each depends on the layer's inputs or not; those that do are asked for by input.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.functions.array.array import shape
from headrace.functions.math.cast import cast
from headrace.functions.values.nest import flatten
from headrace.functions.values.structure import name_scope
from headrace.graph.defaults import get_default_graph
from headrace.graph.node import Node
from headrace.graph.tensor import Tensor
from headrace.layers.engine.call_context import current_call
from headrace.layers.engine.reach import reached
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.variables.partitioned import PartitionedVariable


class Contributions:
    """The part of Layer that keeps losses and updates."""

    _losses: list[Any]
    _callable_losses: list[Callable[[], Any]]
    _updates: list[Any]
    _activity_regularizer: Any
    _inbound_nodes: list[Any]
    name: Any

    # -- losses --------------------------------------------------------------------------------
    @property
    def losses(self) -> list[Any]:
        """Tensors to add to the loss; those of weights are made at each access."""
        made = (loss() for loss in self._callable_losses)
        # What was made while a model was described does not count beside values of eager mode.
        own = [x for x in self._losses if x.graph.runs_at_once] or self._losses
        return [*own, *(x for x in made if x is not None), *self._of_parts("losses")]

    def _clear_losses(self) -> None:
        """Eager mode: those of the call before do not count any more."""
        self._losses.clear()
        for layer in self._sublayers():
            layer._clear_losses()

    def add_loss(self, losses: Any, inputs: Any = None) -> None:
        """Add losses.

        Args:
          losses: a tensor, a function without arguments that makes one, or a list of these.
          inputs: anything but None says that they depend on the inputs of the call.
        """
        for loss in flatten(losses):
            if callable(loss):
                self._callable_losses.append(_deferred(loss, inputs is None))
            elif loss is not None:
                self._losses.append(_marked(loss, inputs is None))

    def get_losses_for(self, inputs: Any) -> list[Any]:
        """The losses that depend on `inputs`; for None, those that depend on no input."""
        losses = self.losses
        if inputs is None:
            return [loss for loss in losses if loss._unconditional_loss]
        return reached(flatten(inputs), [x for x in losses if not x._unconditional_loss])

    def _handle_weight_regularization(self, name: str, variable: Any, regularizer: Any) -> None:
        for part in variable if isinstance(variable, PartitionedVariable) else [variable]:
            self.add_loss(_weight_loss(name, part, regularizer))

    def _handle_activity_regularization(self, inputs: Any, outputs: Any) -> None:
        if not self._activity_regularizer:
            return

        with name_scope("ActivityRegularizer"):
            for output in flatten(outputs):
                loss = self._activity_regularizer(output)
                # The strength must not depend on the size of the batch.
                self.add_loss(loss / cast(shape(output)[0], loss.dtype), inputs=inputs)

    # -- updates -------------------------------------------------------------------------------
    @property
    def updates(self) -> list[Any]:
        """Nodes to run at every training step; none where the layer is not trained."""
        if not getattr(self, "trainable", True) and not getattr(self, "stateful", False):
            return []
        return [*self._updates, *self._of_parts("updates")]

    def add_update(self, updates: Any, inputs: Any = None) -> None:
        """Add nodes to run at every training step.

        Args:
          updates: a node or tensor, a function without arguments that makes one, or a list.
          inputs: not used: whether an update depends on the inputs is found out.
        """
        call = current_call()
        listed = updates if isinstance(updates, list | tuple) else [updates]
        if get_default_graph().runs_at_once:
            if call is None or not call.frozen:
                for update in listed:
                    if callable(update):
                        update()
            return
        if call is None:
            sources = flatten([record.input_tensors for record in self._inbound_nodes])
        else:
            sources = flatten(call.inputs)
        for update in listed:
            node = _node_of(update)
            node._unconditional_update = not reached(sources, [node])
            self._updates.append(node)

    def get_updates_for(self, inputs: Any) -> list[Any]:
        """The updates that depend on `inputs`; for None, those that depend on no input."""
        updates = self.updates
        if inputs is None:
            return [node for node in updates if node._unconditional_update]
        return reached(flatten(inputs), [x for x in updates if not x._unconditional_update])

    # -- parts ---------------------------------------------------------------------------------
    def _sublayers(self) -> list[Any]:
        """Layers that are attributes of this one."""
        raise NotImplementedError

    def _of_parts(self, attribute: str) -> list[Any]:
        return [x for layer in self._sublayers() for x in getattr(layer, attribute)]


def _marked(loss: Any, unconditional: bool) -> Any:
    if not isinstance(loss, Tensor):
        loss = convert_to_tensor(loss)
    loss._unconditional_loss = unconditional
    return loss


def _deferred(loss: Callable[[], Any], unconditional: bool) -> Callable[[], Any]:
    def make() -> Any:
        made = loss()
        return None if made is None else _marked(made, unconditional)

    return make


def _weight_loss(name: str, variable: Any, regularizer: Any) -> Callable[[], Any]:
    def make() -> Any:
        with name_scope(name + "/Regularizer"):
            return regularizer(variable)

    return make


def _node_of(update: Any) -> Any:
    if callable(update):
        return _node_of(update())
    if isinstance(update, Node):
        return update
    return update.op if hasattr(update, "op") else convert_to_tensor(update).op
