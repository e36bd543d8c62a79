"""How features of Examples are to be parsed: four kinds, and what they mean to the parsing ops."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from headrace.core import log
from headrace.core.dtypes import as_dtype, int64, string
from headrace.core.shapes import Shape, as_shape
from headrace.functions.sparse.parts import sparse_merge
from headrace.graph.tensor import Tensor
from headrace.ops.array import reshape
from headrace.ops.array.constant import constant
from headrace.ops.declaration.convert import convert_to_tensor


class VarLenFeature(NamedTuple):
    """A feature of any length, parsed into a `SparseTensor`.

    Fields:
      dtype: type of the values.
    """

    dtype: Any


class SparseFeature(NamedTuple):
    """Several features that together are one `SparseTensor`: its values, and where they stand.

    Fields:
      index_key: name of the feature of indices, or a list with a name for each dimension.
      value_key: name of the feature of values.
      dtype: type of the values.
      size: size of the dimension, or a list with a size for each.
      already_sorted: the values stand in order of their indices.
    """

    index_key: Any
    value_key: Any
    dtype: Any
    size: Any
    already_sorted: bool = False


class FixedLenFeature(NamedTuple):
    """A feature of fixed length, parsed into a `Tensor`.

    Fields:
      shape: shape of the values.
      dtype: type of the values.
      default_value: stands for the feature where an example has none; without it that is an error.
    """

    shape: Any
    dtype: Any
    default_value: Any = None


class FixedLenSequenceFeature(NamedTuple):
    """A feature that is a number of rows of fixed shape, parsed into a `Tensor` of shape
    `[None] + shape`; in a batch, shorter ones are filled up.

    Fields:
      shape: shape of a row.
      dtype: type of the values.
      allow_missing: an example may have no such feature.
      default_value: a scalar that fills up shorter sequences; 0 or "" if not given.
    """

    shape: Any
    dtype: Any
    allow_missing: bool = False
    default_value: Any = None


EXAMPLE_FEATURES = (VarLenFeature, SparseFeature, FixedLenFeature, FixedLenSequenceFeature)
CONTEXT_FEATURES = (VarLenFeature, FixedLenFeature)
SEQUENCE_FEATURES = (VarLenFeature, FixedLenSequenceFeature)


@dataclass
class Parameters:
    """What the parsing ops take."""

    sparse_keys: list[str] = field(default_factory=list)
    sparse_types: list[Any] = field(default_factory=list)
    dense_keys: list[str] = field(default_factory=list)
    dense_types: list[Any] = field(default_factory=list)
    dense_shapes: list[Any] = field(default_factory=list)
    dense_defaults: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, features: Mapping[str, Any] | None, allowed: Iterable[type]) -> Parameters:
        """From features by name, of the allowed kinds."""
        made = cls()
        for key in sorted(features or ()):
            made._add(key, features[key], tuple(allowed))  # type: ignore[index]
        return made

    def _add(self, key: str, feature: Any, allowed: tuple[type, ...]) -> None:
        if not isinstance(feature, EXAMPLE_FEATURES):
            raise ValueError(f"Invalid feature {key}:{feature}.")
        if type(feature) not in allowed:
            raise ValueError(f"Unsupported {type(feature).__name__} {feature}.")
        if isinstance(feature, SparseFeature):
            _check_sparse(feature)
        if not feature.dtype:
            raise ValueError(f"Missing type for feature {key}.")
        if isinstance(feature, VarLenFeature):
            self.sparse_keys.append(key)
            self.sparse_types.append(feature.dtype)
        elif isinstance(feature, SparseFeature):
            for index_key in sorted(index_keys(feature)):
                self._add_sparse(index_key, int64, "int64")
            self._add_sparse(feature.value_key, feature.dtype, feature.dtype)
        else:
            self._add_dense(key, feature)

    def _add_sparse(self, key: str, dtype: Any, shown: Any) -> None:
        if key not in self.sparse_keys:
            self.sparse_keys.append(key)
            self.sparse_types.append(dtype)
            return
        other = self.sparse_types[self.sparse_keys.index(key)]
        if as_dtype(other) != as_dtype(dtype):
            raise ValueError(f"Conflicting type {other} vs {shown} for feature {key}.")

    def _add_dense(self, key: str, feature: Any) -> None:
        if feature.shape is None:
            raise ValueError(f"Missing shape for feature {key}.")
        if isinstance(feature, FixedLenFeature):
            _check_fixed(key, feature.shape)
        self.dense_keys.append(key)
        self.dense_shapes.append(feature.shape)
        self.dense_types.append(feature.dtype)
        if feature.default_value is not None:
            self.dense_defaults[key] = feature.default_value
        elif isinstance(feature, FixedLenSequenceFeature) and feature.allow_missing:
            self.dense_defaults[key] = None

    def check_keys(self, what: str = "") -> None:
        """A name is either sparse or dense."""
        both = set(self.dense_keys) & set(self.sparse_keys)
        if both:
            dense, sparse = (f"{what}dense", f"{what}sparse") if what else ("Dense", "sparse")
            raise ValueError(f"{dense} and {sparse} keys must not intersect; intersection: {both}")

    def __bool__(self) -> bool:
        return bool(self.sparse_keys or self.dense_keys)

    # -- defaults as tensors -------------------------------------------------------------------
    def padded_defaults(self) -> list[Tensor]:
        """One default per dense feature: what pads a varying one, else its value or an empty one."""
        return [
            self._padding(key, as_dtype(dtype))
            if _varies(as_shape(shape))
            else self.default(key, dtype, as_shape(shape))
            for key, dtype, shape in zip(self.dense_keys, self.dense_types, self.dense_shapes)
        ]

    def _padding(self, key: str, dtype: Any) -> Tensor:
        value = self.dense_defaults.get(key)
        if value is None:
            return convert_to_tensor("" if dtype == string else 0, dtype=dtype)
        padding = convert_to_tensor(value, dtype=dtype, name="padding_" + node_name(key))
        return reshape.reshape(padding, [])

    def default(self, key: str, dtype: Any, shape: Shape | None) -> Tensor:
        """The default of a feature of fixed shape; an empty one if it is required."""
        value = self.dense_defaults.get(key)
        if value is None:
            return constant([], dtype=dtype)
        if isinstance(value, Tensor):
            return value
        value = convert_to_tensor(value, dtype=dtype, name="key_" + node_name(key))
        return value if shape is None else reshape.reshape(value, shape)


def node_name(key: str) -> str:
    """The name of a feature where only names of nodes may stand."""
    return re.sub(r"[^A-Za-z0-9_.\-/]", "_", key)


def _varies(shape: Shape) -> bool:
    return bool(shape.rank) and shape.sizes[0] is None


def index_keys(feature: SparseFeature) -> list[str]:
    return [feature.index_key] if isinstance(feature.index_key, str) else list(feature.index_key)


def _check_sparse(feature: SparseFeature) -> None:
    if not feature.index_key:
        raise ValueError(f"Missing index_key for SparseFeature {feature}.")
    if not feature.value_key:
        raise ValueError(f"Missing value_key for SparseFeature {feature}.")
    if len(index_keys(feature)) > 1:
        log.warning(
            "SparseFeature is a complicated feature config and should only be used after careful "
            "consideration of VarLenFeature."
        )


def _check_fixed(key: str, given: Any) -> None:
    shape = as_shape(given)
    if _varies(shape):
        raise ValueError(
            f"First dimension of shape for feature {key} unknown. Consider using FixedLenSequenceFeature."
        )
    if not shape.is_fully_defined():
        raise ValueError(f"All dimensions of shape for feature {key} need to be known but received {given}.")


def with_rows(features: Mapping[str, Any]) -> dict[str, Any]:
    """Sequence features of Examples get the dimension that varies."""
    changed = dict(features)
    for key, feature in features.items():
        if isinstance(feature, FixedLenSequenceFeature):
            if not feature.allow_missing:
                raise ValueError("Unsupported: FixedLenSequenceFeature requires allow_missing to be True.")
            changed[key] = feature._replace(shape=[None, *feature.shape])
    return changed


def merge_sparse(features: Mapping[str, Any], parsed: Mapping[str, Any]) -> dict[str, Any]:
    """What was parsed, by the names of the features: parts of sparse features become one."""
    found = dict(parsed)
    for key in sorted(features):
        feature = features[key]
        if isinstance(feature, SparseFeature):
            single = isinstance(feature.index_key, str)
            ids = [found[k] for k in index_keys(feature)]
            found[key] = sparse_merge(
                ids[0] if single else ids,
                found[feature.value_key],
                vocab_size=feature.size,
                already_sorted=feature.already_sorted,
            )
    return {key: value for key, value in found.items() if key in features}
