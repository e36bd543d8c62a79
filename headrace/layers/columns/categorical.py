"""Categories: by hash, by number, by a vocabulary."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from headrace.core import dtypes, log
from headrace.formats import files
from headrace.formats.gfile import GFile
from headrace.functions.array.array import fill, identity, shape
from headrace.functions.array.checks import assert_greater_equal, assert_less
from headrace.functions.array.indexing import gather_nd, where_v2
from headrace.functions.io.example_features import VarLenFeature
from headrace.functions.math.cast import cast
from headrace.functions.math.math import not_equal
from headrace.functions.platform.scopes import control_dependencies, name_scope
from headrace.functions.sparse.tensor import SparseTensor, convert_to_tensor_or_sparse_tensor
from headrace.functions.strings.string import as_string, string_to_hash_bucket_fast
from headrace.layers.columns import checks
from headrace.layers.columns.base import CategoricalColumn
from headrace.ops.math.logical import logical_or
from headrace.train.lookup.vocabularies import index_table_from_file, index_table_from_tensor


def sparse_input(feature: Any, ignore_value: Any = None) -> Any:
    """A feature as a sparse tensor; of a dense one, the values that mean "none" are left out."""
    feature = convert_to_tensor_or_sparse_tensor(feature)
    if isinstance(feature, SparseTensor):
        return feature
    with name_scope(None, "to_sparse_input", (feature, ignore_value)):
        if ignore_value is None:
            kind = feature.dtype
            ignore_value = "" if kind == dtypes.string else -1 if kind.is_integer else kind.as_numpy_dtype()
        nothing = cast(ignore_value, feature.dtype, name="ignore_value")
        indices = where_v2(not_equal(feature, nothing), name="indices")
        values = gather_nd(feature, indices, name="values")
        return SparseTensor(indices, values, shape(feature, out_type=dtypes.int64, name="dense_shape"))


class _OfAKey(CategoricalColumn):
    """A column of one feature, which is sparse."""

    key: str
    dtype: Any

    @property
    def name(self) -> str:
        return self.key

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        return {self.key: VarLenFeature(self.dtype)}

    def transform_feature(self, transformation_cache: Any, state_manager: Any) -> Any:
        feature = sparse_input(transformation_cache.get(self.key, state_manager))
        return self._ids(feature, state_manager)

    def _ids(self, feature: Any, state_manager: Any) -> Any:
        raise NotImplementedError

    def _check_type(self, feature: Any) -> None:
        """The feature is text or whole numbers, as the column is."""
        if self.dtype.is_integer != feature.dtype.is_integer:
            raise ValueError(
                f"Column dtype and SparseTensors dtype must be compatible. key: {self.key}, "
                f"column dtype: {self.dtype}, tensor dtype: {feature.dtype}"
            )
        checks.check_text_or_whole(feature.dtype, f"column_name: {self.key} input_tensor")


class _Hashed(NamedTuple):
    key: str
    hash_bucket_size: int
    dtype: Any


class HashedCategoricalColumn(_OfAKey, _Hashed):
    """The category is the value's hash."""

    @property
    def num_buckets(self) -> Any:
        return self.hash_bucket_size

    def _ids(self, feature: Any, state_manager: Any) -> Any:
        self._check_type(feature)
        text = feature.values if self.dtype == dtypes.string else as_string(feature.values)
        ids = string_to_hash_bucket_fast(text, self.hash_bucket_size, name="lookup")
        return SparseTensor(feature.indices, ids, feature.dense_shape)


class _Identity(NamedTuple):
    key: str
    number_buckets: int
    default_value: int | None


