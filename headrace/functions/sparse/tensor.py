"""SparseTensor: the elements that are given, as indices, values and the dense shape.

Indices are in row-major order by convention: ops that need it say so; `tf.sparse.reorder` sorts.
"""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.core.dtypes import DType, as_dtype
from headrace.core.fields import reads
from headrace.core.modules import late
from headrace.core.shapes import Dimension, Shape, as_shape, make_shape
from headrace.functions.values.composite import CompositeTensor
from headrace.functions.values.structure import name_scope
from headrace.functions.values.tensor_spec import (
    ShapedSpec,
    TensorSpec,
    register_type_spec_from_value_converter,
)
from headrace.graph.graph import Graph
from headrace.graph.node import Node
from headrace.graph.tensor import Tensor, run_session
from headrace.ops.declaration.building.operators import _QUOTIENT_TYPES
from headrace.ops.declaration.constants import constant_value_as_shape
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.math.cast import cast

serialize = late("headrace.ops.sparse.serialize")
sparse_dense = late("headrace.ops.sparse.dense")

SparseTensorValue = namedtuple("SparseTensorValue", ["indices", "values", "dense_shape"])


class SparseTensor(CompositeTensor):
    """A sparse tensor.

    Args:
      indices: int64 tensor [N, rank], the places of the elements.
      values: tensor [N], the elements.
      dense_shape: int64 tensor [rank].

    Example:
      >>> tf.SparseTensor(indices=[[0, 0], [1, 2]], values=[1, 2], dense_shape=[2, 3])
      # [[1, 0, 0],
      #  [0, 0, 2]]
    """

    def __init__(self, indices: Any, values: Any, dense_shape: Any) -> None:
        with name_scope(None, "SparseTensor", [indices, values, dense_shape]):
            self._indices = convert_to_tensor(indices, dtypes.int64, "indices")
            self._values = convert_to_tensor(values, name="values")
            self._dense_shape = convert_to_tensor(dense_shape, dtypes.int64, "dense_shape")
        count, rank = self._indices.shape.with_rank(2).sizes
        Dimension(count).merge_with(self._values.shape.with_rank(1).sizes[0])
        Dimension(rank).merge_with(self._dense_shape.shape.with_rank(1).sizes[0])

    @classmethod
    def from_value(cls, sparse_tensor_value: Any) -> SparseTensor:
        """A SparseTensor of the constants in a SparseTensorValue."""
        if not is_sparse(sparse_tensor_value):
            raise TypeError(f"Neither a SparseTensor nor SparseTensorValue: {sparse_tensor_value}.")
        value = sparse_tensor_value
        return SparseTensor(value.indices, value.values, value.dense_shape)

    indices: Tensor = reads("_indices", "The places of the elements, int64 [N, rank].")
    values: Tensor = reads("_values", "The elements, [N].")
    dense_shape: Tensor = reads("_dense_shape", "The shape of the dense tensor, int64 [rank].")
    op: Node = reads("_values.op", "The node that makes `values`.")
    dtype: DType = reads("_values.dtype")
    graph: Graph = reads("_indices.graph")

    @property
    def shape(self) -> Shape:
        """What is known of the shape of the dense tensor."""
        return constant_value_as_shape(self._dense_shape)

    def get_shape(self) -> Shape:
        return self.shape

    def eval(self, feed_dict: Any = None, session: Any = None) -> Any:
        """Run this tensor in `session`, or in the default one.  Returns a SparseTensorValue."""
        return run_session(self.graph, session, "eval").run(self, feed_dict)

    def consumers(self) -> list[Node]:
        return self._consumers()

    @property
    def _type_spec(self) -> SparseTensorSpec:
        return SparseTensorSpec(self.shape, self.dtype)

    def _shape_invariant_to_type_spec(self, shape: Any) -> SparseTensorSpec:
        # An invariant is the shape of `dense_shape`: a vector, as long as the rank.
        if shape.rank not in (None, 1):
            raise ValueError("Expected a shape with 1 dimension")
        rank = shape.dim(0)
        dense = make_shape(None if rank is None else (None,) * rank)
        return SparseTensorSpec(dense, self.dtype)

    def __str__(self) -> str:
        return (
            f"SparseTensor(indices={self._indices}, values={self._values}, dense_shape={self._dense_shape})"
        )


