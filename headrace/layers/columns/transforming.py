"""What columns make of their features, before it becomes dense: for estimators of boosted trees."""

from __future__ import annotations

from typing import Any

from headrace.functions.platform.scopes import name_scope
from headrace.layers.columns.base import FeatureTransformationCache, OldFeatureColumn, sorted_columns


def transform_features_v2(features: Any, feature_columns: Any, state_manager: Any) -> dict[Any, Any]:
    """What each column makes of its feature."""
    columns = sorted_columns(feature_columns)
    outputs = {}
    with name_scope(None, "transform_features", features.values()):
        cache = FeatureTransformationCache(features)
        for column in columns:
            with name_scope(column.name):
                outputs[column] = cache.get(column, state_manager)
    return outputs


def transform_features(features: Any, feature_columns: Any) -> dict[Any, Any]:
    """The same for columns of either protocol."""
    columns = sorted_columns(feature_columns, OldFeatureColumn, "_FeatureColumn")
    with name_scope(None, "transform_features", features.values()):
        cache = FeatureTransformationCache(features)
        outputs = {}
        for column in columns:
            with name_scope(None, column.name):
                outputs[column] = cache.get(column)
    return outputs
