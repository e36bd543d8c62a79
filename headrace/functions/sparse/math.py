"""Arithmetic of sparse tensors (tf.sparse.*), and their operators."""

from __future__ import annotations

from typing import Any

from headrace.core.shapes import Shape
from headrace.functions.array.array import broadcast_static_shape
from headrace.functions.math.reduce import axes_of
from headrace.functions.sparse.sparse import as_sparse, parts
from headrace.functions.sparse.tensor import SparseTensor, is_sparse
from headrace.functions.values.old_names import renamed
from headrace.functions.values.structure import name_scope
from headrace.graph.tensor import Tensor
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.sparse import dense as sparse_dense
from headrace.ops.sparse import math


def sparse_add(a: Any, b: Any, threshold: Any = None, thresh: Any = None) -> Any:
    """The sum of two tensors of which at least one is sparse.

    Args:
      a: a `SparseTensor` or dense tensor.
      b: another one.
      threshold: a sum of two sparse elements that is smaller in magnitude is left out.
      thresh: old name of `threshold`.

    Returns:
      A `SparseTensor` if both are sparse, else a dense tensor.
    """
    threshold = renamed("threshold", threshold, "thresh", thresh)
    if not is_sparse(a) and not is_sparse(b):
        raise TypeError("At least one input should be SparseTensor; do you mean to use tf.add()?")
    if not (is_sparse(a) and is_sparse(b)):
        sparse, dense = (a, b) if is_sparse(a) else (b, a)
        return sparse_dense.sparse_tensor_dense_add(sparse.indices, sparse.values, sparse.dense_shape, dense)
    a, b = as_sparse(a), as_sparse(b)
    limit = convert_to_tensor(
        0 if threshold is None else threshold, a.values.dtype.base.real_dtype, "threshold"
    )
    indices, values, shape = math.sparse_add(*parts(a), *parts(b), limit)
    a.shape.assert_is_compatible_with(b.shape)
    known: Shape = broadcast_static_shape(a.shape, b.shape)
    return SparseTensor(indices, values, known.as_list() if known.is_full else shape)


def sparse_dense_cwise_add(sp_t: SparseTensor, dense_t: Any) -> SparseTensor:
    """The given elements of the sum with a dense tensor, which is broadcast."""
    values = sparse_dense.sparse_dense_cwise_add(*parts(sp_t), dense_t)
    return SparseTensor(sp_t.indices, values, sp_t.dense_shape)


def sparse_tensor_dense_matmul(
    sp_a: Any, b: Any, adjoint_a: bool = False, adjoint_b: bool = False, name: str | None = None
) -> Tensor:
    """The matrix product of a sparse and a dense matrix.

    Args:
      sp_a: a `SparseTensor` of rank 2.
      b: a dense matrix.
      adjoint_a: use the conjugate transpose of `sp_a`.
      adjoint_b: use the conjugate transpose of `b`.
      name: name of the node.
    """
    sp_a = as_sparse(sp_a)
    with name_scope(name, "SparseTensorDenseMatMul", [sp_a.indices, sp_a.values, b]):
        b = convert_to_tensor(b, name="b")
        return sparse_dense.sparse_tensor_dense_mat_mul(
            *parts(sp_a), b, adjoint_a=adjoint_a, adjoint_b=adjoint_b
        )


def sparse_softmax(sp_input: Any, name: str | None = None) -> SparseTensor:
    """Softmax over the elements that are given in each row of the last dimension."""
    with name_scope(name, "SparseSoftmax", [sp_input.indices, sp_input.values]):
        values = math.sparse_softmax(*parts(sp_input))
        return SparseTensor(sp_input.indices, values, sp_input.dense_shape)


def sparse_maximum(sp_a: Any, sp_b: Any, name: str | None = None) -> SparseTensor:
    """The larger elements of two sparse tensors; what is not given counts as zero."""
    return _pairwise(math.sparse_sparse_maximum, sp_a, sp_b, name)


def sparse_minimum(sp_a: Any, sp_b: Any, name: str | None = None) -> SparseTensor:
    """The smaller elements of two sparse tensors; what is not given counts as zero."""
    return _pairwise(math.sparse_sparse_minimum, sp_a, sp_b, name)


def _pairwise(build: Any, a: Any, b: Any, name: str | None) -> SparseTensor:
    with name_scope(name, build.name, [a.indices, a.values, b.indices, b.values]) as scope:
        indices, values = build(*parts(a), *parts(b), name=scope)
    return SparseTensor(indices, values, a.dense_shape)


# -- reductions ---------------------------------------------------------------------------------
def sparse_reduce_sum(
    sp_input: Any, axis: Any = None, keepdims: Any = None, reduction_axes: Any = None, keep_dims: Any = None
) -> Tensor:
    """The sums along axes, dense.

    Args:
      sp_input: a `SparseTensor`.
      axis: the axes; all by default.
      keepdims: keep them, with size 1.
      reduction_axes: old name of `axis`.
      keep_dims: old name of `keepdims`.
    """
    result: Tensor = _reduced(math.sparse_reduce_sum, sp_input, axis, keepdims, reduction_axes, keep_dims)
    return result


def sparse_reduce_sum_sparse(
    sp_input: Any, axis: Any = None, keepdims: Any = None, reduction_axes: Any = None, keep_dims: Any = None
) -> SparseTensor:
    """The sums along axes, sparse.  Arguments as in `tf.sparse.reduce_sum`."""
    return SparseTensor(
        *_reduced(math.sparse_reduce_sum_sparse, sp_input, axis, keepdims, reduction_axes, keep_dims)
    )


def sparse_reduce_max(
    sp_input: Any, axis: Any = None, keepdims: Any = None, reduction_axes: Any = None, keep_dims: Any = None
) -> Tensor:
    """The largest of the given elements along axes, dense; zero where there are none.

    Arguments as in `tf.sparse.reduce_sum`.
    """
    result: Tensor = _reduced(math.sparse_reduce_max, sp_input, axis, keepdims, reduction_axes, keep_dims)
    return result


def sparse_reduce_max_sparse(
    sp_input: Any, axis: Any = None, keepdims: Any = None, reduction_axes: Any = None, keep_dims: Any = None
) -> SparseTensor:
    """The largest of the given elements along axes, sparse."""
    return SparseTensor(
        *_reduced(math.sparse_reduce_max_sparse, sp_input, axis, keepdims, reduction_axes, keep_dims)
    )


def _reduced(build: Any, sp_input: Any, axis: Any, keepdims: Any, reduction_axes: Any, keep_dims: Any) -> Any:
    keep = renamed("keepdims", keepdims, "keep_dims", keep_dims)
    axis = renamed("axis", axis, "reduction_axes", reduction_axes)
    return build(*parts(sp_input), axes_of(sp_input, axis), bool(keep))
