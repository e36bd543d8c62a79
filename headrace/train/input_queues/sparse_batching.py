"""Sparse tensors on their way through a queue: kept in a map, while their handles are queued."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from headrace.core.dtypes import int64
from headrace.functions.array.array import ones, shape
from headrace.functions.array.indexing import gather
from headrace.functions.control.cond import smart_cond
from headrace.functions.control.grouping import with_dependencies
from headrace.functions.sparse.io import (
    add_many_sparse_to_tensors_map,
    add_sparse_to_tensors_map,
    take_many_sparse_from_tensors_map,
)
from headrace.functions.sparse.parts import sparse_retain
from headrace.functions.sparse.tensor import SparseTensor
from headrace.graph.node import Node
from headrace.graph.tensor import Tensor
from headrace.ops.array import reshape
from headrace.ops.array.constant import constant
from headrace.ops.sparse.serialize import STORING


@dataclass(frozen=True)
class Kept:
    """Where a component of the queue is kept: nowhere, or in the map of a node."""

    map_op: Node | None = None
    rank: int | None = None

    def fits(self, other: Kept) -> bool:
        return self.map_op is other.map_op and (self.rank == other.rank or None in (self.rank, other.rank))


def store(
    tensors: Sequence[Any], enqueue_many: bool, keep_input: Tensor, maps: Any = None
) -> tuple[list[Tensor], list[Kept]]:
    """Handles in place of sparse tensors, and where these are kept."""
    found, kept = [], []
    for tensor, shared in zip(tensors, maps or [None] * len(tensors)):
        if not isinstance(tensor, SparseTensor):
            found.append(tensor)
            kept.append(Kept())
            continue
        handle = _stored(tensor, shared, enqueue_many, keep_input)
        size = tensor.dense_shape.shape.with_rank(1).sizes[0]
        rank = size - 1 if enqueue_many and size is not None else size
        kept.append(Kept(shared or _map_node(handle), rank))
        found.append(reshape.expand_dims(handle, [-1]))
    return found, kept


def _stored(tensor: Any, shared: Any, enqueue_many: bool, keep_input: Tensor) -> Tensor:
    name = shared.name if shared else None
    if keep_input.shape.rank == 1:
        kept_rows = gather(keep_input, tensor.indices[:, 0])
        return add_many_sparse_to_tensors_map(sparse_retain(tensor, kept_rows), shared_name=name)
    if not enqueue_many:
        one: Tensor = smart_cond(
            keep_input,
            lambda: add_sparse_to_tensors_map(tensor, shared_name=name),
            lambda: constant(-1, int64),
        )
        return one
    handles: Tensor = smart_cond(
        keep_input,
        lambda: add_many_sparse_to_tensors_map(tensor, shared_name=name),
        lambda: -1 * ones(shape(tensor)[0:1], int64),
    )
    handles.set_shape([None])
    return handles


def _map_node(handle: Tensor) -> Node:
    """The node that stores, behind a conditional perhaps."""
    for source in handle.op.inputs:
        if source.op.declaration in STORING:
            return source.op
    return handle.op


def store_all(
    lists: Sequence[Sequence[Any]], enqueue_many: bool, keep_input: Tensor
) -> tuple[list[list[Tensor]], list[Kept]]:
    """The same for several lists of tensors, whose sparse ones share their maps."""
    first, kept = store(lists[0], enqueue_many, keep_input)
    found = [first]
    for tensors in lists[1:]:
        stored, others = store(tensors, enqueue_many, keep_input, [k.map_op for k in kept])
        if not all(a.fits(b) for a, b in zip(kept, others)):
            raise ValueError(f"Inconsistent SparseTensors list: {lists[0]} vs. {tensors}")
        found.append(stored)
    return found, kept


def restore(dequeued: Any, kept: Sequence[Kept]) -> Any:
    """Sparse tensors in place of handles.  All of a batch are taken, or none."""
    is_one = not isinstance(dequeued, Sequence)
    found = [
        take_many_sparse_from_tensors_map(
            sparse_map_op=place.map_op,
            sparse_handles=reshape.squeeze(tensor, [1]),
            rank=None if place.rank is None else place.rank + 1,
        )
        if place.map_op is not None
        else tensor
        for tensor, place in zip([dequeued] if is_one else dequeued, kept)
    ]
    if is_one:
        return found[0]
    if not any(isinstance(x, SparseTensor) for x in found):
        return found
    values = [x.values if isinstance(x, SparseTensor) else x for x in found]
    return [_after(values, x) for x in found]


def _after(values: Any, x: Any) -> Any:
    if isinstance(x, SparseTensor):
        return SparseTensor(
            *(with_dependencies(values, part) for part in (x.indices, x.values, x.dense_shape))
        )
    return with_dependencies(values, x)
