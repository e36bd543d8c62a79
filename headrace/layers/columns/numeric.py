"""Numbers: as they are, or as the bucket that they are in."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

from headrace.core import dtypes
from headrace.core.shapes import Shape
from headrace.functions.array.array import expand_dims, reshape, transpose
from headrace.functions.array.array import shape as shape_of
from headrace.functions.array.indexing import one_hot
from headrace.functions.array.stacking import stack
from headrace.functions.io.example_features import FixedLenFeature
from headrace.functions.math.cast import cast
from headrace.functions.math.math import range_
from headrace.functions.sparse.tensor import SparseTensor
from headrace.layers.columns import checks
from headrace.layers.columns.base import CategoricalColumn, DenseColumn, IdWeightPair, OldDenseColumn
from headrace.ops.array.tile import tile
from headrace.ops.math.histogram import bucketize


class _Numeric(NamedTuple):
    key: str
    shape: Any
    default_value: Any
    dtype: Any
    normalizer_fn: Callable[[Any], Any] | None


class NumericColumn(DenseColumn, _Numeric):
    """A feature of numbers."""

    @property
    def name(self) -> str:
        return self.key

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        return {self.key: FixedLenFeature(self.shape, self.dtype, self.default_value)}

    @property
    def variable_shape(self) -> Any:
        return Shape(self.shape)

    def transform_feature(self, transformation_cache: Any, state_manager: Any) -> Any:
        feature = transformation_cache.get(self.key, state_manager)
        if isinstance(feature, SparseTensor):
            raise ValueError(
                "The corresponding Tensor of numerical column must be a Tensor. SparseTensor is not "
                f"supported. key: {self.key}"
            )
        if self.normalizer_fn is not None:
            feature = self.normalizer_fn(feature)
        return cast(feature, dtypes.float32)

    def get_dense_tensor(self, transformation_cache: Any, state_manager: Any) -> Any:
        return transformation_cache.get(self, state_manager)


class _Bucketized(NamedTuple):
    source_column: Any
    boundaries: tuple[float, ...]


class BucketizedColumn(DenseColumn, CategoricalColumn, _Bucketized):
    """Which bucket each number is in: a category, or ones and zeros."""

    @property
    def name(self) -> str:
        return f"{self.source_column.name}_bucketized"

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        return self.source_column.parse_example_spec  # type: ignore[no-any-return]

    @property
    def _buckets(self) -> int:
        return len(self.boundaries) + 1

    @property
    def variable_shape(self) -> Any:
        return Shape((*self.source_column.shape, self._buckets))

    @property
    def num_buckets(self) -> Any:
        return self._buckets * self.source_column.shape[0]

    def transform_feature(self, transformation_cache: Any, state_manager: Any) -> Any:
        source = transformation_cache.get(self.source_column, state_manager)
        return bucketize(source, boundaries=self.boundaries)

    def get_dense_tensor(self, transformation_cache: Any, state_manager: Any) -> Any:
        found = transformation_cache.get(self, state_manager)
        return one_hot(cast(found, dtypes.int64), self._buckets, 1.0, 0.0)

    def get_sparse_tensors(self, transformation_cache: Any, state_manager: Any) -> IdWeightPair:
        """The bucket of each of the feature's numbers; each number has buckets of its own."""
        found = transformation_cache.get(self, state_manager)
        batch, numbers = shape_of(found)[0], self.source_column.shape[0]
        rows = reshape(tile(expand_dims(range_(0, batch), 1), [1, numbers]), (-1,))
        places = tile(range_(0, numbers), [batch])
        ids = reshape(found, (-1,)) + self._buckets * places
        indices = cast(transpose(stack((rows, places))), dtypes.int64)
        dense_shape = cast(stack([batch, numbers]), dtypes.int64)
        return IdWeightPair(SparseTensor(indices, ids, dense_shape), None)


def numeric_column(
    key: str,
    shape: Any = (1,),
    default_value: Any = None,
    dtype: Any = dtypes.float32,
    normalizer_fn: Callable[[Any], Any] | None = None,
) -> NumericColumn:
    """Numbers of a feature.

    Args:
      key: the feature's name.
      shape: how many numbers an example has, without the batch.
      default_value: what stands for a feature that is missing in an Example.
      dtype: a type of numbers.
      normalizer_fn: applied to the tensor before it is used.

    Raises:
      TypeError: a size of `shape` or the default is not a number; `normalizer_fn` can not be called.
      ValueError: a size of `shape` is not positive; the default does not have this shape.
    """
    shape = checks.checked_shape(shape, key)
    dtype = dtypes.as_dtype(dtype)
    checks.check_number(dtype, key)
    default_value = checks.checked_default(shape, default_value, dtype, key)
    checks.check_normalizer(normalizer_fn)
    checks.check_key(key)
    return NumericColumn(key, shape, default_value, dtype, normalizer_fn)


def bucketized_column(source_column: Any, boundaries: Any) -> BucketizedColumn:
    """Which of the ranges between `boundaries` a number is in: (-inf, b0), [b0, b1), ..., [bn, inf).

    Args:
      source_column: a numeric column of one dimension.
      boundaries: numbers in ascending order.

    Raises:
      ValueError: the source is something else, or the boundaries are not sorted.
    """
    is_old = isinstance(source_column, OldDenseColumn) and hasattr(source_column, "default_value")
    if not isinstance(source_column, NumericColumn) and not is_old:
        raise ValueError(
            f"source_column must be a column generated with numeric_column(). Given: {source_column}"
        )
    if len(source_column.shape) > 1:
        raise ValueError(f"source_column must be one-dimensional column. Given: {source_column}")
    if not boundaries:
        raise ValueError("boundaries must not be empty.")
    if not isinstance(boundaries, list | tuple) or any(a >= b for a, b in itertools.pairwise(boundaries)):
        raise ValueError("boundaries must be a sorted list.")
    return BucketizedColumn(source_column, tuple(boundaries))