class IdentityCategoricalColumn(_OfAKey, _Identity):
    """The category is the value itself."""

    dtype = dtypes.int64

    @property
    def num_buckets(self) -> Any:
        return self.number_buckets

    def _ids(self, feature: Any, state_manager: Any) -> Any:
        if not feature.dtype.is_integer:
            raise ValueError(f"Invalid input, not integer. key: {self.key} dtype: {feature.dtype}")
        values = cast(feature.values, dtypes.int64, name="values")
        most = cast(self.num_buckets, dtypes.int64, name="num_buckets")
        zero = cast(0, dtypes.int64, name="zero")
        if self.default_value is None:
            above = assert_less(
                values,
                most,
                data=(values, most),
                message=f'Bucket index for categorical column "{self.name}" exceeds number of buckets',
                name="assert_less_than_num_buckets",
            )
            below = assert_greater_equal(
                values,
                zero,
                data=(values,),
                message=f'Negative bucket index for categorical column "{self.name}"',
                name="assert_greater_or_equal_0",
            )
            with control_dependencies((above, below)):
                values = identity(values)
        else:
            outside = logical_or(values < zero, values >= most, name="out_of_range")
            default = cast(self.default_value, dtypes.int64)
            values = where_v2(outside, fill(shape(values), default, name="default_values"), values)
        return SparseTensor(feature.indices, values, feature.dense_shape)


class _Vocabulary(_OfAKey):
    """The category is the value's place in a vocabulary."""

    def _table(self, key_dtype: Any, name: str) -> Any:
        raise NotImplementedError

    def _ids(self, feature: Any, state_manager: Any) -> Any:
        self._check_type(feature)
        key_dtype = self.dtype
        if feature.dtype.is_integer:  # tables have keys of int64 only
            key_dtype, feature = dtypes.int64, cast(feature, dtypes.int64)
        name = f"{self.key}_lookup"
        table = self._table(key_dtype, name)
        if state_manager is not None:
            state_manager.add_resource(self, name, table)
        return table.lookup(feature)


class _File(NamedTuple):
    key: str
    vocabulary_file: str
    vocabulary_size: int
    num_oov_buckets: int
    dtype: Any
    default_value: int


class VocabularyFileCategoricalColumn(_Vocabulary, _File):
    """A vocabulary in a file, an entry a line."""

    @property
    def num_buckets(self) -> Any:
        return self.vocabulary_size + self.num_oov_buckets

    def _table(self, key_dtype: Any, name: str) -> Any:
        return index_table_from_file(
            vocabulary_file=self.vocabulary_file,
            num_oov_buckets=self.num_oov_buckets,
            vocab_size=self.vocabulary_size,
            default_value=self.default_value,
            key_dtype=key_dtype,
            name=name,
        )


class _List(NamedTuple):
    key: str
    vocabulary_list: tuple[Any, ...]
    dtype: Any
    default_value: int
    num_oov_buckets: int


class VocabularyListCategoricalColumn(_Vocabulary, _List):
    """A vocabulary in a list."""

    @property
    def num_buckets(self) -> Any:
        return len(self.vocabulary_list) + self.num_oov_buckets

    def _table(self, key_dtype: Any, name: str) -> Any:
        return index_table_from_tensor(
            vocabulary_list=tuple(self.vocabulary_list),
            default_value=self.default_value,
            num_oov_buckets=self.num_oov_buckets,
            dtype=key_dtype,
            name=name,
        )


# -- as programs make them ------------------------------------------------------------------------
def categorical_column_with_hash_bucket(
    key: str, hash_bucket_size: int, dtype: Any = dtypes.string
) -> HashedCategoricalColumn:
    """Categories by hash: any values, of which some share a bucket.

    Raises:
      ValueError: `hash_bucket_size` is less than 1, or `dtype` is neither text nor whole numbers.
    """
    if hash_bucket_size is None:
        raise ValueError(f"hash_bucket_size must be set. key: {key}")
    if hash_bucket_size < 1:
        raise ValueError(
            f"hash_bucket_size must be at least 1. hash_bucket_size: {hash_bucket_size}, key: {key}"
        )
    checks.check_key(key)
    dtype = dtypes.as_dtype(dtype)
    checks.check_text_or_whole(dtype, f"column_name: {key}")
    return HashedCategoricalColumn(key, hash_bucket_size, dtype)


def categorical_column_with_identity(
    key: str, num_buckets: int, default_value: int | None = None
) -> IdentityCategoricalColumn:
    """Categories that are numbers from 0 to num_buckets - 1; others become `default_value`, or an error.

    Raises:
      ValueError: `num_buckets` is less than 1, or the default not below it.
    """
    if num_buckets < 1:
        raise ValueError(f"num_buckets {num_buckets} < 1, column_name {key}")
    if default_value is not None and not 0 <= default_value < num_buckets:
        raise ValueError(f"default_value {default_value} not in range [0, {num_buckets}), column_name {key}")
    checks.check_key(key)
    return IdentityCategoricalColumn(key, num_buckets, default_value)


