"""Features of sequences: a value, or several, for every moment."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from headrace.core import dtypes
from headrace.core.shapes import Shape
from headrace.functions.array.array import ones_like, reshape, shape, zeros
from headrace.functions.array.stacking import concat
from headrace.functions.io.example_features import VarLenFeature
from headrace.functions.math.cast import cast
from headrace.functions.math.reduce import reduce_prod
from headrace.functions.platform.scopes import name_scope
from headrace.functions.sparse.sparse import sparse_reshape, sparse_tensor_to_dense
from headrace.layers.columns import categorical, checks
from headrace.layers.columns.base import (
    CategoricalColumn,
    IdWeightPair,
    SequenceDenseColumn,
    TensorSequenceLengthPair,
    buckets_of,
    parsed_by,
    sparse_of,
)
from headrace.ops.array.indexing.segment import segment_max
from headrace.ops.math.arithmetic import ceil


def lengths_of(sp_tensor: Any, num_elements: int = 1) -> Any:
    """How long each sequence of a sparse batch is, where a moment has so many values."""
    with name_scope(None, "sequence_length") as scope:
        rows, columns = sp_tensor.indices[:, 0], sp_tensor.indices[:, 1]
        last = segment_max(columns + ones_like(columns), rows)
        lengths = cast(ceil(last / num_elements), dtypes.int64)
        missing = shape(sp_tensor)[:1] - shape(lengths)[:1]  # empty sequences at the end
        return concat([lengths, zeros(missing, dtype=lengths.dtype)], 0, name=scope)


class _OfSequence(NamedTuple):
    categorical_column: Any


class SequenceCategoricalColumn(CategoricalColumn, _OfSequence):
    """The categories of a column, one list for every moment."""

    @property
    def name(self) -> str:
        return str(self.categorical_column.name)

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        return parsed_by(self.categorical_column)

    @property
    def num_buckets(self) -> Any:
        return buckets_of(self.categorical_column)

    def transform_feature(self, transformation_cache: Any, state_manager: Any) -> Any:
        return self.categorical_column.transform_feature(transformation_cache, state_manager)

    def get_sparse_tensors(self, transformation_cache: Any, state_manager: Any) -> IdWeightPair:
        """The ids as [batch, time, values of a moment]."""
        ids, weights = sparse_of(self.categorical_column, transformation_cache, state_manager)
        return IdWeightPair(_by_moment(ids), None if weights is None else _by_moment(weights))


def _by_moment(sparse: Any) -> Any:
    sizes = shape(sparse)
    # The third size is computed, for -1 has no meaning where a sequence is empty.
    return sparse_reshape(sparse, [sizes[0], sizes[1], reduce_prod(sizes[2:])])


class _SequenceNumeric(NamedTuple):
    key: str
    shape: Any
    default_value: float
    dtype: Any
    normalizer_fn: Callable[[Any], Any] | None


class SequenceNumericColumn(SequenceDenseColumn, _SequenceNumeric):
    """Numbers for every moment."""

    @property
    def name(self) -> str:
        return self.key

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        return {self.key: VarLenFeature(self.dtype)}

    @property
    def variable_shape(self) -> Any:
        return Shape(self.shape)

    def transform_feature(self, transformation_cache: Any, state_manager: Any) -> Any:
        feature = transformation_cache.get(self.key, state_manager)
        return feature if self.normalizer_fn is None else self.normalizer_fn(feature)

    def get_sequence_dense_tensor(
        self, transformation_cache: Any, state_manager: Any
    ) -> TensorSequenceLengthPair:
        sparse = transformation_cache.get(self, state_manager)
        dense = sparse_tensor_to_dense(sparse, default_value=self.default_value)
        dense = reshape(dense, concat([shape(dense)[:1], [-1], list(self.shape)], 0))
        # A feature of three dimensions has its moments apart already.
        of_a_moment = self.variable_shape.num_elements() if sparse.shape.ndims == 2 else 1
        return TensorSequenceLengthPair(dense, lengths_of(sparse, of_a_moment))


# -- as programs make them ------------------------------------------------------------------------
def sequence_numeric_column(
    key: str,
    shape: Any = (1,),
    default_value: float = 0.0,
    dtype: Any = dtypes.float32,
    normalizer_fn: Callable[[Any], Any] | None = None,
) -> SequenceNumericColumn:
    """Numbers for every moment of a sequence.

    Args:
      key: the feature's name.
      shape: how many numbers a moment has.
      default_value: what fills the ends of shorter sequences.
      dtype: a type of numbers.
      normalizer_fn: applied to the sparse tensor before it is used.
    """
    shape = checks.checked_shape(shape, key)
    dtype = dtypes.as_dtype(dtype)
    checks.check_number(dtype, key)
    checks.check_normalizer(normalizer_fn)
    return SequenceNumericColumn(key, shape, default_value, dtype, normalizer_fn)


def sequence_categorical_column_with_identity(
    key: str, num_buckets: int, default_value: int | None = None
) -> SequenceCategoricalColumn:
    """Categories that are numbers, for every moment."""
    return SequenceCategoricalColumn(
        categorical.categorical_column_with_identity(key, num_buckets, default_value)
    )


def sequence_categorical_column_with_hash_bucket(
    key: str, hash_bucket_size: int, dtype: Any = dtypes.string
) -> SequenceCategoricalColumn:
    """Categories by hash, for every moment."""
    return SequenceCategoricalColumn(
        categorical.categorical_column_with_hash_bucket(key, hash_bucket_size, dtype)
    )


def sequence_categorical_column_with_vocabulary_file(
    key: str,
    vocabulary_file: str,
    vocabulary_size: int | None = None,
    num_oov_buckets: int = 0,
    default_value: int | None = None,
    dtype: Any = dtypes.string,
) -> SequenceCategoricalColumn:
    """Categories by their line in a file, for every moment."""
    return SequenceCategoricalColumn(
        categorical.categorical_column_with_vocabulary_file(
            key, vocabulary_file, vocabulary_size, num_oov_buckets, default_value, dtype
        )
    )


def sequence_categorical_column_with_vocabulary_list(
    key: str, vocabulary_list: Any, dtype: Any = None, default_value: int = -1, num_oov_buckets: int = 0
) -> SequenceCategoricalColumn:
    """Categories by their place in a list, for every moment."""
    return SequenceCategoricalColumn(
        categorical.categorical_column_with_vocabulary_list(
            key, vocabulary_list, dtype, default_value, num_oov_buckets
        )
    )
