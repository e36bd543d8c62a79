"""tf.train.shuffle_batch and its relatives: batches in random order."""

from __future__ import annotations

from typing import Any

from headrace.core.dtypes import float32
from headrace.functions.io import summary
from headrace.functions.math.cast import cast
from headrace.functions.queues.queue import QueueBase, RandomShuffleQueue
from headrace.functions.values.structure import name_scope
from headrace.ops.math.arithmetic import maximum
from headrace.train.input_queues.batch_queues import batches, in_order, one, several


def _shuffled(
    tensors_list: list[Any],
    default: str,
    threads: int,
    batch_size: Any,
    keep_input: Any,
    capacity: int,
    min_after_dequeue: int,
    seed: int | None,
    enqueue_many: bool,
    shapes: Any,
    allow_smaller_final_batch: bool,
    shared_name: str | None,
    name: str | None,
) -> Any:
    def make(dtypes: list[Any], found: Any) -> QueueBase:
        return RandomShuffleQueue(
            capacity=capacity,
            min_after_dequeue=min_after_dequeue,
            seed=seed,
            dtypes=dtypes,
            shapes=found,
            shared_name=shared_name,
        )

    def report(queue: QueueBase) -> None:
        room = capacity - min_after_dequeue
        over = cast(maximum(0, queue.size() - min_after_dequeue), float32) * (1.0 / room)
        summary.scalar(f"fraction_over_{min_after_dequeue}_of_{room}_full", over)

    values = [t for tensors in tensors_list for t in in_order(tensors)]
    with name_scope(name, default, [*values, keep_input]) as scope:
        if capacity <= min_after_dequeue:
            raise ValueError(
                f"capacity {capacity} must be bigger than min_after_dequeue {min_after_dequeue}."
            )
        return batches(
            tensors_list,
            threads,
            batch_size,
            keep_input,
            make,
            report,
            enqueue_many,
            shapes,
            allow_smaller_final_batch,
            scope,
        )


def shuffle_batch(
    tensors: Any,
    batch_size: Any,
    capacity: int,
    min_after_dequeue: int,
    num_threads: int = 1,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Any = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Batches of tensors, in random order.

    Args:
      tensors: a list or dict of tensors, one element per step.
      batch_size: how many make a batch.
      capacity: how many elements the queue holds.
      min_after_dequeue: so many stay behind, to be mixed.
      num_threads: how many threads fill the queue.
      seed: seed of the order.
      enqueue_many: each tensor is many elements, along its first dimension.
      shapes: shapes of the elements, if they can not be told from the tensors.
      allow_smaller_final_batch: the last batch may be smaller.
      shared_name: the name under which other nodes find the same queue.
      name: name of the scope.

    Returns:
      A list or dict like `tensors`, with one more dimension in front.
    """
    return _shuffled(one(tensors), "shuffle_batch", num_threads, batch_size, True, capacity,
                     min_after_dequeue, seed, enqueue_many, shapes, allow_smaller_final_batch,
                     shared_name, name)  # fmt: skip


def maybe_shuffle_batch(
    tensors: Any,
    batch_size: Any,
    capacity: int,
    min_after_dequeue: int,
    keep_input: Any,
    num_threads: int = 1,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Any = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """As `shuffle_batch`, of those elements that are to be kept.

    Args:
      tensors: a list or dict of tensors, one element per step.
      batch_size: how many make a batch.
      capacity: how many elements the queue holds.
      min_after_dequeue: so many stay behind, to be mixed.
      keep_input: a bool, or with `enqueue_many` a vector of them.
      num_threads: how many threads fill the queue.
      seed: seed of the order.
      enqueue_many: each tensor is many elements, along its first dimension.
      shapes: shapes of the elements, if they can not be told from the tensors.
      allow_smaller_final_batch: the last batch may be smaller.
      shared_name: the name under which other nodes find the same queue.
      name: name of the scope.

    Returns:
      A list or dict like `tensors`, with one more dimension in front.
    """
    return _shuffled(one(tensors), "shuffle_batch", num_threads, batch_size, keep_input, capacity,
                     min_after_dequeue, seed, enqueue_many, shapes, allow_smaller_final_batch,
                     shared_name, name)  # fmt: skip


def shuffle_batch_join(
    tensors_list: Any,
    batch_size: Any,
    capacity: int,
    min_after_dequeue: int,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Any = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Batches of tensors from several sources, each with a thread of its own, in random order.

    Args:
      tensors_list: a list of lists or dicts of tensors.
      batch_size: how many make a batch.
      capacity: how many elements the queue holds.
      min_after_dequeue: so many stay behind, to be mixed.
      seed: seed of the order.
      enqueue_many: each tensor is many elements, along its first dimension.
      shapes: shapes of the elements, if they can not be told from the tensors.
      allow_smaller_final_batch: the last batch may be smaller.
      shared_name: the name under which other nodes find the same queue.
      name: name of the scope.

    Returns:
      A list or dict like `tensors_list[0]`, with one more dimension in front.
    """
    return _shuffled(several(tensors_list), "shuffle_batch_join", 1, batch_size, True, capacity,
                     min_after_dequeue, seed, enqueue_many, shapes, allow_smaller_final_batch,
                     shared_name, name)  # fmt: skip


def maybe_shuffle_batch_join(
    tensors_list: Any,
    batch_size: Any,
    capacity: int,
    min_after_dequeue: int,
    keep_input: Any,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Any = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """As `shuffle_batch_join`, of those elements that are to be kept.

    Args:
      tensors_list: a list of lists or dicts of tensors.
      batch_size: how many make a batch.
      capacity: how many elements the queue holds.
      min_after_dequeue: so many stay behind, to be mixed.
      keep_input: a bool, or with `enqueue_many` a vector of them.
      seed: seed of the order.
      enqueue_many: each tensor is many elements, along its first dimension.
      shapes: shapes of the elements, if they can not be told from the tensors.
      allow_smaller_final_batch: the last batch may be smaller.
      shared_name: the name under which other nodes find the same queue.
      name: name of the scope.

    Returns:
      A list or dict like `tensors_list[0]`, with one more dimension in front.
    """
    return _shuffled(several(tensors_list), "shuffle_batch_join", 1, batch_size, keep_input,
                     capacity, min_after_dequeue, seed, enqueue_many, shapes,
                     allow_smaller_final_batch, shared_name, name)  # fmt: skip