def categorical_column_with_vocabulary_file(
    key: str,
    vocabulary_file: str,
    vocabulary_size: int | None = None,
    num_oov_buckets: int = 0,
    default_value: int | None = None,
    dtype: Any = dtypes.string,
) -> VocabularyFileCategoricalColumn:
    """Categories by their line in a file.

    Args:
      key: the feature's name.
      vocabulary_file: the file.
      vocabulary_size: how many lines count; all if None.
      num_oov_buckets: how many categories there are for values that are not in the file, by hash.
      default_value: the category of values that are not in the file, where there are no such buckets.
      dtype: text or whole numbers.

    Raises:
      ValueError: there is no such file, or the numbers do not fit.
    """
    if not vocabulary_file:
        raise ValueError(f"Missing vocabulary_file in {key}.")
    if vocabulary_size is None:
        if not files.exists_v1(vocabulary_file):
            raise ValueError(f"vocabulary_file in {key} does not exist.")
        with GFile(vocabulary_file) as lines:
            vocabulary_size = sum(1 for _ in lines)
        log.info(
            "vocabulary_size = %d in %s is inferred from the number of elements in the vocabulary_file %s.",
            vocabulary_size,
            key,
            vocabulary_file,
        )
    if vocabulary_size < 1:
        raise ValueError(f"Invalid vocabulary_size in {key}.")
    _check_oov(num_oov_buckets, default_value is not None, key)
    dtype = dtypes.as_dtype(dtype)
    checks.check_text_or_whole(dtype, f"column_name: {key}")
    checks.check_key(key)
    default = -1 if default_value is None else default_value
    return VocabularyFileCategoricalColumn(
        key, vocabulary_file, vocabulary_size, num_oov_buckets or 0, dtype, default
    )


def categorical_column_with_vocabulary_file_v2(
    key: str,
    vocabulary_file: str,
    vocabulary_size: int | None = None,
    dtype: Any = dtypes.string,
    default_value: int | None = None,
    num_oov_buckets: int = 0,
) -> VocabularyFileCategoricalColumn:
    """The same with TF 2's order of arguments."""
    return categorical_column_with_vocabulary_file(
        key, vocabulary_file, vocabulary_size, num_oov_buckets, default_value, dtype
    )


def _check_oov(num_oov_buckets: int, has_default: bool, key: str) -> None:
    if num_oov_buckets and has_default:
        raise ValueError(f"Can't specify both num_oov_buckets and default_value in {key}.")
    if num_oov_buckets and num_oov_buckets < 0:
        raise ValueError(f"Invalid num_oov_buckets {num_oov_buckets} in {key}.")


def categorical_column_with_vocabulary_list(
    key: str, vocabulary_list: Any, dtype: Any = None, default_value: int = -1, num_oov_buckets: int = 0
) -> VocabularyListCategoricalColumn:
    """Categories by their place in a list; for the rest, see the column with a file.

    Raises:
      ValueError: the list is empty, has a value twice, or is of another type than `dtype`.
    """
    if vocabulary_list is None or len(vocabulary_list) < 1:
        raise ValueError(f"vocabulary_list {vocabulary_list} must be non-empty, column_name: {key}")
    if len(set(vocabulary_list)) != len(vocabulary_list):
        raise ValueError(f"Duplicate keys in vocabulary_list {vocabulary_list}, column_name: {key}")
    found = dtypes.as_dtype(np.array(vocabulary_list).dtype)
    _check_oov(num_oov_buckets, default_value != -1, key)
    checks.check_text_or_whole(found, f"column_name: {key} vocabulary")
    dtype = found if dtype is None else dtypes.as_dtype(dtype)
    if dtype.is_integer != found.is_integer:
        raise ValueError(f"dtype {dtype} and vocabulary dtype {found} do not match, column_name: {key}")
    checks.check_text_or_whole(dtype, f"column_name: {key}")
    checks.check_key(key)
    return VocabularyListCategoricalColumn(key, tuple(vocabulary_list), dtype, default_value, num_oov_buckets)
