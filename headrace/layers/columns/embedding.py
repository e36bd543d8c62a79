"""Categories as numbers: ones and zeros, or rows of a table that is learned."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from headrace.core import dtypes
from headrace.core.shapes import Shape
from headrace.functions.array.indexing import one_hot
from headrace.functions.math.reduce import reduce_sum
from headrace.functions.platform.scopes import add_to_collection, name_scope
from headrace.functions.sparse.parts import sparse_merge, sparse_slice
from headrace.functions.sparse.sparse import sparse_tensor_to_dense
from headrace.graph.defaults import get_default_graph
from headrace.layers.columns import checks
from headrace.layers.columns.base import (
    DenseColumn,
    OldCategoricalColumn,
    OldDenseColumn,
    OldSequenceDenseColumn,
    ScopeState,
    SequenceDenseColumn,
    TensorSequenceLengthPair,
    buckets_of,
    parsed_by,
    sparse_of,
)
from headrace.layers.columns.combined import WeightedCategoricalColumn
from headrace.layers.columns.sequence import SequenceCategoricalColumn, lengths_of
from headrace.nn.embedding import safe_embedding_lookup_sparse
from headrace.ops.array.indexing.scatter import scatter_nd
from headrace.train.checkpoints.start_from_checkpoint import init_from_checkpoint
from headrace.variables.initializers.initializers import TruncatedNormal
from headrace.variables.partitioned import PartitionedVariable
from headrace.variables.scope import get_variable


class _OfCategories(DenseColumn, SequenceDenseColumn):
    """A dense column of a categorical one.  `_called` is how messages call its kind."""

    categorical_column: Any
    _called = "embedding_column"

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        return parsed_by(self.categorical_column)

    def transform_feature(self, transformation_cache: Any, state_manager: Any) -> Any:
        return transformation_cache.get(self.categorical_column, state_manager)

    def _dense(self, transformation_cache: Any, state_manager: Any) -> Any:
        raise NotImplementedError

    def get_dense_tensor(self, transformation_cache: Any, state_manager: Any) -> Any:
        column = self.categorical_column
        if isinstance(column, SequenceCategoricalColumn):
            raise ValueError(
                f"In {self._called}: {self.name}. categorical_column must not be of type "
                "SequenceCategoricalColumn. Suggested fix A: If you wish to use DenseFeatures, use a "
                "non-sequence categorical_column_with_*. Suggested fix B: If you wish to create sequence "
                "input, use SequenceFeatures instead of DenseFeatures. "
                f"Given (type {type(column)}): {column}"
            )
        return self._dense(transformation_cache, state_manager)

    def get_sequence_dense_tensor(
        self, transformation_cache: Any, state_manager: Any
    ) -> TensorSequenceLengthPair:
        column = self.categorical_column
        if not isinstance(column, SequenceCategoricalColumn):
            raise ValueError(
                f"In {self._called}: {self.name}. categorical_column must be of type "
                "SequenceCategoricalColumn to use SequenceFeatures. Suggested fix: Use one of "
                f"sequence_categorical_column_with_*. Given (type {type(column)}): {column}"
            )
        dense = self._dense(transformation_cache, state_manager)
        ids = sparse_of(column, transformation_cache, state_manager).id_tensor
        return TensorSequenceLengthPair(dense, lengths_of(ids))


class _Indicator(NamedTuple):
    categorical_column: Any


class IndicatorColumn(_OfCategories, _Indicator):
    """How often each category is there."""

    _called = "indicator_column"

    @property
    def name(self) -> str:
        return f"{self.categorical_column.name}_indicator"

    @property
    def variable_shape(self) -> Any:
        return Shape([1, buckets_of(self.categorical_column)])

    def transform_feature(self, transformation_cache: Any, state_manager: Any) -> Any:
        ids, weights = sparse_of(self.categorical_column, transformation_cache, state_manager)
        buckets = buckets_of(self.categorical_column)
        if weights is None:
            found = one_hot(sparse_tensor_to_dense(ids, default_value=-1), buckets, 1.0, 0.0)
            return reduce_sum(found, [-2])
        weighted = sparse_merge(ids, weights, int(buckets))
        weighted = sparse_slice(weighted, [0, 0], weighted.dense_shape)  # without ids of -1
        return scatter_nd(weighted.indices, weighted.values, weighted.dense_shape)

    def _dense(self, transformation_cache: Any, state_manager: Any) -> Any:
        return transformation_cache.get(self, state_manager)


def _looked_up(column: Any, weights: Any, ids: Any, id_weights: Any) -> Any:
    return safe_embedding_lookup_sparse(
        embedding_weights=weights,
        sparse_ids=ids,
        sparse_weights=id_weights,
        combiner=column.combiner,
        name=f"{column.name}_weights",
        max_norm=column.max_norm,
    )


def _restored(weights: Any, checkpoint: Any, tensor: Any) -> Any:
    """The weights, which begin as a checkpoint has them if there is one."""
    if checkpoint is not None:
        parts = weights._get_variable_list() if isinstance(weights, PartitionedVariable) else weights
        init_from_checkpoint(checkpoint, {tensor: parts})
    return weights


class _Embedding(NamedTuple):
    categorical_column: Any
    dimension: int
    combiner: str
    initializer: Any
    ckpt_to_load_from: Any
    tensor_name_in_ckpt: Any
    max_norm: Any
    trainable: bool


class EmbeddingColumn(_OfCategories, _Embedding):
    """A row of a table for each category; rows of one example are combined."""

    @property
    def name(self) -> str:
        return f"{self.categorical_column.name}_embedding"

    @property
    def variable_shape(self) -> Any:
        return Shape([self.dimension])

    def create_state(self, state_manager: Any) -> None:
        state_manager.create_variable(
            self,
            name="embedding_weights",
            shape=(buckets_of(self.categorical_column), self.dimension),
            dtype=dtypes.float32,
            trainable=self.trainable,
            use_resource=True,
            initializer=self.initializer,
        )

    def _dense(self, transformation_cache: Any, state_manager: Any) -> Any:
        ids, id_weights = sparse_of(self.categorical_column, transformation_cache, state_manager)
        weights = state_manager.get_variable(self, name="embedding_weights")
        weights = _restored(weights, self.ckpt_to_load_from, self.tensor_name_in_ckpt)
        return _looked_up(self, weights, ids, id_weights)


class SharedEmbeddings:
    """The table that several columns share: one variable for each graph."""

    def __init__(
        self,
        dimension: int,
        initializer: Any,
        ckpt_to_load_from: Any,
        tensor_name_in_ckpt: Any,
        num_buckets: int,
        trainable: bool,
        name: str = "shared_embedding_column_creator",
    ) -> None:
        self.dimension, self._initializer, self._trainable = dimension, initializer, trainable
        self._checkpoint = ckpt_to_load_from, tensor_name_in_ckpt
        self._num_buckets, self._name = num_buckets, name
        self._weights: dict[Any, Any] = {}

    def __call__(self, categorical_column: Any, combiner: str, max_norm: Any) -> SharedEmbeddingColumn:
        return SharedEmbeddingColumn(categorical_column, self, combiner, max_norm)

    @property
    def embedding_weights(self) -> Any:
        graph = get_default_graph()
        if graph not in self._weights:
            weights = get_variable(
                self._name,
                shape=(self._num_buckets, self.dimension),
                dtype=dtypes.float32,
                initializer=self._initializer,
                trainable=self._trainable,
            )
            self._weights[graph] = _restored(weights, *self._checkpoint)
        return self._weights[graph]


class _Shared(NamedTuple):
    categorical_column: Any
    shared_embedding_column_creator: Any
    combiner: str
    max_norm: Any


class SharedEmbeddingColumn(_OfCategories, _Shared):
    """A column of those that share a table."""

    @property
    def name(self) -> str:
        return f"{self.categorical_column.name}_shared_embedding"

    @property
    def variable_shape(self) -> Any:
        return Shape([self.shared_embedding_column_creator.dimension])

    def _dense(self, transformation_cache: Any, state_manager: Any) -> Any:
        with name_scope(None, self.name):
            ids, id_weights = sparse_of(self.categorical_column, transformation_cache, state_manager)
            return _looked_up(self, self.shared_embedding_column_creator.embedding_weights, ids, id_weights)


class _OldShared(NamedTuple):
    categorical_column: Any
    dimension: int
    combiner: str
    initializer: Any
    shared_embedding_collection_name: str
    ckpt_to_load_from: Any
    tensor_name_in_ckpt: Any
    max_norm: Any
    trainable: bool


class OldSharedEmbeddingColumn(OldDenseColumn, OldSequenceDenseColumn, _OldShared):
    """The older form of it, for input_layer: a collection of the graph holds the table."""

    @property
    def name(self) -> str:
        return f"{self.categorical_column.name}_shared_embedding"

    @property
    def _var_scope_name(self) -> str:
        return self.shared_embedding_collection_name

    @property
    def _parse_example_spec(self) -> dict[str, Any]:
        return parsed_by(self.categorical_column)

    @property
    def _variable_shape(self) -> Any:
        return Shape([self.dimension])

    def _transform_feature(self, inputs: Any) -> Any:
        return inputs.get(self.categorical_column)

    def _table(self, collections: Any, trainable: Any) -> Any:
        name = self.shared_embedding_collection_name
        shape = (buckets_of(self.categorical_column), self.dimension)
        found = get_default_graph().get_collection(name)
        advice = (
            "Suggested fix A: Choose a unique name for this collection. Suggested fix B: Do not add any "
            "variables to this collection. The feature_column library already adds a variable under the hood."
        )
        if len(found) > 1:
            raise ValueError(f"Collection {found} can only contain one variable. {advice}")
        if not found:
            made = get_variable(
                "embedding_weights",
                shape=shape,
                dtype=dtypes.float32,
                initializer=self.initializer,
                trainable=self.trainable and trainable is not False,
                collections=collections,
            )
            add_to_collection(name, made)
            return made
        if found[0].get_shape() != shape:
            raise ValueError(
                f"Shared embedding collection {name} contains variable {found[0].name} of unexpected shape "
                f"{found[0].get_shape()}. Expected shape is {shape}. {advice}"
            )
        return found[0]

    def _get_dense_tensor(self, inputs: Any, weight_collections: Any = None, trainable: Any = None) -> Any:
        with name_scope(None, self.name):
            ids, id_weights = sparse_of(self.categorical_column, inputs, ScopeState(None, None))
            weights = self._table(weight_collections, trainable)
            weights = _restored(weights, self.ckpt_to_load_from, self.tensor_name_in_ckpt)
            return _looked_up(self, weights, ids, id_weights)

    def _get_sequence_dense_tensor(
        self, inputs: Any, weight_collections: Any = None, trainable: Any = None
    ) -> TensorSequenceLengthPair:
        dense = self._get_dense_tensor(inputs, weight_collections, trainable)
        ids = sparse_of(self.categorical_column, inputs, ScopeState(None, None)).id_tensor
        return TensorSequenceLengthPair(dense, lengths_of(ids))


# -- as programs make them ------------------------------------------------------------------------
def indicator_column(categorical_column: Any) -> IndicatorColumn:
    """Ones where a category is there, zeros elsewhere; counts where it is there several times."""
    return IndicatorColumn(categorical_column)


def _initializer(initializer: Any, dimension: int, about: str = "") -> Any:
    if initializer is not None and not callable(initializer):
        raise ValueError(f"initializer must be callable if specified.{about}")
    return initializer or TruncatedNormal(mean=0.0, stddev=1 / math.sqrt(dimension))


def embedding_column(
    categorical_column: Any,
    dimension: int,
    combiner: str = "mean",
    initializer: Any = None,
    ckpt_to_load_from: str | None = None,
    tensor_name_in_ckpt: str | None = None,
    max_norm: float | None = None,
    trainable: bool = True,
) -> EmbeddingColumn:
    """A learned vector for each category.

    Args:
      categorical_column: gives the categories.
      dimension: how long a vector is.
      combiner: how vectors of one example become one: "mean", "sqrtn" or "sum".
      initializer: of the table; normal with deviation 1/sqrt(dimension) if None.
      ckpt_to_load_from: a checkpoint that the table begins with.
      tensor_name_in_ckpt: what the table is called there.
      max_norm: longer vectors are scaled to this length.
      trainable: is the table learned?

    Raises:
      ValueError: `dimension` is not positive, the initializer can not be called, or only one of the
        checkpoint's arguments is given.
    """
    checks.check_embedding(dimension, ckpt_to_load_from, tensor_name_in_ckpt)
    about = f" Embedding of column_name: {categorical_column.name}"
    initializer = _initializer(initializer, dimension, about)
    return EmbeddingColumn(
        categorical_column,
        dimension,
        combiner,
        initializer,
        ckpt_to_load_from,
        tensor_name_in_ckpt,
        max_norm,
        trainable,
    )


def _checked_alike(categorical_columns: Any) -> tuple[int, str]:
    """(how many categories each of them has, the name of what they share)."""
    ordered = sorted(categorical_columns, key=lambda column: column.name)
    first = ordered[0]
    if not isinstance(first, OldCategoricalColumn):
        raise ValueError(
            "All categorical_columns must be subclasses of _CategoricalColumn. "
            f"Given: {first}, of type: {type(first)}"
        )
    buckets, bare = buckets_of(first), _without_weights(first)
    for column in map(_without_weights, ordered[1:]):
        if not isinstance(column, type(bare)):
            raise ValueError(
                "To use shared_embedding_column, all categorical_columns must have the same type, or be "
                f"weighted_categorical_column of the same type. Given column: {bare} of type: {type(bare)} "
                f"does not match given column: {column} of type: {type(column)}"
            )
        if buckets != buckets_of(column):
            raise ValueError(
                "To use shared_embedding_column, all categorical_columns must have the same number of "
                f"buckets. Given column: {bare} with buckets: {buckets} does  not match column: {column} "
                f"with buckets: {buckets_of(column)}"
            )
    return buckets, "_".join(column.name for column in ordered) + "_shared_embedding"


def _without_weights(column: Any) -> Any:
    return column.categorical_column if isinstance(column, WeightedCategoricalColumn) else column


def shared_embedding_columns(
    categorical_columns: Any,
    dimension: int,
    combiner: str = "mean",
    initializer: Any = None,
    shared_embedding_collection_name: str | None = None,
    ckpt_to_load_from: str | None = None,
    tensor_name_in_ckpt: str | None = None,
    max_norm: float | None = None,
    trainable: bool = True,
) -> list[Any]:
    """Learned vectors of several columns, from one table; see `embedding_column`."""
    checks.check_embedding(dimension, ckpt_to_load_from, tensor_name_in_ckpt)
    initializer = _initializer(initializer, dimension)
    _, name = _checked_alike(categorical_columns)
    return [
        OldSharedEmbeddingColumn(
            column,
            dimension,
            combiner,
            initializer,
            shared_embedding_collection_name or name,
            ckpt_to_load_from,
            tensor_name_in_ckpt,
            max_norm,
            trainable,
        )
        for column in categorical_columns
    ]


def shared_embeddings(
    categorical_columns: Any,
    dimension: int,
    combiner: str = "mean",
    initializer: Any = None,
    shared_embedding_collection_name: str | None = None,
    ckpt_to_load_from: str | None = None,
    tensor_name_in_ckpt: str | None = None,
    max_norm: float | None = None,
    trainable: bool = True,
) -> list[Any]:
    """The same for DenseFeatures."""
    checks.check_embedding(dimension, ckpt_to_load_from, tensor_name_in_ckpt)
    initializer = _initializer(initializer, dimension)
    buckets, name = _checked_alike(categorical_columns)
    table = SharedEmbeddings(
        dimension,
        initializer,
        ckpt_to_load_from,
        tensor_name_in_ckpt,
        buckets,
        trainable,
        shared_embedding_collection_name or name,
    )
    return [table(column, combiner, max_norm) for column in categorical_columns]
