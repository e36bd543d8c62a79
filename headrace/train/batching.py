"""tf.train.batch and its seven relatives: tensors of one step become batches of many, through a queue that
a queue runner fills."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from headrace.core.dtypes import float32, int32
from headrace.core.shapes import Shape, as_shape, make_shape
from headrace.functions import summary
from headrace.functions.cast import cast
from headrace.functions.cond import smart_cond
from headrace.functions.queue import FIFOQueue, PaddingFIFOQueue, QueueBase, RandomShuffleQueue
from headrace.functions.sparse_tensor import SparseTensor
from headrace.functions.structure import name_scope
from headrace.graph.tensor import Tensor
from headrace.ops.arithmetic import maximum
from headrace.ops.convert import convert_to_tensor
from headrace.ops.partition import dynamic_partition
from headrace.ops.source import no_op
from headrace.train import sparse_batching
from headrace.train.queue_runners import QueueRunner, add_queue_runner

MakeQueue = Callable[[list[Any], Any], QueueBase]  # types and shapes -> the queue


# -- what all of them do --------------------------------------------------------------------------
def _batches(
    tensors_list: Sequence[Any],
    threads: int,
    batch_size: Any,
    keep_input: Any,
    make_queue: MakeQueue,
    report: Callable[[QueueBase], None],
    enqueue_many: bool,
    shapes: Any,
    allow_smaller_final_batch: bool,
    scope: str,
) -> Any:
    """Put the tensors of every list into one queue; take batches out of it."""
    lists = [[_as_tensor(t) for t in _in_order(tensors)] for tensors in tensors_list]
    keep = _checked_keep(keep_input, enqueue_many)
    stored, kept = sparse_batching.store_all(lists, enqueue_many, keep)
    queue = make_queue(_types(stored), _shapes(stored, shapes, enqueue_many))
    enqueue_ops = [_enqueue(queue, tensors, enqueue_many, keep) for tensors in stored]
    add_queue_runner(QueueRunner(queue, enqueue_ops * threads))
    report(queue)
    take = queue.dequeue_up_to if allow_smaller_final_batch else queue.dequeue_many
    found = sparse_batching.restore(take(batch_size, name=scope), kept)
    return _like(tensors_list[0], found)


def _as_tensor(value: Any) -> Any:
    return value if isinstance(value, SparseTensor) else convert_to_tensor(value)


def _in_order(tensors: Any) -> list[Any]:
    if isinstance(tensors, dict):
        return [tensors[k] for k in sorted(tensors, key=str)]
    return list(tensors)


def _like(original: Any, found: Any) -> Any:
    if not isinstance(original, dict):
        return found
    values = [found] if len(original) == 1 else found
    return dict(zip(sorted(original, key=str), values))


def _one(tensors: Any) -> list[Any]:
    if not _in_order(tensors):
        raise ValueError("Expected at least one tensor in batch().")
    return [tensors]


def _several(tensors_list: Any) -> list[Any]:
    if not tensors_list:
        raise ValueError("Expected at least one set of tensors")
    first = tensors_list[0]
    if isinstance(first, dict) and any(set(t) != set(first) for t in tensors_list):
        raise ValueError("All dictionaries in tensors_list must have the same keys")
    return list(tensors_list)


def _checked_keep(keep_input: Any, enqueue_many: bool) -> Tensor:
    keep = convert_to_tensor(keep_input)
    if keep.shape.rank is None:
        raise ValueError("`keep_input` dimensions must be known at graph construction.")
    if not enqueue_many and keep.shape.rank == 1:
        raise ValueError("`keep_input` cannot be a vector when `enqueue_many=False`.")
    if keep.shape.rank > 1:
        raise ValueError("`keep_input` must be 0 or 1 dimensions.")
    return keep


def _types(lists: Sequence[Sequence[Tensor]]) -> list[Any]:
    found = [[t.dtype for t in tensors] for tensors in lists]
    for other in found[1:]:
        if other != found[0]:
            left, right = (", ".join(t.name for t in types) for types in (found[0], other))
            raise TypeError(f"Expected types to be consistent: {left} vs. {right}.")
    return found[0]


def _shapes(lists: Sequence[Sequence[Tensor]], shapes: Any, enqueue_many: bool) -> Any:
    if shapes is not None:
        return shapes
    for tensors in lists:
        for tensor in tensors:
            if tensor.shape.rank is None:
                raise ValueError(f"Cannot infer Tensor's rank: {tensor}")
    return [_merged([t.shape for t in column], enqueue_many) for column in zip(*lists)]


def _merged(shapes: Sequence[Shape], enqueue_many: bool) -> Any:
    if enqueue_many:
        shapes = [make_shape(s.with_rank_at_least(1).sizes[1:]) for s in shapes]
    for shape in shapes[1:]:
        as_shape(shapes[0]).merge_with(shape)
    return shapes[0].as_list()


def _enqueue(queue: QueueBase, tensors: Any, enqueue_many: bool, keep: Tensor) -> Any:
    put = queue.enqueue_many if enqueue_many else queue.enqueue
    if keep.shape.rank == 1:
        chosen = cast(keep, int32)
        return put([dynamic_partition(t, chosen, num_partitions=2)[1] for t in tensors])
    return smart_cond(keep, lambda: put(tensors), no_op)


# -- in order -------------------------------------------------------------------------------------
def _in_line(
    tensors_list: list[Any], default: str, threads: int, batch_size: Any, keep_input: Any,
    capacity: int, enqueue_many: bool, shapes: Any, dynamic_pad: bool,
    allow_smaller_final_batch: bool, shared_name: str | None, name: str | None,
) -> Any:  # fmt: skip
    kind = PaddingFIFOQueue if dynamic_pad else FIFOQueue

    def make(dtypes: list[Any], found: Any) -> QueueBase:
        return kind(capacity=capacity, dtypes=dtypes, shapes=found, shared_name=shared_name)

    def report(queue: QueueBase) -> None:
        full = cast(queue.size(), float32) * (1.0 / capacity)
        summary.scalar(f"fraction_of_{capacity}_full", full)

    values = [t for tensors in tensors_list for t in _in_order(tensors)]
    with name_scope(name, default, [*values, keep_input]) as scope:
        return _batches(
            tensors_list, threads, batch_size, keep_input, make, report, enqueue_many, shapes,
            allow_smaller_final_batch, scope,
        )  # fmt: skip


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
    return _in_line(_one(tensors), "batch", num_threads, batch_size, True, capacity, enqueue_many,
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
    return _in_line(_one(tensors), "batch", num_threads, batch_size, keep_input, capacity,
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
    return _in_line(_several(tensors_list), "batch_join", 1, batch_size, True, capacity,
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
    return _in_line(_several(tensors_list), "batch_join", 1, batch_size, keep_input, capacity,
                    enqueue_many, shapes, dynamic_pad, allow_smaller_final_batch, shared_name,
                    name)  # fmt: skip


# -- shuffled -------------------------------------------------------------------------------------
def _shuffled(
    tensors_list: list[Any], default: str, threads: int, batch_size: Any, keep_input: Any,
    capacity: int, min_after_dequeue: int, seed: int | None, enqueue_many: bool, shapes: Any,
    allow_smaller_final_batch: bool, shared_name: str | None, name: str | None,
) -> Any:  # fmt: skip
    def make(dtypes: list[Any], found: Any) -> QueueBase:
        return RandomShuffleQueue(
            capacity=capacity, min_after_dequeue=min_after_dequeue, seed=seed, dtypes=dtypes,
            shapes=found, shared_name=shared_name,
        )  # fmt: skip

    def report(queue: QueueBase) -> None:
        room = capacity - min_after_dequeue
        over = cast(maximum(0, queue.size() - min_after_dequeue), float32) * (1.0 / room)
        summary.scalar(f"fraction_over_{min_after_dequeue}_of_{room}_full", over)

    values = [t for tensors in tensors_list for t in _in_order(tensors)]
    with name_scope(name, default, [*values, keep_input]) as scope:
        if capacity <= min_after_dequeue:
            raise ValueError(
                f"capacity {capacity} must be bigger than min_after_dequeue {min_after_dequeue}."
            )
        return _batches(
            tensors_list, threads, batch_size, keep_input, make, report, enqueue_many, shapes,
            allow_smaller_final_batch, scope,
        )  # fmt: skip


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
    return _shuffled(_one(tensors), "shuffle_batch", num_threads, batch_size, True, capacity,
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
    return _shuffled(_one(tensors), "shuffle_batch", num_threads, batch_size, keep_input, capacity,
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
    return _shuffled(_several(tensors_list), "shuffle_batch_join", 1, batch_size, True, capacity,
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
    return _shuffled(_several(tensors_list), "shuffle_batch_join", 1, batch_size, keep_input,
                     capacity, min_after_dequeue, seed, enqueue_many, shapes,
                     allow_smaller_final_batch, shared_name, name)  # fmt: skip
