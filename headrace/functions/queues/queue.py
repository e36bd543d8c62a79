"""Queues as Python objects: tf.queue.FIFOQueue and its relatives."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

from headrace.core.dtypes import DType, DTypeLike, as_dtype, int64, resource
from headrace.core.fields import reads
from headrace.core.shapes import SCALAR, UNKNOWN, Shape, as_shape, make_shape
from headrace.functions.array.stacking import stack
from headrace.functions.random.random_seed import get_seed
from headrace.functions.values.structure import name_scope
from headrace.graph.node import Node
from headrace.graph.tensor import Tensor
from headrace.ops.array.indexing.gather import gather_v2
from headrace.ops.declaration.constants import constant
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.queues import queue as ops


def _as_types(dtypes: Any) -> list[DType]:
    return [as_dtype(d) for d in (dtypes if isinstance(dtypes, (list, tuple)) else [dtypes])]


def _as_shapes(shapes: Any, partial: bool = False) -> list[Shape] | None:
    if partial and (
        not isinstance(shapes, Sequence) or not shapes or any(s is None or isinstance(s, int) for s in shapes)
    ):
        raise ValueError("When providing partial shapes, a list of shapes must be provided.")
    if shapes is None:
        return None
    if isinstance(shapes, Shape):
        shapes = [shapes]
    if not isinstance(shapes, (tuple, list)):
        raise TypeError("shapes must be a TensorShape or a list or tuple of TensorShapes.")
    if all(s is None or isinstance(s, int) for s in shapes):
        shapes = [shapes]
    found = [as_shape(s) for s in shapes]
    if not partial and not all(s.is_fully_defined() for s in found):
        raise ValueError(f"All shapes must be fully defined: {found}")
    if any(s.rank is None for s in found):
        raise ValueError(f"All shapes must have a defined rank: {found}")
    return found


def _as_names(names: Any, dtypes: list[DType]) -> list[Any] | None:
    if names is None:
        return None
    names = list(names) if isinstance(names, (list, tuple)) else [names]
    if len(names) != len(dtypes):
        raise ValueError("List of names must have the same length as the list of dtypes")
    result: list[Any] | None = names
    return result


def _common(a: Shape, b: Shape) -> Shape:
    """What two shapes have in common."""
    if a.rank is None or a.rank != b.rank:
        return UNKNOWN
    return make_shape(x if x == y else None for x, y in zip(a.sizes, b.sizes))


class QueueBase:
    """A queue of tuples of tensors, kept by the session between steps.

    Ops that find no room, or too few elements, wait.  An element is a tensor, a list of them, or,
    where the queue has names, a dict.
    """

    def __init__(self, dtypes: Any, shapes: Any, names: Any, queue_ref: Tensor) -> None:
        """Args:
        dtypes: types of the components.
        shapes: their shapes, or None.
        names: their names, or None.
        queue_ref: the handle of the queue.
        """
        self._dtypes = dtypes
        if shapes is not None and len(shapes) != len(dtypes):
            raise ValueError("Queue shapes must have the same length as dtypes")
        if names is not None and len(names) != len(dtypes):
            raise ValueError("Queue names must have the same length as dtypes")
        self._shapes = [UNKNOWN] * len(dtypes) if shapes is None else [as_shape(s) for s in shapes]
        self._names = names
        self._queue_ref = queue_ref
        self._name = queue_ref.op.name.split("/")[-1]

    def _begin(
        self, make: Callable[..., Tensor], dtypes: Any, shapes: Any, names: Any, **options: Any
    ) -> None:
        """A queue that an op makes."""
        types = _as_types(dtypes)
        names = _as_names(names, types)
        QueueBase.__init__(self, types, shapes, names, make(component_types=types, shapes=shapes, **options))

    @staticmethod
    def from_list(index: Any, queues: Any) -> QueueBase:
        """One of several queues of the same make.

        Args:
          index: a scalar integer tensor, which of them.
          queues: a list of queues.

        Returns:
          A queue object whose ops use the chosen queue.

        Raises:
          TypeError: `queues` is not such a list.
        """
        if not queues or not isinstance(queues, list):
            raise TypeError("A list of queues expected")
        if not all(isinstance(q, QueueBase) for q in queues):
            raise TypeError("A list of queues expected")
        first = queues[0]
        if any(q.dtypes != first.dtypes for q in queues):
            raise TypeError("Queues do not have matching component dtypes.")
        if any(q.names != first.names for q in queues):
            raise TypeError("Queues do not have matching component names.")
        shapes = [reduce(_common, shapes) for shapes in zip(*(q.shapes for q in queues))]
        handles = stack([q.queue_ref for q in queues])
        chosen = gather_v2(handles, index, 0)
        return QueueBase(first.dtypes, shapes, first.names, chosen)

    queue_ref: Tensor = reads("_queue_ref", "The handle of the queue.")
    name: str = reads("_queue_ref.op.name", "The name of the queue's node.")
    dtypes: Any = reads("_dtypes", "Types of the components.")
    shapes: list[Shape] = reads("_shapes", "Shapes of the components.")
    names: Any = reads("_names", "Names of the components, or None.")

    # -- in --------------------------------------------------------------------------------------
    def _components(self, vals: Any) -> list[Tensor]:
        named = isinstance(vals, dict)
        if self._names and not named:
            raise ValueError("You must enqueue a dictionary in a Queue with names")
        if named and not self._names:
            raise ValueError("Queue must have names to enqueue a dictionary")
        if named:
            if set(vals) != set(self._names):
                raise ValueError(
                    f"Keys in dictionary to enqueue, {sorted(vals, key=str)}, do not match names of "
                    f"Queue, {sorted(self._names)}"
                )
            vals = [vals[k] for k in self._names]
        elif not isinstance(vals, (list, tuple)):
            vals = [vals]
        return [
            convert_to_tensor(value, dtype=dtype, name=f"component_{i}")
            for i, (value, dtype) in enumerate(zip(vals, self._dtypes))
        ]

    def enqueue(self, vals: Any, name: str | None = None) -> Node:
        """A node that puts one element into the queue.

        Args:
          vals: a tensor, a list of them, or a dict from names to tensors.
          name: name of the node.
        """
        with name_scope(name, f"{self._name}_enqueue", _all(vals)) as scope:
            values = self._components(vals)
            for value, shape in zip(values, self._shapes):
                value.shape.assert_is_compatible_with(shape)
            put = self._op(ops.queue_enqueue_v2, ops.queue_enqueue)
            result: Node = put(self._queue_ref, values, name=scope)
            return result

    def enqueue_many(self, vals: Any, name: str | None = None) -> Node:
        """A node that puts the slices of `vals` along the first dimension into the queue.

        Args:
          vals: a tensor, a list of them, or a dict from names to tensors, of one first size.
          name: name of the node.
        """
        with name_scope(name, f"{self._name}_EnqueueMany", _all(vals)) as scope:
            values = self._components(vals)
            batch = make_shape([None])
            for value, shape in zip(values, self._shapes):
                whole = value.shape.with_rank_at_least(1)
                if whole.rank is not None:
                    batch = batch.merge_with(make_shape(whole.sizes[:1]))
                    make_shape(whole.sizes[1:]).assert_is_compatible_with(shape)
            put = self._op(ops.queue_enqueue_many_v2, ops.queue_enqueue_many)
            result: Node = put(self._queue_ref, values, name=scope)
            return result

    # -- out -------------------------------------------------------------------------------------
    def _result(self, tensors: Sequence[Tensor], leading: list[int | None]) -> Any:
        for tensor, shape in zip(tensors, self._shapes):
            tensor.set_shape(make_shape(leading).concatenate(shape) if leading else shape)
        if self._names:
            return dict(zip(self._names, tensors))
        return tensors[0] if len(tensors) == 1 else tensors

    def dequeue(self, name: str | None = None) -> Any:
        """One element.

        Args:
          name: name of the node.

        Returns:
          A tensor, a list of them, or a dict where the queue has names.
        """
        take = self._op(ops.queue_dequeue_v2, ops.queue_dequeue)
        return self._result(take(self._queue_ref, self._dtypes, name=name or f"{self._name}_Dequeue"), [])

    def dequeue_many(self, n: Any, name: str | None = None) -> Any:
        """`n` elements, put together along a new first dimension.  A closed queue that has fewer
        raises OutOfRangeError.

        Args:
          n: a scalar integer.
          name: name of the node.
        """
        take = self._op(ops.queue_dequeue_many_v2, ops.queue_dequeue_many)
        taken = take(
            self._queue_ref, n=n, component_types=self._dtypes, name=name or f"{self._name}_DequeueMany"
        )
        count = constant(taken[0].op.inputs[1])
        return self._result(taken, [None if count is None else int(count)])

    def dequeue_up_to(self, n: Any, name: str | None = None) -> Any:
        """`n` elements, put together along a new first dimension, or the rest of a closed queue.

        Args:
          n: a scalar integer.
          name: name of the node.
        """
        take = self._op(ops.queue_dequeue_up_to_v2, ops.queue_dequeue_up_to)
        taken = take(
            self._queue_ref, n=n, component_types=self._dtypes, name=name or f"{self._name}_DequeueUpTo"
        )
        return self._result(taken, [None])

    # -- the queue itself ------------------------------------------------------------------------
    def close(self, cancel_pending_enqueues: bool = False, name: str | None = None) -> Node:
        """A node that closes the queue: nothing more goes in after what waits to get in.

        Args:
          cancel_pending_enqueues: what waits to get in does not either.
          name: name of the node.
        """
        close = self._op(ops.queue_close_v2, ops.queue_close)
        result: Node = close(
            self._queue_ref,
            cancel_pending_enqueues=cancel_pending_enqueues,
            name=name or f"{self._name}_Close",
        )
        return result

    def is_closed(self, name: str | None = None) -> Tensor:
        """Whether the queue is closed.

        Args:
          name: name of the node.
        """
        ask = self._op(ops.queue_is_closed_v2, ops.queue_is_closed)
        result: Tensor = ask(self._queue_ref, name=name or f"{self._name}_Is_Closed")
        return result

    def size(self, name: str | None = None) -> Tensor:
        """How many elements the queue has.

        Args:
          name: name of the node.
        """
        ask = self._op(ops.queue_size_v2, ops.queue_size)
        result: Tensor = ask(self._queue_ref, name=name or f"{self._name}_Size")
        return result

    def _op(self, with_handle: Any, with_reference: Any) -> Any:
        return with_handle if self._queue_ref.dtype == resource else with_reference


def _all(vals: Any) -> list[Any]:
    if isinstance(vals, dict):
        return list(vals.values())
    return list(vals) if isinstance(vals, (list, tuple)) else [vals]


class FIFOQueue(QueueBase):
    """A queue: first in, first out."""

    def __init__(
        self,
        capacity: int,
        dtypes: DTypeLike | Sequence[DTypeLike],
        shapes: Any = None,
        names: Sequence[str] | None = None,
        shared_name: str | None = None,
        name: str | None = "fifo_queue",
    ) -> None:
        """Args:
        capacity: how many elements it holds.
        dtypes: types of the components.
        shapes: fully known shapes of the components; needed to take several at once.
        names: names of the components; elements are dicts then.
        shared_name: the name under which other nodes find the same queue.
        name: name of the node.
        """
        shapes = _as_shapes(shapes)
        options = {"capacity": capacity, "shared_name": shared_name, "name": name}
        self._begin(ops.fifo_queue_v2, dtypes, shapes, names, **options)


class PaddingFIFOQueue(QueueBase):
    """A queue, first in, first out, whose elements may differ in size: batches are filled up."""

    def __init__(
        self,
        capacity: int,
        dtypes: DTypeLike | Sequence[DTypeLike],
        shapes: Any,
        names: Sequence[str] | None = None,
        shared_name: str | None = None,
        name: str | None = "padding_fifo_queue",
    ) -> None:
        """Args:
        capacity: how many elements it holds.
        dtypes: types of the components.
        shapes: shapes of the components; a size None varies.
        names: names of the components; elements are dicts then.
        shared_name: the name under which other nodes find the same queue.
        name: name of the node.
        """
        count, found = len(_as_types(dtypes)), _as_shapes(shapes, partial=True)
        if found is None or count != len(found):
            raise ValueError(
                f"Shapes must be provided for all components, but received {count} dtypes and "
                f"{len(found or ())} shapes."
            )
        options = {"capacity": capacity, "shared_name": shared_name, "name": name}
        self._begin(ops.padding_fifo_queue_v2, dtypes, found, names, **options)


class RandomShuffleQueue(QueueBase):
    """A queue whose elements leave in random order."""

    def __init__(
        self,
        capacity: int,
        min_after_dequeue: int,
        dtypes: DTypeLike | Sequence[DTypeLike],
        shapes: Any = None,
        names: Sequence[str] | None = None,
        seed: int | None = None,
        shared_name: str | None = None,
        name: str | None = "random_shuffle_queue",
    ) -> None:
        """Args:
        capacity: how many elements it holds.
        min_after_dequeue: so many stay behind, to be mixed, until the queue is closed.
        dtypes: types of the components.
        shapes: fully known shapes of the components; needed to take several at once.
        names: names of the components; elements are dicts then.
        seed: seed of the order.
        shared_name: the name under which other nodes find the same queue.
        name: name of the node.
        """
        types = _as_types(dtypes)
        shapes = _as_shapes(shapes)
        names = _as_names(names, types)
        first, second = get_seed(seed)
        if first is None and second is None:
            first, second = 0, 0
        elif seed is None and shared_name is not None:
            # Nodes that share a queue must agree on its seed, though each counts its own nodes.
            digest = hashlib.md5(f"{first}{shared_name}".encode()).hexdigest()
            second = int(digest[:8], 16) & 0x7FFFFFFF
        handle = ops.random_shuffle_queue_v2(
            component_types=types,
            shapes=shapes,
            capacity=capacity,
            min_after_dequeue=min_after_dequeue,
            seed=first,
            seed2=second,
            shared_name=shared_name,
            name=name,
        )
        super().__init__(types, shapes, names, handle)


class PriorityQueue(QueueBase):
    """A queue whose elements leave in the order of their first component, an int64 scalar."""

    def __init__(
        self,
        capacity: int,
        types: Any,
        shapes: Any = None,
        names: Sequence[str] | None = None,
        shared_name: str | None = None,
        name: str | None = "priority_queue",
    ) -> None:
        """Args:
        capacity: how many elements it holds.
        types: types of the components after the priority.
        shapes: their fully known shapes; needed to take several at once.
        names: names of all components; elements are dicts then.
        shared_name: the name under which other nodes find the same queue.
        name: name of the node.
        """
        found = _as_types(types)
        shapes = _as_shapes(shapes)
        handle = ops.priority_queue_v2(
            component_types=found, shapes=shapes or [], capacity=capacity, shared_name=shared_name, name=name
        )
        super().__init__([int64, *found], [SCALAR, *shapes] if shapes else None, names, handle)
