"""Embeddings: rows of tables by id, tables in parts, several ids per row of the result."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from headrace.core import dtypes
from headrace.core.shapes import UNKNOWN, Shape, make_shape
from headrace.functions.array import array
from headrace.functions.array.indexing import gather, where
from headrace.functions.array.stacking import concat, stack
from headrace.functions.math import math as arithmetic
from headrace.functions.math import reduce
from headrace.functions.math.cast import cast
from headrace.functions.math.clip import clip_by_norm
from headrace.functions.sparse.parts import sparse_fill_empty_rows, sparse_retain
from headrace.functions.sparse.sparse import sparse_reshape
from headrace.functions.sparse.tensor import SparseTensor
from headrace.functions.values.structure import name_scope
from headrace.graph.defaults import get_default_graph
from headrace.graph.tensor import Tensor
from headrace.ops.array.constant import constant
from headrace.ops.array.indexing import partition, segment
from headrace.ops.array.slices.slice import slice_
from headrace.ops.array.source import identity
from headrace.ops.array.tile import tile
from headrace.ops.array.unique import unique
from headrace.ops.declaration.convert import convert_n_to_tensor, convert_to_tensor
from headrace.ops.math.arithmetic import maximum
from headrace.ops.math.comparison import greater, greater_equal
from headrace.ops.math.exponential import sqrt
from headrace.ops.math.logical import logical_and
from headrace.ops.math.sequence import range_
from headrace.ops.sparse import segment as sparse_segment
from headrace.variables.partitioned import PartitionedVariable
from headrace.variables.resource_base import BaseResourceVariable

Transform = Callable[[Any], Any]


def _as_parts(params: Any) -> list[Any]:
    if isinstance(params, PartitionedVariable):
        return list(params)
    return params if isinstance(params, list) else list(params) if isinstance(params, tuple) else [params]


def _clip(rows: Any, ids: Any, max_norm: Any) -> Any:
    """Each row, scaled down to a norm of at most `max_norm`."""
    if max_norm is None:
        return rows
    first, last = (_rank(ids), _rank(rows))
    known = isinstance(first, int) and isinstance(last, int)
    axes = list(range(first, last)) if known else range_(first, last, 1)
    return clip_by_norm(rows, max_norm, axes=axes)


def _rank(x: Any) -> Any:
    rank = convert_to_tensor(x).get_shape().rank
    return rank if rank else array.rank(x)


def _lookup(
    params: Any,
    ids: Any,
    partition_strategy: str = "mod",
    name: str | None = None,
    max_norm: float | None = None,
    transform_fn: Transform | None = None,
) -> Any:
    """`embedding_lookup`; with `transform_fn`, applied to the rows where their part is."""
    if params is None:
        raise ValueError("params must be specified")
    if isinstance(params, (list, tuple)) and not params:
        raise ValueError("Need at least one param")
    parts = _as_parts(params)
    graph = get_default_graph()
    with name_scope(name, "embedding_lookup", [*parts, ids]) as scope:
        if not any(isinstance(p, BaseResourceVariable) for p in parts):
            parts = convert_n_to_tensor(parts, name="params")
        ids = convert_to_tensor(ids, name="ids")
        if len(parts) == 1 and (not transform_fn or ids.get_shape().rank == 1):
            with graph.colocate_with(parts[0].op):
                rows = _clip(gather(parts[0], ids, name=scope), ids, max_norm)
                if transform_fn:
                    rows = transform_fn(rows)
            return identity(rows)
        return _lookup_in_parts(parts, ids, partition_strategy, scope, max_norm, transform_fn)


def _lookup_in_parts(
    parts: list[Any], ids: Any, strategy: str, scope: str, max_norm: Any, transform: Any
) -> Any:
    count = len(parts)
    graph = get_default_graph()
    flat: Any = array.reshape(ids, [-1])
    places = range_(0, array.size(flat), 1, name="range")
    owners, local = _owners(parts, flat, strategy)
    owners = cast(owners, dtypes.int32)
    ids_of = partition.dynamic_partition(local, owners, num_partitions=count)
    places_of = partition.dynamic_partition(places, owners, num_partitions=count)
    found = []
    for part, part_ids in zip(parts, ids_of):
        with graph.colocate_with(part.op):
            rows = gather(part, part_ids)
            if transform:
                rows = transform(_clip(rows, part_ids, max_norm))
        found.append(rows)
    joined: Any = partition.parallel_dynamic_stitch(list(places_of), found, name=scope)
    static, sizes = _row_shape(parts, joined, transform)
    joined = array.reshape(joined, concat([array.shape(ids), sizes], 0))
    joined.set_shape(ids.get_shape().concatenate(static))
    return joined if transform else _clip(joined, ids, max_norm)


def _owners(parts: list[Any], ids: Any, strategy: str) -> tuple[Any, Any]:
    """Which part has an id, and where in it."""
    count = len(parts)
    if strategy == "mod":
        return ids % count, ids // count
    if strategy != "div":
        raise ValueError("Unrecognized partition strategy: " + strategy)
    total = _rows(parts, ids.dtype)
    each, extras = total // count, total % count
    owners: Any = maximum(ids // (each + 1), (ids - extras) // each)
    return owners, where(owners < extras, ids % (each + 1), (ids - extras) % each)


def _rows(parts: list[Any], dtype: Any) -> Any:
    """How many rows all parts have together."""
    sizes: list[Any] = [p.get_shape().dim(0) for p in parts]
    if None not in sizes:
        return constant(sum(sizes), dtype)
    graph = get_default_graph()
    for i, part in enumerate(parts):
        if sizes[i] is None:
            with graph.colocate_with(part.op):
                whole: Any = array.shape(part)
                sizes[i] = whole[0]
    return reduce.reduce_sum(cast(stack(sizes), dtype))


def _row_shape(parts: list[Any], joined: Any, transform: Any) -> tuple[Shape, Any]:
    """The shape of one row: what is known now, and as sizes for the reshape."""
    if transform:
        static = joined.get_shape()[1:]
        if static.is_fully_defined():
            return static, static.as_list()
        whole: Any = array.shape(joined)
        return static, whole[1:]
    static = parts[0].get_shape()[1:]
    for part in parts[1:]:
        static = static.merge_with(part.get_shape()[1:])
    if static.is_fully_defined():
        return static, static.as_list()
    with get_default_graph().colocate_with(parts[0].op):
        whole = array.shape(parts[0])
    return static, whole[1:]


def embedding_lookup(
    params: Any,
    ids: Any,
    partition_strategy: str = "mod",
    name: str | None = None,
    validate_indices: bool = True,
    max_norm: float | None = None,
) -> Any:
    """Rows of a table by id.

    Args:
      params: a tensor or variable, a list of them (the parts of one table), or a
        PartitionedVariable.
      ids: row numbers, int32 or int64.
      partition_strategy: which rows a part of several has: "mod", every n-th row; "div", a run of
        rows.
      name: name of the scope.
      validate_indices: kept for compatibility; ids are always checked.
      max_norm: rows of a larger l2 norm are scaled down to it.

    Returns:
      A tensor of shape `ids.shape + params.shape[1:]`.

    Raises:
      ValueError: `params` is empty, or the strategy is not known.
    """
    return _lookup(params, ids, partition_strategy, name, max_norm)


def embedding_lookup_sparse(
    params: Any,
    sp_ids: Any,
    sp_weights: Any,
    partition_strategy: str = "mod",
    name: str | None = None,
    combiner: str | None = None,
    max_norm: float | None = None,
) -> Any:
    """For each row of a sparse matrix of ids, the sum or mean of their rows in a table.

    Args:
      params: the table, as for `embedding_lookup`.
      sp_ids: a SparseTensor of ids; no row may be empty.
      sp_weights: a SparseTensor of weights with the same indices, or None for weights of 1.
      partition_strategy: as for `embedding_lookup`.
      name: name of the scope.
      combiner: "sum", "mean" (the weighted sum divided by the sum of weights) or "sqrtn" (divided
        by the root of the sum of squared weights).
      max_norm: as for `embedding_lookup`, before they are combined.

    Returns:
      A tensor of shape `[rows] + params.shape[1:]`.

    Raises:
      TypeError: ids or weights are not sparse.
      ValueError: the combiner is not known.
    """
    if combiner is None:
        warnings.warn("combiner is not given: it is 'mean'", stacklevel=2)
        combiner = "mean"
    if combiner not in ("mean", "sqrtn", "sum"):
        raise ValueError("combiner must be one of 'mean', 'sqrtn' or 'sum'")
    parts = _as_parts(params)
    if not isinstance(sp_ids, SparseTensor):
        raise TypeError("sp_ids must be SparseTensor")
    if sp_weights is not None:
        _check_weights(sp_ids, sp_weights)
    with name_scope(name, "embedding_lookup_sparse", [*parts, sp_ids]) as scope:
        rows: Any = sp_ids.indices[:, 0]
        if rows.dtype is not dtypes.int32:
            rows = cast(rows, dtypes.int32)
        ids, places = unique(sp_ids.values)
        found: Any = embedding_lookup(parts, ids, partition_strategy=partition_strategy, max_norm=max_norm)
        if found.dtype in (dtypes.float16, dtypes.bfloat16):
            found = cast(found, dtypes.float32)
        if sp_weights is None:
            combine = {
                "sum": sparse_segment.sparse_segment_sum,
                "mean": sparse_segment.sparse_segment_mean,
                "sqrtn": sparse_segment.sparse_segment_sqrt_n,
            }[combiner]
            return combine(found, places, rows, name=scope)
        weights = cast(sp_weights.values, found.dtype)
        return _combined(gather(found, places), weights, rows, combiner, scope)


def _check_weights(sp_ids: Any, sp_weights: Any) -> None:
    if not isinstance(sp_weights, SparseTensor):
        raise TypeError("sp_weights must be either None or SparseTensor")
    for part in ("values", "indices", "dense_shape"):
        shapes = [getattr(s, part).get_shape() for s in (sp_ids, sp_weights)]
        shapes[0].assert_is_compatible_with(shapes[1])


def _combined(found: Any, weights: Any, rows: Any, combiner: str, scope: str) -> Any:
    """The weighted sum of the rows of each segment, divided as the combiner says."""
    rank: Any = array.rank(found)
    ones = array.fill(array.expand_dims(rank - 1, 0), 1)
    wide: Any = array.reshape(weights, concat([array.shape(weights), ones], 0))
    if found.get_shape().rank is not None:
        wide.set_shape(weights.get_shape().concatenate([1] * (found.get_shape().rank - 1)))
    found = found * wide
    if combiner == "sum":
        return segment.segment_sum(found, rows, name=scope)
    total = segment.segment_sum(found, rows)
    if combiner == "mean":
        divisor = segment.segment_sum(wide, rows)
    else:
        divisor = sqrt(segment.segment_sum(arithmetic.pow_(wide, 2), rows))
    return arithmetic.div(total, divisor, name=scope)


def safe_embedding_lookup_sparse(
    embedding_weights: Any,
    sparse_ids: Any,
    sparse_weights: Any = None,
    combiner: str = "mean",
    default_id: int | None = None,
    name: str | None = None,
    partition_strategy: str = "div",
    max_norm: float | None = None,
) -> Any:
    """As `embedding_lookup_sparse`, for features as they come: rows may be empty, ids invalid.

    Ids below 0, and weights that are not positive (but for "sum"), are dropped.  More than two
    dimensions are allowed.

    Args:
      embedding_weights: the table, or its parts.
      sparse_ids: a SparseTensor of ids.
      sparse_weights: a SparseTensor of weights with the same indices, or None.
      combiner: as for `embedding_lookup_sparse`.
      default_id: the id for rows without ids; None gives zeros there.
      name: name of the scope.
      partition_strategy: as for `embedding_lookup`.
      max_norm: as for `embedding_lookup`.

    Returns:
      A tensor of shape `sparse_ids.shape[:-1] + embedding_weights.shape[1:]`.

    Raises:
      ValueError: there is no table.
    """
    parts = [] if embedding_weights is None else _as_parts(embedding_weights)
    if not parts:
        raise ValueError(f"Missing embedding_weights {embedding_weights}.")
    dtype = None if sparse_weights is None else sparse_weights.dtype
    parts = [
        p if isinstance(p, BaseResourceVariable) and dtype in (None, p.dtype) else convert_to_tensor(p, dtype)
        for p in parts
    ]
    with name_scope(name, "embedding_lookup", [*parts, sparse_ids, sparse_weights]) as scope:
        shape = sparse_ids.dense_shape
        known_rank = shape.get_shape().dim(0)
        rank = array.size(shape) if known_rank is None else known_rank
        sparse_ids, sparse_weights = _cleaned(_as_matrix(sparse_ids, shape, rank), sparse_weights, combiner)
        sparse_ids, is_empty = sparse_fill_empty_rows(sparse_ids, default_id or 0)
        if sparse_weights is not None:
            sparse_weights, _ = sparse_fill_empty_rows(sparse_weights, 1.0)
        found = embedding_lookup_sparse(
            parts,
            sparse_ids,
            sparse_weights,
            combiner=combiner,
            partition_strategy=partition_strategy,
            name=None if default_id is None else scope,
            max_norm=max_norm,
        )
        if default_id is None:
            found = _zeros_where(is_empty, found, scope)
        return _in_shape(found, shape, rank, known_rank)


def _as_matrix(sparse_ids: Any, shape: Any, rank: Any) -> Any:
    """All but the last dimension in one."""
    rows = reduce.reduce_prod(slice_(shape, [0], [rank - 1]))
    return sparse_reshape(sparse_ids, [rows, gather(shape, rank - 1)])


def _cleaned(sparse_ids: Any, sparse_weights: Any, combiner: str) -> tuple[Any, Any]:
    """Without ids below zero and, where they would count, weights that are not positive."""
    valid = greater_equal(sparse_ids.values, 0)
    if sparse_weights is not None:
        sparse_weights = SparseTensor(sparse_ids.indices, sparse_weights.values, sparse_ids.dense_shape)
        every = array.ones_like(sparse_weights.values, dtype=dtypes.bool_)
        valid = logical_and(valid, every)
        sparse_weights = sparse_retain(sparse_weights, valid)
    sparse_ids = sparse_retain(sparse_ids, valid)
    if combiner != "sum" and sparse_weights is not None:
        positive = greater(sparse_weights.values, 0)
        sparse_ids = sparse_retain(sparse_ids, positive)
        sparse_weights = sparse_retain(sparse_weights, positive)
    return sparse_ids, sparse_weights


def _zeros_where(is_empty: Any, found: Any, scope: str) -> Tensor:
    width: Any = array.shape(found)
    wide = tile(array.reshape(is_empty, [-1, 1]), stack([1, width[1]]))
    return where(wide, array.zeros_like(found), found, name=scope)


def _in_shape(found: Any, shape: Any, rank: Any, known_rank: int | None) -> Any:
    """The leading dimensions of the ids again."""
    lead = slice_(cast(shape, dtypes.int32), [0], [rank - 1])
    row = slice_(array.shape(found), [1], [-1])
    result: Any = array.reshape(found, concat([lead, row], 0))
    outer = UNKNOWN if known_rank is None else make_shape((None,) * (known_rank - 1))
    result.set_shape(outer.concatenate(found.get_shape()[1:]))
    return result
