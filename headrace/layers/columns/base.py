"""What a feature column is: a name, what it parses, what it makes of its feature, in two protocols.

A column of ours says `transform_feature(cache, state)`, `get_dense_tensor`, `get_sparse_tensors` and
`create_state`.
Libraries of TF 1's time also have columns of the older protocol, with underscores, whose variables come from
the current scope; ours answer it by the same methods, with a state that asks the scope (`ScopeState`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from headrace.core import log
from headrace.functions.array.array import expand_dims, identity, rank, shape
from headrace.functions.array.checks import assert_equal, assert_positive
from headrace.functions.control.cond import cond
from headrace.functions.math.math import equal
from headrace.functions.platform.scopes import control_dependencies, name_scope
from headrace.functions.sparse.sparse import sparse_reshape
from headrace.functions.sparse.tensor import SparseTensor, convert_to_tensor_or_sparse_tensor
from headrace.graph.keys import GraphKeys
from headrace.variables.scope import get_variable


class IdWeightPair(NamedTuple):
    """Ids of an example's categories, and their weights (None: all 1)."""

    id_tensor: Any
    weight_tensor: Any


class TensorSequenceLengthPair(NamedTuple):
    """A tensor [batch, time, ...] and how long each sequence is."""

    dense_tensor: Any
    sequence_length: Any


# -- the older protocol ---------------------------------------------------------------------------
class OldFeatureColumn:
    """A column of the older protocol."""

    @property
    def _is_v2_column(self) -> bool:
        return False

    @property
    def name(self) -> str:
        raise NotImplementedError

    @property
    def _var_scope_name(self) -> str:
        return self.name


class OldDenseColumn(OldFeatureColumn):
    """One that gives numbers."""


class OldCategoricalColumn(OldFeatureColumn):
    """One that gives ids of categories."""

    IdWeightPair = IdWeightPair


class OldSequenceDenseColumn(OldFeatureColumn):
    """One that gives numbers for every moment of a sequence."""

    TensorSequenceLengthPair = TensorSequenceLengthPair


# -- ours -----------------------------------------------------------------------------------------
class FeatureColumn(OldFeatureColumn):
    """A column.  Its fields are those of a named tuple, so that equal columns are one key."""

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        raise NotImplementedError

    def transform_feature(self, transformation_cache: Any, state_manager: Any) -> Any:
        """The feature in the form that the column works with; found in the cache the second time."""
        raise NotImplementedError

    def create_state(self, state_manager: Any) -> None:
        """Make the column's variables, if it has any."""

    def __lt__(self, other: Any) -> bool:  # type: ignore[override, unused-ignore]
        return str(self) < str(other)

    def __gt__(self, other: Any) -> bool:  # type: ignore[override, unused-ignore]
        return str(self) > str(other)

    @property
    def _is_v2_column(self) -> bool:
        return True

    @property
    def _parse_example_spec(self) -> dict[str, Any]:
        return self.parse_example_spec

    def _transform_feature(self, inputs: Any) -> Any:
        return self.transform_feature(inputs, None)


class DenseColumn(FeatureColumn, OldDenseColumn):
    """A column that gives numbers: [batch, *variable_shape]."""

    @property
    def variable_shape(self) -> Any:
        raise NotImplementedError

    def get_dense_tensor(self, transformation_cache: Any, state_manager: Any) -> Any:
        raise NotImplementedError

    @property
    def _variable_shape(self) -> Any:
        return self.variable_shape

    def _get_dense_tensor(self, inputs: Any, weight_collections: Any = None, trainable: Any = None) -> Any:
        return self.get_dense_tensor(inputs, ScopeState(weight_collections, trainable))


class CategoricalColumn(FeatureColumn, OldCategoricalColumn):
    """A column that gives ids of categories, [batch, any number], as a sparse tensor."""

    @property
    def num_buckets(self) -> Any:
        raise NotImplementedError

    def get_sparse_tensors(self, transformation_cache: Any, state_manager: Any) -> IdWeightPair:
        return IdWeightPair(transformation_cache.get(self, state_manager), None)

    @property
    def _num_buckets(self) -> Any:
        return self.num_buckets

    def _get_sparse_tensors(self, inputs: Any, weight_collections: Any = None, trainable: Any = None) -> Any:
        return self.get_sparse_tensors(inputs, None)


