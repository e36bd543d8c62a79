"""tf.train.shuffle_batch and its relatives: batches in random order."""

from __future__ import annotations

from typing import Any

from headrace.core.dtypes import float32
from headrace.functions.io import summary
from headrace.functions.math.cast import cast
from headrace.functions.queues.queue import QueueBase, RandomShuffleQueue
from headrace.ops.math.arithmetic import maximum
from headrace.train.input_queues.batch_queues import batches, batching


def _shuffled(
    tensors_list: list[Any],
    default: str,
    capacity: int,
    min_after_dequeue: int,
    seed: int | None,
    shared_name: str | None,
    **options: Any,
) -> Any:
    if capacity <= min_after_dequeue:
        raise ValueError(f"capacity {capacity} must be bigger than min_after_dequeue {min_after_dequeue}.")

    def make(dtypes: list[Any], found: Any) -> QueueBase:
        return RandomShuffleQueue(
            capacity, min_after_dequeue, dtypes, shapes=found, seed=seed, shared_name=shared_name
        )

    def report(queue: QueueBase) -> None:
        room = capacity - min_after_dequeue
        over = cast(maximum(0, queue.size() - min_after_dequeue), float32) * (1.0 / room)
        summary.scalar(f"fraction_over_{min_after_dequeue}_of_{room}_full", over)

    return batches(tensors_list, default, make, report, **options)


_MIXED = "batch_size capacity min_after_dequeue"
_REST = "seed enqueue_many shapes allow_smaller_final_batch shared_name name"

shuffle_batch = batching(
    __name__,
    "shuffle_batch",
    "Batches of tensors, in random order.",
    _shuffled,
    f"tensors {_MIXED} num_threads {_REST}",
)
maybe_shuffle_batch = batching(
    __name__,
    "maybe_shuffle_batch",
    "As `shuffle_batch`, of those elements that are to be kept.",
    _shuffled,
    f"tensors {_MIXED} keep_input num_threads {_REST}",
)
shuffle_batch_join = batching(
    __name__,
    "shuffle_batch_join",
    "Batches of tensors from several sources, each with a thread of its own, in random order.",
    _shuffled,
    f"tensors_list {_MIXED} {_REST}",
)
maybe_shuffle_batch_join = batching(
    __name__,
    "maybe_shuffle_batch_join",
    "As `shuffle_batch_join`, of those elements that are to be kept.",
    _shuffled,
    f"tensors_list {_MIXED} keep_input {_REST}",
)