class SparseTensorSpec(ShapedSpec):
    """Describes a sparse tensor.

    Args:
      shape: what is known of the dense shape.
      dtype: the type of the elements.
    """

    __slots__ = ("_dtype", "_shape")

    def __init__(self, shape: Any = None, dtype: Any = dtypes.float32) -> None:
        self._shape, self._dtype = as_shape(shape), as_dtype(dtype)

    @classmethod
    def from_value(cls, value: Any) -> SparseTensorSpec:
        if isinstance(value, SparseTensorValue):
            if isinstance(value.values, np.ndarray):
                return cls(value.dense_shape, value.values.dtype)
            value = SparseTensor.from_value(value)
        if not isinstance(value, SparseTensor):
            raise TypeError("Expected SparseTensor or SparseTensorValue")
        return cls(value.shape, value.dtype)

    shape: Shape = reads("_shape")
    dtype: DType = reads("_dtype")

    @property
    def value_type(self) -> Any:
        return SparseTensor

    def _serialize(self) -> tuple[Any, ...]:
        return self._shape, self._dtype

    @property
    def _component_specs(self) -> list[TensorSpec]:
        rank = self._shape.rank
        return [
            TensorSpec([None, rank], dtypes.int64),
            TensorSpec([None], self._dtype),
            TensorSpec([rank], dtypes.int64),
        ]

    def _to_components(self, value: Any) -> list[Any]:
        if isinstance(value, SparseTensorValue):
            value = SparseTensor.from_value(value)
        return [value.indices, value.values, value.dense_shape]

    def _from_components(self, components: Any) -> Any:
        if all(isinstance(c, np.ndarray) for c in components):
            return SparseTensorValue(*components)
        return SparseTensor(*components)

    # A tensor list has one variant, so that values of any number of elements can be stacked.
    @property
    def _flat_tensor_specs(self) -> list[Any]:
        return [TensorSpec(None, dtypes.variant)]

    def _to_tensor_list(self, value: Any) -> list[Any]:
        value = SparseTensor.from_value(value)
        parts = value.indices, value.values, value.dense_shape
        return [serialize.serialize_sparse(*parts, out_type=dtypes.variant)]

    def _to_batched_tensor_list(self, value: Any) -> list[Any]:
        if self._shape.merge_with(constant_value_as_shape(value.dense_shape)).rank == 0:
            raise ValueError("Unbatching a sparse tensor is only supported for rank >= 1")
        parts = value.indices, value.values, value.dense_shape
        return [serialize.serialize_many_sparse(*parts, out_type=dtypes.variant)]

    def _from_compatible_tensor_list(self, tensor_list: list[Any]) -> SparseTensor:
        value = SparseTensor(*serialize.deserialize_sparse(tensor_list[0], self._dtype))
        value.indices.set_shape([None, self._shape.rank])
        value.dense_shape.set_shape([self._shape.rank])
        return value

    def _reshaped(self, shape: Shape) -> SparseTensorSpec:
        return SparseTensorSpec(shape, self._dtype)


register_type_spec_from_value_converter(SparseTensorValue, SparseTensorSpec.from_value)


def is_sparse(x: Any) -> bool:
    """True for a SparseTensor and a SparseTensorValue."""
    return isinstance(x, (SparseTensor, SparseTensorValue))


def convert_to_tensor_or_sparse_tensor(
    value: Any, dtype: Any = None, name: str | None = None
) -> Tensor | SparseTensor:
    """A SparseTensor where `value` is sparse, else the tensor it stands for.

    Raises:
      RuntimeError: a sparse value has another type than `dtype`.
    """
    wanted = None if dtype is None else as_dtype(dtype)
    if isinstance(value, SparseTensorValue):
        value = SparseTensor.from_value(value)
    if isinstance(value, SparseTensor):
        if wanted is not None and not wanted.is_compatible_with(value.dtype):
            raise RuntimeError(f"Sparse dtype: requested = {wanted.name}, actual = {value.dtype.name}")
        return value
    return convert_to_tensor(value, wanted, name)


# -- operators ----------------------------------------------------------------------------------
def _beside_dense(name: str, build: Any) -> Any:
    """An operator of a sparse tensor and a dense one, which is broadcast to it."""

    def operator(x: SparseTensor, y: Any) -> SparseTensor:
        with name_scope(None, name, [x.values, y]) as scope:
            y = convert_to_tensor(y, x.dtype.base, "y")
            values = build(x.indices, x.values, x.dense_shape, y, scope)
            return SparseTensor(x.indices, values, x.dense_shape)

    return operator


def _product(indices: Tensor, values: Tensor, shape: Tensor, y: Tensor, name: str) -> Tensor:
    result: Tensor = sparse_dense.sparse_dense_cwise_mul(indices, values, shape, y, name=name)
    return result


def _quotient(indices: Tensor, values: Tensor, shape: Tensor, y: Tensor, name: str) -> Tensor:
    result: Tensor = sparse_dense.sparse_dense_cwise_div(indices, values, shape, y, name=name)
    return result


def _true_quotient(indices: Tensor, values: Tensor, shape: Tensor, y: Tensor, name: str) -> Tensor:
    """Integers become floats first."""
    wide = _QUOTIENT_TYPES.get(values.dtype.base)
    if wide is not None:
        values, y = cast(values, DstT=wide), cast(y, DstT=wide)
    return _quotient(indices, values, shape, y, name)


_class: Any = SparseTensor
_class.__mul__ = _beside_dense("mul", _product)
_class.__div__ = _beside_dense("div", _quotient)
_class.__truediv__ = _beside_dense("truediv", _true_quotient)
