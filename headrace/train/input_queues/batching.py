"""tf.train.batch and its relatives: batches in the order of the input."""

from __future__ import annotations

from typing import Any

from headrace.core.dtypes import float32
from headrace.functions.io import summary
from headrace.functions.math.cast import cast
from headrace.functions.queues.queue import FIFOQueue, PaddingFIFOQueue, QueueBase
from headrace.train.input_queues.batch_queues import batches, batching


def _in_line(
    tensors_list: list[Any],
    default: str,
    capacity: int,
    dynamic_pad: bool,
    shared_name: str | None,
    **options: Any,
) -> Any:
    kind = PaddingFIFOQueue if dynamic_pad else FIFOQueue

    def make(dtypes: list[Any], found: Any) -> QueueBase:
        return kind(capacity=capacity, dtypes=dtypes, shapes=found, shared_name=shared_name)

    def report(queue: QueueBase) -> None:
        full = cast(queue.size(), float32) * (1.0 / capacity)
        summary.scalar(f"fraction_of_{capacity}_full", full)

    return batches(tensors_list, default, make, report, **options)


_QUEUE = "capacity enqueue_many shapes dynamic_pad allow_smaller_final_batch shared_name name"

batch = batching(
    __name__,
    "batch",
    "Batches of tensors, in the order in which they come.",
    _in_line,
    f"tensors batch_size num_threads {_QUEUE}",
    capacity=32,
)
maybe_batch = batching(
    __name__,
    "maybe_batch",
    "As `batch`, of those elements that are to be kept.",
    _in_line,
    f"tensors keep_input batch_size num_threads {_QUEUE}",
    capacity=32,
)
batch_join = batching(
    __name__,
    "batch_join",
    "Batches of tensors from several sources, each with a thread of its own.",
    _in_line,
    f"tensors_list batch_size {_QUEUE}",
    capacity=32,
)
maybe_batch_join = batching(
    __name__,
    "maybe_batch_join",
    "As `batch_join`, of those elements that are to be kept.",
    _in_line,
    f"tensors_list keep_input batch_size {_QUEUE}",
    capacity=32,
)