class SequenceDenseColumn(FeatureColumn, OldSequenceDenseColumn):
    """A column that gives numbers for every moment of a sequence."""

    def get_sequence_dense_tensor(self, transformation_cache: Any, state_manager: Any) -> Any:
        raise NotImplementedError

    @property
    def _variable_shape(self) -> Any:
        return self.variable_shape  # type: ignore[attr-defined]

    def _get_sequence_dense_tensor(
        self, inputs: Any, weight_collections: Any = None, trainable: Any = None
    ) -> Any:
        return self.get_sequence_dense_tensor(inputs, ScopeState(weight_collections, trainable))


def buckets_of(column: Any) -> Any:
    """How many categories a column of either protocol has."""
    is_ours = isinstance(column, FeatureColumn)
    return getattr(column, "num_buckets" if is_ours else "_num_buckets")


def parsed_by(column: Any) -> dict[str, Any]:
    return column.parse_example_spec if isinstance(column, FeatureColumn) else column._parse_example_spec


def sparse_of(column: Any, cache: Any, state: Any) -> IdWeightPair:
    """The ids of a categorical column of either protocol."""
    if isinstance(column, FeatureColumn):
        return column.get_sparse_tensors(cache, state)  # type: ignore[attr-defined, no-any-return]
    return column._get_sparse_tensors(cache)  # type: ignore[no-any-return]


# -- features and variables -----------------------------------------------------------------------
class FeatureTransformationCache:
    """The features of a batch, and what columns made of them, each once."""

    def __init__(self, features: Any) -> None:
        self._features = features.copy()
        self._feature_tensors: dict[Any, Any] = {}

    def get(self, key: Any, state_manager: Any = None) -> Any:
        """A raw feature by its name, or what a column makes of its own."""
        if key in self._feature_tensors:
            return self._feature_tensors[key]
        if key in self._features:
            made = _with_columns(key, self._features[key])
        elif isinstance(key, str):
            raise ValueError(f"Feature {key} is not in features dictionary.")
        elif not isinstance(key, OldFeatureColumn):
            raise TypeError(f'"key" must be either a "str" or "FeatureColumn". Provided: {key}')
        else:
            log.debug("Transforming feature_column %s.", key)
            is_ours = isinstance(key, FeatureColumn)
            made = key.transform_feature(self, state_manager) if is_ours else key._transform_feature(self)  # type: ignore[attr-defined]
            if made is None:
                raise ValueError(f"Column {key.name} is not supported.")
        self._feature_tensors[key] = made
        return made


def _with_columns(key: str, feature: Any) -> Any:
    """A feature with a second dimension, where it has one only."""
    tensor = convert_to_tensor_or_sparse_tensor(feature)
    known = tensor.get_shape().ndims
    complaint = f"Feature (key: {key}) cannot have rank 0. Given: {tensor}"

    def grown() -> Any:
        if isinstance(tensor, SparseTensor):
            return sparse_reshape(tensor, [shape(tensor)[0], 1])
        return expand_dims(tensor, -1)

    if known == 0:
        raise ValueError(complaint)
    if known is not None:
        return grown() if known == 1 else tensor
    with control_dependencies([assert_positive(rank(tensor), message=complaint)]):
        return cond(equal(1, rank(tensor)), grown, lambda: tensor)


class StateManager:
    """Who makes a column's variables and keeps its resources."""

    def create_variable(
        self,
        feature_column: Any,
        name: str,
        shape: Any,
        dtype: Any = None,
        trainable: bool = True,
        use_resource: bool = True,
        initializer: Any = None,
    ) -> Any:
        raise NotImplementedError

    def get_variable(self, feature_column: Any, name: str) -> Any:
        raise NotImplementedError

    def add_resource(self, feature_column: Any, name: str, resource: Any) -> None:
        raise NotImplementedError

    def get_resource(self, feature_column: Any, name: str) -> Any:
        raise NotImplementedError


