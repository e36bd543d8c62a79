"""Categories of several features together, and categories with weights."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from headrace.core import dtypes
from headrace.functions.io.example_features import VarLenFeature
from headrace.functions.math.cast import cast
from headrace.functions.sparse.parts import sparse_cross_hashed
from headrace.functions.sparse.tensor import SparseTensor, convert_to_tensor_or_sparse_tensor
from headrace.layers.columns.base import (
    CategoricalColumn,
    IdWeightPair,
    OldCategoricalColumn,
    OldFeatureColumn,
    buckets_of,
    parsed_by,
    sparse_of,
)
from headrace.layers.columns.categorical import HashedCategoricalColumn, sparse_input


class _Weighted(NamedTuple):
    categorical_column: Any
    weight_feature_key: str
    dtype: Any


class WeightedCategoricalColumn(CategoricalColumn, _Weighted):
    """Categories, and another feature with their weights."""

    @property
    def name(self) -> str:
        return f"{self.categorical_column.name}_weighted_by_{self.weight_feature_key}"

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        spec, key = parsed_by(self.categorical_column), self.weight_feature_key
        if key in spec:
            raise ValueError(f"Parse config {spec[key]} already exists for {key}.")
        return {**spec, key: VarLenFeature(self.dtype)}

    @property
    def num_buckets(self) -> Any:
        return buckets_of(self.categorical_column)

    def transform_feature(self, transformation_cache: Any, state_manager: Any) -> Any:
        weights = transformation_cache.get(self.weight_feature_key, state_manager)
        if weights is None:
            raise ValueError(f"Missing weights {self.weight_feature_key}.")
        weights = convert_to_tensor_or_sparse_tensor(weights)
        if self.dtype != weights.dtype.base_dtype:
            raise ValueError(f"Bad dtype, expected {self.dtype}, but got {weights.dtype}.")
        if not isinstance(weights, SparseTensor):
            weights = sparse_input(weights, ignore_value=0.0)
        if not weights.dtype.is_floating:
            weights = cast(weights, dtypes.float32)
        return transformation_cache.get(self.categorical_column, state_manager), weights

    def get_sparse_tensors(self, transformation_cache: Any, state_manager: Any) -> IdWeightPair:
        return IdWeightPair(*transformation_cache.get(self, state_manager))


class _Crossed(NamedTuple):
    keys: tuple[Any, ...]
    hash_bucket_size: int
    hash_key: int | None


class CrossedColumn(CategoricalColumn, _Crossed):
    """The hash of the values of several features together."""

    def _leaves(self) -> Iterator[Any]:
        for key in self.keys:
            if isinstance(key, CrossedColumn):
                yield from key._leaves()
            else:
                yield key

    @property
    def name(self) -> str:
        names = (k.name if isinstance(k, OldFeatureColumn) else k for k in self._leaves())
        return "_X_".join(sorted(names))

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        spec: dict[str, Any] = {}
        for key in self.keys:
            is_column = isinstance(key, OldFeatureColumn)
            spec.update(parsed_by(key) if is_column else {key: VarLenFeature(dtypes.string)})
        return spec

    @property
    def num_buckets(self) -> Any:
        return self.hash_bucket_size

    def transform_feature(self, transformation_cache: Any, state_manager: Any) -> Any:
        features = []
        for key in self._leaves():
            if isinstance(key, str):
                features.append(transformation_cache.get(key, state_manager))
                continue
            ids = sparse_of(key, transformation_cache, state_manager)
            if ids.weight_tensor is not None:
                raise ValueError(
                    "crossed_column does not support weight_tensor, but the given column populates "
                    f"weight_tensor. Given column: {key.name}"
                )
            features.append(ids.id_tensor)
        return sparse_cross_hashed(features, self.hash_bucket_size, self.hash_key)


def weighted_categorical_column(
    categorical_column: Any, weight_feature_key: str, dtype: Any = dtypes.float32
) -> WeightedCategoricalColumn:
    """Weights for a column's categories.

    Args:
      categorical_column: the column.
      weight_feature_key: the feature with a number for each of its values.
      dtype: the type of these numbers.

    Raises:
      ValueError: `dtype` is not a type of numbers.
    """
    dtype = None if dtype is None else dtypes.as_dtype(dtype)
    if dtype is None or not (dtype.is_integer or dtype.is_floating):
        raise ValueError(f"dtype {dtype} is not convertible to float.")
    return WeightedCategoricalColumn(categorical_column, weight_feature_key, dtype)


def crossed_column(keys: Any, hash_bucket_size: int, hash_key: int | None = None) -> CrossedColumn:
    """Categories of the combinations of several features' values.

    Args:
      keys: names of features, or categorical columns; at least two.
      hash_bucket_size: how many categories there are.
      hash_key: a seed of the hash.

    Raises:
      ValueError: too few keys or buckets; a key is something else, or is hashed already.
    """
    if not hash_bucket_size or hash_bucket_size < 1:
        raise ValueError(f"hash_bucket_size must be > 1. hash_bucket_size: {hash_bucket_size}")
    if not keys or len(keys) < 2:
        raise ValueError(f"keys must be a list with length > 1. Given: {keys}")
    for key in keys:
        if not isinstance(key, str | OldCategoricalColumn):
            raise ValueError(
                "Unsupported key type. All keys must be either string, or categorical column except "
                f"HashedCategoricalColumn. Given: {key}"
            )
        if isinstance(key, HashedCategoricalColumn):
            raise ValueError(
                "categorical_column_with_hash_bucket is not supported for crossing. Hashing before crossing "
                "will increase probability of collision. Instead, use the feature name as a string. "
                f"Given: {key}"
            )
    return CrossedColumn(tuple(keys), hash_bucket_size, hash_key)
