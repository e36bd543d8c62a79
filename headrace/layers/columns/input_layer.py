"""tf.feature_column.input_layer and linear_model: functions of features, whose variables are the scope's."""

from __future__ import annotations

from typing import Any

from headrace.functions.array.array import reshape, shape
from headrace.functions.array.stacking import concat
from headrace.functions.linalg.linalg import matmul
from headrace.functions.math.sums import add_n
from headrace.functions.nn.activation import bias_add
from headrace.functions.sparse.sparse import sparse_reshape
from headrace.graph.defaults import get_default_graph
from headrace.graph.keys import GraphKeys
from headrace.layers.columns.base import (
    FeatureTransformationCache,
    OldCategoricalColumn,
    OldDenseColumn,
    OldFeatureColumn,
    OldSequenceDenseColumn,
    all_equal,
    buckets_of,
    check_batch_sizes,
    sorted_columns,
)
from headrace.nn.embedding import safe_embedding_lookup_sparse
from headrace.variables.initializers.initializers import Zeros
from headrace.variables.partitioned import PartitionedVariable
from headrace.variables.scope import get_variable, get_variable_scope, variable_scope


def _collections(weight_collections: Any) -> list[str]:
    found = list(weight_collections or [])
    return found + [k for k in (GraphKeys.GLOBAL_VARIABLES, GraphKeys.MODEL_VARIABLES) if k not in found]


def internal_input_layer(
    features: Any,
    feature_columns: Any,
    weight_collections: Any = None,
    trainable: bool = True,
    cols_to_vars: dict[Any, Any] | None = None,
    scope: Any = None,
    cols_to_output_tensors: dict[Any, Any] | None = None,
    from_template: bool = False,
) -> Any:
    """`input_layer` in a scope that is given, or in none of its own."""
    columns = sorted_columns(feature_columns, OldFeatureColumn, "_FeatureColumn")
    for column in columns:
        if not isinstance(column, OldDenseColumn):
            raise ValueError(
                "Items of feature_columns must be a _DenseColumn. You can wrap a categorical column with an "
                f"embedding_column or indicator_column. Given: {column}"
            )
    collections = _collections(weight_collections)

    def joined() -> Any:
        cache = FeatureTransformationCache(features)
        outputs = []
        for column in columns:
            with variable_scope(None, default_name=column._var_scope_name):
                tensor = column._get_dense_tensor(cache, weight_collections=collections, trainable=trainable)
                size = column._variable_shape.num_elements()
                outputs.append(reshape(tensor, (shape(tensor)[0], size)))
                if cols_to_vars is not None:
                    cols_to_vars[column] = _variables_below(get_variable_scope().name)
                if cols_to_output_tensors is not None:
                    cols_to_output_tensors[column] = outputs[-1]
        check_batch_sizes(outputs, columns)
        return concat(outputs, 1)

    if from_template:
        return joined()
    with variable_scope(scope, default_name="input_layer", values=features.values()):
        return joined()


def _variables_below(scope: str) -> list[Any]:
    return get_default_graph().get_collection(GraphKeys.GLOBAL_VARIABLES, scope=scope)


def input_layer(
    features: Any,
    feature_columns: Any,
    weight_collections: Any = None,
    trainable: bool = True,
    cols_to_vars: dict[Any, Any] | None = None,
    cols_to_output_tensors: dict[Any, Any] | None = None,
) -> Any:
    """All dense columns side by side, in the order of their names: [batch, numbers].

    Args:
      features: tensors by the names of features.
      feature_columns: dense columns.
      weight_collections: where variables are added, beside those of all and of model variables.
      trainable: are they learned?
      cols_to_vars: filled with the variables of each column.
      cols_to_output_tensors: filled with the part of each column.

    Raises:
      ValueError: a column is not dense.
    """
    return internal_input_layer(
        features,
        feature_columns,
        weight_collections,
        trainable,
        cols_to_vars,
        cols_to_output_tensors=cols_to_output_tensors,
    )