class ScopeState(StateManager):
    """Variables of the current scope, made when a column asks for them."""

    def __init__(self, weight_collections: Any, trainable: bool | None) -> None:
        self._collections = weight_collections
        self._trainable = True if trainable is None else trainable
        self._made: dict[str, Any] = {}

    def create_variable(
        self,
        feature_column: Any,
        name: str,
        shape: Any,
        dtype: Any = None,
        trainable: bool = True,
        use_resource: bool = True,
        initializer: Any = None,
    ) -> Any:
        if self._collections and GraphKeys.GLOBAL_VARIABLES not in self._collections:
            self._collections.append(GraphKeys.GLOBAL_VARIABLES)
        self._made[name] = get_variable(
            name,
            shape=shape,
            dtype=dtype,
            initializer=initializer,
            trainable=self._trainable and trainable,
            collections=self._collections,
        )
        return self._made[name]

    def get_variable(self, feature_column: Any, name: str) -> Any:
        if name not in self._made:
            feature_column.create_state(self)
        return self._made[name]

    def add_resource(self, feature_column: Any, name: str, resource: Any) -> None:
        pass


# -- several columns ------------------------------------------------------------------------------
def sorted_columns(
    feature_columns: Any, kind: type = FeatureColumn, called: str = "FeatureColumn"
) -> list[Any]:
    """The columns by name; no two have the same."""
    if isinstance(feature_columns, kind):
        feature_columns = [feature_columns]
    if isinstance(feature_columns, Iterator):
        feature_columns = list(feature_columns)
    if isinstance(feature_columns, dict):
        raise ValueError("Expected feature_columns to be iterable, found dict.")
    for column in feature_columns:
        if not isinstance(column, kind):
            raise ValueError(
                f"Items of feature_columns must be a {called}. Given (type {type(column)}): {column}."
            )
    if not feature_columns:
        raise ValueError("feature_columns must not be empty.")
    by_name: dict[str, Any] = {}
    for column in feature_columns:
        if column.name in by_name:
            raise ValueError(
                f"Duplicate feature column name found for columns: {column} and {by_name[column.name]}. This "
                "usually means that these columns refer to same base feature. Either one must be discarded "
                "or a duplicated but renamed item must be inserted in features dict."
            )
        by_name[column.name] = column
    return [by_name[name] for name in sorted(by_name)]


def check_batch_sizes(tensors: Sequence[Any], columns: Iterable[Any]) -> None:
    """Sizes of the batch that are known must be the same."""
    first: tuple[Any, str] | None = None
    for tensor, column in zip(tensors, columns):
        size = tensor.shape.dims[0].value if tensor.shape.dims else None
        if size is None:
            continue
        if first is None:
            first = size, column.name
        elif first[0] != size:
            raise ValueError(
                "Batch size (first dimension) of each feature must be same. Batch size of columns "
                f"({first[1]}, {column.name}): ({first[0]}, {size})"
            )


def all_equal(tensors: list[Any]) -> Any:
    """The first, once it is known that the others are equal."""
    with name_scope(None, "assertall_equal", tensors):
        if len(tensors) == 1:
            return tensors[0]
        with control_dependencies([assert_equal(tensors[0], other) for other in tensors[1:]]):
            return identity(tensors[0])


def make_parse_example_spec(feature_columns: Iterable[Any]) -> dict[str, Any]:
    """What tf.parse_example needs to parse the features of these columns."""
    return _specs(feature_columns, OldFeatureColumn, "_FeatureColumn")


def make_parse_example_spec_v2(feature_columns: Iterable[Any]) -> dict[str, Any]:
    """The same of columns of ours alone."""
    return _specs(feature_columns, FeatureColumn, "FeatureColumn")


def _specs(feature_columns: Iterable[Any], kind: type, called: str) -> dict[str, Any]:
    specs: dict[str, Any] = {}
    for column in feature_columns:
        if not isinstance(column, kind):
            raise ValueError(f"All feature_columns must be {called} instances. Given: {column}")
        for key, spec in parsed_by(column).items():
            if key in specs and specs[key] != spec:
                raise ValueError(
                    f"feature_columns contain different parse_spec for key {key}. "
                    f"Given {spec} and {specs[key]}"
                )
            specs[key] = spec
    return specs


def is_feature_column_v2(feature_columns: Iterable[Any]) -> bool:
    """Are they all of the newer protocol?"""
    return all(isinstance(column, OldFeatureColumn) and column._is_v2_column for column in feature_columns)
