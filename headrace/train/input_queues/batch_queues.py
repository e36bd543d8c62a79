"""What tf.train.batch and its relatives share: tensors of one step go into a queue that a queue runner
fills, and come out as batches of many."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from headrace.core.dtypes import int32
from headrace.core.families import bound, named
from headrace.core.shapes import Shape, as_shape, make_shape
from headrace.functions.control.cond import smart_cond
from headrace.functions.math.cast import cast
from headrace.functions.queues.queue import QueueBase
from headrace.functions.sparse.tensor import SparseTensor
from headrace.functions.values.structure import name_scope
from headrace.graph.tensor import Tensor
from headrace.ops.array.indexing.partition import dynamic_partition
from headrace.ops.array.source import no_op
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.train.input_queues import sparse_batching
from headrace.train.input_queues.queue_runners import QueueRunner, add_queue_runner

MakeQueue = Callable[[list[Any], Any], QueueBase]  # types and shapes -> the queue


class Argument(NamedTuple):
    """What the functions say of one of their arguments."""

    kind: str
    doc: str
    default: Any = inspect.Parameter.empty


ARGUMENTS = {
    "tensors": Argument("Any", "a list or dict of tensors, one element per step."),
    "tensors_list": Argument("Any", "a list of lists or dicts of tensors."),
    "keep_input": Argument("Any", "a bool, or with `enqueue_many` a vector of them."),
    "batch_size": Argument("Any", "how many make a batch."),
    "num_threads": Argument("int", "how many threads fill the queue.", 1),
    "capacity": Argument("int", "how many elements the queue holds."),
    "min_after_dequeue": Argument("int", "so many stay behind, to be mixed."),
    "seed": Argument("int | None", "seed of the order.", None),
    "enqueue_many": Argument("bool", "each tensor is many elements, along its first dimension.", False),
    "shapes": Argument("Any", "shapes of the elements, if they can not be told from the tensors.", None),
    "dynamic_pad": Argument("bool", "elements may differ in size, and are filled up with zeros.", False),
    "allow_smaller_final_batch": Argument("bool", "the last batch may be smaller.", False),
    "shared_name": Argument("str | None", "the name under which other nodes find the same queue.", None),
    "name": Argument("str | None", "name of the scope.", None),
}


def batching(
    module: str, name: str, summary: str, run: Callable[..., Any], names: str, **defaults: Any
) -> Any:
    """A function that makes batches.

    Args:
      module, name: where it is found.
      summary: first sentence of its docstring.
      run: gets a list of what is to be batched, the name of a scope and the other arguments.
      names: its arguments, of those that are known.
      **defaults: their defaults where others have none.
    """
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    known = {word: ARGUMENTS[word] for word in names.split()}
    signature = inspect.Signature(
        [
            inspect.Parameter(word, kind, default=defaults.get(word, a.default), annotation=a.kind)
            for word, a in known.items()
        ],
        return_annotation="Any",
    )
    lines = "\n".join(f"  {word}: {a.doc}" for word, a in known.items())
    like = "tensors" if "tensors" in known else "tensors_list[0]"
    result = f"A list or dict like `{like}`, with one more dimension in front."

    @named(name, f"{summary}\n\nArgs:\n{lines}\n\nReturns:\n  {result}\n")
    def function(*args: Any, **kwargs: Any) -> Any:
        given = bound(name, signature, *args, **kwargs).arguments
        if "tensors" in given:
            return run(one(given.pop("tensors")), name.removeprefix("maybe_"), **given)
        return run(several(given.pop("tensors_list")), name.removeprefix("maybe_"), **given)

    function.__module__ = module
    function.__signature__ = signature  # type: ignore[attr-defined]
    return function


def batches(
    tensors_list: Sequence[Any],
    default: str,
    make_queue: MakeQueue,
    report: Callable[[QueueBase], None],
    *,
    batch_size: Any,
    keep_input: Any = True,
    num_threads: int = 1,
    enqueue_many: bool,
    shapes: Any,
    allow_smaller_final_batch: bool,
    name: str | None,
) -> Any:
    """Put the tensors of every list into one queue; take batches out of it."""
    values = [t for tensors in tensors_list for t in in_order(tensors)]
    with name_scope(name, default, [*values, keep_input]) as scope:
        lists = [[_as_tensor(t) for t in in_order(tensors)] for tensors in tensors_list]
        keep = _checked_keep(keep_input, enqueue_many)
        stored, kept = sparse_batching.store_all(lists, enqueue_many, keep)
        queue = make_queue(_types(stored), _shapes(stored, shapes, enqueue_many))
        enqueue_ops = [_enqueue(queue, tensors, enqueue_many, keep) for tensors in stored]
        add_queue_runner(QueueRunner(queue, enqueue_ops * num_threads))
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
