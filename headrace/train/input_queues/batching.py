"""tf.train.batch and its relatives: batches in the order of the input."""

from __future__ import annotations

from typing import Any

from headrace.core.dtypes import float32
from headrace.functions.io import summary
from headrace.functions.math.cast import cast
from headrace.functions.queues.queue import FIFOQueue, PaddingFIFOQueue, QueueBase
from headrace.functions.values.structure import name_scope
from headrace.train.input_queues.batch_queues import batches, in_order, one, several


def _in_line(
    tensors_list: list[Any],
    default: str,
    threads: int,
    batch_size: Any,
    keep_input: Any,
    capacity: int,
    enqueue_many: bool,
    shapes: Any,
    dynamic_pad: bool,
    allow_smaller_final_batch: bool,
    shared_name: str | None,
    name: str | None,
) -> Any:
    kind = PaddingFIFOQueue if dynamic_pad else FIFOQueue

    def make(dtypes: list[Any], found: Any) -> QueueBase:
        return kind(capacity=capacity, dtypes=dtypes, shapes=found, shared_name=shared_name)

    def report(queue: QueueBase) -> None:
        full = cast(queue.size(), float32) * (1.0 / capacity)
        summary.scalar(f"fraction_of_{capacity}_full", full)

    values = [t for tensors in tensors_list for t in in_order(tensors)]
    with name_scope(name, default, [*values, keep_input]) as scope:
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


def batch(
    tensors: Any,
    batch_size: Any,
    num_threads: int = 1,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Batches of tensors, in the order in which they come.

    Args:
      tensors: a list or dict of tensors, one element per step.
      batch_size: how many make a batch.
      num_threads: how many threads fill the queue.
      capacity: how many elements the queue holds.
      enqueue_many: each tensor is many elements, along its first dimension.
      shapes: shapes of the elements, if they can not be told from the tensors.
      dynamic_pad: elements may differ in size, and are filled up with zeros.
      allow_smaller_final_batch: the last batch may be smaller.
      shared_name: the name under which other nodes find the same queue.
      name: name of the scope.

    Returns:
      A list or dict like `tensors`, with one more dimension in front.
    """
    return _in_line(one(tensors), "batch", num_threads, batch_size, True, capacity, enqueue_many,
                    shapes, dynamic_pad, allow_smaller_final_batch, shared_name, name)  # fmt: skip


def maybe_batch(
    tensors: Any,
    keep_input: Any,
    batch_size: Any,
    num_threads: int = 1,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """As `batch`, of those elements that are to be kept.

    Args:
      tensors: a list or dict of tensors, one element per step.
      keep_input: a bool, or with `enqueue_many` a vector of them.
      batch_size: how many make a batch.
      num_threads: how many threads fill the queue.
      capacity: how many elements the queue holds.
      enqueue_many: each tensor is many elements, along its first dimension.
      shapes: shapes of the elements, if they can not be told from the tensors.
      dynamic_pad: elements may differ in size, and are filled up with zeros.
      allow_smaller_final_batch: the last batch may be smaller.
      shared_name: the name under which other nodes find the same queue.
      name: name of the scope.

    Returns:
      A list or dict like `tensors`, with one more dimension in front.
    """
    return _in_line(one(tensors), "batch", num_threads, batch_size, keep_input, capacity,
                    enqueue_many, shapes, dynamic_pad, allow_smaller_final_batch, shared_name,
                    name)  # fmt: skip


def batch_join(
    tensors_list: Any,
    batch_size: Any,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Batches of tensors from several sources, each with a thread of its own.

    Args:
      tensors_list: a list of lists or dicts of tensors.
      batch_size: how many make a batch.
      capacity: how many elements the queue holds.
      enqueue_many: each tensor is many elements, along its first dimension.
      shapes: shapes of the elements, if they can not be told from the tensors.
      dynamic_pad: elements may differ in size, and are filled up with zeros.
      allow_smaller_final_batch: the last batch may be smaller.
      shared_name: the name under which other nodes find the same queue.
      name: name of the scope.

    Returns:
      A list or dict like `tensors_list[0]`, with one more dimension in front.
    """
    return _in_line(several(tensors_list), "batch_join", 1, batch_size, True, capacity,
                    enqueue_many, shapes, dynamic_pad, allow_smaller_final_batch, shared_name,
                    name)  # fmt: skip


def maybe_batch_join(
    tensors_list: Any,
    keep_input: Any,
    batch_size: Any,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """As `batch_join`, of those elements that are to be kept.

    Args:
      tensors_list: a list of lists or dicts of tensors.
      keep_input: a bool, or with `enqueue_many` a vector of them.
      batch_size: how many make a batch.
      capacity: how many elements the queue holds.
      enqueue_many: each tensor is many elements, along its first dimension.
      shapes: shapes of the elements, if they can not be told from the tensors.
      dynamic_pad: elements may differ in size, and are filled up with zeros.
      allow_smaller_final_batch: the last batch may be smaller.
      shared_name: the name under which other nodes find the same queue.
      name: name of the scope.

    Returns:
      A list or dict like `tensors_list[0]`, with one more dimension in front.
    """
    return _in_line(several(tensors_list), "batch_join", 1, batch_size, keep_input, capacity,
                    enqueue_many, shapes, dynamic_pad, allow_smaller_final_batch, shared_name,
                    name)  # fmt: skip
