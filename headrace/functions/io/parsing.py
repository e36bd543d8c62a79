"""tf.io.parse_*: serialized Examples and SequenceExamples as dictionaries of tensors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headrace.core.shapes import as_shape
from headrace.functions.array.checks import Assert
from headrace.functions.control import grouping
from headrace.functions.io.example_features import (
    CONTEXT_FEATURES,
    EXAMPLE_FEATURES,
    SEQUENCE_FEATURES,
    Parameters,
    merge_sparse,
    node_name,
    with_rows,
)
from headrace.functions.sparse.tensor import SparseTensor
from headrace.functions.values.structure import name_scope
from headrace.graph.tensor import Tensor
from headrace.ops.array import reshape
from headrace.ops.array.slices import slice
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.io import parse_example as ops
from headrace.ops.io import parse_sequence, parse_sequence_batch
from headrace.ops.math import comparison


def parse_example(
    serialized: Any, features: Any, name: str | None = None, example_names: Any = None
) -> dict[str, Any]:
    """Parse a batch of serialized Examples.

    Args:
      serialized: a vector of strings, each a serialized `Example`.
      features: a dict from names to `FixedLenFeature` (gives a `Tensor` with the batch first),
        `FixedLenSequenceFeature` (filled up to the longest), `VarLenFeature` or `SparseFeature`
        (give a `SparseTensor`).
      name: name of the scope.
      example_names: a vector of strings that name the examples in messages.

    Returns:
      A dict from the names to tensors.

    Raises:
      ValueError: a feature is not valid.

    Example:
      >>> example = tf.train.Example()
      >>> example.features.feature["age"].int64_list.value.append(30)
      >>> tf.io.parse_example([example.SerializeToString()],
      ...                     {"age": tf.io.FixedLenFeature([], tf.int64)})["age"]   # [30]
    """
    if not features:
        raise ValueError(f"Missing: features was {features}.")
    features = with_rows(features)
    parameters = Parameters.of(features, EXAMPLE_FEATURES)
    return merge_sparse(features, _parse_batch(serialized, example_names, parameters, name))


def _parse_batch(serialized: Any, names: Any, parameters: Parameters, name: str | None) -> dict[str, Any]:
    with name_scope(name, "ParseExample", [serialized, names]):
        parameters.check_keys()
        defaults = parameters.padded_defaults()
        found = ops.parse_example(
            serialized=serialized,
            names=[] if names is None else names,
            dense_defaults=defaults,
            sparse_keys=parameters.sparse_keys,
            sparse_types=parameters.sparse_types,
            dense_keys=parameters.dense_keys,
            dense_shapes=parameters.dense_shapes,
            name=name,
        )
        return _by_key(parameters, *found)


def _by_key(parameters: Parameters, indices: Any, values: Any, shapes: Any, dense: Any) -> dict[str, Any]:
    sparse = [SparseTensor(*parts) for parts in zip(indices, values, shapes)]
    return dict(zip([*parameters.sparse_keys, *parameters.dense_keys], [*sparse, *dense]))


def parse_single_example(
    serialized: Any, features: Any, name: str | None = None, example_names: Any = None
) -> dict[str, Any]:
    """Parse one serialized Example.

    Args:
      serialized: a scalar string.
      features: a dict from names to features, as for `parse_example`.
      name: name of the scope.
      example_names: a scalar string that names the example in messages.

    Returns:
      A dict from the names to tensors, without a batch dimension.

    Raises:
      ValueError: a feature is not valid.
    """
    if not features:
        raise ValueError("Missing features.")
    features = with_rows(features)
    parameters = Parameters.of(features, EXAMPLE_FEATURES)
    if example_names is None:
        return merge_sparse(features, _parse_one(serialized, parameters, name))
    return merge_sparse(features, _parse_named(serialized, example_names, parameters, name))


def _parse_one(serialized: Any, parameters: Parameters, name: str | None) -> dict[str, Any]:
    with name_scope(name, "ParseSingleExample", [serialized]):
        serialized = convert_to_tensor(serialized, name="serialized")
        parameters.check_keys()
        found = ops.parse_single_example(
            serialized=serialized,
            dense_defaults=parameters.padded_defaults(),
            num_sparse=len(parameters.sparse_keys),
            sparse_keys=parameters.sparse_keys,
            sparse_types=parameters.sparse_types,
            dense_keys=parameters.dense_keys,
            dense_shapes=parameters.dense_shapes,
            name=name,
        )
        return _by_key(parameters, *found)


def _parse_named(serialized: Any, names: Any, parameters: Parameters, name: str | None) -> dict[str, Any]:
    """As a batch of one, since only that op takes names."""
    with name_scope(name, "ParseSingleExample", [serialized, names]):
        serialized = reshape.expand_dims(_scalar(serialized, "serialized", "Serialized"), 0)
        names = reshape.expand_dims(_scalar(names, "names", "Names"), 0)
        found = _parse_batch(serialized, names, parameters, name)
        for key in parameters.dense_keys:
            found[key] = reshape.squeeze(found[key], [0], name=f"Squeeze_{node_name(key)}")
        for key in parameters.sparse_keys:
            label = node_name(key)
            found[key] = SparseTensor(
                slice.slice_(found[key].indices, [0, 1], [-1, -1], name=f"Slice_Indices_{label}"),
                found[key].values,
                slice.slice_(found[key].dense_shape, [1], [-1], name=f"Squeeze_Shape_{label}"),
            )
        return found


def _scalar(value: Any, what: str, label: str) -> Tensor:
    tensor = convert_to_tensor(value)
    message = f"Input {what} must be a scalar"
    if tensor.shape.rank is None:
        is_scalar = comparison.equal(reshape.rank(tensor), 0)
        check = Assert(is_scalar, [message], name=f"{label}IsScalar")
        result: Tensor = grouping.with_dependencies([check], tensor, name=f"{label}Dependencies")
        return result
    if tensor.shape.rank != 0:
        raise ValueError(message)
    return tensor


# -- sequences -----------------------------------------------------------------------------------
def parse_single_sequence_example(
    serialized: Any,
    context_features: Mapping[str, Any] | None = None,
    sequence_features: Mapping[str, Any] | None = None,
    example_name: Any = None,
    name: str | None = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Parse one serialized SequenceExample.

    Args:
      serialized: a scalar string.
      context_features: a dict from names to `FixedLenFeature` or `VarLenFeature`.
      sequence_features: a dict from names to `FixedLenSequenceFeature` or `VarLenFeature`.
      example_name: a scalar string that names the example in messages.
      name: name of the scope.

    Returns:
      Two dicts from names to tensors: of the context, and of the feature lists, whose tensors have
      one row for each feature of the list.

    Raises:
      ValueError: a feature is not valid.
    """
    context, lists = _sequence_parameters(context_features, sequence_features)
    with name_scope(name, "ParseSingleSequenceExample", [serialized]):
        defaults = [
            context.default(key, dtype, as_shape(shape))
            for key, dtype, shape in zip(context.dense_keys, context.dense_types, context.dense_shapes)
        ]
        found = parse_sequence.parse_single_sequence_example(
            serialized=serialized,
            debug_name="" if example_name is None else example_name,
            context_dense_defaults=defaults,
            **_described(context, lists),
            name=name,
        )
        return _by_key(context, *found[:4]), _by_key(lists, *found[4:8])


