"""DenseFeatures and SequenceFeatures: Keras layers of feature columns."""

from __future__ import annotations

from typing import Any

from headrace.core import dtypes
from headrace.functions.array.array import expand_dims, reshape, shape
from headrace.functions.array.rank_checks import assert_rank, assert_type
from headrace.functions.array.stacking import concat
from headrace.functions.platform.scopes import control_dependencies, name_scope
from headrace.layers.columns.base import (
    DenseColumn,
    FeatureTransformationCache,
    SequenceDenseColumn,
    StateManager,
    all_equal,
    check_batch_sizes,
    sorted_columns,
)
from headrace.layers.engine.layer import Layer
from headrace.ops.array.tile import tile


class LayerState(StateManager):
    """The variables of columns, which are a layer's."""

    def __init__(self, layer: Any, trainable: bool) -> None:
        self._layer, self._trainable = layer, trainable
        self._variables: dict[tuple[Any, str], Any] = {}
        self._resources: dict[tuple[Any, str], Any] = {}

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
        if (feature_column, name) in self._variables:
            raise ValueError("Variable already exists.")
        made = self._layer.add_weight(
            name=f"{feature_column.name}/{name}",
            shape=shape,
            dtype=dtype,
            initializer=initializer,
            trainable=self._trainable and trainable,
            use_resource=use_resource,
        )
        self._variables[feature_column, name] = made
        return made

    def get_variable(self, feature_column: Any, name: str) -> Any:
        if (feature_column, name) not in self._variables:
            raise ValueError("Variable does not exist.")
        return self._variables[feature_column, name]

    def add_resource(self, feature_column: Any, name: str, resource: Any) -> None:
        self._resources[feature_column, name] = resource

    def get_resource(self, feature_column: Any, name: str) -> Any:
        if (feature_column, name) not in self._resources:
            raise ValueError("Resource does not exist.")
        return self._resources[feature_column, name]


class FeaturesLayer(Layer):
    """What layers of columns share: the columns, sorted, and their variables."""

    _kind: type = DenseColumn

    def __init__(
        self, feature_columns: Any, trainable: bool = True, name: str | None = None, **kwargs: Any
    ) -> None:
        super().__init__(name=name, trainable=trainable, **kwargs)
        self._feature_columns = sorted_columns(feature_columns)
        self._state_manager = LayerState(self, self.trainable)
        for column in self._feature_columns:
            if not isinstance(column, self._kind):
                raise ValueError(
                    f"Items of feature_columns must be a {self._kind}. You can wrap a categorical column "
                    f"with an embedding_column or indicator_column. Given: {column}"
                )

    @property
    def _is_feature_layer(self) -> bool:
        return True

    def build(self, _: Any) -> None:
        for column in self._feature_columns:
            column.create_state(self._state_manager)
        super().build(None)

    def _target_shape(self, input_shape: Any, total_elements: Any) -> Any:
        raise NotImplementedError

    def compute_output_shape(self, input_shape: Any) -> Any:
        total = sum(column.variable_shape.num_elements() for column in self._feature_columns)
        return self._target_shape(input_shape, total)

    def _flat(self, column: Any, tensor: Any) -> Any:
        return reshape(tensor, self._target_shape(shape(tensor), column.variable_shape.num_elements()))

    def _joined(self, outputs: list[Any]) -> Any:
        check_batch_sizes(outputs, self._feature_columns)
        return concat(outputs, -1)

    @staticmethod
    def _cache(features: Any) -> FeatureTransformationCache:
        if not isinstance(features, dict):
            raise ValueError("We expected a dictionary here. Instead we got: ", features)
        return FeatureTransformationCache(features)


class DenseFeatures(FeaturesLayer):
    """Dense columns side by side, in the order of their names: [batch, numbers]."""

    def _target_shape(self, input_shape: Any, total_elements: Any) -> Any:
        return (input_shape[0], total_elements)

    def call(  # type: ignore[override]
        self, features: Any, cols_to_output_tensors: dict[Any, Any] | None = None
    ) -> Any:
        cache = self._cache(features)
        outputs = []
        for column in self._feature_columns:
            with name_scope(column.name):
                tensor = self._flat(column, column.get_dense_tensor(cache, self._state_manager))
            if cols_to_output_tensors is not None:
                cols_to_output_tensors[column] = tensor
            outputs.append(tensor)
        return self._joined(outputs)


class SequenceFeatures(FeaturesLayer):
    """Columns of sequences side by side: ([batch, time, numbers], lengths)."""

    _kind = SequenceDenseColumn

    def _target_shape(self, input_shape: Any, total_elements: Any) -> Any:
        return (input_shape[0], input_shape[1], total_elements)

    def call(self, features: Any) -> Any:  # type: ignore[override]
        cache = self._cache(features)
        outputs, lengths = [], []
        for column in self._feature_columns:
            with name_scope(column.name):
                dense, length = column.get_sequence_dense_tensor(cache, self._state_manager)
                outputs.append(self._flat(column, dense))
                lengths.append(length)
        check_batch_sizes(lengths, self._feature_columns)
        return self._joined(outputs), all_equal(lengths)


def concatenate_context_input(context_input: Any, sequence_input: Any) -> Any:
    """Features of the whole sequence beside those of every moment.

    Args:
      context_input: [batch, a], of float32.
      sequence_input: [batch, time, b], of float32.

    Returns:
      [batch, time, b + a].
    """
    checked = [
        assert_rank(
            sequence_input, 3, message="sequence_input must have rank 3", data=[shape(sequence_input)]
        ),
        assert_type(
            sequence_input,
            dtypes.float32,
            message=f"sequence_input must have dtype float32; got {sequence_input.dtype}.",
        ),
        assert_rank(context_input, 2, message="context_input must have rank 2", data=[shape(context_input)]),
        assert_type(
            context_input,
            dtypes.float32,
            message=f"context_input must have dtype float32; got {context_input.dtype}.",
        ),
    ]
    with control_dependencies(checked):
        moments = shape(sequence_input)[1]
        tiled = tile(expand_dims(context_input, 1), concat([[1], [moments], [1]], 0))
    return concat([sequence_input, tiled], 2)
