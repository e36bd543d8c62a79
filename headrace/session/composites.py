"""Fetching and feeding values that consist of several tensors: slices, sparse and ragged tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from headrace.functions.values import nest
from headrace.graph.tensor import Tensor
from headrace.ops.declaration.indexed_slices import IndexedSlices, IndexedSlicesValue


def parts_of(value: Any) -> list[Tensor] | None:
    """The tensors of a composite; None for anything else."""
    if isinstance(value, IndexedSlices):
        parts = [value.values, value.indices]
        return parts if value.dense_shape is None else [*parts, value.dense_shape]
    if nest.is_composite(value):
        return list(nest.flatten(value, expand_composites=True))
    return None


def assembler(value: Any) -> Callable[[Sequence[Any]], Any]:
    """What puts fetched parts together."""
    if isinstance(value, IndexedSlices):
        return lambda parts: IndexedSlicesValue(*parts, *[None] * (3 - len(parts)))
    return lambda parts: nest.pack_sequence_as(value, list(parts), expand_composites=True)


def feed_parts(key: Any, value: Any) -> list[tuple[Any, Any]]:
    """A feed of a composite as feeds of its tensors."""
    parts = parts_of(key)
    if parts is None:
        return [(key, value)]
    if nest.is_composite(value) or _is_ragged(value):
        values = list(nest.flatten(value, expand_composites=True))
    else:
        values = [v for v in value if v is not None]
    if len(values) != len(parts):
        raise ValueError(f"{key} consists of {len(parts)} tensors, {len(values)} values are fed")
    return list(zip(parts, values))


def _is_ragged(value: Any) -> bool:
    return hasattr(value, "row_splits") and hasattr(value, "flat_values")
