"""What tf.train.batch and its relatives share: tensors of one step go into a queue that a queue runner
fills, and come out as batches of many."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from headrace.core.dtypes import int32
from headrace.core.shapes import Shape, as_shape, make_shape
from headrace.functions.control.cond import smart_cond
from headrace.functions.math.cast import cast
from headrace.functions.queues.queue import QueueBase
from headrace.functions.sparse.tensor import SparseTensor
from headrace.graph.tensor import Tensor
from headrace.ops.array.indexing.partition import dynamic_partition
from headrace.ops.array.source import no_op
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.train.input_queues import sparse_batching
from headrace.train.input_queues.queue_runners import QueueRunner, add_queue_runner

MakeQueue = Callable[[list[Any], Any], QueueBase]  # types and shapes -> the queue


def batches(
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
    lists = [[_as_tensor(t) for t in in_order(tensors)] for tensors in tensors_list]
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


def in_order(tensors: Any) -> list[Any]:
    if isinstance(tensors, dict):
        return [tensors[k] for k in sorted(tensors, key=str)]
    return list(tensors)


def _like(original: Any, found: Any) -> Any:
    if not isinstance(original, dict):
        return found
    values = [found] if len(original) == 1 else found
    return dict(zip(sorted(original, key=str), values))


def one(tensors: Any) -> list[Any]:
    if not in_order(tensors):
        raise ValueError("Expected at least one tensor in batch().")
    return [tensors]


def several(tensors_list: Any) -> list[Any]:
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