def parse_sequence_example(
    serialized: Any,
    context_features: Mapping[str, Any] | None = None,
    sequence_features: Mapping[str, Any] | None = None,
    example_names: Any = None,
    name: str | None = None,
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Parse a batch of serialized SequenceExamples.

    Args:
      serialized: a vector of strings.
      context_features: a dict from names to `FixedLenFeature` or `VarLenFeature`.
      sequence_features: a dict from names to `FixedLenSequenceFeature` or `VarLenFeature`.
      example_names: a vector of strings that name the examples in messages.
      name: name of the scope.

    Returns:
      Three dicts from names to tensors: of the context, of the feature lists (dense ones are filled
      up to the longest of the batch), and the lengths of the dense lists.

    Raises:
      ValueError: a feature is not valid.
    """
    context, lists = _sequence_parameters(context_features, sequence_features)
    with name_scope(name, "ParseSequenceExample", [serialized]):
        defaults = [
            context.default(key, dtype, None) for key, dtype in zip(context.dense_keys, context.dense_types)
        ]
        found = parse_sequence_batch.parse_sequence_example(
            serialized=serialized,
            debug_name=[] if example_names is None else example_names,
            Ncontext_sparse=len(context.sparse_keys),
            Ncontext_dense=len(context.dense_keys),
            Nfeature_list_sparse=len(lists.sparse_keys),
            Nfeature_list_dense=len(lists.dense_keys),
            context_dense_defaults=defaults,
            **_described(context, lists),
            name=name,
        )
        lengths = dict(zip(lists.dense_keys, found[8]))
        return _by_key(context, *found[:4]), _by_key(lists, *found[4:8]), lengths


def _sequence_parameters(
    context: Mapping[str, Any] | None, sequence: Mapping[str, Any] | None
) -> tuple[Parameters, Parameters]:
    if not (context or sequence):
        raise ValueError("Missing features.")
    return Parameters.of(context, CONTEXT_FEATURES), Parameters.of(sequence, SEQUENCE_FEATURES)


def _described(context: Parameters, lists: Parameters) -> dict[str, Any]:
    """The features as both ops want them."""
    return {
        "context_sparse_keys": context.sparse_keys,
        "context_sparse_types": context.sparse_types,
        "context_dense_keys": context.dense_keys,
        "context_dense_shapes": context.dense_shapes,
        "feature_list_sparse_keys": lists.sparse_keys,
        "feature_list_sparse_types": lists.sparse_types,
        "feature_list_dense_keys": lists.dense_keys,
        "feature_list_dense_types": lists.dense_types,
        "feature_list_dense_shapes": lists.dense_shapes,
        "feature_list_dense_missing_assumed_empty": _check_sequence(context, lists),
    }


def _check_sequence(context: Parameters, lists: Parameters) -> list[str]:
    """The dense lists that may be missing."""
    context.check_keys("context_")
    lists.check_keys("feature_list_")
    for key, value in lists.dense_defaults.items():
        if value is not None:
            raise ValueError(f"Value feature_list_dense_defaults[{key}] must be None")
    return list(lists.dense_defaults)
