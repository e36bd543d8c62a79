"""Barriers as Python objects."""

from __future__ import annotations

from typing import Any

from headrace.core.fields import reads
from headrace.core.shapes import UNKNOWN, Shape, make_shape
from headrace.functions.queues.queue import _as_shapes, _as_types
from headrace.graph.node import Node
from headrace.graph.tensor import Tensor
from headrace.ops.declaration.constants import constant_value
from headrace.ops.queues import barrier as ops


class Barrier:
    """Tuples under keys, whose components come one by one.

    A tuple can be taken when it is complete; those whose first components came first leave first.

    Args:
      types: types of the components.
      shapes: their shapes; None for any.
      shared_name: the name under which several sessions share it.
      name: name of the node.

    Raises:
      ValueError: a shape has no elements.
    """

    def __init__(
        self, types: Any, shapes: Any = None, shared_name: str | None = None, name: str = "barrier"
    ) -> None:
        self._types = _as_types(types)
        self._shapes: list[Shape] = _as_shapes(shapes) or [UNKNOWN] * len(self._types)
        for i, shape in enumerate(self._shapes):
            if shape.num_elements() == 0:
                raise ValueError(
                    f"Empty tensors are not supported, but received shape '{shape}' at index {i}"
                )
        self._barrier_ref: Tensor = ops.barrier(
            component_types=self._types, shapes=self._shapes, shared_name=shared_name or "", name=name
        )
        self._name = self._barrier_ref.op.name.split("/")[-1]

    barrier_ref: Tensor = reads("_barrier_ref", "The reference that leads to it.")
    name: str = reads("_barrier_ref.op.name", "The name of its node.")

    def insert_many(self, component_index: int, keys: Any, values: Any, name: str | None = None) -> Node:
        """A node that gives each key its value of one component.

        Args:
          component_index: which component.
          keys: a vector of keys.
          values: a value for each, along the first dimension.
          name: name of the node.
        """
        name = name or f"{self._name}_BarrierInsertMany"
        made: Node = ops.barrier_insert_many(
            self._barrier_ref, keys, values, component_index=component_index, name=name
        )
        return made

    def take_many(
        self,
        num_elements: int | Tensor | None,
        allow_small_batch: bool = False,
        timeout: int | None = None,
        name: str | None = None,
    ) -> Any:
        """Take complete tuples, when there are enough.

        Args:
          num_elements: how many.
          allow_small_batch: fewer will do when the barrier is closed.
          timeout: not supported.
          name: name of the node.

        Returns: (indices, keys, components): the number of the insertion that began each tuple, from -2**63;
        its key; and a list with one tensor for each component.
        """
        taken = ops.barrier_take_many(
            self._barrier_ref,
            num_elements,
            component_types=self._types,
            allow_small_batch=allow_small_batch,
            timeout_ms=-1 if timeout is None else timeout,
            name=name or f"{self._name}_BarrierTakeMany",
        )
        node = taken[0].op
        count = None if allow_small_batch else constant_value(node.inputs[1])
        batch = make_shape((None if count is None else int(count),))
        for output, shape in zip(node.outputs, [make_shape(()), make_shape(()), *self._shapes]):
            output.set_shape(batch.concatenate(shape))
        return taken

    def close(self, cancel_pending_enqueues: bool = False, name: str | None = None) -> Node:
        """A node after which no new keys are taken.

        Args:
          cancel_pending_enqueues: refuse values of known keys too.
          name: name of the node.
        """
        made: Node = ops.barrier_close(
            self._barrier_ref,
            cancel_pending_enqueues=cancel_pending_enqueues,
            name=name or f"{self._name}_BarrierClose",
        )
        return made

    def ready_size(self, name: str | None = None) -> Tensor:
        """How many tuples are complete.

        Args:
          name: name of the node.
        """
        found: Tensor = ops.barrier_ready_size(
            self._barrier_ref, name=name or f"{self._name}_BarrierReadySize"
        )
        return found

    def incomplete_size(self, name: str | None = None) -> Tensor:
        """How many tuples lack components.

        Args:
          name: name of the node.
        """
        found: Tensor = ops.barrier_incomplete_size(
            self._barrier_ref, name=name or f"{self._name}_BarrierIncompleteSize"
        )
        return found