class OldLinearModel:
    """Weighted sums of columns, and a bias; its variables are made when it is called first."""

    def __init__(
        self,
        feature_columns: Any,
        units: int = 1,
        sparse_combiner: str = "sum",
        weight_collections: Any = None,
        trainable: bool = True,
        name: str | None = None,
    ) -> None:
        self._columns = sorted_columns(feature_columns, OldFeatureColumn, "_FeatureColumn")
        self._units, self._combiner, self._trainable = units, sparse_combiner, trainable
        self._collections, self.name = _collections(weight_collections), name or "linear_model"
        self._cols_to_vars: dict[Any, Any] = {}
        self._scopes = {}
        for column in self._columns:
            with variable_scope(None, default_name=column._var_scope_name) as scope:
                self._scopes[column] = scope.name.rpartition("/")[2]
        self._is_built = False
        self.bias: Any = None

    def cols_to_vars(self) -> dict[Any, Any]:
        return self._cols_to_vars

    def __call__(self, features: Any) -> Any:
        for column in self._columns:
            if not isinstance(column, OldDenseColumn | OldCategoricalColumn):
                raise ValueError(
                    "Items of feature_columns must be either a _DenseColumn or _CategoricalColumn. "
                    f"Given: {column}"
                )
        with variable_scope(self.name, reuse=self._is_built or None) as scope:
            cache = FeatureTransformationCache(features)
            ordered = sorted(self._columns, key=lambda column: self._scopes[column])
            sums = [self._weighted_sum(column, cache) for column in ordered]
            check_batch_sizes(sums, ordered)
            total = add_n(sums, name="weighted_sum_no_bias")
            self.bias = self._variable("bias_weights", [self._units])
            result = bias_add(total, self.bias, name="weighted_sum")
            is_parted = isinstance(self.bias, PartitionedVariable)
            self._cols_to_vars["bias"] = list(self.bias) if is_parted else [self.bias]
        self._is_built = True
        del scope
        return result

    def _variable(self, name: str, sizes: list[Any]) -> Any:
        return get_variable(
            name, shape=sizes, initializer=Zeros(), trainable=self._trainable, collections=self._collections
        )

    def _weighted_sum(self, column: Any, cache: FeatureTransformationCache) -> Any:
        with variable_scope(self._scopes[column]) as scope:
            if isinstance(column, OldCategoricalColumn):
                weights = self._variable("weights", [buckets_of(column), self._units])
                total = self._sum_of_categories(column, cache, weights)
            else:
                size = column._variable_shape.num_elements()
                weights = self._variable("weights", [size, self._units])
                dense = column._get_dense_tensor(
                    cache, weight_collections=self._collections, trainable=self._trainable
                )
                total = matmul(reshape(dense, (shape(dense)[0], size)), weights, name="weighted_sum")
            self._cols_to_vars[column] = _variables_below(scope.name)
        return total

    def _sum_of_categories(self, column: Any, cache: FeatureTransformationCache, weights: Any) -> Any:
        ids, id_weights = column._get_sparse_tensors(
            cache, weight_collections=self._collections, trainable=self._trainable
        )
        ids = sparse_reshape(ids, [shape(ids)[0], -1])
        if id_weights is not None:
            id_weights = sparse_reshape(id_weights, [shape(id_weights)[0], -1])
        return safe_embedding_lookup_sparse(
            weights, ids, sparse_weights=id_weights, combiner=self._combiner, name="weighted_sum"
        )


def linear_model(
    features: Any,
    feature_columns: Any,
    units: int = 1,
    sparse_combiner: str = "sum",
    weight_collections: Any = None,
    trainable: bool = True,
    cols_to_vars: dict[Any, Any] | None = None,
) -> Any:
    """A linear function of features: weights for the numbers and categories of each column, and a bias.

    Args:
      features: tensors by the names of features.
      feature_columns: dense and categorical columns.
      units: how many sums there are.
      sparse_combiner: how weights of one column's categories are put together: "sum", "mean" or "sqrtn".
      weight_collections: where variables are added, beside those of all and of model variables.
      trainable: are they learned?
      cols_to_vars: filled with the variables of each column, and of "bias".
    """
    with variable_scope(None, "linear_model") as scope:
        name = scope.name.rpartition("/")[2]
    model = OldLinearModel(feature_columns, units, sparse_combiner, weight_collections, trainable, name)
    result = model(features)
    if cols_to_vars is not None:
        cols_to_vars.update(model.cols_to_vars())
    return result


def sequence_input_layer(
    features: Any, feature_columns: Any, weight_collections: Any = None, trainable: bool = True
) -> tuple[Any, Any]:
    """Columns of sequences side by side: ([batch, time, numbers], the length of each sequence).

    Args:
      features: tensors by the names of features.
      feature_columns: columns of sequences.
      weight_collections: where variables are added.
      trainable: are they learned?
    """
    columns = sorted_columns(feature_columns, OldFeatureColumn, "_FeatureColumn")
    for column in columns:
        if not isinstance(column, OldSequenceDenseColumn):
            raise ValueError(
                "All feature_columns must be of type _SequenceDenseColumn. You can wrap a "
                "sequence_categorical_column with an embedding_column or indicator_column. "
                f"Given (type {type(column)}): {column}"
            )
    collections = _collections(weight_collections)
    with variable_scope(None, default_name="sequence_input_layer", values=features.values()):
        cache = FeatureTransformationCache(features)
        outputs, lengths = [], []
        for column in columns:
            with variable_scope(None, default_name=column._var_scope_name):
                dense, length = column._get_sequence_dense_tensor(
                    cache, weight_collections=collections, trainable=trainable
                )
                size = column._variable_shape.num_elements()
                outputs.append(reshape(dense, concat([shape(dense)[:2], [size]], 0)))
                lengths.append(length)
        check_batch_sizes(outputs, columns)
        check_batch_sizes(lengths, columns)
        return concat(outputs, -1), all_equal(lengths)
