"""Sparse tensors joined, split, thinned out, merged and crossed (tf.sparse.*)."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral
from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.core.dtypes import int64
from headrace.core.shapes import Dimension
from headrace.functions.array import array, indexing, stacking
from headrace.functions.math import reduce
from headrace.functions.math.cast import cast
from headrace.functions.sparse.sparse import as_sparse, parts, sparse_reorder, sparse_tensor_to_dense
from headrace.functions.sparse.tensor import SparseTensor, SparseTensorValue
from headrace.functions.values.old_names import renamed
from headrace.functions.values.structure import name_scope
from headrace.graph.tensor import Tensor
from headrace.ops.declaration.constants import constant_value
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.sparse import array as sparse_array
from headrace.ops.sparse import cross as crossing
from headrace.ops.sparse import rows as sparse_rows


# -- parts --------------------------------------------------------------------------------------
def sparse_concat(
    axis: Any,
    sp_inputs: Any,
    name: str | None = None,
    expand_nonconcat_dim: bool = False,
    concat_dim: Any = None,
    expand_nonconcat_dims: bool | None = None,
) -> SparseTensor:
    """Sparse tensors, one after the other along `axis`.

    Args:
      axis: the dimension; negative from the end.
      sp_inputs: a list of `SparseTensor`s.
      name: name of the node.
      expand_nonconcat_dim: the other dimensions may differ; the largest sizes count.
      concat_dim: old name of `axis`.
      expand_nonconcat_dims: new name of `expand_nonconcat_dim`.
    """
    expand = expand_nonconcat_dim if expand_nonconcat_dims is None else expand_nonconcat_dims
    axis = renamed("axis", axis, "concat_dim", concat_dim)
    if not isinstance(sp_inputs, (list, tuple)):
        raise TypeError("Inputs must be a list or tuple.")
    inputs = [as_sparse(x) for x in sp_inputs]
    if len(inputs) == 1:
        return inputs[0]
    shapes = [x.dense_shape for x in inputs]
    if expand:
        shapes = _largest_but(axis, shapes)
    indices, values, shape = sparse_array.sparse_concat(
        [x.indices for x in inputs], [x.values for x in inputs], shapes, axis, name=name
    )
    known = [constant_value(s) for s in shapes]
    if all(s is not None for s in known):
        whole = np.array(known[0])
        whole[axis] = sum(s[axis] for s in known)
        shape = convert_to_tensor(whole)
    return SparseTensor(indices, values, shape)


def _largest_but(axis: int, shapes: list[Tensor]) -> list[Tensor]:
    """The shapes with the largest size of all in every dimension but `axis`."""
    rows = [array.reshape(shape, [1, -1]) for shape in shapes]
    largest = reduce.reduce_max(stacking.concat(rows, 0), 0)
    if axis == -1:
        return [stacking.concat([largest[:-1], s[-1:]], 0) for s in shapes]
    return [stacking.concat([largest[:axis], s[axis : axis + 1], largest[axis + 1 :]], 0) for s in shapes]


class KeywordRequired:
    """The default of an argument in front of which nothing may stand."""

    def __repr__(self) -> str:
        return "KeywordRequired()"


def sparse_split(
    keyword_required: Any = KeywordRequired(),
    sp_input: Any = None,
    num_split: int | None = None,
    axis: Any = None,
    name: str | None = None,
    split_dim: Any = None,
) -> list[SparseTensor]:
    """A sparse tensor in `num_split` parts along `axis`; the first ones may be larger by one."""
    if not isinstance(keyword_required, KeywordRequired):
        raise ValueError("Keyword arguments are required for this function.")
    axis = renamed("axis", axis, "split_dim", split_dim)
    for what, given in (("sp_input", sp_input), ("num_split", num_split), ("axis", axis)):
        if given is None:
            raise ValueError(f"{what} is required")
    found = sparse_array.sparse_split(axis, *parts(as_sparse(sp_input)), num_split, name=name)
    return [SparseTensor(*part) for part in zip(*found)]


def sparse_slice(sp_input: Any, start: Any, size: Any, name: str | None = None) -> SparseTensor:
    """The part of a sparse tensor in a box that begins at `start`."""
    sp_input = as_sparse(sp_input)
    start, size = convert_to_tensor(start, int64), convert_to_tensor(size, int64)
    with name_scope(name, "SparseSlice", [sp_input]) as scope:
        return SparseTensor(*sparse_array.sparse_slice(*parts(sp_input), start, size, name=scope))


def sparse_retain(sp_input: Any, to_retain: Any) -> SparseTensor:
    """The elements for which `to_retain`, a vector of bools, is true."""
    sp_input = as_sparse(sp_input)
    to_retain = convert_to_tensor(to_retain)
    to_retain.shape.assert_has_rank(1)
    if sp_input.values.shape.rank is not None and to_retain.shape.rank is not None:
        Dimension(sp_input.values.shape.sizes[0]).merge_with(to_retain.shape.dims[0])
    kept = array.reshape(indexing.where_v2(to_retain), [-1])
    return SparseTensor(
        indexing.gather(sp_input.indices, kept),
        indexing.gather(sp_input.values, kept),
        array.identity(sp_input.dense_shape),
    )


def sparse_fill_empty_rows(
    sp_input: Any, default_value: Any, name: str | None = None
) -> tuple[SparseTensor, Tensor]:
    """Rows without elements get `default_value` in their first place.

    Returns:
      The filled `SparseTensor`, and a vector of bools: which rows were empty.
    """
    sp_input = as_sparse(sp_input)
    with name_scope(name, "SparseFillEmptyRows", [sp_input]):
        value = convert_to_tensor(default_value, sp_input.values.dtype)
        indices, values, empty, _ = sparse_rows.sparse_fill_empty_rows(*parts(sp_input), value)
        return SparseTensor(indices, values, sp_input.dense_shape), empty


# -- merging and crossing -----------------------------------------------------------------------
def sparse_merge(
    sp_ids: Any, sp_values: Any, vocab_size: Any, name: str | None = None, already_sorted: bool = False
) -> SparseTensor:
    """The values of one sparse tensor at places whose last index is an id from another.

    Args:
      sp_ids: a `SparseTensor` of ids, or a list of them: one last dimension for each.
      sp_values: a `SparseTensor` with elements at the same places.
      vocab_size: the size of the new dimension, or a list of sizes.
      name: name of the scope.
      already_sorted: ids are in order, so that the result needs no sorting.
    """
    if isinstance(sp_ids, (SparseTensor, SparseTensorValue)):
        if not isinstance(vocab_size, (Tensor, Integral)):
            raise TypeError(f"vocab_size has to be a Tensor or Python int. Found {type(vocab_size)}")
        sp_ids, vocab_size = [sp_ids], [vocab_size]
    _check_vocabulary(sp_ids, vocab_size)
    with name_scope(name, "SparseMerge", [sp_ids, sp_values]):
        sp_ids, sp_values = [as_sparse(x) for x in sp_ids], as_sparse(sp_values)
        ids = []
        for one in sp_ids:
            column = one.values if one.dtype == int64 else cast(one.values, int64)
            ids.append(array.expand_dims(column, axis=1))
        sizes = [cast(x, int64) for x in vocab_size]
        indices = stacking.concat([sp_ids[0].indices[:, :-1], *ids], 1)
        shape = stacking.concat([sp_ids[0].dense_shape[:-1], sizes], 0)
        merged = SparseTensor(indices, sp_values.values, shape)
        if already_sorted:
            return merged
        in_order = sparse_reorder(merged)
        return SparseTensor(in_order.indices, in_order.values, shape)


def sparse_to_indicator(sp_input: Any, vocab_size: Any, name: str | None = None) -> Tensor:
    """A dense tensor of bools: true where the last index is one of the values of `sp_input`.

    Args:
      sp_input: a `SparseTensor` of int32 or int64.
      vocab_size: the last dimension of the result; values are below it.
      name: name of the scope.
    """
    sp_input = as_sparse(sp_input)
    with name_scope(name, "SparseToIndicator", [sp_input]) as scope:
        count = array.shape(sp_input.indices)[0]
        true = array.fill(array.expand_dims(count, 0), True)
        marks = SparseTensor(sp_input.indices, true, sp_input.dense_shape)
        merged = sparse_merge(sp_input, marks, vocab_size, scope)
        # Equal values in one row give one place twice.
        return sparse_tensor_to_dense(merged, False, validate_indices=False, name=scope)


def _check_vocabulary(sp_ids: Any, vocab_size: Any) -> None:
    if not isinstance(sp_ids, Iterable):
        raise TypeError(f"sp_ids has to be a SparseTensor or list thereof. Found {type(sp_ids)}")
    if not isinstance(vocab_size, Iterable) or isinstance(vocab_size, Tensor):
        raise TypeError(f"vocab_size has to be a list of Tensors or Python ints. Found {type(vocab_size)}")
    for size in vocab_size:
        if not isinstance(size, (Tensor, Integral)):
            raise TypeError(f"vocab_size has to be a list of Tensors or Python ints. Found {type(size)}")
    if len(sp_ids) != len(vocab_size):  # type: ignore[arg-type]
        raise ValueError("sp_ids and vocab_size have to have equal lengths.")


def sparse_cross(inputs: Any, name: str | None = None) -> SparseTensor:
    """Feature crosses of every row as strings, "a_X_b".

    Args:
      inputs: a list of matrices, `SparseTensor`s or dense ones, of integers or strings.
      name: name of the node.
    """
    return _cross(inputs, hashed=False, name=name)


def sparse_cross_hashed(
    inputs: Any, num_buckets: int = 0, hash_key: int | None = None, name: str | None = None
) -> SparseTensor:
    """Feature crosses of every row as hashes.

    Args:
      inputs: a list of matrices, `SparseTensor`s or dense ones, of integers or strings.
      num_buckets: hashes are below it; 0 for no limit.
      hash_key: a number that decides on the hash.
      name: name of the node.
    """
    return _cross(inputs, hashed=True, num_buckets=num_buckets, hash_key=hash_key, name=name)


DEFAULT_HASH_KEY = 0xDECAFCAFFE


def _cross(
    inputs: Any, hashed: bool, num_buckets: int = 0, hash_key: int | None = None, name: str | None = None
) -> SparseTensor:
    if not isinstance(inputs, list):
        raise TypeError("Inputs must be a list")
    if not all(isinstance(i, (SparseTensor, Tensor)) for i in inputs):
        raise TypeError("All inputs must be SparseTensors")
    sparse = [i for i in inputs if isinstance(i, SparseTensor)]
    dense = [i for i in inputs if isinstance(i, Tensor)]
    texts = all(i.dtype == dtypes.string for i in inputs)

    def known_type(x: Tensor) -> Tensor:
        return x if x.dtype == dtypes.string else cast(x, int64)

    return SparseTensor(
        *crossing.sparse_cross(
            indices=[i.indices for i in sparse],
            values=[known_type(i.values) for i in sparse],
            shapes=[i.dense_shape for i in sparse],
            dense_inputs=[known_type(i) for i in dense],
            hashed_output=hashed,
            num_buckets=num_buckets,
            hash_key=hash_key or DEFAULT_HASH_KEY,
            out_type=int64 if hashed else dtypes.string,
            internal_type=dtypes.string if texts else int64,
            name=name,
        )
    )
