"""Sparse tensors as single elements (tf.io.serialize_sparse), and maps that keep them."""

from __future__ import annotations

from typing import Any

from headrace.core import dtypes
from headrace.functions.sparse.sparse import as_sparse, parts
from headrace.functions.sparse.tensor import SparseTensor
from headrace.graph.node import Node
from headrace.graph.tensor import Tensor
from headrace.ops.sparse import serialize


def serialize_sparse(sp_input: Any, name: str | None = None, out_type: Any = dtypes.string) -> Tensor:
    """A sparse tensor as a vector of three strings or variants.

    Args:
      sp_input: a `SparseTensor`.
      name: name of the node.
      out_type: `tf.string` or `tf.variant`.
    """
    return serialize.serialize_sparse(*parts(as_sparse(sp_input)), out_type=out_type, name=name)


def serialize_many_sparse(sp_input: Any, name: str | None = None, out_type: Any = dtypes.string) -> Tensor:
    """Every row of a sparse tensor as three strings or variants: a matrix with three columns."""
    return serialize.serialize_many_sparse(*parts(as_sparse(sp_input)), out_type=out_type, name=name)


def deserialize_sparse(
    serialized_sparse: Any, dtype: Any, rank: int | None = None, name: str | None = None
) -> SparseTensor:
    """The sparse tensor behind `serialize_sparse`; more dimensions in front are added to it."""
    return _ranked(serialize.deserialize_sparse(serialized_sparse, dtype, name=name), rank)


def deserialize_many_sparse(
    serialized_sparse: Any, dtype: Any, rank: int | None = None, name: str | None = None
) -> SparseTensor:
    """One sparse tensor of the rows in a matrix of strings with three columns.

    Args:
      serialized_sparse: what `serialize_many_sparse` gave, or rows of `serialize_sparse`.
      dtype: the type of the elements.
      rank: the rank of the result, if it is known.
      name: name of the node.
    """
    return _ranked(serialize.deserialize_many_sparse(serialized_sparse, dtype, name=name), rank)


def _ranked(found: Any, rank: int | None) -> SparseTensor:
    indices, values, shape = found
    indices.set_shape([None, rank])
    shape.set_shape([rank])
    return SparseTensor(indices, values, shape)


# -- maps of sparse tensors ---------------------------------------------------------------------
def add_sparse_to_tensors_map(
    sp_input: Any, container: Any = None, shared_name: Any = None, name: str | None = None
) -> Tensor:
    """Keep a sparse tensor; its handle, an int64 scalar."""
    return serialize.add_sparse_to_tensors_map(
        *parts(as_sparse(sp_input)), container=container, shared_name=shared_name, name=name
    )


def add_many_sparse_to_tensors_map(
    sp_input: Any, container: Any = None, shared_name: Any = None, name: str | None = None
) -> Tensor:
    """Keep every row of a sparse tensor; a vector of their handles."""
    return serialize.add_many_sparse_to_tensors_map(
        *parts(as_sparse(sp_input)), container=container, shared_name=shared_name, name=name
    )


def take_many_sparse_from_tensors_map(
    sparse_map_op: Any, sparse_handles: Any, rank: int | None = None, name: str | None = None
) -> SparseTensor:
    """The sparse tensors of these handles, stacked; the map forgets them.

    Args:
      sparse_map_op: the node that put them there.
      sparse_handles: a vector of handles.
      rank: the rank of the result, if it is known.
      name: name of the node.
    """
    if not isinstance(sparse_map_op, Node):
        raise TypeError("sparse_map_op be an Operation")
    if sparse_map_op.declaration not in serialize.STORING:
        raise TypeError(
            "sparse_map_op must be one of AddSparseToTensorsMap or AddSparseToTensorsMap. "
            f"Instead, found `{sparse_map_op.type}`."
        )
    with sparse_map_op.graph.colocate_with(sparse_map_op):
        found = serialize.take_many_sparse_from_tensors_map(
            sparse_handles,
            dtype=sparse_map_op.attrs["T"],
            container=sparse_map_op.attrs["container"],
            shared_name=sparse_map_op.attrs["shared_name"] or sparse_map_op.name,
            name=name,
        )
    return _ranked(found, rank)
